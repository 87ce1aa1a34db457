/* SPDX-License-Identifier: MIT */
/* workload.c - who submits what when, read */

#include <stdlib.h>
#include <string.h>

#include "sim/csv.h"
#include "sim/workload.h"

enum { COLUMN_NAME, COLUMN_TIME, COLUMN_APP, COLUMN_GPUS, COLUMN_BATCH };

static const char *const columns[] = { "name",	      "time",
				       "application", "num_replicas",
				       "batch_size",  NULL };

#define JOBS_MAX 65536

/* NULL with err set: it cannot be read. */
static const struct plx_app *find_app(struct plx_catalog *catalog,
				      const char *name, struct plx_error *err)
{
	struct plx_app **apps;
	struct plx_app *app;

	for (int i = 0; i < catalog->count; i++) {
		if (strcmp(catalog->apps[i]->name, name) == 0)
			return catalog->apps[i];
	}
	apps = realloc(catalog->apps, (size_t) (catalog->count + 1) *
					      sizeof(struct plx_app *));
	if (!apps) {
		plx_fail(err, "no memory for application %s", name);
		return NULL;
	}
	catalog->apps = apps;
	app = plx_app_load(catalog->dir, name, err);
	if (app)
		apps[catalog->count++] = app;
	return app;
}

/* A batch that these GPUs cannot share would never be run as asked. */
static int check_entry(const struct plx_csv *csv, int row,
		       const struct plx_workload_entry *entry,
		       struct plx_error *err)
{
	const struct plx_limits *limits = &entry->app->limits.batch;

	if (entry->batch > limits->max_batch || entry->batch < entry->gpus)
		return plx_csv_fail(csv, row, err,
				    "batch %d on %d GPUs: %s takes %d at most, "
				    "and a sample a GPU at least",
				    entry->batch, entry->gpus, entry->app->name,
				    limits->max_batch);
	return 0;
}

static int read_entry(const struct plx_csv *csv, int row,
		      struct plx_catalog *catalog,
		      struct plx_workload_entry *entry, struct plx_error *err)
{
	static const double time_range[] = { 0, 1e9 };
	static const int gpus_range[] = { 1, 65536 };
	static const int batch_range[] = { 1, 16777216 };
	const char *app = plx_csv_text(csv, row, COLUMN_APP);
	struct plx_error why;

	entry->line = csv->lines[row];
	entry->name = strdup(plx_csv_text(csv, row, COLUMN_NAME));
	if (!entry->name)
		return plx_csv_fail(csv, row, err, "no memory for a name");
	if (plx_csv_real(csv, row, COLUMN_TIME, time_range, &entry->submit_s,
			 err) < 0 ||
	    plx_csv_whole(csv, row, COLUMN_GPUS, gpus_range, &entry->gpus,
			  err) < 0 ||
	    plx_csv_whole(csv, row, COLUMN_BATCH, batch_range, &entry->batch,
			  err) < 0)
		return -1;
	if (strchr(app, '/') || app[0] == '.')
		return plx_csv_fail(csv, row, err,
				    "application \"%.40s\": want the name of "
				    "a folder of traces",
				    app);
	entry->app = find_app(catalog, app, &why);
	if (!entry->app)
		return plx_fail(err, "%s:%d: %.180s", csv->name, entry->line,
				why.text);
	return check_entry(csv, row, entry, err);
}

static int by_submission(const void *a, const void *b)
{
	const struct plx_workload_entry *x = a;
	const struct plx_workload_entry *y = b;

	if (x->submit_s != y->submit_s)
		return x->submit_s < y->submit_s ? -1 : 1;
	return x->line - y->line;
}

static int by_name(const void *a, const void *b)
{
	const struct plx_workload_entry *const *x = a;
	const struct plx_workload_entry *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	return order ? order : (*x)->line - (*y)->line;
}

/* Results are told by name. */
static int check_names(const char *path, const struct plx_workload *workload,
		       struct plx_error *err)
{
	size_t count = (size_t) workload->count;
	const struct plx_workload_entry **sorted =
		calloc(count, sizeof(const struct plx_workload_entry *));
	int rc = 0;

	if (!sorted)
		return plx_fail(err, "%s: no memory for %zu names", path,
				count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = &workload->entries[i];
	qsort(sorted, count, sizeof(const struct plx_workload_entry *),
	      by_name);
	for (size_t i = 1; i < count && rc == 0; i++) {
		if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
			rc = plx_fail(err,
				      "%s:%d: job \"%.40s\": line %d has one "
				      "of this name",
				      path, sorted[i]->line, sorted[i]->name,
				      sorted[i - 1]->line);
	}
	free(sorted);
	return rc;
}

static char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = strdup(slash ? slash + 1 : path);
	char *end = name ? strrchr(name, '.') : NULL;

	if (end && end > name && strcmp(end, ".csv") == 0)
		*end = '\0';
	return name;
}

int plx_workload_load(const char *path, struct plx_catalog *catalog,
		      struct plx_workload *workload, struct plx_error *err)
{
	struct plx_workload made = { 0 };
	struct plx_csv csv = { 0 };
	int rc = -1;

	if (plx_csv_load(path, columns, &csv, err) < 0)
		return -1;
	if (csv.row_count < 1 || csv.row_count > JOBS_MAX) {
		plx_fail(err, "%s:1: %d jobs: want 1 to %d", path,
			 csv.row_count, JOBS_MAX);
		goto done;
	}
	made.path = strdup(path);
	made.name = base_name(path);
	made.entries = calloc((size_t) csv.row_count, sizeof(*made.entries));
	if (!made.path || !made.name || !made.entries) {
		plx_fail(err, "%s: no memory for %d jobs", path, csv.row_count);
		goto done;
	}
	made.count = csv.row_count;
	for (int i = 0; i < csv.row_count; i++) {
		if (read_entry(&csv, i, catalog, &made.entries[i], err) < 0)
			goto done;
	}
	if (check_names(path, &made, err) < 0)
		goto done;
	qsort(made.entries, (size_t) made.count, sizeof(*made.entries),
	      by_submission);
	*workload = made;
	made = (struct plx_workload){ 0 }; /* now the caller's */
	rc = 0;
done:
	plx_workload_release(&made);
	plx_csv_release(&csv);
	return rc;
}

void plx_workload_release(struct plx_workload *workload)
{
	for (int i = 0; i < workload->count; i++)
		free(workload->entries[i].name);
	free(workload->entries);
	free(workload->name);
	free(workload->path);
	*workload = (struct plx_workload){ 0 };
}

void plx_catalog_release(struct plx_catalog *catalog)
{
	for (int i = 0; i < catalog->count; i++)
		plx_app_destroy(catalog->apps[i]);
	free(catalog->apps);
	catalog->apps = NULL;
	catalog->count = 0;
}
