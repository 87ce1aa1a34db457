/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * consumables.c - CPUs, memory and types of GPUs, as far as they are short
 *
 * Kinds are those of resources.h but GPUs themselves, then types of GPUs, and
 * the CPUs that a partition allows its jobs, or reservations leave them. A node
 * has what no job holds and what elastic jobs do.
 */
#include <stdlib.h>

#include "common/gpus.h"
#include "sched/pollux/plan/consumables.h"
#include "sched/pollux/snapshot/elastic_alloc.h"

#define TYPES PLX_RESOURCES

/*
 * One kind: what nodes have of it, and what of it each job takes for a GPU,
 * and keeps for its script.
 */
struct kind {
	double *has;	 /* [node_count] */
	double *scripts; /* [node_count] what scripts keep of that */
	double *demand;	 /* [problem->job_count] */
	double *keeps;	 /* the same */
};

static double at_least(double a, double b)
{
	return a > b ? a : b;
}

static int kind_count(const struct pollux_snapshot *snapshot)
{
	return TYPES + snapshot->kind_count + snapshot->cpu_limit_count;
}

/*
 * The i-th to be filled, of which PLX_KINDS_MAX are kept: types of GPUs come
 * last, as there may be many that jobs wait for.
 */
static int kind_at(const struct pollux_snapshot *snapshot, int i)
{
	if (i < TYPES)
		return i;
	return i < TYPES + snapshot->cpu_limit_count
		       ? i + snapshot->kind_count
		       : i - snapshot->cpu_limit_count;
}

/* Which CPU limit kind k is; negative: it is none. */
static int cpu_limit_at(const struct pollux_snapshot *snapshot, int k)
{
	return k - TYPES - snapshot->kind_count;
}

static bool is_in(const struct pollux_job *job, int cpu_limit)
{
	return cpu_limit >= 0 &&
	       (job->cpu_limit == cpu_limit || job->unreserved == cpu_limit);
}

/* What counts as kind k of what the job has or takes. */
static double of_kind(const struct pollux_snapshot *snapshot,
		      const struct pollux_job *job,
		      const struct plx_resources *has, int k)
{
	int cpu_limit = cpu_limit_at(snapshot, k);

	if (k < PLX_RESOURCES)
		return has->of[k];
	if (cpu_limit >= 0)
		return is_in(job, cpu_limit) ? has->cpus : 0;
	return job->kind == k - TYPES ? has->gpus : 0;
}

/* Kind k is a type of GPUs, of which node n has as many as this. */
static bool is_type(const struct pollux_snapshot *snapshot, int n, int k,
		    int *all)
{
	if (k < TYPES || cpu_limit_at(snapshot, k) >= 0)
		return false;
	*all = snapshot->kinds[k - TYPES].all[n];
	return true;
}

/* What nobody holds. */
static double node_left(const struct pollux_snapshot *snapshot, int n, int k)
{
	const struct pollux_node *node = &snapshot->nodes[n];
	int cpu_limit = cpu_limit_at(snapshot, k);

	if (k < PLX_RESOURCES)
		return node->left.of[k];
	if (cpu_limit >= 0)
		return snapshot->cpu_limits[cpu_limit].left[n];
	return snapshot->kinds[k - TYPES].free[n];
}

static bool is_all(const struct pollux_snapshot *snapshot, int n, int k)
{
	int all = 0;

	return is_type(snapshot, n, k, &all) && all &&
	       all == snapshot->nodes[n].gpus;
}

/* Of kind k, of what the job has on a node. */
static double job_holds(const struct pollux_snapshot *snapshot,
			const struct pollux_job *job,
			const struct plx_node_alloc *held, int k)
{
	/* All GPUs of a node of one type are of it, whatever was asked for. */
	return is_all(snapshot, held->node, k)
		       ? held->has.gpus
		       : of_kind(snapshot, job, &held->has, k);
}

/* What its GPUs there, or its script, take now. */
static double demand_now(const struct plx_problem *problem,
			 const struct kind *kind, int j, int n)
{
	const struct plx_job *job = &problem->jobs[j];
	double keeps = job->batch_host == n ? kind->keeps[j] : 0;

	return at_least(job->now[n] * kind->demand[j], keeps);
}

/* What nodes have for elastic jobs. What runs is never too much. */
static bool fill_has(const struct pollux_snapshot *snapshot,
		     const struct plx_problem *problem, int k,
		     const struct kind *kind)
{
	double *now = calloc((size_t) snapshot->node_count + 1, sizeof(*now));

	if (!now)
		return false;
	for (int n = 0; n < snapshot->node_count; n++)
		kind->has[n] = node_left(snapshot, n, k);
	for (int j = 0; j < snapshot->job_count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];
		const struct plx_node_alloc *allocs =
			pollux_job_allocs(snapshot, job);

		for (int i = 0; i < job->alloc_count; i++)
			kind->has[allocs[i].node] +=
				job_holds(snapshot, job, &allocs[i], k);
		for (int n = 0; n < snapshot->node_count; n++)
			now[n] += demand_now(problem, kind, j, n);
	}
	for (int n = 0; n < snapshot->node_count; n++)
		kind->has[n] = at_least(at_least(kind->has[n], now[n]), 0);
	free(now);
	return true;
}

static double waiting_demand(const struct pollux_snapshot *snapshot,
			     const struct pollux_waiting *waiting, int k)
{
	int cpu_limit = cpu_limit_at(snapshot, k);

	if (k < PLX_RESOURCES)
		return waiting->each.of[k];
	if (cpu_limit >= 0)
		return waiting->cpu_limit == cpu_limit ? waiting->each.cpus : 0;
	return waiting->kind == k - TYPES ? waiting->each.gpus : 0;
}

/* Is it a type of GPU that some job waits for? */
static bool is_awaited(const struct pollux_snapshot *snapshot, int k)
{
	bool awaited = false;

	for (int i = 0; k >= TYPES && i < snapshot->waiting_count && !awaited;
	     i++)
		awaited = snapshot->waiting[i].kind == k - TYPES;
	return awaited;
}

/* Has the job GPUs of a node of several types that may be of kind k? */
static bool may_hold(const struct pollux_snapshot *snapshot,
		     const struct pollux_job *job, int k)
{
	const struct plx_node_alloc *held = pollux_job_allocs(snapshot, job);
	const struct pollux_kind *kinds = snapshot->kinds;

	if (job->kind == k - TYPES ||
	    (job->kind >= 0 &&
	     !pollux_type_among(kinds[job->kind].type, kinds[k - TYPES].type)))
		return false;
	for (int i = 0; i < job->alloc_count; i++) {
		int n = held[i].node;
		int all = kinds[k - TYPES].all[n];

		if (held[i].has.gpus > 0 && all &&
		    all < snapshot->nodes[n].gpus)
			return true;
	}
	return false;
}

/*
 * Only where it is known who holds what. Who has several types hides that: room
 * is made by number then.
 */
static bool is_counted(const struct pollux_snapshot *snapshot, int k)
{
	bool counted = is_awaited(snapshot, k);

	for (int j = 0; counted && j < snapshot->job_count; j++)
		counted = !may_hold(snapshot, &snapshot->jobs[j], k);
	return counted;
}

/*
 * Of a partition's CPUs; reservations.c asks for others where they are not
 * short.
 */
static double all_waiting_take(const struct pollux_snapshot *snapshot, int k)
{
	double sum = 0;

	for (int i = 0;
	     cpu_limit_at(snapshot, k) >= 0 && i < snapshot->waiting_count; i++)
		sum += waiting_demand(snapshot, &snapshot->waiting[i], k);
	return sum;
}

/* Nobody who needs such GPUs may use the node (rules/nodes.c). */
static bool has_none(const struct pollux_snapshot *snapshot, int n, int k)
{
	int all = 0;

	return is_type(snapshot, n, k, &all) && !all;
}

/* Could the node's GPUs and those that wait need more of it than there is? */
static bool is_short(const struct pollux_snapshot *snapshot,
		     const struct plx_problem *problem, const struct kind *kind,
		     int k)
{
	double waits = all_waiting_take(snapshot, k);
	double most = is_counted(snapshot, k);

	for (int j = 0; j < problem->job_count; j++)
		most = at_least(most, kind->demand[j]);
	for (int n = 0; n < problem->node_count; n++) {
		double needs = problem->gpus[n] * most + kind->scripts[n];

		if (!has_none(snapshot, n, k) && needs + waits > kind->has[n])
			return true;
	}
	return false;
}

static void release_kind(struct kind *kind)
{
	free(kind->has);
	free(kind->scripts);
	free(kind->demand);
	free(kind->keeps);
	*kind = (struct kind){ NULL };
}

/* False when there is no memory. */
static bool fill_kind(const struct pollux_snapshot *snapshot,
		      const struct plx_problem *problem, int k,
		      struct kind *kind)
{
	kind->has = calloc((size_t) snapshot->node_count + 1, sizeof(double));
	kind->scripts =
		calloc((size_t) snapshot->node_count + 1, sizeof(double));
	kind->demand = calloc((size_t) problem->job_count + 1, sizeof(double));
	kind->keeps = calloc((size_t) problem->job_count + 1, sizeof(double));
	if (!kind->has || !kind->scripts || !kind->demand || !kind->keeps)
		return false;
	for (int j = 0; j < problem->job_count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];

		kind->demand[j] = of_kind(snapshot, job, &job->per_gpu, k);
		kind->keeps[j] = of_kind(snapshot, job, &job->script, k);
		if (problem->jobs[j].batch_host >= 0)
			kind->scripts[problem->jobs[j].batch_host] +=
				kind->keeps[j];
	}
	return fill_has(snapshot, problem, k, kind);
}

static int write_kinds(const struct kind *kinds, int count,
		       struct plx_problem *problem, struct plx_error *err)
{
	size_t nodes = (size_t) problem->node_count;

	problem->consumables =
		calloc(nodes * (size_t) count + 1, sizeof(double));
	if (!problem->consumables)
		return plx_fail(err, "no memory for what nodes have");
	problem->consumable_kinds = count;
	for (size_t n = 0; n < nodes; n++) {
		for (int k = 0; k < count; k++)
			problem->consumables[n * (size_t) count + (size_t) k] =
				kinds[k].has[n];
	}
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->demand = calloc((size_t) count, sizeof(double));
		job->batch_host_demand = calloc((size_t) count, sizeof(double));
		if (!job->demand || !job->batch_host_demand)
			return plx_fail(err, "no memory for what jobs take");
		for (int k = 0; k < count; k++) {
			job->demand[k] = kinds[k].demand[j];
			job->batch_host_demand[k] = kinds[k].keeps[j];
		}
	}
	return 0;
}

bool pollux_consumables_has(const struct pollux_snapshot *snapshot, int j,
			    int n)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	double memory = job->script.memory - job->per_gpu.memory;

	return !snapshot->counts_memory || memory <= 0 ||
	       pollux_job_alloc_on(snapshot, job, n).has.memory > 0 ||
	       snapshot->nodes[n].left.memory >= memory;
}

/* --mem: a job gains no node that has not as much. */
static void forbid_full_nodes(const struct pollux_snapshot *snapshot,
			      struct plx_problem *problem)
{
	for (int j = 0; j < problem->job_count; j++) {
		bool *allowed = problem->jobs[j].allowed;

		for (int n = 0; allowed && n < snapshot->node_count; n++)
			allowed[n] = allowed[n] &&
				     pollux_consumables_has(snapshot, j, n);
	}
}

bool pollux_consumables_is_free(const struct pollux_snapshot *snapshot, int j,
				const int *gpus)
{
	const struct pollux_job *job = &snapshot->jobs[j];

	for (int k = PLX_CPUS; k < kind_count(snapshot); k++) {
		if (k == PLX_MEMORY && !snapshot->counts_memory)
			continue;
		for (int n = 0; n < snapshot->node_count; n++) {
			if (gpus[n] &&
			    node_left(snapshot, n, k) <
				    gpus[n] * of_kind(snapshot, job,
						      &job->per_gpu, k))
				return false;
		}
	}
	return true;
}

/* A plan that does not count what these need could never be carried out. */
static int hold_jobs(struct plx_problem *problem, const struct kind *kind)
{
	int held = 0;

	for (int j = 0; j < problem->job_count; j++) {
		if (kind->demand[j] <= 0)
			continue;
		problem->jobs[j].fixed = true;
		held++;
	}
	return held;
}

int pollux_consumables_fill(const struct pollux_snapshot *snapshot,
			    struct plx_problem *problem,
			    struct pollux_consumables *consumables,
			    struct plx_error *err)
{
	struct kind kinds[PLX_KINDS_MAX + 1] = { { NULL } };
	int count = 0;
	int rc = 0;

	consumables->held = 0;
	for (int i = PLX_CPUS; i < kind_count(snapshot); i++) {
		int k = kind_at(snapshot, i);

		if (k == PLX_MEMORY && !snapshot->counts_memory)
			continue;
		if (!fill_kind(snapshot, problem, k, &kinds[count])) {
			rc = plx_fail(err, "no memory for what nodes have");
			break;
		}
		if (is_short(snapshot, problem, &kinds[count], k)) {
			if (count < PLX_KINDS_MAX) {
				consumables->kinds[count++] = k;
				continue;
			}
			consumables->held += hold_jobs(problem, &kinds[count]);
		}
		release_kind(&kinds[count]);
	}
	if (rc == 0 && count > 0)
		rc = write_kinds(kinds, count, problem, err);
	if (rc == 0 && snapshot->counts_memory)
		forbid_full_nodes(snapshot, problem);
	for (int k = 0; k <= PLX_KINDS_MAX; k++)
		release_kind(&kinds[k]);
	return rc;
}

void pollux_consumables_wanted(const struct pollux_snapshot *snapshot,
			       const struct plx_problem *problem,
			       const struct pollux_consumables *consumables,
			       const struct pollux_waiting *waiting,
			       double *demand)
{
	for (int i = 0; i < problem->consumable_kinds; i++)
		demand[i] = waiting_demand(snapshot, waiting,
					   consumables->kinds[i]);
}
