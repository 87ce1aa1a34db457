/* SPDX-License-Identifier: MIT */
/*
 * ga_repair.c - from any matrix to one that is legal in the problem
 *
 * As published: row by row, each is cut to what is left by those before it.
 * Rules of jobs that the published algorithm does not know come after that,
 * so that they see what the job would really get. What is legal for a job
 * plx_job_may_have() says, as it does for the search.
 */
#include <string.h>

#include "core/policy/ga_run.h"

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

/* Sums of amounts may be off by this share of them. */
#define EXCESS 1e-9

/* What the job takes of a kind for so many GPUs, besides what it keeps. */
static double amount(const struct plx_job *job, int n, int gpus, int kind)
{
	return plx_job_demand(job, n, gpus, kind) -
	       plx_job_demand(job, n, 0, kind);
}

/* Is enough of all other resources left there for so many GPUs? */
static bool is_supplied(const struct plx_ga_run *run, const struct plx_job *job,
			int n, int gpus)
{
	int kinds = run->problem->consumable_kinds;

	for (int k = 0; k < kinds; k++) {
		size_t at = (size_t) n * (size_t) kinds + (size_t) k;

		if (amount(job, n, gpus, k) >
		    run->consumable_left[at] +
			    EXCESS * run->problem->consumables[at])
			return false;
	}
	return true;
}

/* No more than what is left on each node. */
static void fit(const struct plx_ga_run *run, const struct plx_job *job,
		uint16_t *row)
{
	for (int n = 0; n < run->node_count; n++) {
		int left = run->problem->gpus[n] - run->used[n];

		row[n] = (uint16_t) max_int(0, min_int(row[n], left));
		while (row[n] > 0 && !is_supplied(run, job, n, row[n]))
			row[n]--;
	}
}

/* What the row has is nobody else's. */
static void take(struct plx_ga_run *run, const struct plx_job *job,
		 const uint16_t *row)
{
	int kinds = run->problem->consumable_kinds;

	for (int n = 0; n < run->node_count; n++) {
		run->used[n] += row[n];
		for (int k = 0; k < kinds; k++)
			run->consumable_left[n * kinds + k] -=
				amount(job, n, row[n], k);
	}
}

/* Nodes hold nothing but what each job keeps on its batch host. */
static void empty(struct plx_ga_run *run)
{
	size_t nodes = (size_t) run->node_count;
	int kinds = run->problem->consumable_kinds;

	memset(run->used, 0, nodes * sizeof(*run->used));
	memset(run->sharers, 0, nodes * sizeof(*run->sharers));
	for (int i = 0; i < run->node_count * kinds; i++)
		run->consumable_left[i] = run->problem->consumables[i];
	for (int j = 0; j < run->job_count; j++) {
		const struct plx_job *job = run->jobs[j].job;

		for (int k = 0; job->batch_host >= 0 && k < kinds; k++)
			run->consumable_left[job->batch_host * kinds + k] -=
				plx_job_demand(job, job->batch_host, 0, k);
	}
}

/* Most nodes that the job may be on with such a row. */
static int nodes_max(const struct plx_ga_run *run, const struct plx_job *job,
		     const uint16_t *row)
{
	int most = run->node_count;

	if (job->table)
		most = min_int(most, job->table->nodes);
	if (!job->max_nodes)
		return most;
	/* The node of its script counts. */
	if (job->batch_host >= 0 && row[job->batch_host] == 0)
		return min_int(most, job->max_nodes - 1);
	return min_int(most, job->max_nodes);
}

/* The fewest. */
static int nodes_min(const struct plx_ga_run *run, const struct plx_job *job)
{
	int least = 0;

	for (int n = 0; n < run->node_count; n++)
		least += plx_job_sits(job, n);
	return max_int(1, max_int(least, job->min_nodes));
}

/* Take nodes with the fewest GPUs from it until it is on so many. */
static void drop_nodes(const struct plx_ga_run *run, const struct plx_job *job,
		       uint16_t *row, int most)
{
	int nodes = plx_gene_shape(row, run->node_count).nodes;

	for (; nodes > most; nodes--) {
		int least = -1;

		for (int n = 0; n < run->node_count; n++) {
			if (row[n] > 0 && !plx_job_sits(job, n) &&
			    (least < 0 || row[n] <= row[least]))
				least = n;
		}
		if (least < 0)
			return;
		row[least] = 0;
	}
}

/* The most of these nodes whose GPUs, so many on each, are one of its sizes. */
static int even_nodes(const struct plx_ga_run *run, const struct plx_job *job,
		      const uint16_t *row, int per_node)
{
	int nodes = 0;

	for (int n = 0; n < run->node_count; n++)
		nodes += row[n] >= per_node;
	nodes = min_int(nodes, nodes_max(run, job, row));
	for (; nodes >= nodes_min(run, job); nodes--) {
		if (plx_listed(job->sizes, job->size_count, nodes * per_node))
			return nodes;
	}
	return 0;
}

/* The same on every node, with as many GPUs as the row and its rules allow. */
static void even_out(const struct plx_ga_run *run, const struct plx_job *job,
		     uint16_t *row)
{
	int most = 0;
	int best = 0;
	int best_nodes = 0;

	for (int n = 0; n < run->node_count; n++)
		most = max_int(most, row[n]);
	for (int n = 0; n < run->node_count; n++) {
		if (plx_job_sits(job, n))
			most = min_int(most, row[n]);
	}
	for (int c = most; c > 0; c--) {
		int nodes = even_nodes(run, job, row, c);

		if (nodes * c > best_nodes * best) {
			best = c;
			best_nodes = nodes;
		}
	}
	for (int n = 0; n < run->node_count; n++)
		row[n] = (uint16_t) (row[n] >= best ? best : 0);
	drop_nodes(run, job, row, best_nodes);
}

/* A GPU less, from a node that is not needed or has another. */
static bool shrink(const struct plx_ga_run *run, const struct plx_job *job,
		   uint16_t *row)
{
	int nodes = plx_gene_shape(row, run->node_count).nodes;
	int last = -1;

	for (int n = 0; n < run->node_count; n++) {
		if (row[n] > 1 || (row[n] > 0 && !plx_job_sits(job, n) &&
				   nodes > job->min_nodes))
			last = n;
	}
	if (last < 0)
		return false;
	row[last] = (uint16_t) (job->whole ? 0 : row[last] - 1);
	return true;
}

/* To one of its sizes, whatever is on each node. */
static void to_size(const struct plx_ga_run *run, const struct plx_job *job,
		    uint16_t *row)
{
	drop_nodes(run, job, row, nodes_max(run, job, row));
	while (!plx_listed(job->sizes, job->size_count,
			   plx_gene_shape(row, run->node_count).gpus) &&
	       shrink(run, job, row))
		;
}

static bool may_have(const struct plx_ga_run *run, const struct plx_job *job,
		     const uint16_t *row)
{
	for (int n = 0; n < run->node_count; n++)
		run->row[n] = row[n];
	return plx_job_may_have(run->problem, job, run->row);
}

/* No more on a node than it may have there: of whole nodes all or nothing. */
static void limit_nodes(const struct plx_ga_run *run, const struct plx_job *job,
			uint16_t *row)
{
	for (int n = 0; n < run->node_count; n++) {
		if (!plx_job_usable(job, n))
			row[n] = 0;
		if (job->node_gpus && row[n] > job->node_gpus)
			row[n] = (uint16_t) job->node_gpus;
		if (job->whole && row[n] < job->node_gpus)
			row[n] = 0;
	}
}

/* Rules of the job that the published algorithm has not. */
static void obey(const struct plx_ga_run *run, const struct plx_job *job,
		 const uint16_t *now, uint16_t *row)
{
	size_t size = (size_t) run->node_count * sizeof(*row);

	if (memcmp(row, now, size) == 0 && may_have(run, job, row))
		return;
	limit_nodes(run, job, row);
	if (run->problem->uniform)
		even_out(run, job, row);
	else
		to_size(run, job, row);
	if (!may_have(run, job, row) ||
	    plx_gene_shape(row, run->node_count).nodes >
		    nodes_max(run, job, row))
		clear(run, row);
}

/* False: a job that must have something would have nothing. */
static bool repair_row(struct plx_ga_run *run, int j, uint16_t *row)
{
	const struct plx_ga_job *job = &run->jobs[j];
	const uint16_t *now = run->now + (size_t) j * (size_t) run->node_count;
	size_t size = (size_t) run->node_count * sizeof(*row);

	if (job->job->fixed)
		memcpy(row, now, size);
	if (run->problem->interference)
		separate(run, row);
	limit(run, row, job->cap);
	fit(run, job->job, row);
	if (job->strict && !job->job->fixed)
		obey(run, job->job, now, row);
	if (plx_gene_shape(row, run->node_count).gpus < job->job->min_gpus)
		clear(run, row);
	take(run, job->job, row);
	if (job->job->fixed)
		return memcmp(row, now, size) == 0;
	return !job->must || plx_gene_shape(row, run->node_count).gpus > 0;
}

/* False: see repair_row(). */
static bool repair_rows(struct plx_ga_run *run, uint16_t *genes, bool keep)
{
	size_t nodes = (size_t) run->node_count;

	empty(run);
	for (int j = 0; j < run->job_count; j++) {
		uint16_t *row = genes + (size_t) j * nodes;
		const uint16_t *now = run->now + (size_t) j * nodes;

		if (keep && run->jobs[j].must) {
			memcpy(row, now, nodes * sizeof(*row));
			take(run, run->jobs[j].job, row);
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
