/* SPDX-License-Identifier: MIT */
/*
 * agent_cost.c - what libpollux costs a training
 *
 *	bench/agent-cost [--json] [--sparse [--looks | --finite]] [--params=N]
 *			 [--batch=N] [--steps=N]
 *	mpirun -n 2 bench/agent-cost ...
 *
 * The same training, a multi-layer perceptron of N weights and N samples a
 * step and rank, or with --sparse a logistic regression of 32 of N features,
 * which computes next to nothing, is run with the library and as a plain loop,
 * which sums up gradients with MPI if there are several ranks and takes the
 * mean; in turns of some steps each. With the library means all of it: order of
 * samples, noise, learning rate, fits, and hints to a launcher, which a thread
 * plays. With --looks it sees by itself whether the numbers that it has changed
 * are finite, and says so; with --finite it says that they always are.
 *
 * Prints the time of a step of both kinds (of a processor's own time on one
 * rank, of the wall clock on several), by how much they differ in all, in the
 * median turn and in its spread, by how much in processor time of all threads,
 * and what of it is spent in each call.
 */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/pollux.h"
#include "mlp.h"
#include "wire/channel.h"
#include "wire/env.h"

#define LR	 0.01f
#define MOMENTUM 0.9f

enum {
	FEATURES = 64,
	ACTIVE = 32, /* features of a sparse sample */
	CLASSES = 10,
	SAMPLES = 8192,
	TURN = 20,
	TURNS_MAX = 999,
	TIMED = 10 /* one of so many steps; divides TURN */
};

/* Calls whose time is told apart. */
enum call { NEXT, REDUCE, COMMIT, CALLS };

static const char *const call_names[CALLS] = { "next", "reduce", "commit" };

struct options {
	bool json;
	bool sparse;
	bool finite; /* the library is told that gradients are, or ... */
	bool looks;  /* ... in each step whether it is */
	int params;
	int batch; /* samples of a rank and step */
	int steps; /* of each kind */
};

struct bench {
	struct options options;
	struct mlp mlp;
	float *inputs; /* [SAMPLES][FEATURES] */
	uint64_t *order;
	uint64_t at; /* of the plain loop, in order */
	struct pollux *pollux;
	int ranks;
	int rank;
	double with_s[TURNS_MAX]; /* of a turn */
	double without_s[TURNS_MAX];
	double call_s[CALLS];
	double cpu_s[2]; /* of all threads: without, with */
};

/* ---- a launcher ---- */

struct launcher {
	char folder[64];
	char path[96];
	int listener;
	volatile bool done;
	pthread_t thread;
};

static void *play(void *arg)
{
	struct launcher *l = arg;
	struct plx_channel *channel = NULL;
	char line[PLX_LINE_MAX];

	while (!l->done) {
		struct pollfd p = { .fd = channel ? plx_channel_fd(channel)
						  : l->listener,
				    .events = POLLIN };

		poll(&p, 1, 200);
		if (!channel)
			channel = plx_accept(l->listener, NULL);
		while (channel && plx_channel_receive(channel, line, NULL) > 0)
			;
	}
	plx_channel_destroy(channel);
	return NULL;
}

static int open_launcher(struct launcher *l)
{
	struct plx_error err;

	snprintf(l->folder, sizeof(l->folder), "/tmp/agent-cost.XXXXXX");
	if (!mkdtemp(l->folder))
		return -1;
	snprintf(l->path, sizeof(l->path), "%s/socket", l->folder);
	l->listener = plx_listen(l->path, &err);
	if (l->listener < 0)
		return -1;
	setenv(PLX_ENV_SOCKET, l->path, 1);
	setenv(PLX_ENV_CHECKPOINTS, l->folder, 1);
	return pthread_create(&l->thread, NULL, play, l) ? -1 : 0;
}

static void close_launcher(struct launcher *l)
{
	char command[128];

	l->done = true;
	pthread_join(l->thread, NULL);
	close(l->listener);
	snprintf(command, sizeof(command), "rm -rf '%s'", l->folder);
	if (system(command) != 0)
		fprintf(stderr, "agent-cost: %s is left\n", l->folder);
}

/* ---- time ---- */

static double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/*
 * Alone, others on this machine are kept out by counting only this thread's
 * time; several ranks wait for each other, and that is to count.
 */
static double now_s(const struct bench *b)
{
	return clock_s(b->ranks > 1 ? CLOCK_MONOTONIC
				    : CLOCK_THREAD_CPUTIME_ID);
}

/* ---- the training ---- */

/* A weight of a sample; no table of them, for it would be as large. */
static size_t feature(const struct bench *b, uint64_t sample, int i)
{
	uint64_t x = sample * ACTIVE + (uint64_t) i;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	return (x ^ (x >> 27)) * 0x94d049bb133111ebu % b->mlp.n;
}

static double learn_sparse(struct bench *b, const uint64_t *samples,
			   size_t count)
{
	double loss = 0;

	memset(b->mlp.gradient, 0, b->mlp.n * sizeof(*b->mlp.gradient));
	for (size_t s = 0; s < count; s++) {
		float sign = samples[s] % 2 ? 1 : -1;
		float sum = 0;
		float miss;

		for (int i = 0; i < ACTIVE; i++)
			sum += b->mlp.weights[feature(b, samples[s], i)];
		miss = -sign / (1 + expf(sign * sum)) / (float) count;
		for (int i = 0; i < ACTIVE; i++)
			b->mlp.gradient[feature(b, samples[s], i)] += miss;
		loss += log1p(exp((double) (-sign * sum))) / (double) count;
	}
	return loss;
}

/* All others are 0. */
static bool is_finite(struct bench *b, const uint64_t *samples, size_t count)
{
	float sum = 0;

	for (size_t s = 0; s < count; s++) {
		for (int i = 0; i < ACTIVE; i++)
			sum += b->mlp.gradient[feature(b, samples[s], i)] * 0;
	}
	return sum == 0;
}

static double learn(struct bench *b, const uint64_t *samples, size_t count)
{
	float scale = 1.0f / (float) count;
	double loss = 0;

	if (b->options.sparse)
		return learn_sparse(b, samples, count);
	mlp_begin(&b->mlp);
	for (size_t i = 0; i < count; i++) {
		uint64_t s = samples[i];

		loss += mlp_learn(&b->mlp, b->inputs + s * FEATURES,
				  (int) (s % CLASSES), scale);
	}
	return loss * (double) scale;
}

/* Without momentum, which takes as much memory again. */
static void update(struct bench *b, float lr)
{
	if (!b->options.sparse) {
		mlp_step(&b->mlp, lr, MOMENTUM);
		return;
	}
	for (size_t i = 0; i < b->mlp.n; i++)
		b->mlp.weights[i] -= lr * b->mlp.gradient[i];
}

static void plain_step(struct bench *b)
{
	uint64_t batch = (uint64_t) b->options.batch;
	uint64_t all = batch * (uint64_t) b->ranks;
	float share = 1.0f / (float) b->ranks;

	if (b->at + all > SAMPLES)
		b->at = 0;
	learn(b, b->order + b->at + batch * (uint64_t) b->rank, batch);
	b->at += all;
	if (b->ranks > 1) {
		MPI_Allreduce(MPI_IN_PLACE, b->mlp.gradient, (int) b->mlp.n,
			      MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		for (size_t i = 0; i < b->mlp.n; i++)
			b->mlp.gradient[i] *= share;
	}
	update(b, LR);
}

/* To ask for a thread's time costs more than some of the calls: seldom. */
static int library_step(struct bench *b, bool timed)
{
	struct pollux_pass pass;
	double t[2 * CALLS] = { 0 };
	double loss;

	t[0] = timed ? now_s(b) : 0;
	if (pollux_next(b->pollux, &pass) <= 0)
		return -1;
	t[1] = timed ? now_s(b) : 0;
	loss = learn(b, pass.samples, pass.count);
	if (b->options.looks &&
	    pollux_finite(b->pollux, is_finite(b, pass.samples, pass.count)) <
		    0)
		return -1;
	t[2] = timed ? now_s(b) : 0;
	if (pollux_reduce(b->pollux, b->mlp.gradient, b->mlp.n, loss) < 0)
		return -1;
	t[3] = timed ? now_s(b) : 0;
	if (!pollux_skipped(b->pollux))
		update(b, (float) pollux_lr(b->pollux));
	t[4] = timed ? now_s(b) : 0;
	if (pollux_commit(b->pollux) < 0)
		return -1;
	t[5] = timed ? now_s(b) : 0;
	for (int c = 0; c < CALLS; c++)
		b->call_s[c] += TIMED * (t[2 * c + 1] - t[2 * c]);
	return 0;
}

static int turns(const struct bench *b)
{
	return b->options.steps / TURN;
}

/* One of each before what counts: memory is touched, libraries are loaded. */
static int run(struct bench *b)
{
	for (int turn = -1; turn < turns(b); turn++) {
		double cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
		double begin_s = now_s(b);
		double middle_cpu_s;
		double middle_s;

		for (int i = 0; i < TURN; i++)
			plain_step(b);
		middle_s = now_s(b);
		middle_cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
		for (int i = 0; i < TURN; i++) {
			if (library_step(b, i % TIMED == 0) < 0)
				return -1;
		}
		if (turn < 0) {
			memset(b->call_s, 0, sizeof(b->call_s));
			continue;
		}
		b->without_s[turn] = middle_s - begin_s;
		b->with_s[turn] = now_s(b) - middle_s;
		b->cpu_s[0] += middle_cpu_s - cpu_s;
		b->cpu_s[1] += clock_s(CLOCK_PROCESS_CPUTIME_ID) - middle_cpu_s;
	}
	return 0;
}

/* ---- what came of it ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

static double sum(const double *values, int count)
{
	double total = 0;

	for (int i = 0; i < count; i++)
		total += values[i];
	return total;
}

static void print(const struct bench *b)
{
	int count = turns(b);
	double steps = (double) count * TURN;
	double without = sum(b->without_s, count);
	double with = sum(b->with_s, count);
	double ratios[TURNS_MAX];
	const char *form =
		b->options.json
			? "{\"overhead_pct\":%.3f,\"median_pct\":%.3f,"
			  "\"p10_pct\":%.3f,\"p90_pct\":%.3f,"
			  "\"calls_pct\":%.3f,\"cpu_pct\":%.3f,\"step_ms\":%."
			  "4f,"
			  "\"with_ms\":%.4f,\"params\":%zu,\"batch\":%d,"
			  "\"ranks\":%d,\"steps\":%.0f"
			: "overhead %.2f %% in all; of turns: median %.2f, "
			  "p10 %.2f, p90 %.2f %%; in calls %.2f %%; "
			  "processor time %.2f %%\n"
			  "a step %.3f ms without, %.3f ms with: %zu weights, "
			  "%d samples a rank, ranks: %d, steps: %.0f\n";

	for (int i = 0; i < count; i++)
		ratios[i] = 100 * (b->with_s[i] / b->without_s[i] - 1);
	qsort(ratios, (size_t) count, sizeof(*ratios), compare);
	printf(form, 100 * (with / without - 1), ratios[count / 2],
	       ratios[count / 10], ratios[count - 1 - count / 10],
	       100 * sum(b->call_s, CALLS) / with,
	       100 * (b->cpu_s[1] / b->cpu_s[0] - 1), 1e3 * without / steps,
	       1e3 * with / steps, b->mlp.n, b->options.batch, b->ranks, steps);
	for (int c = 0; c < CALLS; c++)
		printf(b->options.json ? ",\"%s_us\":%.2f" : "%s %.2f us  ",
		       call_names[c], 1e6 * b->call_s[c] / steps);
	printf(b->options.json ? "}\n" : "a step\n");
}

/* ---- set-up ---- */

/* Two hidden layers that make about so many weights. */
static int open_model(struct bench *b)
{
	int sizes[] = { FEATURES, 8, 8, CLASSES };
	int row[] = { b->options.params - 1, 1 };

	do {
		sizes[1] += 1 + sizes[1] / 16;
		sizes[2] = sizes[1];
	} while (sizes[1] * (FEATURES + sizes[2] + CLASSES) <
		 b->options.params);
	b->inputs = calloc((size_t) SAMPLES * FEATURES, sizeof(*b->inputs));
	b->order = calloc(SAMPLES, sizeof(*b->order));
	if (!b->inputs || !b->order)
		return -1;
	if (b->options.sparse ? mlp_init(&b->mlp, row, 1, 1) < 0
			      : mlp_init(&b->mlp, sizes, 3, 1) < 0)
		return -1;
	for (size_t i = 0; i < (size_t) SAMPLES * FEATURES; i++)
		b->inputs[i] = (float) ((i * 2654435761u) % 1000) / 1000.0f;
	for (uint64_t i = 0; i < SAMPLES; i++)
		b->order[i] = i * 4099 % SAMPLES;
	return 0;
}

static int open_pollux(struct bench *b)
{
	struct pollux_config config;
	struct pollux_info info;
	const struct pollux_tensor weights = {
		.name = "weights",
		.data = b->mlp.weights,
		.type = POLLUX_F32,
		.dims = 1,
		.shape = { b->mlp.n },
	};

	pollux_config_init(&config);
	config.samples = SAMPLES;
	config.epochs = 1000000;
	config.batch = b->options.batch * b->ranks;
	config.lr = (double) LR;
	config.checkpoint_every_s = 0;
	config.quiet = true;
	config.finite = b->options.finite;
	b->pollux = pollux_create(&config);
	if (!b->pollux)
		return -1;
	if (pollux_register(b->pollux, &weights) < 0 ||
	    pollux_start(b->pollux) < 0) {
		fprintf(stderr, "agent-cost: %s\n", pollux_error(b->pollux));
		return -1;
	}
	pollux_info(b->pollux, &info);
	b->rank = info.rank;
	return 0;
}

static int read_option(struct options *o, const char *text)
{
	static const struct {
		const char *name;
		int min, max;
	} rows[] = {
		{ "--params=", 1000, 100000000 },
		{ "--batch=", 1, 1024 },
		{ "--steps=", 2 * TURN, TURN * (TURNS_MAX - 1) },
	};
	int *const values[] = { &o->params, &o->batch, &o->steps };
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "--json", &o->json },
		{ "--sparse", &o->sparse },
		{ "--finite", &o->finite },
		{ "--looks", &o->looks },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!strcmp(text, flags[i].name)) {
			*flags[i].flag = true;
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t length = strlen(rows[i].name);
		char *end;
		long value;

		if (strncmp(text, rows[i].name, length) != 0)
			continue;
		value = strtol(text + length, &end, 10);
		if (*end || end == text + length || value < rows[i].min ||
		    value > rows[i].max)
			break;
		*values[i] = (int) value;
		return 0;
	}
	fprintf(stderr,
		"agent-cost: \"%s\": want --json, --sparse, --finite, "
		"--looks, --params=1000 to 1e8, --batch=1 to 1024, --steps=%d "
		"and more\n",
		text, 2 * TURN);
	return -1;
}

int main(int argc, char **argv)
{
	static struct bench b = {
		.options = { .params = 200000, .batch = 64, .steps = 1000 },
	};
	const char *ranks = getenv("OMPI_COMM_WORLD_SIZE");
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	struct launcher launcher = { .listener = -1 };
	bool first = !rank || !strcmp(rank, "0");
	int rc = -1;

	for (int i = 1; i < argc; i++) {
		if (read_option(&b.options, argv[i]) < 0)
			return 2;
	}
	if (b.options.looks && !b.options.sparse) {
		fprintf(stderr, "agent-cost: --looks goes with --sparse\n");
		return 2;
	}
	b.ranks = ranks ? atoi(ranks) : 1;
	if (first && open_launcher(&launcher) < 0) {
		perror("agent-cost");
		return 1;
	}
	/* That there is one, all ranks know; rank 0 alone talks to it. */
	if (!first) {
		setenv(PLX_ENV_SOCKET, "rank 0's", 1);
		setenv(PLX_ENV_CHECKPOINTS, "rank 0's", 1);
	}
	if (open_model(&b) == 0 && open_pollux(&b) == 0)
		rc = run(&b);
	if (rc == 0 && b.rank == 0)
		print(&b);
	pollux_destroy(b.pollux);
	mlp_release(&b.mlp);
	free(b.inputs);
	free(b.order);
	if (first)
		close_launcher(&launcher);
	return rc < 0 ? 1 : 0;
}
