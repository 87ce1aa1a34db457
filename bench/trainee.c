/* SPDX-License-Identifier: MIT */
/*
 * trainee.c - trains nothing, at the pace and with the noise of a recording
 *
 * A real program of libpollux: real ranks, gradients that are summed, measured,
 * saved and restored. But a pass lasts as long as pollux-sim says it would,
 * and gradients are a fixed direction plus noise of the recorded strength, so
 * that speed, batch size and progress follow the recorded application.
 * For bench/testbed.
 *
 *   trainee --traces=DIR --app=NAME [--batch=B] [--compress=X] [--describe]
 *
 * --batch: always this total batch; else libpollux chooses. Time passes X
 * times faster. As a host with few cores cannot run that many steps a second,
 * one step stands for several: `coarse` of them, each `coarse` times as long.
 * --describe prints what it would do, as JSON: seconds are emulated ones.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chance.h"
#include "pollux.h"
#include "sim/app.h"

#define WEIGHTS	  2048
#define EPOCHS	  4    /* of ours, for the learning rate's schedule alone */
#define STEPS_MIN 40   /* of ours, to the end */
#define STEP_S	  0.08 /* the least that a pass on one GPU may last here */
#define TURN	  6.283185307179586
#define BATCH_MAX 1000000000

struct trainee {
	const char *traces, *name;
	int fixed_batch; /* 0: libpollux chooses */
	double compress;
	struct plx_app *app;
	struct plx_limits limits;
	double iterations; /* at the base batch, to the end */
	double steps;	   /* at the fixed batch, to the end */
	int coarse;	   /* recorded steps that one of ours stands for */
	struct pollux *pollux;
	float weights[WEIGHTS];
	float gradient[WEIGHTS];
	uint64_t draws;
};

static int complain(const char *sentence)
{
	fprintf(stderr, "trainee: %s\n", sentence);
	return -1;
}

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

/* ---- the recorded application ---- */

static int epoch_at(const struct plx_app *app, double progress)
{
	int epoch = 0;

	while (epoch + 1 < app->limits.epochs &&
	       progress >= plx_app_boundary(app, epoch))
		epoch++;
	return epoch;
}

/* Iterations at the base batch that one of this batch is worth. */
static double gain(const struct trainee *t, int epoch, int batch)
{
	struct plx_noise noise = plx_app_noise(t->app, epoch, batch);
	double scale = (double) batch / t->limits.base_batch;

	if (noise.var + noise.sqr <= 0)
		return 1;
	return (noise.var + noise.sqr) / (noise.var / scale + noise.sqr);
}

static double steps_at(const struct trainee *t, int batch)
{
	double before = 0;
	double steps = 0;

	for (int e = 0; e < t->app->limits.epochs; e++) {
		double end = plx_app_boundary(t->app, e);

		steps += fmax(end - before, 0) / gain(t, e, batch);
		before = fmax(end, before);
	}
	return steps;
}

static int open_app(struct trainee *t)
{
	struct plx_error err;
	const int one = 1;
	double most = 0;
	double pass_s = 0;
	int batch = 0;

	t->app = plx_app_load(t->traces, t->name, &err);
	if (!t->app)
		return complain(err.text);
	t->limits = t->app->limits.batch;
	if (!t->fixed_batch && t->app->limits.fixed_batch)
		t->fixed_batch = t->app->limits.fixed_batch;
	t->iterations = plx_app_boundary(t->app, t->app->limits.epochs - 1);
	if (t->fixed_batch)
		t->steps = steps_at(t, t->fixed_batch);
	batch = t->fixed_batch ? t->fixed_batch : t->limits.base_batch;
	if (batch > t->limits.max_per_gpu)
		batch = t->limits.max_per_gpu;
	pass_s = plx_app_step(t->app, &one, 1, batch).step / t->compress;
	most = (t->fixed_batch ? t->steps : t->iterations) / STEPS_MIN;
	t->coarse = (int) fmax(fmin(ceil(STEP_S / pass_s), most), 1);
	return 0;
}

/* Neighbours as even as can be: which node has more is not told. */
static struct plx_app_times times(const struct trainee *t,
				  const struct pollux_info *i, int per_gpu)
{
	int counts[PLX_APP_NODES_MAX];

	if (i->nodes < 1 || i->nodes > PLX_APP_NODES_MAX)
		return plx_app_between(
			t->app,
			(struct plx_shape){ .nodes =
						    i->nodes > 0 ? i->nodes : 1,
					    .gpus = i->gpus },
			per_gpu);
	for (int n = 0; n < i->nodes; n++)
		counts[n] = i->gpus / i->nodes + (n < i->gpus % i->nodes);
	return plx_app_step(t->app, counts, i->nodes, per_gpu);
}

/* ---- one pass ---- */

static double normal(struct trainee *t, int rank)
{
	uint64_t seed = (uint64_t) rank + 1;
	double u = (chance(seed, t->draws) + 1) / 2;
	double v = chance(seed, t->draws + 1);

	t->draws += 2;
	return sqrt(-2 * log(1 - u)) * cos(TURN / 2 * v);
}

/*
 * The mean over count samples: signal and noise are as recorded at the batch
 * in use, for they change with it as training does; in units of both together,
 * for some recorded signals are 0.
 */
static void learn(struct trainee *t, const struct pollux_info *i, size_t count)
{
	double progress = i->progress * t->coarse;
	int epoch = epoch_at(t->app, progress);
	struct plx_noise noise = plx_app_noise(t->app, epoch, i->batch);
	double all = fmax(noise.sqr + noise.var, 1e-300);
	double signal = sqrt(noise.sqr / all / WEIGHTS);
	double sigma = 0;

	if (count)
		sigma = sqrt(noise.var / all * t->limits.base_batch /
			     (double) count / WEIGHTS);
	for (int w = 0; w < WEIGHTS; w++)
		t->gradient[w] = (float) (signal + sigma * normal(t, i->rank));
}

static int update(struct trainee *t)
{
	double lr = pollux_lr(t->pollux);

	for (int w = 0; w < WEIGHTS && !pollux_skipped(t->pollux); w++)
		t->weights[w] -= (float) (lr * t->gradient[w]);
	return pollux_commit(t->pollux);
}

static int run_pass(struct trainee *t, const struct pollux_pass *pass)
{
	double begin_s = now_s();
	double pace = t->coarse / t->compress;
	struct plx_app_times e;
	struct pollux_info i;
	double pass_s = 0;

	pollux_info(t->pollux, &i);
	e = times(t, &i, pass->count ? (int) pass->count : 1);
	learn(t, &i, pass->count);
	sleep_until(begin_s + (e.step - e.sync) * pace);
	pass_s = now_s() - begin_s;
	if (pollux_reduce(t->pollux, t->gradient, WEIGHTS, 1) < 0)
		return -1;
	if (pass->sync)
		sleep_until(begin_s + pass_s + e.sync * pace);
	pollux_timing(t->pollux, pass_s, now_s() - begin_s - pass_s);
	return pass->sync ? update(t) : 0;
}

/* ---- the whole ---- */

static void configure(const struct trainee *t, struct pollux_config *config)
{
	double steps = t->fixed_batch ? t->steps : t->iterations;
	int batch = t->fixed_batch ? t->fixed_batch : t->limits.base_batch;

	pollux_config_init(config);
	config->epochs = EPOCHS;
	config->samples = (uint64_t) ceil(fmax(steps / t->coarse / EPOCHS, 1)) *
			  (uint64_t) batch;
	config->counting = t->fixed_batch ? POLLUX_DATA : POLLUX_PROGRESS;
	config->batch = batch;
	config->max_batch = t->fixed_batch ? batch : t->limits.max_batch;
	config->min_gpu_batch = t->fixed_batch ? 1 : t->limits.min_per_gpu;
	config->max_gpu_batch = t->limits.max_per_gpu;
	/* Our steps are fewer than the recorded ones by as much. */
	config->noise_window = fmax(config->noise_window / t->coarse, 10);
	config->lr = 1e-6;
	config->quiet = true;
}

static int train(struct trainee *t)
{
	const struct pollux_tensor weights = {
		.name = "weights",
		.data = t->weights,
		.type = POLLUX_F32,
		.dims = 1,
		.shape = { WEIGHTS },
	};
	struct pollux_config config;
	struct pollux_pass pass;
	struct pollux_info info;
	int more = 0;

	configure(t, &config);
	t->pollux = pollux_create(&config);
	if (!t->pollux)
		return complain("out of memory");
	if (pollux_register(t->pollux, &weights) < 0 ||
	    pollux_start(t->pollux) < 0)
		return complain(pollux_error(t->pollux));
	pollux_info(t->pollux, &info);
	t->draws = info.step << 20; /* no noise twice after a restart */
	while ((more = pollux_next(t->pollux, &pass)) > 0) {
		if (run_pass(t, &pass) < 0)
			return complain(pollux_error(t->pollux));
	}
	if (more < 0)
		return complain(pollux_error(t->pollux));
	pollux_info(t->pollux, &info);
	if (info.rank == 0)
		printf("%s after %llu steps, progress %.0f of %.0f\n",
		       pollux_stopped(t->pollux) ? "stopped" : "finished",
		       (unsigned long long) info.step,
		       info.progress * t->coarse, t->iterations);
	return 0;
}

static void describe(const struct trainee *t)
{
	printf("{\"app\":\"%s\",\"coarse\":%d,\"iterations\":%.0f,"
	       "\"batch\":%d,\"steps\":%.0f}\n",
	       t->name, t->coarse, t->iterations,
	       t->fixed_batch ? t->fixed_batch : t->limits.base_batch,
	       t->fixed_batch ? t->steps : t->iterations);
}

static bool number(const char *text, double low, double high, double *value)
{
	char *end = NULL;

	*value = strtod(text, &end);
	return end != text && !*end && *value >= low && *value <= high;
}

/* -1: told what is wrong. */
static int read_options(struct trainee *t, int argc, char **argv, bool *only)
{
	static const struct option options[] = {
		{ "traces", required_argument, NULL, 't' },
		{ "app", required_argument, NULL, 'a' },
		{ "batch", required_argument, NULL, 'b' },
		{ "compress", required_argument, NULL, 'c' },
		{ "describe", no_argument, NULL, 'd' },
		{ NULL, 0, NULL, 0 },
	};
	double value = 0;
	int c = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 't')
			t->traces = optarg;
		else if (c == 'a')
			t->name = optarg;
		else if (c == 'd')
			*only = true;
		else if (c == 'b' && number(optarg, 1, BATCH_MAX, &value))
			t->fixed_batch = (int) value;
		else if (c == 'c' && number(optarg, 0.001, 1e6, &value))
			t->compress = value;
		else
			return complain("wrong option; see its head");
	}
	if (!t->traces || !t->name || optind < argc)
		return complain("want --traces=DIR --app=NAME");
	return 0;
}

int main(int argc, char **argv)
{
	static struct trainee t = { .compress = 1 };
	bool only = false;
	int rc = read_options(&t, argc, argv, &only);

	if (rc == 0)
		rc = open_app(&t);
	if (rc == 0 && only)
		describe(&t);
	else if (rc == 0)
		rc = train(&t);
	pollux_destroy(t.pollux);
	plx_app_destroy(t.app);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
