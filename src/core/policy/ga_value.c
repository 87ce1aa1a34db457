/* SPDX-License-Identifier: MIT */
/* ga_value.c - what an allocation matrix is worth */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy/ga_run.h"

/* A power below this is as good as the minimum, and would overflow. */
#define FAIRNESS_LEAST (-64.0)

struct plx_shape plx_gene_shape(const uint16_t *row, int node_count)
{
	struct plx_shape shape = { .nodes = 0, .gpus = 0 };

	for (int n = 0; n < node_count; n++) {
		shape.nodes += row[n] > 0;
		shape.gpus += row[n];
	}
	return shape;
}

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

static double term_of(const struct plx_ga_run *run, double value)
{
	double p = run->problem->fairness;

	return p < FAIRNESS_LEAST ? value : plx_utility(p, value);
}

int plx_ga_value_init(struct plx_ga_run *run, struct plx_ga_job *job,
		      struct plx_error *err)
{
	const struct plx_table *table = job->job->table;
	int gpus = plx_shape_of(run->problem->gpus, run->node_count).gpus;
	int held = plx_shape_of(job->job->now, run->node_count).gpus;

	job->cap = min_int(job->cap, gpus);
	job->wide = max_int(job->cap, held);
	/* A model tells one node, two, and more; a table may tell more. */
	job->tall = min_int(table ? table->nodes : 3, run->node_count);
	if (!table)
		job->fair = plx_fair_share(run->problem, job->job);
	job->parked = term_of(run, 0);
	job->cells = calloc((size_t) job->tall * (size_t) job->wide + 1,
			    sizeof(*job->cells));
	if (!job->cells)
		return plx_fail(err, "no memory for the speedups of job %u",
				job->job->id);
	return 0;
}

/* A table is the last word; otherwise the objective of all policies. */
static void find_out(const struct plx_ga_run *run, const struct plx_ga_job *job,
		     struct plx_shape shape, struct plx_ga_cell *cell)
{
	const struct plx_table *table = job->job->table;
	double moved;

	cell->speedup = plx_speedup(job->job, &job->fair, shape);
	if (table)
		moved = cell->speedup * table->kept;
	else
		moved = plx_job_value(job->job, &job->fair, shape, true);
	cell->moves = term_of(run, moved);
	if (table)
		cell->stays = term_of(run, cell->speedup);
	else
		cell->stays = term_of(run, plx_job_value(job->job, &job->fair,
							 shape, false));
	cell->known = true;
}

/* NULL: worth nothing to it: no GPU, or a shape beyond what is known of it. */
static const struct plx_ga_cell *cell_of(const struct plx_ga_run *run,
					 const struct plx_ga_job *job,
					 struct plx_shape shape)
{
	int row = min_int(shape.nodes, job->tall) - 1;
	struct plx_ga_cell *cell;

	if (shape.gpus == 0 || shape.gpus > job->wide)
		return NULL;
	if (job->job->table && shape.nodes > job->tall)
		return NULL;
	cell = &job->cells[(size_t) row * (size_t) job->wide +
			   (size_t) shape.gpus - 1];
	if (!cell->known)
		find_out(run, job, shape, cell);
	return cell;
}

static double mean(const struct plx_ga_run *run, double sum)
{
	double p = run->problem->fairness;

	if (p < FAIRNESS_LEAST)
		return sum + PLX_SPEEDUP_FLOOR;
	sum /= run->weight;
	if (fabs(p) < PLX_FAIRNESS_TINY)
		return exp(sum);
	return pow(fabs(sum), 1 / p);
}

/* The best term that any shape gives the job. */
static double best_term(const struct plx_ga_run *run,
			const struct plx_ga_job *job)
{
	double best = job->parked;

	for (int nodes = 1; nodes <= job->tall; nodes++) {
		for (int gpus = nodes; gpus <= job->wide; gpus++) {
			struct plx_shape shape = { .nodes = nodes,
						   .gpus = gpus };
			const struct plx_ga_cell *cell =
				cell_of(run, job, shape);

			best = fmax(best, fmax(cell->stays, cell->moves));
		}
	}
	return best;
}

double plx_ga_bound(const struct plx_ga_run *run)
{
	bool least = run->problem->fairness < FAIRNESS_LEAST;
	double sum = least ? INFINITY : 0;

	for (int j = 0; j < run->job_count; j++) {
		double term = best_term(run, &run->jobs[j]);

		sum = least ? fmin(sum, term)
			    : sum + run->jobs[j].weight * term;
	}
	return run->job_count > 0 ? mean(run, sum) : 0;
}

static int gpus_in_use(const struct plx_ga_run *run)
{
	int gpus = 0;

	for (int n = 0; n < run->node_count; n++) {
		if (run->used[n] > 0)
			gpus += run->problem->gpus[n];
	}
	return gpus;
}

void plx_ga_judge(struct plx_ga_run *run, struct plx_genome *genome)
{
	size_t nodes = (size_t) run->node_count;
	bool least = run->problem->fairness < FAIRNESS_LEAST;
	double speedups = 0;
	double sum = least ? INFINITY : 0;
	int gpus;

	memset(run->used, 0, nodes * sizeof(*run->used));
	for (int j = 0; j < run->job_count; j++) {
		const struct plx_ga_job *job = &run->jobs[j];
		const uint16_t *row = genome->genes + (size_t) j * nodes;
		const uint16_t *now = run->now + (size_t) j * nodes;
		const struct plx_ga_cell *cell;
		double term = job->parked;

		cell = cell_of(run, job, plx_gene_shape(row, run->node_count));
		if (cell) {
			term = memcmp(row, now, nodes * sizeof(*row))
				       ? cell->moves
				       : cell->stays;
			speedups += cell->speedup;
		}
		for (size_t n = 0; n < nodes; n++)
			run->used[n] += row[n];
		sum = least ? fmin(sum, term) : sum + job->weight * term;
	}
	gpus = gpus_in_use(run);
	genome->fitness = mean(run, sum);
	genome->utility = gpus > 0 ? speedups / gpus : 0;
}
