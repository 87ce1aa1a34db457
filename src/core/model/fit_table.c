/* SPDX-License-Identifier: MIT */
/*
 * fit_table.c - measured rows made ready for fitting
 *
 * A model knows a row by its m, its GPUs, and on how many nodes and switches
 * they sit, as far as that matters: rows that agree in these are one entry,
 * with their mean logarithms. Sorted by m, a pass is computed once for all rows
 * of it. The order in which rows came makes no difference.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/fit_loss.h"

#define SECONDS_MIN 1e-9 /* of a row that is not absurd */
#define SECONDS_MAX 1e5
#define COUNT_MAX   (1 << 24) /* samples or GPUs */

/* What a model sees of a row. */
struct seen_row {
	int per_gpu;
	int gpus;
	int nodes; /* 1, 2, or 3 for more */
	int further;
	double log_pass, log_iter;
};

static bool sane_seconds(double t)
{
	return t >= SECONDS_MIN && t <= SECONDS_MAX; /* false for NaN */
}

bool plx_fit_usable(const struct plx_sample *row)
{
	return row->shape.nodes >= 1 && row->shape.gpus >= row->shape.nodes &&
	       row->shape.gpus <= COUNT_MAX && row->shape.further >= 0 &&
	       row->shape.further <= PLX_FURTHER_MAX && row->per_gpu >= 1 &&
	       row->per_gpu <= COUNT_MAX && sane_seconds(row->pass_seconds) &&
	       sane_seconds(row->iter_seconds);
}

static int in_order(double a, double b)
{
	return (a > b) - (a < b);
}

/* By what a model sees; times last, so that sums do not depend on order. */
static int compare(const void *left, const void *right)
{
	const struct seen_row *a = left;
	const struct seen_row *b = right;
	int order = in_order(a->per_gpu, b->per_gpu);

	if (order == 0)
		order = in_order(a->gpus, b->gpus);
	if (order == 0)
		order = in_order(a->nodes, b->nodes);
	if (order == 0)
		order = in_order(a->further, b->further);
	if (order == 0)
		order = in_order(a->log_pass, b->log_pass);
	return order ? order : in_order(a->log_iter, b->log_iter);
}

static size_t sync_of(struct plx_fit_table *table, const struct seen_row *row)
{
	struct plx_fit_sync *sync;
	size_t i;

	for (i = 0; i < table->sync_count; i++) {
		if (table->syncs[i].gpus == row->gpus &&
		    table->syncs[i].nodes == row->nodes &&
		    table->syncs[i].further == row->further)
			return i;
	}
	sync = &table->syncs[table->sync_count++];
	*sync = (struct plx_fit_sync){
		.alpha = row->nodes > 1 ? PLX_ALPHA_N : PLX_ALPHA_R,
		.gpus = row->gpus,
		.nodes = row->nodes,
		.further = row->further,
		.two = row->nodes == 2,
		.extra = plx_sync_extra(table->growth, row->gpus),
	};
	if (row->gpus == 1)
		sync->alpha = -1;
	return i;
}

/* One more row in a mean; returns what it adds to the sum of squares. */
static double add_to_mean(double *rows, double *mean, double value)
{
	double off = value - *mean;

	*rows += 1;
	*mean += off / *rows;
	return off * (value - *mean);
}

static void add_row(struct plx_fit_table *table, const struct seen_row *row,
		    const struct seen_row *before)
{
	bool same_m = before && before->per_gpu == row->per_gpu;
	struct plx_fit_pass *pass;
	struct plx_fit_iter *iter;

	if (!same_m)
		table->passes[table->pass_count++] = (struct plx_fit_pass){
			.per_gpu = row->per_gpu,
		};
	if (!same_m || before->gpus != row->gpus ||
	    before->nodes != row->nodes || before->further != row->further)
		table->iters[table->iter_count++] = (struct plx_fit_iter){
			.sync = sync_of(table, row),
		};
	pass = &table->passes[table->pass_count - 1];
	iter = &table->iters[table->iter_count - 1];
	pass->end = table->iter_count;
	table->pass_spread +=
		add_to_mean(&pass->rows, &pass->log_s, row->log_pass);
	table->iter_spread +=
		add_to_mean(&iter->rows, &iter->log_s, row->log_iter);
	table->rows++;
}

static bool is_priced(const struct plx_fit_table *table)
{
	int further = -1;

	for (size_t i = 0; i < table->sync_count; i++) {
		const struct plx_fit_sync *sync = &table->syncs[i];

		if (sync->nodes < 2)
			continue;
		if (further >= 0 && sync->further != further)
			return true;
		further = sync->further;
	}
	return false;
}

int plx_fit_table_init(struct plx_fit_table *table,
		       const struct plx_fit_rows *rows, struct plx_error *err)
{
	size_t each = sizeof(*table->passes) + sizeof(*table->syncs) +
		      sizeof(*table->iters) + sizeof(struct seen_row);
	struct seen_row *seen;
	size_t count = rows->count;
	size_t used = 0;
	char *memory = calloc(count ? count : 1, each);

	*table = (struct plx_fit_table){ .growth = rows->growth,
					 .memory = memory };
	if (!memory)
		return plx_fail(err, "out of memory");
	table->passes = (struct plx_fit_pass *) memory;
	table->syncs = (struct plx_fit_sync *) (table->passes + count);
	table->iters = (struct plx_fit_iter *) (table->syncs + count);
	seen = (struct seen_row *) (table->iters + count);
	for (size_t i = 0; i < count; i++) {
		const struct plx_sample *row = &rows->rows[i];

		if (!plx_fit_usable(row) ||
		    (rows->left_out && rows->left_out[i]))
			continue;
		seen[used++] = (struct seen_row){
			.per_gpu = row->per_gpu,
			.gpus = row->shape.gpus,
			.nodes = row->shape.nodes < 3 ? row->shape.nodes : 3,
			.further =
				row->shape.nodes > 1 ? row->shape.further : 0,
			.log_pass = log(row->pass_seconds),
			.log_iter = log(row->iter_seconds),
		};
	}
	qsort(seen, used, sizeof(*seen), compare);
	for (size_t i = 0; i < used; i++)
		add_row(table, &seen[i], i ? &seen[i - 1] : NULL);
	table->priced = is_priced(table);
	return 0;
}

void plx_fit_table_release(struct plx_fit_table *table)
{
	free(table->memory);
	table->memory = NULL;
}
