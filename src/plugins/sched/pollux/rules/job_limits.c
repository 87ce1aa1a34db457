/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_limits.c - what limits leave to each elastic job, for the plan */

#include "src/common/assoc_mgr.h"

#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/rules/usage.h"
#include "sched/pollux/rules/limit_walk.h"
#include "sched/pollux/rules/job_limits.h"
#include "sched/pollux/rules/partition.h"

/* The snapshot, and what each of its pools is in Slurm. */
struct limits {
	struct pollux_snapshot *snapshot;
	const void **keys; /* [snapshot->pool_count] a number of Slurm's */
	int gpu;	   /* index of gres/gpu; -1: GPUs are not counted */
};

/* One job while its limits are looked at. */
struct look {
	struct limits *limits;
	struct pollux_job *job;
	const job_record_t *record;
	int gpus; /* it holds */
};

/* The same for a job that waits. */
struct wait_look {
	struct limits *limits;
	struct pollux_waiting *waiting;
	const job_record_t *record;
};

/* What stands for the limit: jobs that share it share this. */
static const void *_key(const struct pollux_tres_limit *limit)
{
	if (limit->unit == POLLUX_SPENT)
		return limit->spent;
	return limit->unit == POLLUX_MINUTES ? (const void *) limit->run_s
					     : (const void *) limit->used;
}

static int _find_pool(const struct limits *limits, const void *key)
{
	for (int p = 0; p < limits->snapshot->pool_count; p++) {
		if (limits->keys[p] == key)
			return p;
	}
	return -1;
}

/* What is left of the limit, with all that its jobs have counted as taken. */
static double _left(const struct pollux_tres_limit *limit)
{
	double left = (double) limit->most;

	if (limit->unit == POLLUX_NOW)
		return left - (double) (limit->used ? *limit->used : 0);
	if (limit->unit == POLLUX_SPENT)
		left -= (double) (*limit->spent / 60);
	return left - (double) *limit->run_s / 60;
}

static int _pool(struct limits *limits, const struct pollux_tres_limit *limit)
{
	struct pollux_snapshot *snapshot = limits->snapshot;
	int p = _find_pool(limits, _key(limit));

	if (p >= 0)
		return p;
	p = snapshot->pool_count++;
	xrecalloc(snapshot->pools, snapshot->pool_count,
		  sizeof(*snapshot->pools));
	xrecalloc(limits->keys, snapshot->pool_count, sizeof(*limits->keys));
	snapshot->pools[p] =
		(struct plx_limit_pool){ .available = _left(limit) };
	limits->keys[p] = _key(limit);
	return p;
}

/* What a GPU of the job brings with it, of TRES i. */
static double _rate(const struct look *look, int i)
{
	const uint64_t *counts = look->record->tres_alloc_cnt;
	double gpus = look->gpus;

	if (look->gpus <= 0) {
		/* Parked: as it was submitted. */
		counts = look->record->tres_req_cnt;
		gpus = (double) pollux_usage_count(counts, look->limits->gpu);
	}
	if (look->limits->gpu == i)
		return 1;
	return gpus > 0 ? (double) pollux_usage_count(counts, i) / gpus : 0;
}

static void _cap(struct pollux_job *job, double gpus)
{
	int most = gpus < PLX_GPUS_MAX ? (int) (gpus + 1e-6) : PLX_GPUS_MAX;

	if (!job->capped || most < job->most_gpus)
		job->most_gpus = most;
	job->capped = true;
}

static void _cap_on_node(struct pollux_job *job, double gpus)
{
	int most = gpus < PLX_GPUS_MAX ? (int) (gpus + 1e-6) : PLX_GPUS_MAX;

	if (most < 1)
		_cap(job, 0);
	most = MAX(most, 1);
	if (!job->node_gpus || most < job->node_gpus)
		job->node_gpus = most;
}

void pollux_job_limits_node(const struct pollux_snapshot *snapshot,
			    const job_record_t *record, struct pollux_job *job)
{
	int largest = snapshot->node_gpus_max;
	int most = pollux_partition_node_gpus(record, largest);

	if (most < largest)
		_cap_on_node(job, most);
}

/* It may use the nodes that its like have, and so many more. */
static void _cap_nodes(const struct look *look,
		       const struct pollux_tres_limit *limit)
{
	struct pollux_snapshot *snapshot = look->limits->snapshot;
	const bool *allowed =
		pollux_snapshot_nodes(snapshot, look->job->allowed_set);
	bitstr_t *nodes = limit->scope == POLLUX_OF_JOB ? NULL : limit->nodes;
	bool *chosen = xcalloc(snapshot->node_count + 1, sizeof(*chosen));
	uint64_t count = 0;

	for (int n = 0; n < snapshot->node_count; n++) {
		chosen[n] = (nodes && bit_test(nodes, n)) ||
			    bit_test(look->record->node_bitmap, n);
		count += chosen[n];
	}
	for (; count < limit->most; count++) {
		int best = -1;

		for (int n = 0; n < snapshot->node_count; n++) {
			if (!chosen[n] && snapshot->nodes[n].usable &&
			    allowed[n] &&
			    (best < 0 ||
			     snapshot->nodes[n].left.gpus >
				     snapshot->nodes[best].left.gpus))
				best = n;
		}
		if (best < 0)
			break;
		chosen[best] = true;
	}
	for (int n = 0; look->job->within && n < snapshot->node_count; n++)
		chosen[n] = chosen[n] && look->job->within[n];
	xfree(look->job->within);
	look->job->within = chosen;
}

static void _share(const struct look *look,
		   const struct pollux_tres_limit *limit, double each)
{
	struct pollux_job *job = look->job;
	int p = _pool(look->limits, limit);
	double own = (double) pollux_usage_count(look->record->tres_alloc_cnt,
						 limit->tres);

	/* What it has itself is there for it, and for the others. */
	if (limit->unit != POLLUX_NOW)
		own *= (double) pollux_usage_unused_s(
			       look->record, look->limits->snapshot->now) /
		       60;
	if (look->gpus > 0)
		look->limits->snapshot->pools[p].available += own;
	xrecalloc(job->demand, job->take_count + 1, sizeof(*job->demand));
	job->demand[job->take_count++] =
		(struct plx_take){ .pool = p, .each = each };
}

static bool _see_job(const struct pollux_tres_limit *limit, void *context)
{
	const struct look *look = context;
	double each = _rate(look, limit->tres);
	bool safe = accounting_enforce & ACCOUNTING_ENFORCE_SAFE;
	bool spent = limit->unit == POLLUX_SPENT;

	if (limit->tres == TRES_ARRAY_NODE) {
		if (limit->unit == POLLUX_NOW && limit->scope != POLLUX_OF_NODE)
			_cap_nodes(look, limit);
		return true;
	}
	if (each <= 0)
		return true;
	if (spent && (uint64_t) (*limit->spent / 60) >= limit->most)
		_cap(look->job, 0);
	if (limit->unit != POLLUX_NOW)
		each *= (double) pollux_limit_minutes(look->record);
	if (limit->scope == POLLUX_OF_NODE)
		_cap_on_node(look->job, (double) limit->most / each);
	else if (limit->scope == POLLUX_OF_JOB || !_key(limit))
		_cap(look->job, (double) limit->most / each);
	else if (!spent || safe)
		_share(look, limit, each);
	return true;
}

static bool _see_waiting(const struct pollux_tres_limit *limit, void *context)
{
	const struct wait_look *look = context;
	struct pollux_waiting *waiting = look->waiting;
	const uint64_t *counts = look->record->tres_req_cnt;
	double need = (double) pollux_usage_count(counts, limit->tres);
	int p = _key(limit) ? _find_pool(look->limits, _key(limit)) : -1;

	if (p < 0 || need <= 0 || limit->scope == POLLUX_OF_JOB)
		return true;
	if (limit->unit != POLLUX_NOW)
		need *= (double) pollux_limit_minutes(look->record);
	xrecalloc(waiting->demand, waiting->take_count + 1,
		  sizeof(*waiting->demand));
	waiting->demand[waiting->take_count++] =
		(struct plx_take){ .pool = p, .each = need };
	return true;
}

static void _fill_job(struct limits *limits, int j)
{
	struct look look = {
		.limits = limits,
		.job = &limits->snapshot->jobs[j],
		.record = find_job_record(limits->snapshot->jobs[j].id),
		.gpus = limits->snapshot->jobs[j].has_gpus,
	};

	if (!look.record || !look.record->node_bitmap)
		return;
	pollux_limit_walk(look.record, _see_job, &look);
	/* A limit that was lowered takes nothing away. */
	look.job->most_gpus = MAX(look.job->most_gpus, look.gpus);
}

static int _gpu_index(void)
{
	for (int i = 0; i < slurmctld_tres_cnt; i++) {
		if (!xstrcmp(assoc_mgr_tres_name_array[i], "gres/gpu"))
			return i;
	}
	return -1;
}

void pollux_job_limits_fill(struct pollux_snapshot *snapshot)
{
	assoc_mgr_lock_t lock = { .assoc = READ_LOCK,
				  .qos = READ_LOCK,
				  .tres = READ_LOCK };
	struct limits limits = { .snapshot = snapshot };

	assoc_mgr_lock(&lock);
	limits.gpu = _gpu_index();
	for (int j = 0; j < snapshot->job_count; j++)
		_fill_job(&limits, j);
	for (int i = 0; snapshot->pool_count && i < snapshot->waiting_count;
	     i++) {
		struct wait_look look = {
			.limits = &limits,
			.waiting = &snapshot->waiting[i],
			.record = find_job_record(snapshot->waiting[i].id),
		};

		if (look.record)
			pollux_limit_walk(look.record, _see_waiting, &look);
	}
	assoc_mgr_unlock(&lock);
	xfree(limits.keys);
}

void pollux_job_limits_release(struct pollux_snapshot *snapshot)
{
	for (int j = 0; j < snapshot->job_count; j++) {
		xfree(snapshot->jobs[j].demand);
		xfree(snapshot->jobs[j].within);
	}
	for (int i = 0; i < snapshot->waiting_count; i++)
		xfree(snapshot->waiting[i].demand);
	xfree(snapshot->pools);
}
