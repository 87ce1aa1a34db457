/* SPDX-License-Identifier: MIT */
/* train_options.c - pollux-train's command line */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulate.h"
#include "train.h"

enum key {
	KEY_SAMPLES = 256,
	KEY_FEATURES,
	KEY_HIDDEN,
	KEY_EPOCHS,
	KEY_BATCH,
	KEY_MAX_BATCH,
	KEY_MIN_GPU_BATCH,
	KEY_MAX_GPU_BATCH,
	KEY_LR,
	KEY_LR_SCALING,
	KEY_LR_WARMUP,
	KEY_BY_PROGRESS,
	KEY_MEMORY,
	KEY_MOMENTUM,
	KEY_SEED,
	KEY_IMAGES,
	KEY_LABELS,
	KEY_COLLECTIVES,
	KEY_DEVICE,
	KEY_CHECKPOINTS,
	KEY_CHECKPOINT_EVERY,
	KEY_PROFILE,
	KEY_TRACES,
	KEY_TIME_SCALE,
	KEY_BALLAST,
	KEY_JSON,
	KEY_QUIET,
};

/* clang-format off */
static const struct argp_option rows[] = {
	{ NULL, 0, NULL, 0, "What is learnt:", 1 },
	{ "samples", KEY_SAMPLES, "N", 0, "samples of the generated dataset (8192)", 0 },
	{ "features", KEY_FEATURES, "N", 0, "numbers in one of its samples (16)", 0 },
	{ "images", KEY_IMAGES, "FILE", 0, "images in IDX format (as MNIST) instead, with --labels", 0 },
	{ "labels", KEY_LABELS, "FILE", 0, "their labels", 0 },
	{ NULL, 0, NULL, 0, "How:", 2 },
	{ "hidden", KEY_HIDDEN, "N[,N...]", 0, "units of the hidden layers (32)", 0 },
	{ "epochs", KEY_EPOCHS, "N", 0, "times to go through the data (10)", 0 },
	{ "batch", KEY_BATCH, "N", 0, "total batch that --lr is tuned for (64)", 0 },
	{ "max-batch", KEY_MAX_BATCH, "N", 0, "largest total batch that may be chosen (1024); equal to --batch: fixed", 0 },
	{ "min-gpu-batch", KEY_MIN_GPU_BATCH, "N", 0, "smallest batch of a GPU (1)", 0 },
	{ "max-gpu-batch", KEY_MAX_GPU_BATCH, "N", 0, "largest batch of a GPU (as --max-batch)", 0 },
	{ "lr", KEY_LR, "X", 0, "learning rate at --batch (0.05)", 0 },
	{ "lr-scaling", KEY_LR_SCALING, "RULE", 0, "how it follows the batch: adascale, adamscale, linear, sqrt, legw or fixed (adascale)", 0 },
	{ "lr-warmup", KEY_LR_WARMUP, "X", 0, "epochs that legw warms up (0)", 0 },
	{ "by-progress", KEY_BY_PROGRESS, NULL, 0, "--epochs counts progress, as many steps at --batch, not passes over the data", 0 },
	{ "memory", KEY_MEMORY, "N", 0, "as if no more samples than that fitted into a GPU at once (any number)", 0 },
	{ "momentum", KEY_MOMENTUM, "X", 0, "of the optimiser, 0 to below 1 (0.9)", 0 },
	{ "seed", KEY_SEED, "N", 0, "of data, model and order (1)", 0 },
	{ "collectives", KEY_COLLECTIVES, "KIND", 0, "auto, self, mpi or nccl (auto)", 0 },
	{ "device", KEY_DEVICE, "KIND", 0, "where model and gradient live: cpu or cuda (cpu)", 0 },
	{ "checkpoint-dir", KEY_CHECKPOINTS, "DIR", 0, "save there and restore from there ($POLLUX_CHECKPOINT_DIR, or not at all)", 0 },
	{ "checkpoint-every", KEY_CHECKPOINT_EVERY, "S", 0, "seconds between checkpoints, 0: only when stopped (from their cost)", 0 },
	{ "ballast-mb", KEY_BALLAST, "N", 0, "megabytes of state that is saved and restored but not trained (0)", 0 },
	{ NULL, 0, NULL, 0, "At another machine's pace (timing is emulated, the training is real):", 3 },
	{ "emulate-gpu", KEY_PROFILE, "PROFILE", 0, "a built-in profile (compute, network, fixed) or a file of one", 0 },
	{ "emulate-traces", KEY_TRACES, "DIR", 0, "recorded times: DIR/placements.csv and DIR/scalability.csv", 0 },
	{ "time-scale", KEY_TIME_SCALE, "X", 0, "emulated seconds that pass in a real one (1)", 0 },
	{ NULL, 0, NULL, 0, "Output:", 4 },
	{ "json", KEY_JSON, NULL, 0, "end with a summary in JSON, one line", 0 },
	{ "quiet", KEY_QUIET, NULL, 0, "no lines from libpollux on stderr", 0 },
	{ 0 },
};
/* clang-format on */

static double number(struct argp_state *state, const char *text, double min,
		     double max)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end || errno || !isfinite(value) || value < min ||
	    value > max)
		argp_error(state, "\"%s\": want a number from %g to %g", text,
			   min, max);
	return value;
}

static int64_t whole(struct argp_state *state, const char *text, int64_t min,
		     int64_t max)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end || errno || value < min || value > max)
		argp_error(state,
			   "\"%s\": want a whole number from %lld to %lld",
			   text, (long long) min, (long long) max);
	return value;
}

static void parse_hidden(struct argp_state *state, struct train_options *o,
			 const char *text)
{
	char *copy = strdup(text);
	char *at = NULL;

	o->hidden_count = 0;
	for (char *word = copy ? strtok_r(copy, ",", &at) : NULL; word;
	     word = strtok_r(NULL, ",", &at)) {
		if (o->hidden_count == MLP_LAYERS_MAX - 1)
			argp_error(state, "at most %d hidden layers",
				   MLP_LAYERS_MAX - 1);
		o->hidden[o->hidden_count++] =
			(int) whole(state, word, 1, 65536);
	}
	free(copy);
}

#define INT_LIMIT 16777216

/* Options that end in struct pollux_config. */
static error_t parse_config(int key, char *arg, struct argp_state *state,
			    struct pollux_config *c)
{
	switch (key) {
	case KEY_SAMPLES:
		c->samples = (uint64_t) whole(state, arg, 1, (int64_t) 1 << 40);
		return 0;
	case KEY_EPOCHS:
		c->epochs = (int) whole(state, arg, 1, INT_LIMIT);
		return 0;
	case KEY_BATCH:
		c->batch = (int) whole(state, arg, 1, INT_LIMIT);
		return 0;
	case KEY_MAX_BATCH:
		c->max_batch = (int) whole(state, arg, 1, INT_LIMIT);
		return 0;
	case KEY_MIN_GPU_BATCH:
		c->min_gpu_batch = (int) whole(state, arg, 1, INT_LIMIT);
		return 0;
	case KEY_MAX_GPU_BATCH:
		c->max_gpu_batch = (int) whole(state, arg, 1, INT_LIMIT);
		return 0;
	case KEY_LR:
		c->lr = number(state, arg, 1e-12, 1e6);
		return 0;
	case KEY_LR_SCALING:
		c->lr_scaling = arg;
		return 0;
	case KEY_LR_WARMUP:
		c->lr_warmup_epochs = number(state, arg, 0, 1e6);
		return 0;
	case KEY_BY_PROGRESS:
		c->counting = POLLUX_PROGRESS;
		return 0;
	case KEY_SEED:
		c->seed = (uint64_t) whole(state, arg, 0, INT64_MAX);
		return 0;
	case KEY_COLLECTIVES:
		c->collectives = arg;
		return 0;
	case KEY_CHECKPOINTS:
		c->checkpoint_dir = arg;
		return 0;
	case KEY_CHECKPOINT_EVERY:
		c->checkpoint_every_s = number(state, arg, 0, 1e6);
		return 0;
	case KEY_QUIET:
		c->quiet = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static void check(struct argp_state *state, struct train_options *o)
{
	if (!o->images != !o->labels)
		argp_error(state, "--images and --labels go together");
	if (o->cuda && (o->profile || o->traces))
		argp_error(state, "--device=cuda has a pace of its own");
	if (o->profile && o->traces)
		argp_error(state, "--emulate-gpu and --emulate-traces "
				  "exclude each other");
	/* A larger base batch widens the default limit, not a given one. */
	if (o->config.max_batch == 0)
		o->config.max_batch =
			o->config.batch > 1024 ? o->config.batch : 1024;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct train_options *o = state->input;

	switch (key) {
	case KEY_FEATURES:
		o->features = (int) whole(state, arg, 1, 65536);
		return 0;
	case KEY_HIDDEN:
		parse_hidden(state, o, arg);
		return 0;
	case KEY_MEMORY:
		o->memory = (int) whole(state, arg, 1, INT_LIMIT);
		return 0;
	case KEY_MOMENTUM:
		o->momentum = number(state, arg, 0, 0.9999);
		return 0;
	case KEY_IMAGES:
		o->images = arg;
		return 0;
	case KEY_LABELS:
		o->labels = arg;
		return 0;
	case KEY_DEVICE:
		o->cuda = !strcmp(arg, "cuda");
		if (!o->cuda && strcmp(arg, "cpu"))
			argp_error(state, "\"%s\": want cpu or cuda", arg);
		return 0;
	case KEY_PROFILE:
		o->profile = arg;
		return 0;
	case KEY_TRACES:
		o->traces = arg;
		return 0;
	case KEY_TIME_SCALE:
		o->time_scale = number(state, arg, 1e-6, 1e6);
		return 0;
	case KEY_BALLAST:
		o->ballast_mb = (int) whole(state, arg, 0, 65536);
		return 0;
	case KEY_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\": no such argument", arg);
		return 0;
	case ARGP_KEY_END:
		check(state, o);
		return 0;
	}
	return parse_config(key, arg, state, &o->config);
}

void train_options_parse(struct train_options *options, int argc, char **argv)
{
	static const struct argp argp = {
		.options = rows,
		.parser = parse,
		.doc = "Train a multi-layer perceptron: alone, under mpirun, "
		       "or elastically under pollux-launch."
		       "\vSee pollux-train(1).",
	};

	*options = (struct train_options){
		.features = 16,
		.hidden = { 32 },
		.hidden_count = 1,
		.momentum = 0.9,
		.time_scale = 1,
	};
	pollux_config_init(&options->config);
	options->config.samples = 8192;
	options->config.epochs = 10;
	options->config.batch = 64;
	options->config.lr = 0.05;
	options->config.seed = 1;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
