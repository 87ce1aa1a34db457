/* SPDX-License-Identifier: MIT */
/*
 * model.c - how well step models foresee what was not measured
 *
 *	bench/model [--json] TRACES
 *
 * For each application in the folder, the mean error of step times in per
 * cent, by both growths of the all-reduce:
 *
 * left out	each placement by the rows of all others
 * from 4	what ran on more than 4 GPUs by what ran on up to 4
 * after ...	what runs on up to twice the GPUs by what a job has measured
 *		on 1, 2, 4, 8 and 16 GPUs in turn, with three batches each
 */
#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/fit.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum { ROWS_MAX = 8192, KEY_MAX = 24, APPS_MAX = 64, PROTOCOLS = 7 };

static const char *const protocols[PROTOCOLS] = {
	"left out", "from 4",  "after 1",  "after 2",
	"after 4",  "after 8", "after 16",
};
static const char *const growths[] = { "paper", "ours" };

/* What a job measures in turn. */
static const struct plx_shape sequence[] = {
	{ .nodes = 1, .gpus = 1 },  { .nodes = 1, .gpus = 2 },
	{ .nodes = 1, .gpus = 4 },  { .nodes = 2, .gpus = 8 },
	{ .nodes = 4, .gpus = 16 },
};

struct trace {
	struct plx_sample rows[ROWS_MAX];
	char keys[ROWS_MAX][KEY_MAX]; /* rows of one placement have one */
	size_t count;
};

/* Of the errors so far. */
struct mean {
	double sum;
	size_t count;
};

/* A row of either file: placement, or nodes and GPUs; m, step, sync. */
static bool parse(const char *line, bool by_placement, struct trace *trace)
{
	struct plx_sample *row = &trace->rows[trace->count];
	char *key = trace->keys[trace->count];
	double step;
	double sync;
	int at = 0;

	*row = (struct plx_sample){ 0 };
	if (by_placement) {
		if (sscanf(line, "%16[0-9],%n", key, &at) != 1 || at == 0)
			return false;
		row->shape.nodes = (int) strlen(key);
		for (const char *c = key; *c; c++)
			row->shape.gpus += *c - '0';
	} else {
		if (sscanf(line, "%d,%d,%n", &row->shape.nodes,
			   &row->shape.gpus, &at) != 2 ||
		    at == 0)
			return false;
		snprintf(key, KEY_MAX, "%d/%d", row->shape.gpus,
			 row->shape.nodes);
	}
	if (sscanf(line + at, "%d,%lf,%lf", &row->per_gpu, &step, &sync) != 3)
		return false;
	row->iter_seconds = step;
	row->pass_seconds = step - sync;
	return true;
}

/* Add a file's rows. The number of the line that is wrong, 0 or -1. */
static int read_rows(const char *path, bool by_placement, struct trace *trace)
{
	FILE *file = fopen(path, "r");
	char line[256];
	int number = 0;
	int rc = file ? 0 : -1;

	while (file && rc == 0 && fgets(line, sizeof(line), file)) {
		if (++number == 1)
			continue; /* the names */
		if (trace->count == ROWS_MAX ||
		    !parse(line, by_placement, trace))
			rc = number;
		else
			trace->count++;
	}
	if (file)
		fclose(file);
	return rc;
}

static int read_trace(const char *dir, const char *app, struct trace *trace)
{
	static const char *const files[] = { "scalability", "placements" };
	char path[4096];

	trace->count = 0;
	for (int i = 0; i < 2; i++) {
		int rc;

		snprintf(path, sizeof(path), "%s/%s/%s.csv", dir, app,
			 files[i]);
		rc = read_rows(path, i == 1, trace);
		if (rc == 0)
			continue;
		if (rc > 0)
			fprintf(stderr, "model: %s:%d: no such row\n", path,
				rc);
		else
			fprintf(stderr, "model: %s:0: cannot read\n", path);
		return -1;
	}
	return 0;
}

/* Fit the rows marked, and judge those that are in question. */
static int judge(const struct trace *trace, enum plx_growth growth,
		 const bool *known, const bool *asked, struct mean *mean)
{
	static struct plx_sample rows[ROWS_MAX];
	struct plx_model model = { .growth = growth };
	struct plx_error err;
	size_t count = 0;

	for (size_t i = 0; i < trace->count; i++) {
		if (known[i])
			rows[count++] = trace->rows[i];
	}
	if (plx_fit_from(&model, rows, count, &model, &err) < 0) {
		fprintf(stderr, "model: %s\n", err.text);
		return -1;
	}
	for (size_t i = 0; i < trace->count; i++) {
		const struct plx_sample *row = &trace->rows[i];

		if (!asked[i])
			continue;
		mean->sum += fabs(
			plx_iter_seconds(&model, row->shape, row->per_gpu) /
				row->iter_seconds -
			1);
		mean->count++;
	}
	return 0;
}

static int leave_out(const struct trace *trace, enum plx_growth growth,
		     struct mean *mean)
{
	static bool known[ROWS_MAX];
	static bool asked[ROWS_MAX];

	for (size_t i = 0; i < trace->count; i++) {
		bool before = false;

		for (size_t k = 0; k < trace->count; k++) {
			asked[k] = !strcmp(trace->keys[i], trace->keys[k]);
			known[k] = !asked[k];
			before |= asked[k] && k < i;
		}
		if (!before && judge(trace, growth, known, asked, mean) < 0)
			return -1;
	}
	return 0;
}

static int from_four(const struct trace *trace, enum plx_growth growth,
		     struct mean *mean)
{
	static bool known[ROWS_MAX];
	static bool asked[ROWS_MAX];

	for (size_t i = 0; i < trace->count; i++) {
		known[i] = trace->rows[i].shape.gpus <= 4;
		asked[i] = !known[i];
	}
	return judge(trace, growth, known, asked, mean);
}

/* The least, a middle and the largest m on a shape. */
static bool is_tried(const struct trace *trace, size_t row)
{
	const struct plx_sample *asked = &trace->rows[row];
	size_t below = 0;
	size_t all = 0;

	for (size_t i = 0; i < trace->count; i++) {
		const struct plx_sample *other = &trace->rows[i];

		if (other->shape.nodes != asked->shape.nodes ||
		    other->shape.gpus != asked->shape.gpus ||
		    strcmp(trace->keys[i], trace->keys[row]) != 0)
			continue;
		all++;
		below += other->per_gpu < asked->per_gpu;
	}
	return below == 0 || below == all / 2 || below + 1 == all;
}

static int after(const struct trace *trace, size_t steps,
		 enum plx_growth growth, struct mean *mean)
{
	static bool known[ROWS_MAX];
	static bool asked[ROWS_MAX];

	for (size_t i = 0; i < trace->count; i++) {
		const struct plx_shape *shape = &trace->rows[i].shape;

		known[i] = false;
		for (size_t k = 0; k < steps; k++)
			known[i] |= shape->nodes == sequence[k].nodes &&
				    shape->gpus == sequence[k].gpus;
		known[i] = known[i] && is_tried(trace, i);
		asked[i] = shape->gpus > 1 &&
			   shape->gpus <= 2 * sequence[steps - 1].gpus;
	}
	return judge(trace, growth, known, asked, mean);
}

static int run(const struct trace *trace, int protocol, enum plx_growth growth,
	       double *percent)
{
	struct mean mean = { 0 };
	int rc;

	if (protocol == 0)
		rc = leave_out(trace, growth, &mean);
	else if (protocol == 1)
		rc = from_four(trace, growth, &mean);
	else
		rc = after(trace, (size_t) protocol - 1, growth, &mean);
	*percent = mean.count ? 100 * mean.sum / (double) mean.count : 0;
	return rc;
}

static void print_errors(bool json, const char *app,
			 double errors[PROTOCOLS][2])
{
	printf(json ? "{\"application\":\"%s\"" : "%-12s", app);
	for (int p = 0; p < PROTOCOLS; p++) {
		if (json)
			printf(",\"%s\":{\"%s\":%.2f,\"%s\":%.2f}",
			       protocols[p], growths[0], errors[p][0],
			       growths[1], errors[p][1]);
		else
			printf("  %5.1f %5.1f", errors[p][0], errors[p][1]);
	}
	printf(json ? "}" : "\n");
}

static void print_head(void)
{
	printf("%-12s", "error, %");
	for (int p = 0; p < PROTOCOLS; p++)
		printf("  %11s", protocols[p]);
	printf("\n%-12s", "");
	for (int p = 0; p < PROTOCOLS; p++)
		printf("  %5s %5s", growths[0], growths[1]);
	printf("\n");
}

static int by_name(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* Folders with placements, by name. */
static size_t find_apps(const char *dir, char apps[APPS_MAX][64])
{
	DIR *folder = opendir(dir);
	struct dirent *entry;
	size_t count = 0;

	while (folder && (entry = readdir(folder)) && count < APPS_MAX) {
		char path[4096];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s/placements.csv", dir,
			 entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		fclose(file);
		snprintf(apps[count++], sizeof(apps[0]), "%.63s",
			 entry->d_name);
	}
	if (folder)
		closedir(folder);
	qsort(apps, count, sizeof(apps[0]), by_name);
	return count;
}

static int print_app(bool json, const char *dir, const char *app,
		     double sums[PROTOCOLS][2])
{
	static struct trace trace;
	double errors[PROTOCOLS][2];

	if (read_trace(dir, app, &trace) < 0)
		return -1;
	for (int p = 0; p < PROTOCOLS; p++) {
		for (int growth = 0; growth < 2; growth++) {
			if (run(&trace, p, growth, &errors[p][growth]) < 0)
				return -1;
			sums[p][growth] += errors[p][growth];
		}
	}
	print_errors(json, app, errors);
	return 0;
}

static int print_all(bool json, const char *dir)
{
	static char apps[APPS_MAX][64];
	double means[PROTOCOLS][2] = { { 0 } };
	size_t count = find_apps(dir, apps);

	if (count == 0) {
		fprintf(stderr, "model: %s:0: no traces here\n", dir);
		return -1;
	}
	if (json)
		printf("{\"applications\":[");
	else
		print_head();
	for (size_t i = 0; i < count; i++) {
		if (json && i)
			printf(",");
		if (print_app(json, dir, apps[i], means) < 0)
			return -1;
	}
	for (int p = 0; p < PROTOCOLS; p++) {
		means[p][0] /= (double) count;
		means[p][1] /= (double) count;
	}
	if (json)
		printf("],\"mean\":");
	print_errors(json, "mean", means);
	if (json)
		printf("}\n");
	return 0;
}

int main(int argc, char **argv)
{
	bool json = false;
	const char *dir = NULL;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			json = true;
		} else if (argv[i][0] != '-' && !dir) {
			dir = argv[i];
		} else {
			fprintf(stderr, "usage: model [--json] TRACES\n");
			return 2;
		}
	}
	if (!dir) {
		fprintf(stderr, "usage: model [--json] TRACES\n");
		return 2;
	}
	return print_all(json, dir) < 0 ? 2 : 0;
}
