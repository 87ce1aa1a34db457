/* SPDX-License-Identifier: MIT */
/* traces.c - an application's folder of recorded runs, read */

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/csv.h"
#include "sim/traces.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define PER_GPU_MAX 16777216
#define EPOCHS_MAX  1000000

static const double sums_range[] = { 0, 1e300 };

/* The published applications: what a user would have told the scheduler. */
static const struct {
	const char *name;
	struct plx_limits batch;
	int epochs;
	int fixed_batch;
} published[] = {
	/* clang-format off */
	{ "bert",	 { 12,    384,  4,    12, true },   2,     0 },
	{ "cifar10",	 { 128,  4096, 32,  1024, true }, 100,     0 },
	{ "deepspeech2", { 20,    640, 10,    80, true },  80,     0 },
	{ "imagenet",	 { 200, 12800, 20,   200, true },  90,     0 },
	{ "ncf",	 { 256, 32768, 32, 32768, true },  10, 32768 },
	{ "yolov3",	 { 8,     512,  4,     8, true },  50,     0 },
	/* clang-format on */
};

static int read_limits(struct plx_csv *csv, struct plx_app_limits *limits,
		       struct plx_error *err)
{
	struct {
		int *to;
		int range[2];
	} const cells[] = {
		{ &limits->batch.base_batch, { 1, PER_GPU_MAX } },
		{ &limits->batch.max_batch, { 1, PER_GPU_MAX } },
		{ &limits->batch.min_per_gpu, { 1, PER_GPU_MAX } },
		{ &limits->batch.max_per_gpu, { 1, PER_GPU_MAX } },
		{ &limits->epochs, { 1, EPOCHS_MAX } },
		{ &limits->fixed_batch, { 0, PER_GPU_MAX } },
	};

	if (csv->row_count != 1)
		return plx_fail(err, "%s: %d rows: want one", csv->name,
				csv->row_count);
	for (int c = 0; c < (int) ARRAY_SIZE(cells); c++) {
		if (plx_csv_whole(csv, 0, c, cells[c].range, cells[c].to, err) <
		    0)
			return -1;
	}
	limits->batch.accumulate = true;
	if (limits->batch.max_batch < limits->batch.base_batch ||
	    limits->batch.max_per_gpu < limits->batch.min_per_gpu ||
	    limits->batch.min_per_gpu > limits->batch.max_batch)
		return plx_csv_fail(csv, 0, err,
				    "the largest batch is below the smallest");
	return 0;
}

static int load_limits(struct plx_app *app, const char *dir,
		       struct plx_error *err)
{
	static const char *const columns[] = {
		"base_batch",
		"max_batch",
		"min_gpu_batch",
		"max_gpu_batch",
		"epochs",
		"fixed_batch",
		NULL,
	};
	struct plx_csv csv = { 0 };
	char path[PATH_MAX];
	int rc;

	if (plx_csv_path(dir, "limits.csv", path, err) < 0)
		return -1;
	if (access(path, F_OK) == 0) {
		if (plx_csv_load(path, columns, &csv, err) < 0)
			return -1;
		rc = read_limits(&csv, &app->limits, err);
		plx_csv_release(&csv);
		return rc;
	}
	for (size_t i = 0; i < ARRAY_SIZE(published); i++) {
		if (strcmp(published[i].name, app->name) == 0) {
			app->limits.batch = published[i].batch;
			app->limits.epochs = published[i].epochs;
			app->limits.fixed_batch = published[i].fixed_batch;
			return 0;
		}
	}
	return plx_fail(err,
			"%s: no such file, and %s is no published "
			"application",
			path, app->name);
}

static int read_epoch(const struct plx_csv *csv, int row,
		      struct plx_app_run *run, struct plx_error *err)
{
	double before = row > 0 ? run->progress[row - 1] : 0;
	struct plx_noise *noise = &run->noise[row];

	if (plx_csv_real(csv, row, 0, sums_range, &run->progress[row], err) <
		    0 ||
	    plx_csv_real(csv, row, 1, sums_range, &run->iterations[row], err) <
		    0 ||
	    plx_csv_real(csv, row, 2, sums_range, &noise->sqr, err) < 0 ||
	    plx_csv_real(csv, row, 3, sums_range, &noise->var, err) < 0)
		return -1;
	if (run->progress[row] <= before)
		return plx_csv_fail(csv, row, err,
				    "progress %g, after %g in the epoch before",
				    run->progress[row], before);
	if (noise->sqr + noise->var <= 0)
		return plx_csv_fail(csv, row, err, "a gradient of nothing");
	return 0;
}

static int load_run(const char *path, int epochs, struct plx_app_run *run,
		    struct plx_error *err)
{
	static const char *const columns[] = { "progress", "iteration",
					       "grad_sqr", "grad_var", NULL };
	struct plx_csv csv = { 0 };
	int rc = -1;

	if (plx_csv_load(path, columns, &csv, err) < 0)
		return -1;
	if (csv.row_count < epochs) {
		plx_fail(err, "%s: %d epochs: want %d", path, csv.row_count,
			 epochs);
		goto done;
	}
	run->progress = calloc((size_t) epochs, sizeof(*run->progress));
	run->iterations = calloc((size_t) epochs, sizeof(*run->iterations));
	run->noise = calloc((size_t) epochs, sizeof(*run->noise));
	if (!run->progress || !run->iterations || !run->noise) {
		plx_fail(err, "%s: no memory for %d epochs", path, epochs);
		goto done;
	}
	for (int i = 0; i < epochs; i++) {
		if (read_epoch(&csv, i, run, err) < 0)
			goto done;
	}
	rc = 0;
done:
	plx_csv_release(&csv);
	return rc;
}

#define RUN_START "validation-"
#define RUN_END	  ".csv"

/* Whether the file is "validation-M.csv", whatever M. */
static bool is_run(const char *file)
{
	size_t size = strlen(file);
	size_t end = strlen(RUN_END);

	return size >= strlen(RUN_START) + end &&
	       strncmp(file, RUN_START, strlen(RUN_START)) == 0 &&
	       strcmp(file + size - end, RUN_END) == 0;
}

/* The batch in "validation-256.csv"; 0: none. */
static int run_batch(const char *file)
{
	const char *text = file + strlen(RUN_START);
	char *end;
	long batch;

	if (text[0] < '1' || text[0] > '9')
		return 0;
	batch = strtol(text, &end, 10);
	return strcmp(end, RUN_END) == 0 && batch <= PER_GPU_MAX ? (int) batch
								 : 0;
}

static int add_run(struct plx_app *app, const char *dir, const char *file,
		   struct plx_error *err)
{
	int batch = run_batch(file);
	char path[PATH_MAX];
	struct plx_app_run *runs;

	if (plx_csv_path(dir, file, path, err) < 0)
		return -1;
	if (!batch)
		return plx_fail(err,
				"%s: want " RUN_START "M" RUN_END
				", M a whole number from 1 to %d",
				path, PER_GPU_MAX);
	runs = realloc(app->runs,
		       (size_t) (app->run_count + 1) * sizeof(*runs));
	if (!runs)
		return plx_fail(err, "%s: no memory", path);
	app->runs = runs;
	runs[app->run_count] = (struct plx_app_run){ .batch = batch };
	return load_run(path, app->limits.epochs, &runs[app->run_count++], err);
}

static int by_batch(const void *a, const void *b)
{
	const struct plx_app_run *x = a;
	const struct plx_app_run *y = b;

	return x->batch - y->batch;
}

/* Progress is counted in its samples. */
static int check_base(const struct plx_app *app, const char *dir,
		      struct plx_error *err)
{
	int base = app->limits.batch.base_batch;

	for (int i = 0; i < app->run_count; i++) {
		if (app->runs[i].batch == base)
			return 0;
	}
	return plx_fail(err,
			"%s: no " RUN_START "%d" RUN_END
			", the run at the base batch",
			dir, base);
}

static int load_runs(struct plx_app *app, const char *dir,
		     struct plx_error *err)
{
	DIR *folder = opendir(dir);
	struct dirent *entry;
	int rc = 0;

	if (!folder)
		return plx_fail(err, "%s: %s", dir, strerror(errno));
	while (rc == 0 && (entry = readdir(folder))) {
		if (is_run(entry->d_name))
			rc = add_run(app, dir, entry->d_name, err);
	}
	closedir(folder);
	if (rc < 0)
		return -1;
	if (app->run_count > 0)
		qsort(app->runs, (size_t) app->run_count, sizeof(*app->runs),
		      by_batch);
	return check_base(app, dir, err);
}

/* One GPU at the base batch: what other configurations are measured by. */
static double unit_rate(const struct plx_app *app)
{
	const struct plx_limits *limits = &app->limits.batch;
	const int one = 1;
	int passes = (limits->base_batch - 1) / limits->max_per_gpu + 1;
	struct plx_app_times t = plx_app_step(
		app, &one, 1, (limits->base_batch - 1) / passes + 1);

	return 1 / (t.step + (passes - 1) * (t.step - t.sync));
}

struct plx_app *plx_app_load(const char *dir, const char *name,
			     struct plx_error *err)
{
	struct plx_app *app = calloc(1, sizeof(*app));
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	if (!app || !(app->name = strdup(name))) {
		plx_fail(err, "no memory for application %s", name);
		goto fail;
	}
	if (n < 0 || n >= (int) sizeof(path)) {
		plx_fail(err, "%s/%s: too long a path", dir, name);
		goto fail;
	}
	if (load_limits(app, path, err) < 0 ||
	    plx_trace_restart(app, path, err) < 0 ||
	    plx_trace_curves(app, path, err) < 0 ||
	    load_runs(app, path, err) < 0)
		goto fail;
	app->unit_rate = unit_rate(app);
	return app;
fail:
	plx_app_destroy(app);
	return NULL;
}

void plx_app_destroy(struct plx_app *app)
{
	if (!app)
		return;
	for (int i = 0; i < app->run_count; i++) {
		free(app->runs[i].progress);
		free(app->runs[i].iterations);
		free(app->runs[i].noise);
	}
	free(app->runs);
	plx_app_curves_release(&app->placements);
	plx_app_curves_release(&app->shapes);
	plx_app_curves_release(&app->interpolated);
	free(app->name);
	free(app);
}
