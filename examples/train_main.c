/* SPDX-License-Identifier: MIT */
/*
 * train_main.c - pollux-train: real training of a small model
 *
 * What a training program does with pollux.h, and nothing else. With
 * --emulate-gpu a pass takes as long as it would elsewhere; see emulate.h.
 * With --device=cuda model and gradient live on a GPU, one bucket a layer.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pollux.h"
#include "train.h"

#define JUDGED_MAX 4096 /* samples that the final loss is taken over */

int train_complain(const char *sentence)
{
	fprintf(stderr, "pollux-train: %s\n", sentence);
	return -1;
}

/* ---- time ---- */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void sleep_until(double then_s)
{
	struct timespec t = { .tv_sec = (time_t) then_s };

	t.tv_nsec = (long) ((then_s - (double) t.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) ==
	       EINTR)
		;
}

static struct emulated pace(const struct train *t, size_t samples)
{
	struct pollux_info info;
	struct emulated e;

	pollux_info(t->pollux, &info);
	e = emulation_times(t->emulation, info.nodes, info.gpus,
			    samples ? (int) samples : 1);
	e.pass_s /= t->options.time_scale;
	e.sync_s /= t->options.time_scale;
	return e;
}

/* ---- the loop ---- */

/* Gradient and mean loss of this rank's samples. */
static double learn(struct train *t, const struct pollux_pass *pass)
{
	float scale = pass->count ? 1.0f / (float) pass->count : 0;
	double loss = 0;

	mlp_begin(&t->mlp);
	for (size_t i = 0; i < pass->count; i++) {
		int label = data_get(&t->data, pass->samples[i], t->input);

		loss += mlp_learn(&t->mlp, t->input, label, scale);
	}
	return loss * (double) scale;
}

static void print_epoch(struct train *t, int epoch)
{
	struct pollux_info i;

	pollux_info(t->pollux, &i);
	if (i.rank == 0)
		printf("epoch %d/%d: loss %.4f, batch %d on %d GPU%s of %d "
		       "node%s, lr %.4g, %.0f samples/s, goodput %.0f%s\n",
		       epoch + 1, t->options.config.epochs,
		       t->epoch[0] / t->epoch[1], i.batch, i.gpus,
		       i.gpus == 1 ? "" : "s", i.nodes, i.nodes == 1 ? "" : "s",
		       i.lr, i.samples_per_s, i.goodput,
		       t->emulation ? " (emulated timing)" : "");
	fflush(stdout);
	t->epoch[0] = 0;
	t->epoch[1] = 0;
}

/* The optimiser step, after all ranks' gradients have been averaged. */
static int update(struct train *t, const struct pollux_pass *pass)
{
	struct pollux_info before;
	struct pollux_info after;
	double samples;

	if (train_step(t) < 0)
		return -1;
	pollux_info(t->pollux, &before);
	if (ballast_step(&t->ballast, before.step) < 0)
		return train_complain(gpu_error());
	if (pollux_commit(t->pollux) < 0)
		return -1;
	pollux_info(t->pollux, &after);
	samples = (double) (after.samples_used - before.samples_used);
	t->epoch[0] += after.loss * samples;
	t->epoch[1] += samples;
	if (after.epoch != pass->epoch)
		print_epoch(t, pass->epoch);
	return 0;
}

static int run_pass(struct train *t, const struct pollux_pass *pass)
{
	double begin_s = now_s();
	struct emulated e = { 0 };
	double pass_s;
	double loss;

	/* As if an allocation had failed. */
	if (t->options.memory && (int) pass->count > t->options.memory)
		return pollux_out_of_memory(t->pollux);
	if (train_on_gpu(t)) {
		if (train_gpu_learn(t, pass) < 0)
			return -1;
		return pass->sync ? update(t, pass) : 0;
	}
	loss = learn(t, pass);
	if (t->emulation) {
		e = pace(t, pass->count);
		sleep_until(begin_s + e.pass_s);
	}
	pass_s = now_s() - begin_s;
	if (pollux_reduce(t->pollux, t->mlp.gradient, t->mlp.n, loss) < 0)
		return -1;
	if (t->emulation) {
		if (pass->sync)
			sleep_until(begin_s + pass_s + e.sync_s);
		pollux_timing(t->pollux, pass_s, now_s() - begin_s - pass_s);
	}
	return pass->sync ? update(t, pass) : 0;
}

static int train(struct train *t)
{
	struct pollux_pass pass;
	int more;

	while ((more = pollux_next(t->pollux, &pass)) > 0) {
		if (run_pass(t, &pass) < 0)
			return -1;
	}
	return more;
}

/* ---- the end ---- */

/* Mean loss and share of right answers over the first samples. */
static void judge(struct train *t, double *loss, double *accuracy)
{
	uint64_t count =
		t->data.samples < JUDGED_MAX ? t->data.samples : JUDGED_MAX;
	uint64_t hits = 0;

	*loss = 0;
	for (uint64_t i = 0; i < count; i++) {
		int label = data_get(&t->data, i, t->input);
		int right = 0;

		*loss += mlp_judge(&t->mlp, t->input, label, &right);
		hits += (uint64_t) right;
	}
	*loss /= (double) count;
	*accuracy = (double) hits / (double) count;
}

/* Told to leave: quickly, others wait for the GPUs. */
static void print_stopped(const struct train *t, const struct pollux_info *i)
{
	printf("stopped after %" PRIu64 " steps, %" PRIu64
	       " samples: loss %.4f, crc %08" PRIx32 "\n",
	       i->step, i->samples_used, i->loss, pollux_crc(t->pollux));
}

/* As %.6g; JSON has no infinity, which is a noise scale without a signal. */
static const char *json_number(double value, char text[32])
{
	snprintf(text, 32, "%.6g", value);
	return isfinite(value) ? text : "null";
}

static void print_json(const struct train *t, const struct pollux_info *i,
		       double loss, double accuracy)
{
	char number[4][32];

	printf("{\"finished\":true,\"epochs\":%d,\"steps\":%" PRIu64
	       ",\"samples_used\":%" PRIu64
	       ",\"loss\":%s,\"accuracy\":%.6f,\"crc\":\"%08" PRIx32
	       "\",\"gpus\":%d,\"nodes\":%d,\"batch\":%d,"
	       "\"samples_per_s\":%s,\"goodput\":%s,"
	       "\"noise_scale\":%s,\"restored\":%s,"
	       "\"emulated_timing\":%s}\n",
	       i->epoch, i->step, i->samples_used, json_number(loss, number[0]),
	       accuracy, pollux_crc(t->pollux), i->gpus, i->nodes, i->batch,
	       json_number(i->samples_per_s, number[1]),
	       json_number(i->goodput, number[2]),
	       json_number(i->noise_scale, number[3]),
	       i->restored ? "true" : "false", t->emulation ? "true" : "false");
}

static void print_finished(struct train *t, const struct pollux_info *i)
{
	uint32_t crc = pollux_crc(t->pollux);
	double loss;
	double accuracy;

	if (train_on_gpu(t) && mlp_cuda_fetch(&t->cuda, &t->mlp) < 0)
		train_complain(gpu_error());
	judge(t, &loss, &accuracy);
	printf("finished after %" PRIu64 " steps, %" PRIu64
	       " samples: loss %.4f, accuracy %.1f %%, crc %08" PRIx32 "\n",
	       i->step, i->samples_used, loss, 100 * accuracy, crc);
	if (t->options.json)
		print_json(t, i, loss, accuracy);
}

static void print_summary(struct train *t)
{
	struct pollux_info i;

	pollux_info(t->pollux, &i);
	if (i.rank != 0)
		return;
	if (pollux_stopped(t->pollux))
		print_stopped(t, &i);
	else
		print_finished(t, &i);
	fflush(stdout);
}

/* ---- the beginning ---- */

static int open_data(struct train *t)
{
	struct train_options *o = &t->options;
	char error[DATA_ERROR_SIZE];

	if (o->images) {
		if (data_idx(&t->data, o->images, o->labels, error) < 0)
			return train_complain(error);
		o->config.samples = t->data.samples;
	} else if (data_teacher(&t->data, o->config.samples, o->features,
				o->config.seed) < 0) {
		return train_complain("out of memory");
	}
	t->input = calloc((size_t) t->data.features, sizeof(float));
	return t->input ? 0 : train_complain("out of memory");
}

static int open_model(struct train *t)
{
	const struct train_options *o = &t->options;
	int sizes[MLP_LAYERS_MAX + 1];
	int layers = o->hidden_count + 1;

	sizes[0] = t->data.features;
	memcpy(sizes + 1, o->hidden, (size_t) o->hidden_count * sizeof(*sizes));
	sizes[layers] = t->data.classes;
	if (mlp_init(&t->mlp, sizes, layers, o->config.seed) < 0)
		return train_complain("out of memory");
	if (o->cuda && mlp_cuda_init(&t->cuda, &t->mlp) < 0)
		return train_complain(gpu_error());
	if (ballast_init(&t->ballast, o->ballast_mb,
			 o->cuda ? &t->cuda : NULL) < 0)
		return train_complain(o->cuda ? gpu_error()
					      : "out of memory for ballast");
	return 0;
}

static int open_emulation(struct train *t)
{
	const struct train_options *o = &t->options;
	char error[EMULATE_ERROR_SIZE];

	if (o->profile)
		t->emulation = emulation_profile(o->profile, error);
	else if (o->traces)
		t->emulation = emulation_traces(o->traces, error);
	else
		return 0;
	return t->emulation ? 0 : train_complain(error);
}

static int register_ballast(struct train *t)
{
	const struct pollux_tensor tensor = {
		.name = "ballast",
		.data = t->ballast.data,
		.type = POLLUX_F32,
		.dims = 1,
		.shape = { t->ballast.n },
		.memory = train_on_gpu(t) ? POLLUX_CUDA : POLLUX_HOST,
	};

	return t->ballast.n ? pollux_register(t->pollux, &tensor) : 0;
}

static int register_array(struct train *t, const char *kind, int layer,
			  const char *part, float *data)
{
	uint64_t in = (uint64_t) t->mlp.sizes[layer];
	uint64_t out = (uint64_t) t->mlp.sizes[layer + 1];
	bool bias = !strcmp(part, "bias");
	char name[POLLUX_NAME_MAX];
	const struct pollux_tensor tensor = {
		.name = name,
		.data = bias ? data + in * out : data,
		.type = POLLUX_F32,
		.dims = bias ? 1 : 2,
		.shape = { out, in },
		.memory = train_on_gpu(t) ? POLLUX_CUDA : POLLUX_HOST,
	};

	snprintf(name, sizeof(name), "%slayer%d.%s", kind, layer, part);
	return pollux_register(t->pollux, &tensor);
}

/* All that the next step depends on. */
static int register_state(struct train *t)
{
	const struct pollux_tensor epoch = {
		.name = "epoch",
		.data = t->epoch,
		.type = POLLUX_F64,
		.dims = 1,
		.shape = { 2 },
	};

	for (int l = 0; l < t->mlp.layers; l++) {
		size_t at = mlp_offset(&t->mlp, l);
		float *w = at +
			   (train_on_gpu(t) ? t->cuda.weights : t->mlp.weights);
		float *m = at + (train_on_gpu(t) ? t->cuda.momentum
						 : t->mlp.momentum);

		if (register_array(t, "", l, "weight", w) < 0 ||
		    register_array(t, "", l, "bias", w) < 0 ||
		    register_array(t, "momentum.", l, "weight", m) < 0 ||
		    register_array(t, "momentum.", l, "bias", m) < 0)
			return -1;
	}
	if (pollux_register(t->pollux, &epoch) < 0)
		return -1;
	return register_ballast(t);
}

static int open_pollux(struct train *t)
{
	struct pollux_info i;

	t->pollux = pollux_create(&t->options.config);
	if (!t->pollux)
		return train_complain("out of memory");
	if (register_state(t) < 0 || train_add_buckets(t) < 0 ||
	    pollux_start(t->pollux) < 0)
		return train_complain(pollux_error(t->pollux));
	pollux_info(t->pollux, &i);
	if (!ballast_right(&t->ballast, i.step))
		return train_complain("the state is not that of its step");
	if (t->emulation && i.rank == 0)
		printf("emulated timing of %s: passes take as long as they "
		       "would there; gradients are real\n",
		       t->options.profile ? t->options.profile
					  : t->options.traces);
	fflush(stdout);
	return 0;
}

static int run(struct train *t)
{
	if (open_data(t) < 0 || open_model(t) < 0 || open_emulation(t) < 0 ||
	    open_pollux(t) < 0)
		return -1;
	if (train(t) < 0)
		return train_complain(pollux_error(t->pollux));
	print_summary(t);
	return 0;
}

int main(int argc, char **argv)
{
	struct train t = { 0 };
	int rc;

	train_options_parse(&t.options, argc, argv);
	rc = run(&t);
	pollux_destroy(t.pollux);
	emulation_destroy(t.emulation);
	ballast_release(&t.ballast);
	mlp_cuda_release(&t.cuda);
	mlp_release(&t.mlp);
	data_release(&t.data);
	free(t.input);
	free(t.labels);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
