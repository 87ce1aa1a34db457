/* SPDX-License-Identifier: MIT */
/*
 * gpu.c - what libpollux costs a training on a GPU
 *
 *	bench/gpu [--json] [--hidden=N] [--batch=N] [--turns=N]
 *		  [--collectives=self|nccl]
 *
 * The same steps of a perceptron with two hidden layers of N units, with the
 * library and as a plain loop, in turns of some steps each: all of a step's
 * time by the wall clock, the GPU's included. Median microseconds a step of
 * both kinds, and by how much they differ in the median turn, per cent.
 * Exit code 77 where there is no GPU.
 *
 * Never yet run on a GPU, but with what stands in for one in the tests.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chance.h"
#include "mlp_cuda.h"
#include "pollux.h"

enum { FEATURES = 256, CLASSES = 10, STEPS = 20, LAYERS = 3, TURNS_MAX = 999 };

#define LR	 0.01f
#define MOMENTUM 0.9f

struct bench {
	struct mlp mlp;
	struct mlp_cuda cuda;
	struct pollux *pollux;
	float *inputs;
	int *labels;
	int batch;
	int hidden;
	int turns;
	const char *collectives;
	bool json;
};

static void die(const char *sentence)
{
	fprintf(stderr, "gpu: %s\n", sentence);
	exit(EXIT_FAILURE);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double) t.tv_sec + 1e-3 * (double) t.tv_nsec;
}

/* ---- a step of either kind ---- */

static void need(int rc, const char *why)
{
	if (rc < 0)
		die(why);
}

static void step(struct bench *b, bool with)
{
	struct pollux *p = b->pollux;
	size_t count = (size_t) b->batch;
	struct pollux_pass pass;
	double loss;

	if (with && pollux_next(p, &pass) <= 0)
		die(pollux_error(p));
	need(mlp_cuda_forward(&b->cuda, b->inputs, b->labels, count),
	     gpu_error());
	for (int l = LAYERS - 1; l >= 0; l--) {
		float *gradient = b->cuda.gradient + mlp_offset(&b->mlp, l);

		need(mlp_cuda_backward(&b->cuda, l, count), gpu_error());
		if (with && pollux_gradient(p, l, gradient) < 0)
			die(pollux_error(p));
	}
	need(mlp_cuda_loss(&b->cuda, count, &loss), gpu_error());
	if (with && pollux_sync(p, loss) < 0)
		die(pollux_error(p));
	need(mlp_cuda_step(&b->cuda, LR, MOMENTUM), gpu_error());
	if (with && pollux_commit(p) < 0)
		die(pollux_error(p));
}

/* Microseconds a step. */
static double turn(struct bench *b, bool with)
{
	double begin_us = now_us();
	float last;

	for (int i = 0; i < STEPS; i++)
		step(b, with);
	/* The last optimiser step belongs to it as well. */
	need(gpu_read(b->cuda.gpu, &last, b->cuda.weights, sizeof(last)),
	     gpu_error());
	return (now_us() - begin_us) / STEPS;
}

/* ---- the beginning ---- */

static void open_model(struct bench *b)
{
	const int sizes[LAYERS + 1] = { FEATURES, b->hidden, b->hidden,
					CLASSES };
	size_t count = (size_t) b->batch;

	b->inputs = calloc(count * FEATURES, sizeof(*b->inputs));
	b->labels = calloc(count, sizeof(*b->labels));
	if (!b->inputs || !b->labels || mlp_init(&b->mlp, sizes, LAYERS, 1) < 0)
		die("out of memory");
	for (size_t i = 0; i < count * FEATURES; i++)
		b->inputs[i] = (float) chance(2, i);
	for (size_t i = 0; i < count; i++)
		b->labels[i] = (int) (chance_bits(3, i) % CLASSES);
	if (mlp_cuda_init(&b->cuda, &b->mlp) < 0) {
		printf("no GPU here: %s\n", gpu_error());
		exit(77);
	}
}

static void open_pollux(struct bench *b)
{
	struct pollux_config config;

	pollux_config_init(&config);
	config.samples = 1u << 30;
	config.batch = b->batch;
	config.collectives = b->collectives;
	config.lr = (double) LR;
	config.quiet = true;
	b->pollux = pollux_create(&config);
	if (!b->pollux)
		die("out of memory");
	for (int l = 0; l < LAYERS; l++) {
		const struct pollux_bucket bucket = {
			.count = mlp_offset(&b->mlp, l + 1) -
				 mlp_offset(&b->mlp, l),
			.memory = POLLUX_CUDA,
		};

		if (pollux_bucket(b->pollux, &bucket) < 0)
			die(pollux_error(b->pollux));
	}
	if (pollux_start(b->pollux) < 0)
		die(pollux_error(b->pollux));
}

static void read_options(struct bench *b, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = strchr(argv[i], '=');

		if (!strcmp(argv[i], "--json"))
			b->json = true;
		else if (value && !strncmp(argv[i], "--hidden=", 9))
			b->hidden = atoi(value + 1);
		else if (value && !strncmp(argv[i], "--batch=", 8))
			b->batch = atoi(value + 1);
		else if (value && !strncmp(argv[i], "--turns=", 8))
			b->turns = atoi(value + 1);
		else if (value && !strncmp(argv[i], "--collectives=", 14))
			b->collectives = value + 1;
		else
			die("see the head of bench/gpu.c for its options");
	}
	if (b->hidden < 1 || b->batch < 1 || b->turns < 1 ||
	    b->turns > TURNS_MAX)
		die("--hidden, --batch and --turns (to 999) want 1 or more");
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t) count, sizeof(*values), compare);
	return values[count / 2];
}

int main(int argc, char **argv)
{
	static double plain[TURNS_MAX];
	static double with[TURNS_MAX];
	static double more[TURNS_MAX]; /* per cent */
	struct bench b = {
		.batch = 256,
		.hidden = 1024,
		.turns = 101,
		.collectives = "self",
	};

	read_options(&b, argc, argv);
	open_model(&b);
	open_pollux(&b);
	(void) turn(&b, false);
	(void) turn(&b, true);
	for (int i = 0; i < b.turns; i++) {
		/* Who goes first changes, too. */
		if (i % 2)
			plain[i] = turn(&b, false);
		with[i] = turn(&b, true);
		if (i % 2 == 0)
			plain[i] = turn(&b, false);
		more[i] = 100 * (with[i] / plain[i] - 1);
	}
	printf(b.json ? "{\"overhead_pct\":%.3f,\"plain_us\":%.1f,"
			"\"pollux_us\":%.1f,\"params\":%zu,\"batch\":%d,"
			"\"collectives\":\"%s\"}\n"
		      : "overhead %.3f %%: a step takes %.1f us by itself and "
			"%.1f us with libpollux (%zu weights, %d samples, "
			"over %s)\n",
	       median(more, b.turns), median(plain, b.turns),
	       median(with, b.turns), b.mlp.n, b.batch, b.collectives);
	pollux_destroy(b.pollux);
	mlp_cuda_release(&b.cuda);
	mlp_release(&b.mlp);
	free(b.inputs);
	free(b.labels);
	return EXIT_SUCCESS;
}
