/* SPDX-License-Identifier: MIT */
/*
 * fit.c - what a model costs: fitting one, and asking it
 *
 *	bench/fit [--json] [FILE]
 *
 * Prints the microseconds of a fit, cold and warm, by rows, and of the best
 * batch on a shape of up to 512 GPUs. Jobs are random, five per cent of noise
 *on their times, one row more at a time as the simulator measures. With FILE,
 *fit_perf_params_osdi.json of recorded fits, also our loss over the best known.
 */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/model/fit.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NOISE	      0.05

enum { JOBS = 200, ROWS_MAX = 128, GPUS = 512 };

/* Of many measurements, microseconds or a ratio. */
struct figures {
	size_t count;
	double min, p50, p99, max;
};

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static double uniform(uint64_t *state, double low, double high)
{
	return low + (high - low) * (double) (draw(state) >> 11) / 0x1p53;
}

static double spread(uint64_t *state, double low, double high)
{
	return exp(uniform(state, log(low), log(high)));
}

static struct plx_goodput random_job(uint64_t *state)
{
	return (struct plx_goodput){
		.model = {
			.alpha_c = spread(state, 1e-3, 1),
			.beta_c = spread(state, 1e-5, 1e-1),
			.alpha_n = spread(state, 1e-3, 1),
			.beta_n = spread(state, 1e-5, 1e-2),
			.alpha_r = spread(state, 1e-3, 1),
			.beta_r = spread(state, 1e-5, 1e-2),
			.gamma = uniform(state, 1, 10),
		},
		.noise = { 1, spread(state, 1, 1000) },
		.limits = { 128, 128 << (draw(state) % 8), 1,
			    (int) spread(state, 64, 1024), true },
	};
}

static struct plx_sample random_row(uint64_t *state,
				    const struct plx_model *model)
{
	int gpus = 1 << (draw(state) % 6);
	int nodes = 1 + (gpus - 1) / 4;
	struct plx_sample row = {
		.shape = { nodes, gpus },
		.per_gpu = (int) spread(state, 16, 512),
	};

	if (gpus > 1 && draw(state) % 4 == 0)
		row.shape.nodes = gpus < 2 * nodes ? gpus : 2 * nodes;
	row.pass_seconds = plx_grad_seconds(model, row.per_gpu) *
			   uniform(state, 1 - NOISE, 1 + NOISE);
	row.iter_seconds = plx_iter_seconds(model, row.shape, row.per_gpu) *
			   uniform(state, 1 - NOISE, 1 + NOISE);
	return row;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return 1e6 * (double) t.tv_sec + 1e-3 * (double) t.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
	const double *a = left;
	const double *b = right;

	return (*a > *b) - (*a < *b);
}

static struct figures summarise(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return (struct figures){
		.count = count,
		.min = values[0],
		.p50 = values[count / 2],
		.p99 = values[count * 99 / 100],
		.max = values[count - 1],
	};
}

/* A job of so many rows and one after another: the last is timed. */
static int time_fits(size_t count, enum plx_growth growth, struct figures *cold,
		     struct figures *warm)
{
	static double cold_us[JOBS];
	static double warm_us[JOBS];
	struct plx_sample rows[ROWS_MAX];
	struct plx_error err;
	uint64_t state = count;

	for (size_t i = 0; i < JOBS; i++) {
		struct plx_goodput job = random_job(&state);
		const struct plx_model nothing = { .growth = growth };
		struct plx_model model;
		double begin;

		job.model.growth = growth;
		for (size_t k = 0; k < count; k++)
			rows[k] = random_row(&state, &job.model);
		if (plx_fit_from(&nothing, rows, count - 1, &model, &err) < 0)
			goto failed;
		begin = now_us();
		if (plx_fit_from(&model, rows, count, &model, &err) < 0)
			goto failed;
		warm_us[i] = now_us() - begin;
		begin = now_us();
		if (plx_fit_from(&nothing, rows, count, &model, &err) < 0)
			goto failed;
		cold_us[i] = now_us() - begin;
	}
	*cold = summarise(cold_us, JOBS);
	*warm = summarise(warm_us, JOBS);
	return 0;
failed:
	fprintf(stderr, "fit: %s\n", err.text);
	return -1;
}

/* The best batch, a mean over all shapes. */
static void time_batches(struct figures *batch)
{
	static double batch_us[JOBS];
	uint64_t state = 7;

	for (size_t i = 0; i < JOBS; i++) {
		struct plx_goodput job = random_job(&state);
		double begin;
		double goodput;
		int chosen = 0;

		job.model.growth = PLX_BY_DOUBLING;
		job.model.two_nodes = 0.5; /* no two classes of nodes alike */
		begin = now_us();
		for (int k = 0; k < 3 * GPUS; k++) {
			struct plx_shape shape = { .nodes = k % 3 + 1,
						   .gpus = k / 3 + 1 };

			chosen += shape.gpus >= shape.nodes &&
				  plx_batch_best(&job, shape, NULL, &goodput);
		}
		batch_us[i] = (now_us() - begin) / chosen;
	}
	*batch = summarise(batch_us, JOBS);
}

static double number_at(const json_t *c, const char *key, size_t i)
{
	return json_number_value(json_array_get(json_object_get(c, key), i));
}

/* What is held is given back before the loss, as in the recorded ones. */
static void undo_prior(const json_t *c, struct plx_model *model)
{
	size_t i;
	json_t *held;

	json_array_foreach(json_object_get(c, "fixed"), i, held)
	{
		const char *part = json_string_value(held);

		if (part && !strcmp(part, "alpha_n"))
			model->alpha_n = 1e-8;
		if (part && !strcmp(part, "beta_n"))
			model->beta_n = 1e-8;
	}
}

/* Our loss over the best known; NAN for a case of another kind. */
static double loss_ratio(const json_t *c)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = json_array_size(json_object_get(c, "num_nodes"));
	double best = json_number_value(
		json_object_get(json_object_get(c, "best_known"), "loss"));
	struct plx_model model;

	if (count > ROWS_MAX || !(best > 0))
		return NAN;
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct plx_sample){
			.shape = { (int) number_at(c, "num_nodes", i),
				   (int) number_at(c, "num_replicas", i) },
			.per_gpu = (int) number_at(c, "atomic_bsz", i),
			.pass_seconds = number_at(c, "accum_step_time", i),
			.iter_seconds = number_at(c, "optim_step_time", i),
		};
	if (plx_fit(rows, count, &model, NULL) < 0)
		return NAN;
	undo_prior(c, &model);
	return plx_fit_loss(&model, rows, count) / best;
}

static int judge_recorded(const char *file, struct figures *ratio)
{
	json_error_t error;
	json_t *root = json_load_file(file, 0, &error);
	json_t *cases = json_object_get(root, "cases");
	size_t room = json_array_size(cases);
	double *ratios = calloc(room ? room : 1, sizeof(*ratios));
	size_t count = 0;
	int rc = -1;

	for (size_t i = 0; i < room && ratios; i++) {
		ratios[count] = loss_ratio(json_array_get(cases, i));
		if (isfinite(ratios[count]))
			count++;
	}
	if (count > 0) {
		*ratio = summarise(ratios, count);
		rc = 0;
	} else {
		fprintf(stderr, "fit: %s:%d: %s\n", file, root ? 1 : error.line,
			root ? "no recorded fits" : error.text);
	}
	free(ratios);
	json_decref(root);
	return rc;
}

static void print_line(bool json, const char *what, const struct figures *f)
{
	if (json)
		printf(",\"%s\":{\"count\":%zu,\"min\":%.6f,\"p50\":%.6f,"
		       "\"p99\":%.6f,\"max\":%.6f}",
		       what, f->count, f->min, f->p50, f->p99, f->max);
	else
		printf("%-22s %6zu %10.3f %10.3f %10.3f %10.3f\n", what,
		       f->count, f->min, f->p50, f->p99, f->max);
}

static int print_all(bool json, const char *file)
{
	static const size_t sizes[] = { 5, 41, 101 };
	struct figures a;
	struct figures b;
	char name[32];

	if (json)
		printf("{\"jobs\":%d", JOBS);
	else
		printf("%-22s %6s %10s %10s %10s %10s\n", "microseconds",
		       "count", "min", "p50", "p99", "max");
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		size_t rows = sizes[i % ARRAY_SIZE(sizes)];
		enum plx_growth growth =
			i < ARRAY_SIZE(sizes) ? PLX_BY_GPU : PLX_BY_DOUBLING;
		const char *kind = growth == PLX_BY_GPU ? "paper" : "ours";

		if (time_fits(rows, growth, &a, &b) < 0)
			return -1;
		snprintf(name, sizeof(name), "%s_%zu_rows_cold_us", kind, rows);
		print_line(json, name, &a);
		snprintf(name, sizeof(name), "%s_%zu_rows_warm_us", kind, rows);
		print_line(json, name, &b);
	}
	time_batches(&a);
	print_line(json, "best_batch_us", &a);
	if (file && judge_recorded(file, &a) < 0)
		return -1;
	if (file)
		print_line(json, "loss_over_best_known", &a);
	if (json)
		printf("}\n");
	return 0;
}

int main(int argc, char **argv)
{
	bool json = false;
	const char *file = NULL;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			json = true;
		} else if (argv[i][0] != '-' && !file) {
			file = argv[i];
		} else {
			fprintf(stderr, "usage: fit [--json] [FILE]\n");
			return 2;
		}
	}
	return print_all(json, file) < 0 ? 2 : 0;
}
