/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sched_thread.c - the scheduling thread */

#define _GNU_SOURCE /* pthread_cond_clockwait */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/node_parts.h"
#include "common/record_layout.h"
#include "common/slurm_compat.h"
#include "sched/pollux/acct/acct.h"
#include "sched/pollux/acct/first_row.h"
#include "sched/pollux/guard.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/resize_request.h"
#include "sched/pollux/resize/constrain.h"
#include "sched/pollux/resize/epilog.h"
#include "sched/pollux/resize/extend.h"
#include "sched/pollux/resize/notify.h"
#include "sched/pollux/snapshot/look_gap.h"
#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/snapshot/hosts.h"
#include "sched/pollux/snapshot/deadlines.h"
#include "sched/pollux/plan/claims.h"
#include "sched/pollux/plan/cycle.h"
#include "sched/pollux/plan/lease_watch.h"
#include "sched/pollux/plan/reservation_timeout.h"
#include "sched/pollux/plan/limit_split.h"
#include "sched/pollux/plan/cluster_scale.h"
#include "sched/pollux/plan/sick_nodes.h"
#include "sched/pollux/preempt.h"
#include "sched/pollux/sched_thread.h"
#include "sched/pollux/record.h"
#include "sched/pollux/rules/slurmds.h"
#include "sched/pollux/rules/usage_correction.h"
#include "sched/pollux/start/await.h"
#include "sched/pollux/start/start_reserved.h"
#include "sched/pollux/start/limit_requeue.h"
#include "sched/pollux/start/moldable_start.h"
#include "sched/pollux/start/migrate.h"
#include "sched/pollux/start/requeue.h"
#include "sched/pollux/snapshot/steps.h"
#include "sched/pollux/snapshot/lost_node.h"
#include "sched/pollux/snapshot/moldable_refusals.h"
#include "sched/pollux/report/count.h"
#include "sched/pollux/report/marks.h"
#include "sched/pollux/report/publish.h"
#include "sched/pollux/report/explain.h"
#include "sched/pollux/report/start_times.h"
#include "sched/pollux/report/waits.h"

/* How often jobs in the middle of a resize are looked at. */
#define TICK_S 0.03
/* Between two rounds while a job waits for nodes: less than any takes to close.
 */
#define WATCH_S 0.1
/* How often to wake Slurm's own scheduler, at most. */
#define WAKE_S 0.5
/* About one job's status before it is heard less often. */
#define COMPLAINTS 10

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool stop;
	bool mend; /* tables were rebuilt: batch hosts may be wrong */
	struct pollux_params params;
	char *text; /* what they were read from */
} shared = {
	/* all protected by the mutex */
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};

/* The thread's own. */
static struct {
	double looked_s;      /* last snapshot */
	double look_cpu_s;    /* processor time that it took */
	double cycled_s;      /* last cycle */
	double mended_s;      /* batch hosts */
	double woken_s;	      /* Slurm's scheduler */
	double checked_s;     /* whether jobs that are known still run */
	bool freed;	      /* GPUs were given up since */
	bool due;	      /* a cycle is, once the gap has passed */
	bool any;	      /* there was a snapshot before */
	bool changed;	      /* some job's shape, by somebody else */
	bool stopped;	      /* one does not run as before, since the look */
	bool waiting;	      /* jobs were, in the last snapshot */
	double begins_s;      /* a moldable job may start then; 0: none */
	double limit_s;	      /* a job is near its time limit then; 0: none */
	double exempt_s;      /* a job may be preempted then; 0: none */
	uint64_t fingerprint; /* of the snapshot it saw */
} last;

/* Jobs that something may be wrong with. */
struct mend {
	uint32_t *ids;
	int count;
	bool nodes; /* some node's GPUs are miscounted by type */
	bool parts; /* or it has forgotten of which jobs have parts */
};

void pollux_stop(void)
{
	slurm_mutex_lock(&shared.mutex);
	shared.stop = true;
	slurm_cond_signal(&shared.cond);
	slurm_mutex_unlock(&shared.mutex);
}

bool pollux_reconfig(void)
{
	const char *text =
		slurm_conf.sched_params ? slurm_conf.sched_params : "";
	bool backfill = false;

	slurm_mutex_lock(&shared.mutex);
	if (!shared.text || strcmp(shared.text, text)) {
		pollux_params_read(text, &shared.params);
		pollux_publish_path(&shared.params);
		pollux_preempt_set(shared.params.preempt_wait_s);
		xfree(shared.text);
		shared.text = xstrdup(text);
	}
	backfill = shared.params.backfill;
	shared.mend = true;
	slurm_cond_signal(&shared.cond);
	slurm_mutex_unlock(&shared.mutex);
	return backfill;
}

/* Sleep; false when it is time to end. */
static bool _sleep(double seconds, struct pollux_params *params, bool *mend)
{
	struct timespec until;
	bool go_on = false;
	long nanoseconds = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	nanoseconds = until.tv_nsec + (long) (1e9 * seconds);
	until.tv_sec += nanoseconds / 1000000000;
	until.tv_nsec = nanoseconds % 1000000000;
	slurm_mutex_lock(&shared.mutex);
	if (!shared.stop && !shared.mend)
		pthread_cond_clockwait(&shared.cond, &shared.mutex,
				       CLOCK_MONOTONIC, &until);
	*params = shared.params;
	*mend = shared.mend;
	shared.mend = false;
	go_on = !shared.stop;
	slurm_mutex_unlock(&shared.mutex);
	return go_on;
}

/*
 * One line each time a job's status has something new wrong with it; a job
 * that goes on finding new ways is heard once a minute.
 */
static void _complain(const struct pollux_job *job,
		      struct pollux_job_state *state)
{
	double now_s = pollux_now_s();

	if (!xstrcmp(state->complaint ? state->complaint : "", job->complaint))
		return;
	if (state->complaints >= COMPLAINTS && now_s - state->complained_s < 60)
		return;
	xfree(state->complaint);
	state->complaint = xstrdup(job->complaint);
	if (!job->complaint[0])
		return;
	state->complaints++;
	pollux_count(POLLUX_DROPPED_HINT);
	state->complained_s = now_s;
	info("sched/pollux: JobId=%u: its status is not believed, it counts as "
	     "unprofiled: %s",
	     job->id, job->complaint);
}

/* Once, why a job is never resized. */
static void _report_fixed(const struct pollux_job *job,
			  struct pollux_job_state *state, int gpus)
{
	if (job->fixed && job->fixed != state->fixed)
		info("sched/pollux: JobId=%u keeps its %d GPUs for good: %s",
		     job->id, gpus, job->fixed);
	state->fixed = job->fixed;
}

/* A requeued job has forgotten its end, but was submitted anew then. */
static time_t _end(const job_record_t *job, time_t since)
{
	if (job->end_time >= since)
		return job->end_time;
	return job->details ? job->details->submit_time : since;
}

/* Jobs that are not running any more: close their last shape. */
static void _forget_ended(void)
{
	struct pollux_job_state *state = NULL;
	int i = 0;

	pollux_lock(POLLUX_JUDGE);
	while ((state = pollux_job_state_at(i))) {
		job_record_t *job = NULL;

		if (state->seen || state->phase == POLLUX_MOVING) {
			i++;
			continue;
		}
		job = find_job_record(state->job_id);
		if (job)
			pollux_job_state_close(state, _end(job, state->since));
		pollux_first_row_ended(state->job_id);
		pollux_job_state_remove(state);
	}
	pollux_unlock(POLLUX_JUDGE);
}

/*
 * slurmctld ends, and may be killed while it waits for nodes. The next one does
 * not know of shapes that have ended since we looked last.
 */
static void _close_ended(void)
{
	struct pollux_job_state *state = NULL;

	pollux_lock(POLLUX_JUDGE);
	for (int i = 0; (state = pollux_job_state_at(i)); i++) {
		const job_record_t *job = find_job_record(state->job_id);

		if (!job)
			continue;
		if (!IS_JOB_RUNNING(job) && !IS_JOB_SUSPENDED(job))
			pollux_job_state_close(state, _end(job, state->since));
		else if (pollux_record_since(job) != state->since)
			pollux_job_state_close(state, pollux_record_since(job));
	}
	pollux_unlock(POLLUX_JUDGE);
}

/* A node was lost, or an operator took it: who trains there is to know. */
static void _note_change(struct pollux_job_state *state,
			 const struct pollux_job *job, int gpus)
{
	state->changed =
		state->since && state->phase == POLLUX_IDLE &&
		(state->gpus != gpus || xstrcmp(state->nodes, job->shape) != 0);
	last.changed |= state->changed;
}

static void _wake_changed(void)
{
	struct pollux_job_state *state = NULL;
	struct plx_status status;
	job_record_t *job = NULL;

	if (!last.changed)
		return;
	last.changed = false;
	pollux_lock(POLLUX_JUDGE);
	for (int i = 0; (state = pollux_job_state_at(i)); i++) {
		job = state->changed ? find_job_record(state->job_id) : NULL;
		if (!job || !pollux_record_runs(job))
			continue;
		pollux_record_status(job, &status);
		pollux_notify_launcher(job, &status);
	}
	pollux_unlock(POLLUX_JUDGE);
}

/*
 * GPU-seconds before the present shape, of a job seen for the first time:
 * slurmctld was started since, and nobody knows what shapes it had.
 */
static double _service_before(const struct pollux_snapshot *snapshot,
			      const struct pollux_job *job, int gpus)
{
	time_t before = job->age_s - (snapshot->now - job->since);

	return before > 0 ? (double) before * gpus : 0;
}

static void _update_states(const struct pollux_snapshot *snapshot,
			   const struct pollux_params *params)
{
	struct pollux_job_state *state = NULL;

	if (!last.any)
		pollux_acct_audit();
	last.any = true;
	for (int i = 0; (state = pollux_job_state_at(i)); i++)
		state->seen = false;
	for (int j = 0; j < snapshot->job_count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];
		int gpus = 0;

		state = pollux_job_state_get(job->id);
		gpus = snapshot->jobs[j].has_gpus;
		state->seen = true;
		if (!state->since)
			pollux_extend_begin(state, &job->target);
		if (!state->since)
			state->service_s = _service_before(snapshot, job, gpus);
		_note_change(state, job, gpus);
		if (state->since && state->since != job->since)
			pollux_acct_see(job->id);
		pollux_job_state_hold(state, job->shape, gpus, job->since);
		_complain(job, state);
		pollux_claims_hear(snapshot, j, state);
		pollux_lease_hear(snapshot, j, state, params);
		pollux_sick_hear(snapshot, j, state, params);
		_report_fixed(job, state, gpus);
		if (state->phase == POLLUX_IDLE &&
		    (job->target.state == PLX_TARGET_REQUESTED ||
		     job->target.state == PLX_TARGET_LENT))
			pollux_resize_request_again(state, &job->target,
						    params);
	}
	_forget_ended();
	pollux_first_row_mend();
	_wake_changed();
}

/* Has the time come that a look is to be made at? */
static bool _is_time(double now_s)
{
	double wall_s = (double) time(NULL);

	return now_s >= pollux_reservation_timeout_next_s() ||
	       pollux_sick_due(now_s) ||
	       (last.begins_s && wall_s >= last.begins_s) ||
	       (last.limit_s && wall_s >= last.limit_s) ||
	       (last.exempt_s && wall_s >= last.exempt_s);
}

/* Or has slurmctld touched a job or node since we looked? */
static bool _touched(double now_s, const struct pollux_params *params)
{
	time_t since = time(NULL) - (time_t) (now_s - last.looked_s) - 1;

	return last.due || now_s - last.cycled_s >= params->interval_s ||
	       _is_time(now_s) || last_job_update >= since ||
	       last_node_update >= since;
}

/* Most jobs need nothing: those that do are looked for under a read lock. */
static int _note_mend(void *x, void *arg)
{
	const job_record_t *job = x;
	struct mend *mend = arg;

	if (!IS_JOB_RUNNING(job) && !IS_JOB_SUSPENDED(job))
		return 0;
	mend->parts = mend->parts || pollux_parts_lost(job);
	if (!pollux_hosts_due(job) && !pollux_steps_due(job) &&
	    !pollux_has_lost_node(job))
		return 0;
	xrecalloc(mend->ids, mend->count + 1, sizeof(*mend->ids));
	mend->ids[mend->count++] = job->job_id;
	return 0;
}

static bool _any_miscounted(void)
{
	bool any = false;

	for (int n = 0; n < node_record_count && !any; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		any = node && pollux_node_miscounted(pollux_node_gpus(node));
	}
	return any;
}

static void _recount_nodes(void)
{
	for (int n = 0; n < node_record_count; n++) {
		if (node_record_table_ptr[n])
			pollux_node_recount(node_record_table_ptr[n]);
	}
}

static void _mend(void)
{
	struct mend mend = { .ids = NULL };

	last.mended_s = pollux_now_s();
	pollux_lock(POLLUX_CHECKING);
	if (job_list)
		list_for_each_ro(job_list, _note_mend, &mend);
	mend.nodes = _any_miscounted();
	pollux_unlock(POLLUX_CHECKING);
	if (!mend.count && !mend.nodes && !mend.parts &&
	    !pollux_usage_correction_any())
		return;
	pollux_lock(POLLUX_MENDING);
	if (mend.nodes)
		_recount_nodes();
	if (mend.parts)
		pollux_parts_mend_all();
	for (int i = 0; i < mend.count; i++) {
		pollux_hosts_mend(find_job_record(mend.ids[i]));
		pollux_steps_mend(find_job_record(mend.ids[i]));
		pollux_lost_node_mend(find_job_record(mend.ids[i]));
		pollux_lock_yield(POLLUX_MENDING);
	}
	pollux_usage_correction_settle();
	pollux_unlock(POLLUX_MENDING);
	xfree(mend.ids);
}

/* When the next job may be preempted that could not be so far; 0: never. */
static double _exempt_until(const struct pollux_snapshot *snapshot)
{
	double next_s = 0;

	for (int j = 0; j < snapshot->job_count; j++) {
		double until_s =
			(double) snapshot->now + snapshot->jobs[j].exempt_s;

		if (snapshot->jobs[j].exempt_s > 0 &&
		    (!next_s || until_s < next_s))
			next_s = until_s;
	}
	return next_s;
}

static double _cpu_s(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double) used.tv_sec + 1e-9 * (double) used.tv_nsec;
}

/* What was given up for a job that waits is urgent. */
static bool _is_urgent(double now_s)
{
	return last.stopped || pollux_await_freed_now() || _is_time(now_s);
}

/*
 * Is it over, put back into the queue, or without one of its nodes? Slurm may
 * start it at once, in its old shape, and only a look prevents that.
 */
static bool _has_stopped(const struct pollux_job_state *state)
{
	const job_record_t *job = find_job_record(state->job_id);
	bool moving = state->phase == POLLUX_MOVING;

	if (!job)
		return !moving;
	if (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job))
		return pollux_has_lost_node(job);
	return !moving || pollux_requeued(job);
}

/* Only while the next look would wait for longer than it ever did. */
static void _check_known(double now_s, const struct pollux_params *params)
{
	const struct pollux_job_state *state = NULL;

	if (now_s - MAX(last.looked_s, last.checked_s) < POLLUX_LOOK_S ||
	    now_s - last.looked_s >=
		    pollux_look_gap_s(last.look_cpu_s, _is_urgent(now_s)) ||
	    !_touched(now_s, params))
		return;
	last.checked_s = now_s;
	pollux_lock(POLLUX_JUDGE);
	for (int i = 0; !last.stopped && (state = pollux_job_state_at(i));
	     i++) {
		last.stopped = _has_stopped(state);
		pollux_lock_yield(POLLUX_JUDGE);
	}
	pollux_unlock(POLLUX_JUDGE);
}

static struct pollux_snapshot *_take_snapshot(
	const struct pollux_params *params)
{
	double before_s = _cpu_s();
	struct pollux_snapshot *snapshot =
		pollux_snapshot_create(&params->terms);

	last.look_cpu_s = _cpu_s() - before_s;
	return snapshot;
}

static void _look(const struct pollux_params *params)
{
	struct pollux_snapshot *snapshot = NULL;
	struct plx_error err;
	double now_s = pollux_now_s();

	_check_known(now_s, params);
	if (now_s - last.looked_s <
		    pollux_look_gap_s(last.look_cpu_s, _is_urgent(now_s)) ||
	    !_touched(now_s, params))
		return;
	last.looked_s = now_s;
	last.stopped = false;
	snapshot = _take_snapshot(params);
	if (snapshot->requeued_count)
		pollux_requeue_reset(snapshot->requeued,
				     snapshot->requeued_count);
	if (snapshot->lost_node_count)
		_mend();
	pollux_migrate_claim(snapshot);
	last.waiting = snapshot->waiting_count > 0;
	last.begins_s = snapshot->begins_s;
	last.exempt_s = _exempt_until(snapshot);
	_update_states(snapshot, params);
	last.limit_s = pollux_limit(snapshot, params);
	if (!params->enabled) {
		pollux_explain_off(snapshot);
		pollux_waits_report(snapshot, NULL, NULL);
		pollux_start_reserved_forget_all();
		pollux_start_times_forget();
		pollux_await_forget();
		pollux_preempt_forget();
	}
	last.due = params->enabled &&
		   (snapshot->fingerprint != last.fingerprint ||
		    now_s >= pollux_reservation_timeout_next_s() ||
		    pollux_sick_due(now_s) ||
		    now_s - last.cycled_s >= params->interval_s);
	if (last.due && (now_s - last.cycled_s >= params->min_gap_s ||
			 pollux_await_freed_any())) {
		last.due = false;
		last.cycled_s = now_s;
		last.fingerprint = snapshot->fingerprint;
		pollux_reservation_timeout_apply(snapshot, now_s);
		pollux_sick_apply(snapshot, now_s);
		pollux_marks_report(snapshot, now_s);
		if (pollux_limit_split_claim(snapshot, &err) < 0)
			error("sched/pollux: %s", err.text);
		pollux_scale_apply(snapshot, params);
		pollux_start_reserved_clear(snapshot);
		pollux_lease_claim(snapshot, params);
		pollux_cycle(snapshot, params, now_s);
	}
	pollux_sick_release(snapshot);
	pollux_snapshot_destroy(snapshot);
}

/*
 * GPUs were given up: do not let who waits for them wait on. Slurm holds its
 * lock while it goes through its queue, so not after each of many resizes.
 */
static void _wake_scheduler(void)
{
	double now_s = pollux_now_s();

	if (!last.freed || !last.waiting || now_s - last.woken_s < WAKE_S)
		return;
	last.freed = false;
	last.woken_s = now_s;
	schedule(false);
}

static bool _is_busy(void)
{
	return pollux_job_state_any_busy() || pollux_start_reserved_any();
}

static double _pause_s(void)
{
	if (_is_busy())
		return TICK_S;
	return pollux_await_any() || pollux_epilog_any() ? WATCH_S
							 : POLLUX_LOOK_S;
}

/* Are records as we know them, as far as there are any? One line if not. */
static bool _fits(void)
{
	static bool told;
	const char *wrong = NULL;

	if (pollux_layout_known())
		return true;
	pollux_lock(POLLUX_JUDGE);
	wrong = pollux_layout_wrong();
	pollux_unlock(POLLUX_JUDGE);
	if (wrong && !told)
		error("sched/pollux: %s are not as in the source of Slurm that "
		      "the plugin was built with: no job is resized, elastic "
		      "ones keep what they have, and Slurm's backfill goes on",
		      wrong);
	told = wrong;
	return !wrong;
}

void *pollux_agent(void *unused)
{
	struct pollux_params params;
	bool mend = false;

	(void) unused;
	if (!pollux_constrain_wanted())
		pollux_info(
			"sched/pollux: Slurm does not constrain devices "
			"here: a job could go on with GPUs that it gave up");
	pollux_slurmds_begin();
	pollux_resize_begin();
	pollux_acct_start();
	pollux_epilog_load();
	/* Before Slurm starts anybody on these nodes. */
	if (_fits())
		(void) pollux_epilog_tick();
	while (_sleep(_pause_s(), &params, &mend)) {
		if (pollux_ending()) {
			_close_ended();
			continue;
		}
		if (!_fits())
			continue;
		if (mend || pollux_now_s() - last.mended_s >= POLLUX_HOSTS_S)
			_mend();
		if (mend)
			pollux_epilog_check();
		last.freed = pollux_resize_tick() || last.freed;
		last.freed = pollux_epilog_tick() || last.freed;
		_wake_scheduler();
		pollux_start_reserved(pollux_now_s());
		last.freed = pollux_start_reserved_lifted() || last.freed;
		last.freed =
			pollux_preempt_offers(pollux_now_s()) || last.freed;
		pollux_extend(&params);
		_look(&params);
		pollux_start_times_report();
		pollux_publish(params.metrics);
	}
	_close_ended();
	pollux_acct_stop();
	pollux_constrain_stop();
	pollux_job_state_remove_all();
	pollux_deadlines_forget_all();
	pollux_start_reserved_forget_all();
	pollux_start_times_forget();
	pollux_await_forget();
	pollux_guard_forget();
	pollux_preempt_forget();
	pollux_epilog_forget_all();
	pollux_moldable_forget_all();
	pollux_sick_forget_all();
	pollux_marks_forget_all();
	pollux_snapshot_forget_all();
	/* A backup may take over once more: for that thread all is new. */
	memset(&last, 0, sizeof(last));
	slurm_mutex_lock(&shared.mutex);
	xfree(shared.text);
	shared.stop = false; /* for a thread to come */
	slurm_mutex_unlock(&shared.mutex);
	return NULL;
}
