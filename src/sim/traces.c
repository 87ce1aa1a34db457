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

#include "sim/app.h"
#include "sim/csv.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define PER_GPU_MAX 16777216
#define EPOCHS_MAX  1000000

static const double seconds_range[] = { 0, 1e6 };
static const double sums_range[] = { 0, 1e300 };
static const int per_gpu_range[] = { 1, PER_GPU_MAX };

/* The published applications: what a user would have told the scheduler. */
static const struct {
	const char *name;
	struct plx_app_limits limits;
} published[] = {
	/* clang-format off */
	{ "bert",	 { { 12,    384,  4,    12, true },   2,     0 } },
	{ "cifar10",	 { { 128,  4096, 32,  1024, true }, 100,     0 } },
	{ "deepspeech2", { { 20,    640, 10,    80, true },  80,     0 } },
	{ "imagenet",	 { { 200, 12800, 20,   200, true },  90,     0 } },
	{ "ncf",	 { { 256, 32768, 32, 32768, true },  10, 32768 } },
	{ "yolov3",	 { { 8,     512,  4,     8, true },  50,     0 } },
	/* clang-format on */
};

/* Where an application is being read from. */
struct source {
	struct plx_app *app;
	const char *dir; /* of the application */
};

static int source_path(const struct source *source, const char *file,
		       char path[PATH_MAX], struct plx_error *err)
{
	int n = snprintf(path, PATH_MAX, "%s/%s", source->dir, file);

	if (n < 0 || n >= PATH_MAX)
		return plx_fail(err, "%s/%s: too long a path", source->dir,
				file);
	return 0;
}

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

static int load_limits(const struct source *source, struct plx_error *err)
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
	struct plx_app *app = source->app;
	struct plx_csv csv = { 0 };
	char path[PATH_MAX];
	int rc;

	if (source_path(source, "limits.csv", path, err) < 0)
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
			app->limits = published[i].limits;
			return 0;
		}
	}
	return plx_fail(err,
			"%s: no such file, and %s is no published "
			"application",
			path, app->name);
}

/* A point of a curve, before curves are made of them. */
struct record {
	char key[PLX_APP_NODES_MAX + 1];
	struct plx_shape shape;
	struct plx_app_point point;
	int line;
};

static int by_curve(const void *a, const void *b)
{
	const struct record *x = a;
	const struct record *y = b;
	int order = strcmp(x->key, y->key);

	if (order)
		return order;
	if (x->shape.nodes != y->shape.nodes)
		return x->shape.nodes - y->shape.nodes;
	if (x->shape.gpus != y->shape.gpus)
		return x->shape.gpus - y->shape.gpus;
	if (x->point.per_gpu != y->point.per_gpu)
		return x->point.per_gpu - y->point.per_gpu;
	return x->line - y->line;
}

static bool same_curve(const struct record *a, const struct record *b)
{
	return strcmp(a->key, b->key) == 0 &&
	       a->shape.nodes == b->shape.nodes &&
	       a->shape.gpus == b->shape.gpus;
}

/* Several records of the same point become their mean. Returns the points. */
static int merge(const struct record *records, int count,
		 struct plx_app_point *points)
{
	int made = 0;

	for (int i = 0, n; i < count; i += n) {
		struct plx_app_point mean = records[i].point;

		for (n = 1; i + n < count &&
			    records[i + n].point.per_gpu == mean.per_gpu;
		     n++) {
			mean.times.step += records[i + n].point.times.step;
			mean.times.sync += records[i + n].point.times.sync;
		}
		mean.times.step /= n;
		mean.times.sync /= n;
		points[made++] = mean;
	}
	return made;
}

/* Sorts the records. */
static int make_curves(struct record *records, int count,
		       struct plx_app_curves *curves, struct plx_error *err)
{
	qsort(records, (size_t) count, sizeof(*records), by_curve);
	curves->curves = calloc((size_t) count + 1, sizeof(*curves->curves));
	for (int i = 0, n; curves->curves && i < count; i += n) {
		struct plx_app_curve *curve = &curves->curves[curves->count];

		for (n = 1;
		     i + n < count && same_curve(&records[i], &records[i + n]);
		     n++)
			;
		memcpy(curve->key, records[i].key, sizeof(curve->key));
		curve->shape = records[i].shape;
		curve->points = calloc((size_t) n, sizeof(*curve->points));
		if (!curve->points)
			goto fail;
		curve->count = merge(&records[i], n, curve->points);
		curves->count++;
	}
	if (curves->curves)
		return 0;
fail:
	return plx_fail(err, "no memory for %d recorded points", count);
}

static int read_point(const struct plx_csv *csv, int row, int first,
		      struct record *record, struct plx_error *err)
{
	struct plx_app_point *point = &record->point;

	if (plx_csv_whole(csv, row, first, per_gpu_range, &point->per_gpu,
			  err) < 0 ||
	    plx_csv_real(csv, row, first + 1, seconds_range, &point->times.step,
			 err) < 0 ||
	    plx_csv_real(csv, row, first + 2, seconds_range, &point->times.sync,
			 err) < 0)
		return -1;
	if (point->times.step <= 0 || point->times.sync > point->times.step)
		return plx_csv_fail(csv, row, err,
				    "step %g s with sync %g s: want more than "
				    "nothing, and sync as a part of it",
				    point->times.step, point->times.sync);
	record->line = csv->lines[row];
	return 0;
}

static int read_placement(const struct plx_csv *csv, int row,
			  struct record *record, struct plx_error *err)
{
	const char *text = plx_csv_text(csv, row, 0);
	size_t nodes = strlen(text);

	if (nodes > PLX_APP_NODES_MAX || strspn(text, "123456789") != nodes)
		return plx_csv_fail(csv, row, err,
				    "placement \"%.20s\": want a digit from 1 "
				    "to 9 for each of up to %d nodes",
				    text, PLX_APP_NODES_MAX);
	memcpy(record->key, text, nodes + 1);
	record->shape.nodes = (int) nodes;
	for (size_t i = 0; i < nodes; i++)
		record->shape.gpus += text[i] - '0';
	return read_point(csv, row, 1, record, err);
}

static int read_shape(const struct plx_csv *csv, int row, struct record *record,
		      struct plx_error *err)
{
	static const int range[] = { 1, 65536 };

	if (plx_csv_whole(csv, row, 0, range, &record->shape.nodes, err) < 0 ||
	    plx_csv_whole(csv, row, 1, range, &record->shape.gpus, err) < 0)
		return -1;
	if (record->shape.gpus < record->shape.nodes)
		return plx_csv_fail(csv, row, err, "%d GPUs on %d nodes",
				    record->shape.gpus, record->shape.nodes);
	return read_point(csv, row, 2, record, err);
}

static int make_app_curves(struct plx_app *app, const struct plx_csv *exact,
			   const struct plx_csv *shapes, struct plx_error *err)
{
	int count = exact->row_count + shapes->row_count;
	struct record *records = calloc((size_t) count + 1, sizeof(*records));
	int rc = -1;

	if (!records)
		return plx_fail(err, "%s: no memory for %d records", app->name,
				count);
	for (int i = 0; i < exact->row_count; i++) {
		if (read_placement(exact, i, &records[i], err) < 0)
			goto done;
	}
	if (make_curves(records, exact->row_count, &app->placements, err) < 0)
		goto done;
	for (int i = 0; i < exact->row_count; i++)
		records[i].key[0] = '\0';
	for (int i = 0; i < shapes->row_count; i++) {
		if (read_shape(shapes, i, &records[exact->row_count + i], err) <
		    0)
			goto done;
	}
	rc = make_curves(records, count, &app->shapes, err);
done:
	free(records);
	return rc;
}

static int load_curves(const struct source *source, struct plx_error *err)
{
	static const char *const exact_columns[] = { "placement", "local_bsz",
						     "step_time", "sync_time",
						     NULL };
	static const char *const shape_columns[] = {
		"num_nodes", "num_replicas", "local_bsz",
		"step_time", "sync_time",    NULL
	};
	struct plx_csv exact = { 0 };
	struct plx_csv shapes = { 0 };
	char path[PATH_MAX];
	int rc = -1;

	if (source_path(source, "placements.csv", path, err) < 0 ||
	    plx_csv_load(path, exact_columns, &exact, err) < 0)
		goto done;
	if (exact.row_count == 0) {
		plx_fail(err, "%s:1: nothing but the header", path);
		goto done;
	}
	if (source_path(source, "scalability.csv", path, err) < 0)
		goto done;
	if (access(path, F_OK) == 0 &&
	    plx_csv_load(path, shape_columns, &shapes, err) < 0)
		goto done;
	rc = make_app_curves(source->app, &exact, &shapes, err);
done:
	plx_csv_release(&exact);
	plx_csv_release(&shapes);
	return rc;
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

/* The batch in "validation-256.csv"; 0: another file. */
static int run_batch(const char *file)
{
	int batch = 0;
	int end = 0;

	if (sscanf(file, "validation-%8d.csv%n", &batch, &end) == 1 &&
	    end > 0 && !file[end] && batch > 0)
		return batch;
	return 0;
}

static int add_run(const struct source *source, const char *file,
		   struct plx_error *err)
{
	struct plx_app *app = source->app;
	char path[PATH_MAX];
	struct plx_app_run *runs;

	if (source_path(source, file, path, err) < 0)
		return -1;
	runs = realloc(app->runs,
		       (size_t) (app->run_count + 1) * sizeof(*runs));
	if (!runs)
		return plx_fail(err, "%s: no memory", path);
	app->runs = runs;
	runs[app->run_count] = (struct plx_app_run){ .batch = run_batch(file) };
	return load_run(path, app->limits.epochs, &runs[app->run_count++], err);
}

static int by_batch(const void *a, const void *b)
{
	const struct plx_app_run *x = a;
	const struct plx_app_run *y = b;

	return x->batch - y->batch;
}

static int load_runs(const struct source *source, struct plx_error *err)
{
	struct plx_app *app = source->app;
	DIR *dir = opendir(source->dir);
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return plx_fail(err, "%s: %s", source->dir, strerror(errno));
	while (rc == 0 && (entry = readdir(dir))) {
		if (run_batch(entry->d_name))
			rc = add_run(source, entry->d_name, err);
	}
	closedir(dir);
	if (rc < 0)
		return -1;
	if (app->run_count == 0)
		return plx_fail(err, "%s: no validation-M.csv", source->dir);
	qsort(app->runs, (size_t) app->run_count, sizeof(*app->runs), by_batch);
	return 0;
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
	struct source source = { .app = app, .dir = path };
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	if (!app || !(app->name = strdup(name))) {
		plx_fail(err, "no memory for application %s", name);
		goto fail;
	}
	if (n < 0 || n >= (int) sizeof(path)) {
		plx_fail(err, "%s/%s: too long a path", dir, name);
		goto fail;
	}
	if (load_limits(&source, err) < 0 || load_curves(&source, err) < 0 ||
	    load_runs(&source, err) < 0)
		goto fail;
	app->unit_rate = unit_rate(app);
	return app;
fail:
	plx_app_destroy(app);
	return NULL;
}

static void curves_release(struct plx_app_curves *curves)
{
	for (int i = 0; i < curves->count; i++)
		free(curves->curves[i].points);
	free(curves->curves);
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
	curves_release(&app->placements);
	curves_release(&app->shapes);
	free(app->name);
	free(app);
}
