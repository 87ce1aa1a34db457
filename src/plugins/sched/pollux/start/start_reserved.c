/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_reserved.c - jobs start on what is reserved for them, at once */

#include <math.h>

#include "common/slurm_compat.h"
#include "sched/pollux/guard.h"
#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/snapshot/queue_reason.h"
#include "sched/pollux/preempt.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/start/await.h"
#include "sched/pollux/start/start_reserved.h"
#include "sched/pollux/start/requeue.h"
#include "sched/pollux/start/spread_start.h"
#include "sched/pollux/locks.h"

/* After a start that Slurm refused; then twice that, and so on. */
#define AGAIN_S	     0.5
#define AGAIN_MOST_S 30
/* Others are kept off for so long, and not after so many refusals. */
#define GUARD_S	       120
#define GUARD_REFUSALS 2
/* Jobs, in a cycle, that others may have to leave nodes to. */
#define CLEARS_MAX 10

struct reservation {
	uint32_t id;
	char *partition;
	char *nodes;
	bitstr_t *bits;	     /* the same, until nodes are configured anew */
	int gpus;	     /* on each */
	bool whole;	     /* and nobody else there */
	bool spread;	     /* another shape than that of its request ... */
	bool alone;	     /* ... and no other job of several nodes there */
	bool made;	     /* elastic jobs give way; else: is beside such */
	double since_s;	     /* monotonic clock */
	int refusals;	     /* by Slurm */
	double again_s;	     /* between tries */
	double not_before_s; /* monotonic clock */
};

/* The thread's own. */
static struct {
	struct reservation at[POLLUX_PENDING_MAX];
	int count;
	bool lifted; /* nobody is kept off any more, since this was asked */
} reservations;

static void _release(struct reservation *reservation)
{
	xfree(reservation->partition);
	xfree(reservation->nodes);
	FREE_NULL_BITMAP(reservation->bits);
	memset(reservation, 0, sizeof(*reservation));
}

void pollux_start_reserved_forget_all(void)
{
	for (int i = 0; i < reservations.count; i++)
		_release(&reservations.at[i]);
	reservations.count = 0;
}

bool pollux_start_reserved_lifted(void)
{
	bool lifted = reservations.lifted;

	reservations.lifted = false;
	return lifted;
}

bool pollux_start_reserved_any(void)
{
	return reservations.count > 0 || pollux_guard_any();
}

static struct reservation *_find(uint32_t id)
{
	for (int i = 0; i < reservations.count; i++) {
		if (reservations.at[i].id == id)
			return &reservations.at[i];
	}
	return NULL;
}

static bitstr_t *_bits(const struct pollux_snapshot *snapshot,
		       const bool *nodes)
{
	bitstr_t *bits = bit_alloc(snapshot->node_count);

	for (int n = 0; n < snapshot->node_count; n++) {
		if (nodes[n])
			bit_set(bits, n);
	}
	return bits;
}

/* Do elastic jobs have some of it that were asked for it in a former cycle? */
static bool _is_awaited(const struct pollux_snapshot *snapshot,
			const struct pollux_waiting *waiting,
			const struct plx_grant *grant)
{
	/* A moldable job is started by the search, in another shape. */
	for (int n = 0; n < snapshot->node_count && waiting->moldable < 0;
	     n++) {
		if (grant->nodes[n] &&
		    snapshot->nodes[n].left.gpus < waiting->each.gpus)
			return true;
	}
	return false;
}

/* Is anything reserved for the job, for us to start it, or was it? */
static bool _is_made(const struct pollux_snapshot *snapshot,
		     const struct pollux_waiting *waiting,
		     const struct plx_grant *grant)
{
	const struct reservation *before = _find(waiting->id);

	return grant->granted && !waiting->het &&
	       (grant->displaces || (before && before->made) ||
		_is_awaited(snapshot, waiting, grant));
}

/* Nodes where others are kept off, perhaps, or are until now. */
static bool *_made_on(const struct pollux_snapshot *snapshot,
		      const struct plx_grant *grants)
{
	bool *made = xcalloc(snapshot->node_count + 1, sizeof(*made));

	for (int i = 0; i < snapshot->waiting_count; i++) {
		if (!_is_made(snapshot, &snapshot->waiting[i], &grants[i]))
			continue;
		for (int n = 0; n < snapshot->node_count; n++)
			made[n] = made[n] || grants[i].nodes[n];
	}
	for (int n = 0; n < snapshot->node_count; n++)
		made[n] = made[n] || pollux_guard_has(n);
	return made;
}

/* Slurm could start it, if some of its nodes were not guarded. */
static bool _is_beside(const struct pollux_snapshot *snapshot,
		       const struct pollux_waiting *waiting,
		       const struct plx_grant *grant, const bool *made)
{
	if (!grant->granted || waiting->het || waiting->moldable >= 0)
		return false;
	for (int n = 0; n < snapshot->node_count; n++) {
		if (made[n] && grant->nodes[n])
			return true;
	}
	return false;
}

static struct reservation _reservation(const struct pollux_snapshot *snapshot,
				       const struct pollux_waiting *waiting,
				       const struct plx_grant *grant)
{
	const struct reservation *before = _find(waiting->id);

	return (struct reservation){
		.id = waiting->id,
		.partition = xstrdup(waiting->partition),
		.nodes = pollux_snapshot_names(snapshot, grant->nodes),
		.bits = _bits(snapshot, grant->nodes),
		.gpus = grant->gpus,
		.whole = waiting->whole_nodes,
		.made = _is_made(snapshot, waiting, grant),
		.since_s = before ? before->since_s : pollux_now_s(),
		.refusals = before ? before->refusals : 0,
		.again_s = before ? before->again_s : AGAIN_S,
		.not_before_s = before ? before->not_before_s : 0,
	};
}

/*
 * Slurm may take it that an exclusive job is there; but not where it is to
 * preempt who is.
 */
static bool _guards(const struct reservation *reservation, double now_s)
{
	return reservation->made && reservation->refusals < GUARD_REFUSALS &&
	       now_s < reservation->since_s + GUARD_S &&
	       !pollux_preempt_is_over(reservation->id, now_s);
}

static void _add_nodes(bitstr_t **nodes, bitstr_t *more)
{
	if (!more || bit_size(more) != node_record_count)
		return;
	if (*nodes)
		bit_or(*nodes, more);
	else
		*nodes = bit_copy(more);
}

/* Nodes to be guarded; the caller's, NULL: none. A lock on nodes. */
static bitstr_t *_guarded(double now_s)
{
	bitstr_t *nodes = NULL;

	_add_nodes(&nodes, pollux_await_freed());
	for (int i = 0; i < reservations.count; i++) {
		if (_guards(&reservations.at[i], now_s))
			_add_nodes(&nodes, reservations.at[i].bits);
	}
	return nodes;
}

/* Before elastic jobs are asked to give way. Write lock on nodes. */
static void _guard(double now_s)
{
	bitstr_t *nodes = _guarded(now_s);

	reservations.lifted =
		reservations.lifted || (pollux_guard_any() && !nodes);
	pollux_guard_set(nodes);
	FREE_NULL_BITMAP(nodes);
}

/* A lock on nodes, to read. */
static bool _guard_is_due(double now_s)
{
	bitstr_t *nodes = _guarded(now_s);
	bool due = !pollux_guard_holds(nodes);

	FREE_NULL_BITMAP(nodes);
	return due;
}

void pollux_start_reserved_note(const struct pollux_snapshot *snapshot,
				const struct plx_grant *grants, bool alone)
{
	struct reservation kept[POLLUX_PENDING_MAX];
	bool *made = _made_on(snapshot, grants);
	int count = 0;

	for (int i = 0; i < snapshot->waiting_count; i++) {
		const struct pollux_waiting *waiting = &snapshot->waiting[i];
		bool spread = pollux_spread_is(waiting, &grants[i]);

		if (!spread && !_is_made(snapshot, waiting, &grants[i]) &&
		    !_is_beside(snapshot, waiting, &grants[i], made))
			continue;
		kept[count] = _reservation(snapshot, waiting, &grants[i]);
		kept[count].spread = spread;
		kept[count++].alone = alone;
	}
	xfree(made);
	pollux_start_reserved_forget_all();
	pollux_await_note(snapshot, grants);
	memcpy(reservations.at, kept, sizeof(kept[0]) * (size_t) count);
	reservations.count = count;
	/* Now: elastic jobs are asked next. */
	pollux_start_reserved(pollux_now_s());
}

/* Are the GPUs given up, and epilogs over? Read lock on nodes. */
static bool _is_free(const struct reservation *reservation, bitstr_t *nodes)
{
	for (int n = 0; n < node_record_count; n++) {
		const gres_node_state_t *gpus = NULL;
		const node_record_t *node = node_record_table_ptr[n];

		if (!bit_test(nodes, n))
			continue;
		if (!node || bit_test(cg_node_bitmap, n) ||
		    (reservation->whole &&
		     (node->run_job_cnt || node->comp_job_cnt)))
			return false;
		if (!reservation->gpus)
			continue;
		gpus = pollux_node_gpus(node);
		if (pollux_node_free(gpus, NULL) < reservation->gpus)
			return false;
	}
	return true;
}

/* What Slurm's schedulers ask before they look for nodes. Write lock. */
static bool _may_start(job_record_t **job)
{
	if ((*job)->fed_details || (*job)->burst_buffer || (*job)->het_job_id ||
	    (*job)->preempt_in_progress)
		return false;
	if (((*job)->array_recs || (*job)->array_task_id != NO_VAL) &&
	    !job_array_start_test(*job))
		return false;
	return job_limits_check(job, true) == WAIT_NO_REASON &&
	       license_job_test(*job, time(NULL), true) == SLURM_SUCCESS &&
	       job_independent(*job) &&
	       !(((*job)->deadline && (*job)->deadline != NO_VAL) &&
		 !deadline_ok(*job, (char *) "pollux"));
}

/* Nodes other than these are out of the question, for the while of it. */
static int _select(job_record_t *job, bitstr_t *nodes)
{
	bitstr_t *others = bit_copy(nodes);
	bitstr_t *excluded = job->details->exc_node_bitmap;
	uint32_t id = job->job_id;
	int rc = SLURM_ERROR;

	bit_not(others);
	if (excluded)
		bit_or(others, excluded);
	job->details->exc_node_bitmap = others;
	pollux_slurm_use_features(job);
	rc = pollux_guard_select(job, SLURMDB_JOB_FLAG_BACKFILL);
	/* The rest of an array has become a record that was copied from it. */
	if (job->array_job_id) {
		job_record_t *rest = find_job_record(job->array_job_id);

		if (rest && rest->job_id != id && rest != job &&
		    rest->details && IS_JOB_PENDING(rest)) {
			FREE_NULL_BITMAP(rest->details->exc_node_bitmap);
			if (excluded)
				rest->details->exc_node_bitmap =
					bit_copy(excluded);
		}
	}
	if (job->details) {
		FREE_NULL_BITMAP(job->details->exc_node_bitmap);
		job->details->exc_node_bitmap = excluded;
	}
	return rc;
}

/* select_nodes() has counted the start; sdiag tells by whom, as sacct does. */
static void _count_backfilled(void)
{
	slurmctld_diag_stats.backfilled_jobs++;
	slurmctld_diag_stats.last_backfilled_jobs++;
}

static void _launch(job_record_t *job)
{
	last_job_update = time(NULL);
	_count_backfilled();
	pollux_info(
		"sched/pollux: JobId=%u starts on %s in the room made for it",
		job->job_id, job->nodes);
	if (!job->batch_flag)
		srun_allocate(job);
	else if (!IS_JOB_CONFIGURING(job))
		launch_job(job);
	rebuild_job_part_list(job);
}

static void _wait_longer(struct reservation *reservation, double now_s,
			 const char *why)
{
	debug("sched/pollux: JobId=%u does not start on %s: %s",
	      reservation->id, reservation->nodes, why);
	reservation->refusals++;
	reservation->not_before_s = now_s + reservation->again_s;
	reservation->again_s = MIN(2 * reservation->again_s, AGAIN_MOST_S);
}

/* Would Slurm start it on free nodes of the partition? Write lock. */
static bool _could_start(job_record_t *job, part_record_t *part)
{
	part_record_t *before = job->part_ptr;
	bool could = false;

	job->part_ptr = part;
	could = _may_start(&job) && pollux_slurm_within_limits(job) &&
		acct_policy_job_runnable_pre_select(job, false);
	job->part_ptr = before;
	return could;
}

/* Might a job that yields be in its way? */
static bool _wants_nodes(const struct pollux_snapshot *snapshot,
			 const struct pollux_waiting *waiting)
{
	bool any = false;

	if (waiting->ignored || waiting->limited || waiting->blocked ||
	    waiting->unlicensed)
		return false;
	for (int j = 0; j < snapshot->job_count && !any; j++)
		any = snapshot->jobs[j].yields;
	for (int n = 0; n < snapshot->node_count && any; n++) {
		if (waiting->allowed[n] &&
		    waiting->each.gpus >= snapshot->nodes[n].gpus &&
		    snapshot->nodes[n].gpus)
			return true;
	}
	return any && waiting->whole_nodes;
}

void pollux_start_reserved_clear(struct pollux_snapshot *snapshot)
{
	int asked[CLEARS_MAX];
	int count = 0;

	for (int i = 0; i < snapshot->waiting_count && count < CLEARS_MAX;
	     i++) {
		if (_wants_nodes(snapshot, &snapshot->waiting[i]))
			asked[count++] = i;
	}
	if (!count)
		return;
	pollux_lock(POLLUX_CLEARING);
	for (int i = 0; i < count; i++) {
		struct pollux_waiting *waiting = &snapshot->waiting[asked[i]];
		job_record_t *job = find_job_record(waiting->id);
		part_record_t *part = find_part_record(waiting->partition);

		waiting->clears = job && part &&
				  pollux_waits_for_nodes(job, time(NULL)) &&
				  _could_start(job, part);
		pollux_lock_yield(POLLUX_CLEARING);
	}
	pollux_unlock(POLLUX_CLEARING);
}

/* On these nodes; -1 with err set. */
static int _start_on(const struct reservation *reservation, job_record_t *job,
		     bitstr_t *nodes, struct plx_error *err)
{
	int rc = ESLURM_NODES_BUSY;

	if (!_may_start(&job))
		return plx_fail(err, "Slurm would not start it now");
	if (reservation->spread)
		return pollux_spread_start(job, nodes, reservation->gpus,
					   reservation->alone, err);
	rc = _select(job, nodes);
	if (rc != SLURM_SUCCESS)
		return plx_fail(err, "%s", slurm_strerror(rc));
	_launch(job);
	return 0;
}

/* Under the write locks. */
static bool _start(struct reservation *reservation, double now_s)
{
	job_record_t *job = find_job_record(reservation->id);
	part_record_t *part = find_part_record(reservation->partition);
	part_record_t *before = NULL;
	bitstr_t *nodes = NULL;
	struct plx_error err;
	bool started = false;

	if (job)
		pollux_requeue_finish(job);
	if (!job || !part || !pollux_waits_for_nodes(job, time(NULL)) ||
	    pollux_slurm_nodes(reservation->nodes, &nodes) != SLURM_SUCCESS ||
	    !bit_set_count(nodes) || !_is_free(reservation, nodes))
		goto done;
	before = job->part_ptr;
	job->part_ptr = part;
	started = _start_on(reservation, job, nodes, &err) == 0;
	if (started) {
		reservation->made = false;
		reservation->not_before_s = INFINITY;
		reservation->id =
			0; /* the rest of an array may have the same */
	} else {
		job->part_ptr = before;
		_wait_longer(reservation, now_s, err.text);
	}
done:
	FREE_NULL_BITMAP(nodes);
	return started;
}

/* Is there anything to be done? */
static bool _any_due(double now_s)
{
	bool due = false;

	if (!pollux_start_reserved_any() && !pollux_await_any())
		return false;
	pollux_lock(POLLUX_RESERVED);
	due = _guard_is_due(now_s);
	for (int i = 0; i < reservations.count && !due; i++) {
		const struct reservation *reservation = &reservations.at[i];

		due = now_s >= reservation->not_before_s &&
		      bit_size(reservation->bits) == node_record_count &&
		      _is_free(reservation, reservation->bits);
	}
	pollux_unlock(POLLUX_RESERVED);
	return due;
}

int pollux_start_reserved(double now_s)
{
	int started = 0;

	if (!_any_due(now_s))
		return 0;
	pollux_lock(POLLUX_STARTING);
	for (int i = 0; i < reservations.count && !pollux_ending(); i++) {
		if (now_s < reservations.at[i].not_before_s)
			continue;
		started += _start(&reservations.at[i], now_s);
		pollux_lock_yield(POLLUX_STARTING);
	}
	_guard(now_s);
	pollux_unlock(POLLUX_STARTING);
	return started;
}
