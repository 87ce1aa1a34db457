/* SPDX-License-Identifier: MIT */
/* traces_curves.c - recorded times of placements and shapes, read */

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/csv.h"
#include "sim/traces.h"

static const double seconds_range[] = { 0, 1e6 };
static const int per_gpu_range[] = { 1, 16777216 };

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
	if (point->times.step <= 0 || point->times.sync >= point->times.step)
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

/* Read a table of shapes; its columns are as in read_shape(). */
static int read_shapes(const struct plx_csv *csv, struct record *records,
		       struct plx_error *err)
{
	for (int i = 0; i < csv->row_count; i++) {
		if (read_shape(csv, i, &records[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Placements by themselves, and together with the shapes as shapes. */
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
	if (read_shapes(shapes, records + exact->row_count, err) < 0)
		goto done;
	rc = make_curves(records, count, &app->shapes, err);
done:
	free(records);
	return rc;
}

static int load_recorded(struct plx_app *app, const char *dir,
			 struct plx_error *err)
{
	static const char *const exact_columns[] = { "placement", "local_bsz",
						     "step_time", "sync_time",
						     NULL };
	static const char *const shape_columns[] = {
		"num_nodes", "num_replicas", "local_bsz",
		"step_time", "sync_time",    NULL,
	};
	struct plx_csv exact = { 0 };
	struct plx_csv shapes = { 0 };
	char path[PATH_MAX];
	int rc = -1;

	if (plx_csv_path(dir, "placements.csv", path, err) < 0 ||
	    plx_csv_load(path, exact_columns, &exact, err) < 0)
		goto done;
	if (exact.row_count == 0) {
		plx_fail(err, "%s:1: nothing but the header", path);
		goto done;
	}
	if (plx_csv_path(dir, "scalability.csv", path, err) < 0)
		goto done;
	if (access(path, F_OK) == 0 &&
	    plx_csv_load(path, shape_columns, &shapes, err) < 0)
		goto done;
	rc = make_app_curves(app, &exact, &shapes, err);
done:
	plx_csv_release(&exact);
	plx_csv_release(&shapes);
	return rc;
}

/* In the application's folder, or beside the folder of all of them. */
static int find_interpolated(const struct plx_app *app, const char *dir,
			     char path[PATH_MAX], struct plx_error *err)
{
	char beside[PATH_MAX];
	int n = snprintf(beside, sizeof(beside), "../../interpolated/%s.csv.gz",
			 app->name);

	if (n < 0 || n >= (int) sizeof(beside))
		return plx_fail(err, "%s: too long a name", app->name);
	if (plx_csv_path(dir, "interpolated.csv.gz", path, err) < 0)
		return -1;
	if (access(path, F_OK) == 0)
		return 0;
	return plx_csv_path(dir, beside, path, err);
}

static int load_interpolated(struct plx_app *app, const char *dir,
			     struct plx_error *err)
{
	static const char *const columns[] = {
		"num_nodes",   "num_replicas", "local_bsz",
		"step_time_s", "sync_time_s",  NULL,
	};
	struct plx_csv csv = { 0 };
	struct record *records = NULL;
	char path[PATH_MAX];
	int rc = -1;

	if (find_interpolated(app, dir, path, err) < 0)
		return -1;
	if (access(path, F_OK) != 0)
		return 0;
	if (plx_csv_load(path, columns, &csv, err) < 0)
		return -1;
	records = calloc((size_t) csv.row_count + 1, sizeof(*records));
	if (!records)
		plx_fail(err, "%s: no memory for %d rows", path, csv.row_count);
	else if (read_shapes(&csv, records, err) == 0)
		rc = make_curves(records, csv.row_count, &app->interpolated,
				 err);
	free(records);
	plx_csv_release(&csv);
	return rc;
}

int plx_trace_curves(struct plx_app *app, const char *dir,
		     struct plx_error *err)
{
	if (load_recorded(app, dir, err) < 0)
		return -1;
	return load_interpolated(app, dir, err);
}

void plx_app_curves_release(struct plx_app_curves *curves)
{
	for (int i = 0; i < curves->count; i++)
		free(curves->curves[i].points);
	free(curves->curves);
}
