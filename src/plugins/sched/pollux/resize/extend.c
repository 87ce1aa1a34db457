/* SPDX-License-Identifier: GPL-2.0-or-later */
/* extend.c - time without GPUs is given back to a job's time limit */

#include "src/common/parse_time.h"

#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/extend.h"
#include "sched/pollux/rules/end.h"

#define TICK_S 1.0
/* A parked job is given its time so often, and each second near its end. */
#define PARKED_S 10
#define NEAR_S	 40
/* One that has GPUs is given whole minutes. */
#define SHARE_S 60
/* Of one that is parked for long the log says so often what it was given. */
#define SAY_S 600
/* Given at most in one go: more is a clock that leapt. */
#define AT_ONCE_S 86400

/* The thread's own. */
static double last_s;

uint32_t pollux_given_minutes(int given_s)
{
	return (uint32_t) ((given_s + 59) / 60);
}

void pollux_extend_begin(struct pollux_job_state *state,
			 const struct plx_target *target)
{
	state->target.given_s = target->given_s;
	state->target.extended_min = target->extended_min;
	state->target.credited = target->credited;
	state->target.rounds = target->rounds;
	state->target.mark = target->mark;
	state->counted = target->credited;
}

void pollux_extend_forget(struct pollux_job_state *state)
{
	state->owed_s = 0;
	state->unsaid_s = 0;
	state->parked = false;
	state->speedup = 0;
	state->counted = 0;
	state->settled = 0;
	state->ends = 0;
	state->promised_to = 0;
	state->against = false;
	state->spent = false;
}

bool pollux_extend_is_ours(const job_record_t *job,
			   const struct plx_target *target)
{
	return !target->extended_min ||
	       (uint32_t) target->extended_min == job->time_limit;
}

static bool _is_parked(const struct pollux_job_state *state)
{
	return state->since && !state->gpus;
}

static void _count_share(struct pollux_job_state *state, double seconds)
{
	if (state->since && state->gpus && state->speedup > 0 &&
	    state->speedup < 1 && state->validation.strikes == PLX_STRIKES_NONE)
		state->owed_s += (1 - state->speedup) * seconds;
}

/* Without a lock: is there a reason to look at its record? */
static bool _is_due(const struct pollux_job_state *state, time_t now)
{
	time_t passed = now - state->settled;

	if (state->phase == POLLUX_MOVING)
		return false;
	if (_is_parked(state))
		return passed >= PARKED_S || passed < 0 ||
		       state->ends <= now + NEAR_S;
	/* What is left of a parking is given at once. */
	return state->since && (state->parked || (passed >= PARKED_S &&
						  state->owed_s >= SHARE_S));
}

static void _count_parked(const job_record_t *job,
			  struct pollux_job_state *state, time_t now)
{
	/* It is told when a job was suspended, and when it was resumed. */
	time_t from = MAX(state->counted, job->suspend_time);
	time_t to = _is_parked(state) ? now : state->since;

	if (!state->parked)
		from = MAX(from, state->since);
	if ((_is_parked(state) || state->parked) && to > from)
		state->owed_s += (double) MIN(to - from, AT_ONCE_S);
	state->parked = _is_parked(state);
	state->counted = now;
}

/*
 * Backfill forgets its plans while it makes new ones: what was promised holds
 * for as long as that job waits and no other time is told.
 */
static void _note_promise(const job_record_t *job,
			  struct pollux_job_state *state)
{
	const job_record_t *waits = NULL;
	time_t start = 0;
	uint32_t id = pollux_end_promised(job, &start);

	if (state->promised_to)
		waits = find_job_record(state->promised_to);
	if (!waits || !IS_JOB_PENDING(waits) || waits->start_time)
		state->promised_to = 0;
	if (id && (!state->promised_to || start < state->promised)) {
		state->promised_to = id;
		state->promised = start;
	}
}

static int _test(job_record_t *job, const struct pollux_job_state *state,
		 time_t end, uint32_t minutes, struct plx_error *err)
{
	if (state->promised_to && end > state->promised)
		return plx_fail(err, "job %u is to start on its nodes then",
				state->promised_to);
	return pollux_end_test(job, end, minutes, err);
}

/* The record says so, besides what it says already. */
static void _publish(job_record_t *job, struct pollux_job_state *state)
{
	struct plx_target told;

	if (plx_target_read(job->system_comment, &told, NULL) < 0)
		return;
	told.given_s = state->target.given_s;
	told.extended_min = state->target.extended_min;
	told.credited = state->target.credited;
	pollux_record_publish(job, &told);
}

static void _say(const job_record_t *job, struct pollux_job_state *state)
{
	char ends[32];

	if (state->unsaid_s < 1 || (state->parked && state->unsaid_s < SAY_S))
		return;
	slurm_make_time_str((time_t *) &job->end_time, ends, sizeof(ends));
	pollux_info("sched/pollux: JobId=%u: %d s so far are given back to its "
		    "time limit, now %u minutes, to %s",
		    job->job_id, state->target.given_s, job->time_limit, ends);
	state->unsaid_s = 0;
}

static void _give(job_record_t *job, struct pollux_job_state *state, time_t now)
{
	/* A limit that somebody has set since is without what was given. */
	int given_s = pollux_extend_is_ours(job, &state->target)
			      ? state->target.given_s
			      : 0;
	int seconds = (int) state->owed_s;
	struct plx_error err;
	uint32_t minutes = 0;

	if (seconds < 1 || given_s > INT32_MAX - AT_ONCE_S)
		return;
	minutes = job->time_limit -
		  MIN(pollux_given_minutes(given_s), job->time_limit - 1) +
		  pollux_given_minutes(given_s + seconds);
	if (_test(job, state, job->end_time + seconds, minutes, &err) < 0) {
		if (!state->against)
			pollux_info("sched/pollux: JobId=%u is not given back "
				    "%d s of its time limit: %s",
				    job->job_id, seconds, err.text);
		state->against = true;
		return;
	}
	pollux_end_set(job, job->end_time + seconds, minutes);
	state->against = false;
	state->owed_s -= seconds;
	state->unsaid_s += seconds;
	state->target.given_s = given_s + seconds;
	state->target.credited = (int) MIN(now, INT32_MAX);
	state->ends = job->end_time;
	state->target.extended_min = (int) MIN(job->time_limit, INT32_MAX);
	_publish(job, state);
}

static void _settle(struct pollux_job_state *state)
{
	job_record_t *job = find_job_record(state->job_id);
	time_t now = time(NULL);

	state->settled = now;
	state->ends = now + AT_ONCE_S;
	if (!job || !IS_JOB_RUNNING(job) || IS_JOB_COMPLETING(job) ||
	    job->preempt_time || !job->node_bitmap || !job->time_limit ||
	    job->time_limit == INFINITE || job->time_limit == NO_VAL) {
		state->counted = now;
		state->parked = false;
		return;
	}
	_count_parked(job, state, now);
	state->ends = job->end_time;
	_note_promise(job, state);
	_give(job, state, now);
	_say(job, state);
}

void pollux_extend(const struct pollux_params *params)
{
	double now_s = pollux_now_s();
	time_t now = time(NULL);
	double passed_s = last_s > 0 ? now_s - last_s : 0;
	struct pollux_job_state *state = NULL;
	bool due = false;

	if (params->time_back == POLLUX_BACK_NO ||
	    (last_s > 0 && passed_s < TICK_S))
		return;
	last_s = now_s;
	for (int i = 0; (state = pollux_job_state_at(i)); i++) {
		if (params->time_back == POLLUX_BACK_SHARE)
			_count_share(state, passed_s);
		due = due || _is_due(state, now);
	}
	if (!due)
		return;
	pollux_lock(POLLUX_TOUCH);
	for (int i = 0; (state = pollux_job_state_at(i)); i++) {
		if (!_is_due(state, now))
			continue;
		_settle(state);
		pollux_lock_yield(POLLUX_TOUCH);
	}
	pollux_unlock(POLLUX_TOUCH);
}
