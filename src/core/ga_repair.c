/* SPDX-License-Identifier: MIT */
/*
 * ga_repair.c - from any matrix to one that fits
 *
 * As published: row by row, each is cut to what is left by those before it.
 * Rules of jobs that the published algorithm does not know come after that,
 * so that they see what the job would really get.
 */
#include <string.h>

#include "core/ga_run.h"

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

static void clear(const struct plx_ga_run *run, uint16_t *row)
{
	memset(row, 0, (size_t) run->node_count * sizeof(*row));
}

/*
 * One job on several nodes a node. As published, from the second of them on
 * nobody gets anything there, whether on several nodes or not.
 */
static void separate(struct plx_ga_run *run, uint16_t *row)
{
	bool multi = plx_gene_shape(row, run->node_count).nodes > 1;

	for (int n = 0; n < run->node_count; n++) {
		run->sharers[n] += multi && row[n] > 0;
		if (run->sharers[n] > 1)
			row[n] = 0;
	}
}

/* At most `most` GPUs, from nodes in a random order. */
static void limit(struct plx_ga_run *run, uint16_t *row, int most)
{
	int count = 0;

	if (plx_gene_shape(row, run->node_count).gpus <= most)
		return;
	for (int n = 0; n < run->node_count; n++) {
		if (row[n] > 0)
			run->nodes[count++] = n;
	}
	plx_ga_shuffle(run, run->nodes, count);
	for (int i = 0; i < count; i++) {
		int n = run->nodes[i];

		row[n] = (uint16_t) min_int(row[n], most);
		most -= row[n];
	}
}

/* No more than what is left on each node. */
static void fit(const struct plx_ga_run *run, uint16_t *row)
{
	for (int n = 0; n < run->node_count; n++) {
		int left = run->problem->gpus[n] - run->used[n];

		row[n] = (uint16_t) max_int(0, min_int(row[n], left));
	}
}

/* GPUs on all nodes that have at least so many, if each had just these. */
static int uniform_gpus(const struct plx_ga_run *run, const uint16_t *row,
			int per_node)
{
	int gpus = 0;

	for (int n = 0; n < run->node_count; n++)
		gpus += row[n] >= per_node ? per_node : 0;
	return gpus;
}

/* The same on every node, with as many GPUs as the row allows. */
static void even_out(const struct plx_ga_run *run, const struct plx_job *job,
		     uint16_t *row)
{
	int most = 0;
	int best = 0;

	for (int n = 0; n < run->node_count; n++)
		most = max_int(most, row[n]);
	if (job->home >= 0 && !job->roams)
		most = row[job->home];
	for (int c = most; c > 0; c--) {
		if (best == 0 ||
		    uniform_gpus(run, row, c) > uniform_gpus(run, row, best))
			best = c;
	}
	for (int n = 0; n < run->node_count; n++)
		row[n] = (uint16_t) (row[n] >= best ? best : 0);
}

/* One step smaller: a node less, or a GPU less if nodes may differ. */
static void shrink(const struct plx_ga_run *run, const struct plx_job *job,
		   uint16_t *row)
{
	int last = job->home;
	bool alone = plx_gene_shape(row, run->node_count).nodes == 1;

	for (int n = 0; n < run->node_count; n++) {
		if (row[n] > 0 && n != job->home)
			last = n;
	}
	if (run->problem->uniform && !alone)
		row[last] = 0;
	else
		row[last]--;
}

/* It has a GPU wherever it needs one. */
static bool complete(const struct plx_ga_run *run, const struct plx_job *job,
		     const uint16_t *row)
{
	for (int n = 0; n < run->node_count; n++) {
		if (plx_job_sits(job, n) && row[n] == 0)
			return false;
	}
	return true;
}

/* What the job has now breaks none of its rules, whatever nodes it may use. */
static bool may_stay(const struct plx_ga_run *run, const struct plx_job *job,
		     const uint16_t *now)
{
	struct plx_shape shape = plx_gene_shape(now, run->node_count);

	for (int n = 0; n < run->node_count && run->problem->uniform; n++) {
		if (now[n] > 0 && now[n] * shape.nodes != shape.gpus)
			return false;
	}
	return plx_listed(job->sizes, job->size_count, shape.gpus) &&
	       complete(run, job, now);
}

/* Rules of the job that the published algorithm has not. */
static void obey(const struct plx_ga_run *run, const struct plx_job *job,
		 const uint16_t *now, uint16_t *row)
{
	size_t size = (size_t) run->node_count * sizeof(*row);

	if (memcmp(row, now, size) == 0 && may_stay(run, job, now))
		return;
	for (int n = 0; n < run->node_count && job->allowed; n++) {
		bool home = n == job->home && now[n] > 0;

		if (!job->allowed[n] && !home)
			row[n] = 0;
	}
	for (int n = 0; n < run->node_count && job->node_gpus; n++)
		row[n] = (uint16_t) min_int(row[n], job->node_gpus);
	if (!complete(run, job, row))
		clear(run, row);
	if (run->problem->uniform)
		even_out(run, job, row);
	while (!plx_listed(job->sizes, job->size_count,
			   plx_gene_shape(row, run->node_count).gpus) &&
	       plx_gene_shape(row, run->node_count).gpus > 0)
		shrink(run, job, row);
	if (!complete(run, job, row))
		clear(run, row);
}

/* False: a job that must have something would have nothing. */
static bool repair_row(struct plx_ga_run *run, int j, uint16_t *row)
{
	const struct plx_ga_job *job = &run->jobs[j];
	const uint16_t *now = run->now + (size_t) j * (size_t) run->node_count;
	size_t size = (size_t) run->node_count * sizeof(*row);

	if (job->job->pinned)
		memcpy(row, now, size);
	if (run->problem->interference)
		separate(run, row);
	limit(run, row, job->cap);
	fit(run, row);
	if (job->strict && !job->job->pinned)
		obey(run, job->job, now, row);
	if (plx_gene_shape(row, run->node_count).gpus < job->job->min_gpus)
		clear(run, row);
	for (int n = 0; n < run->node_count; n++)
		run->used[n] += row[n];
	if (job->job->pinned)
		return memcmp(row, now, size) == 0;
	return !job->must || plx_gene_shape(row, run->node_count).gpus > 0;
}

/* False: see repair_row(). */
static bool repair_rows(struct plx_ga_run *run, uint16_t *genes, bool keep)
{
	size_t nodes = (size_t) run->node_count;

	memset(run->used, 0, nodes * sizeof(*run->used));
	memset(run->sharers, 0, nodes * sizeof(*run->sharers));
	for (int j = 0; j < run->job_count; j++) {
		uint16_t *row = genes + (size_t) j * nodes;
		const uint16_t *now = run->now + (size_t) j * nodes;

		if (keep && run->jobs[j].must) {
			memcpy(row, now, nodes * sizeof(*row));
			for (size_t n = 0; n < nodes; n++)
				run->used[n] += row[n];
			if (plx_gene_shape(row, run->node_count).nodes > 1)
				separate(run, row);
			memcpy(row, now, nodes * sizeof(*row));
			continue;
		}
		if (!repair_row(run, j, row))
			return false;
	}
	return true;
}

void plx_ga_repair(struct plx_ga_run *run, uint16_t *genes)
{
	/* Those who must have something can at least keep what they have. */
	if (!repair_rows(run, genes, false))
		repair_rows(run, genes, true);
}
