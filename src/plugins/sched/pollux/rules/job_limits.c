/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_limits.c - what limits leave to each elastic job, for the plan */

#include "src/common/assoc_mgr.h"

#include "sched/pollux/rules/usage.h"
#include "sched/pollux/rules/limit_walk.h"
#include "sched/pollux/rules/job_limits.h"
#include "sched/pollux/rules/partition.h"

/* The view, and what each of its pools is in Slurm. */
struct caps {
	struct pollux_view *view;
	const void **keys; /* [view->pool_count] a number of Slurm's */
	int gpu;	   /* index of gres/gpu; -1: GPUs are not counted */
};

/* One job while its limits are looked at. */
struct look {
	struct caps *caps;
	struct pollux_job *job;
	const job_record_t *record;
	int gpus; /* it holds */
};

/* The same for a job that waits. */
struct wait_look {
	struct caps *caps;
	struct pollux_waiting *waiting;
	const job_record_t *record;
};

/* What stands for the limit: jobs that share it share this. */
static const void *_key(const struct pollux_bound *bound)
{
	if (bound->unit == POLLUX_SPENT)
		return bound->spent;
	return bound->unit == POLLUX_MINUTES ? (const void *) bound->run_s
					     : (const void *) bound->used;
}

static int _find_pool(const struct caps *caps, const void *key)
{
	for (int p = 0; p < caps->view->pool_count; p++) {
		if (caps->keys[p] == key)
			return p;
	}
	return -1;
}

/* What is left of the limit, with all that its jobs have counted as taken. */
static double _left(const struct pollux_bound *bound)
{
	double left = (double) bound->most;

	if (bound->unit == POLLUX_NOW)
		return left - (double) (bound->used ? *bound->used : 0);
	if (bound->unit == POLLUX_SPENT)
		left -= (double) (*bound->spent / 60);
	return left - (double) *bound->run_s / 60;
}

static int _pool(struct caps *caps, const struct pollux_bound *bound)
{
	struct pollux_view *view = caps->view;
	int p = _find_pool(caps, _key(bound));

	if (p >= 0)
		return p;
	p = view->pool_count++;
	xrecalloc(view->pools, view->pool_count, sizeof(*view->pools));
	xrecalloc(caps->keys, view->pool_count, sizeof(*caps->keys));
	view->pools[p] = (struct plx_limit_pool){ .available = _left(bound) };
	caps->keys[p] = _key(bound);
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
		gpus = (double) pollux_books_count(counts, look->caps->gpu);
	}
	if (look->caps->gpu == i)
		return 1;
	return gpus > 0 ? (double) pollux_books_count(counts, i) / gpus : 0;
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

void pollux_caps_node(const struct pollux_view *view,
		      const job_record_t *record, struct pollux_job *job)
{
	int largest = 0;
	int most = 0;

	for (int n = 0; n < view->node_count; n++)
		largest = MAX(largest, view->nodes[n].gpus);
	most = pollux_partition_node_gpus(record, largest);
	if (most < largest)
		_cap_on_node(job, most);
}

/* It may use the nodes that its like have, and so many more. */
static void _cap_nodes(const struct look *look,
		       const struct pollux_bound *bound)
{
	const struct pollux_view *view = look->caps->view;
	bitstr_t *nodes = bound->scope == POLLUX_OF_JOB ? NULL : bound->nodes;
	bool *chosen = xcalloc(view->node_count + 1, sizeof(*chosen));
	uint64_t count = 0;

	for (int n = 0; n < view->node_count; n++) {
		chosen[n] = (nodes && bit_test(nodes, n)) ||
			    bit_test(look->record->node_bitmap, n);
		count += chosen[n];
	}
	for (; count < bound->most; count++) {
		int best = -1;

		for (int n = 0; n < view->node_count; n++) {
			if (!chosen[n] && view->nodes[n].usable &&
			    look->job->allowed[n] &&
			    (best < 0 || view->nodes[n].gpus_free >
						 view->nodes[best].gpus_free))
				best = n;
		}
		if (best < 0)
			break;
		chosen[best] = true;
	}
	for (int n = 0; look->job->within && n < view->node_count; n++)
		chosen[n] = chosen[n] && look->job->within[n];
	xfree(look->job->within);
	look->job->within = chosen;
}

static void _share(const struct look *look, const struct pollux_bound *bound,
		   double each)
{
	struct pollux_job *job = look->job;
	int p = _pool(look->caps, bound);
	double own = (double) pollux_books_count(look->record->tres_alloc_cnt,
						 bound->tres);

	/* What it has itself is there for it, and for the others. */
	if (bound->unit != POLLUX_NOW)
		own *= (double) pollux_books_unused_s(look->record,
						      look->caps->view->now) /
		       60;
	if (look->gpus > 0)
		look->caps->view->pools[p].available += own;
	xrecalloc(job->takes, job->take_count + 1, sizeof(*job->takes));
	job->takes[job->take_count++] =
		(struct plx_take){ .pool = p, .each = each };
}

static bool _see_job(const struct pollux_bound *bound, void *context)
{
	const struct look *look = context;
	double each = _rate(look, bound->tres);
	bool safe = accounting_enforce & ACCOUNTING_ENFORCE_SAFE;
	bool spent = bound->unit == POLLUX_SPENT;

	if (bound->tres == TRES_ARRAY_NODE) {
		if (bound->unit == POLLUX_NOW && bound->scope != POLLUX_OF_NODE)
			_cap_nodes(look, bound);
		return true;
	}
	if (each <= 0)
		return true;
	if (spent && (uint64_t) (*bound->spent / 60) >= bound->most)
		_cap(look->job, 0);
	if (bound->unit != POLLUX_NOW)
		each *= (double) pollux_bounds_minutes(look->record);
	if (bound->scope == POLLUX_OF_NODE)
		_cap_on_node(look->job, (double) bound->most / each);
	else if (bound->scope == POLLUX_OF_JOB || !_key(bound))
		_cap(look->job, (double) bound->most / each);
	else if (!spent || safe)
		_share(look, bound, each);
	return true;
}

static bool _see_waiting(const struct pollux_bound *bound, void *context)
{
	const struct wait_look *look = context;
	struct pollux_waiting *waiting = look->waiting;
	const uint64_t *counts = look->record->tres_req_cnt;
	double need = (double) pollux_books_count(counts, bound->tres);
	int p = _key(bound) ? _find_pool(look->caps, _key(bound)) : -1;

	if (p < 0 || need <= 0 || bound->scope == POLLUX_OF_JOB)
		return true;
	if (bound->unit != POLLUX_NOW)
		need *= (double) pollux_bounds_minutes(look->record);
	xrecalloc(waiting->takes, waiting->take_count + 1,
		  sizeof(*waiting->takes));
	waiting->takes[waiting->take_count++] =
		(struct plx_take){ .pool = p, .each = need };
	return true;
}

static void _fill_job(struct caps *caps, int j)
{
	struct look look = {
		.caps = caps,
		.job = &caps->view->jobs[j],
		.record = find_job_record(caps->view->jobs[j].id),
		.gpus = pollux_view_gpus(caps->view, j),
	};

	if (!look.record || !look.record->node_bitmap)
		return;
	pollux_bounds_each(look.record, _see_job, &look);
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

void pollux_caps_fill(struct pollux_view *view)
{
	assoc_mgr_lock_t lock = { .assoc = READ_LOCK,
				  .qos = READ_LOCK,
				  .tres = READ_LOCK };
	struct caps caps = { .view = view };

	assoc_mgr_lock(&lock);
	caps.gpu = _gpu_index();
	for (int j = 0; j < view->job_count; j++)
		_fill_job(&caps, j);
	for (int i = 0; view->pool_count && i < view->waiting_count; i++) {
		struct wait_look look = {
			.caps = &caps,
			.waiting = &view->waiting[i],
			.record = find_job_record(view->waiting[i].id),
		};

		if (look.record)
			pollux_bounds_each(look.record, _see_waiting, &look);
	}
	assoc_mgr_unlock(&lock);
	xfree(caps.keys);
}

void pollux_caps_release(struct pollux_view *view)
{
	for (int j = 0; j < view->job_count; j++) {
		xfree(view->jobs[j].takes);
		xfree(view->jobs[j].within);
	}
	for (int i = 0; i < view->waiting_count; i++)
		xfree(view->waiting[i].takes);
	xfree(view->pools);
}
