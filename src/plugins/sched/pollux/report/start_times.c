/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_times.c - when jobs that wait are to start, on their records */

#include <math.h>
#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/snapshot/queue_reason.h"
#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/snapshot/waiting.h"
#include "sched/pollux/report/start_times.h"

/* Those that wait, and as many that did. */
#define JOBS_MAX (2 * POLLUX_PENDING_MAX)

struct start {
	uint32_t id;
	time_t ours; /* 0: not known */
	char *nodes;
	time_t wrote; /* on the record, by us; 0: it has backfill's, which: */
	time_t theirs;
	char *their_nodes;
};

static struct {
	struct start at[JOBS_MAX];
	int count;
	bool due;	     /* something else was found */
	uint32_t pass;	     /* backfill's last one that was seen */
	time_t resolution_s; /* of backfill's times */
} starts;

static void _release(struct start *start)
{
	xfree(start->nodes);
	xfree(start->their_nodes);
}

void pollux_start_times_forget(void)
{
	for (int i = 0; i < starts.count; i++)
		_release(&starts.at[i]);
	memset(&starts, 0, sizeof(starts));
}

static struct start *_find(uint32_t id)
{
	for (int i = 0; i < starts.count; i++) {
		if (starts.at[i].id == id)
			return &starts.at[i];
	}
	return NULL;
}

/* When this entry of it starts, if anybody knows; 0: nobody does. */
static time_t _start_of(const struct pollux_snapshot *snapshot,
			const struct pollux_waiting *waiting,
			const struct plx_grant *grant)
{
	/* Others start these; or a limit is in the way, too. */
	if (waiting->het || waiting->moldable >= 0 || waiting->limited)
		return 0;
	if (grant->granted)
		return snapshot->now;
	return grant->starts_s > 0 && isfinite(grant->starts_s)
		       ? snapshot->now + (time_t) grant->starts_s
		       : 0;
}

/* The earliest of the job's entries; a start that is due stays as written. */
static void _add(const struct pollux_snapshot *snapshot,
		 const struct pollux_waiting *waiting,
		 const struct plx_grant *grant)
{
	time_t ours = _start_of(snapshot, waiting, grant);
	struct start *start = _find(waiting->id);

	if (!ours || (!start && starts.count == JOBS_MAX) ||
	    (start && start->ours && start->ours <= ours))
		return;
	if (!start) {
		start = &starts.at[starts.count++];
		*start = (struct start){ .id = waiting->id };
	}
	start->ours = grant->granted && start->wrote && start->wrote < ours
			      ? start->wrote
			      : ours;
	xfree(start->nodes);
	start->nodes = pollux_snapshot_names(
		snapshot, grant->granted ? grant->nodes : grant->promised);
}

/* Of what was found before, only what is on a record is still of use. */
static void _begin_anew(void)
{
	int kept = 0;

	for (int i = 0; i < starts.count; i++) {
		struct start *start = &starts.at[i];

		start->ours = 0;
		if (start->wrote)
			starts.at[kept++] = *start;
		else
			_release(start);
	}
	starts.count = kept;
}

void pollux_start_times_note(const struct pollux_snapshot *snapshot,
			     const struct pollux_terms *terms,
			     const struct plx_grant *grants)
{
	_begin_anew();
	for (int i = 0; i < snapshot->waiting_count; i++)
		_add(snapshot, &snapshot->waiting[i], &grants[i]);
	starts.resolution_s = (time_t) terms->resolution_s;
	starts.due = starts.count > 0;
}

/* What is to be on its record. Lock on jobs. */
static time_t _wanted(const job_record_t *job, const struct start *start)
{
	bool is_ours = start->wrote && job->start_time == start->wrote;
	time_t theirs = is_ours ? start->theirs : job->start_time;

	if (!start->ours || !pollux_waits_for_nodes(job, time(NULL)))
		return theirs;
	/* Backfill's own times are no more exact. */
	return !theirs || start->ours + starts.resolution_s < theirs
		       ? start->ours
		       : theirs;
}

static bool _is_due(struct start *start)
{
	const job_record_t *job = find_job_record(start->id);

	if (job && IS_JOB_PENDING(job) && !IS_JOB_COMPLETING(job))
		return _wanted(job, start) != job->start_time;
	/* It has started, or ended: what is on its record is true. */
	start->ours = start->wrote = 0;
	return false;
}

/* Write lock on jobs. */
static void _write(struct start *start)
{
	job_record_t *job = find_job_record(start->id);
	time_t wanted = 0;

	if (!job || !IS_JOB_PENDING(job) || IS_JOB_COMPLETING(job))
		return;
	wanted = _wanted(job, start);
	if (start->wrote && job->start_time != start->wrote)
		start->wrote = 0;
	if (wanted == job->start_time)
		return;
	if (!start->wrote) {
		xfree(start->their_nodes);
		start->theirs = job->start_time;
		start->their_nodes = job->sched_nodes;
		job->sched_nodes = NULL;
	}
	job->start_time = wanted;
	xfree(job->sched_nodes);
	if (start->ours && wanted == start->ours) {
		job->sched_nodes = xstrdup(start->nodes);
		start->wrote = wanted;
	} else {
		job->sched_nodes = start->their_nodes;
		start->their_nodes = NULL;
		start->wrote = 0;
	}
	debug2("sched/pollux: JobId=%u is to start on %s in %ld s", start->id,
	       job->sched_nodes, (long) (wanted - time(NULL)));
}

void pollux_start_times_report(void)
{
	uint32_t pass = slurmctld_diag_stats.bf_cycle_counter;
	bool any = false;

	/* In the middle of a pass a time says that a job was planned. */
	if (!starts.count || (!starts.due && pass == starts.pass) ||
	    slurmctld_diag_stats.bf_active)
		return;
	starts.due = false;
	starts.pass = pass;
	pollux_lock(POLLUX_JUDGE);
	for (int i = 0; i < starts.count; i++)
		any |= _is_due(&starts.at[i]);
	pollux_unlock(POLLUX_JUDGE);
	if (!any)
		return;
	pollux_lock(POLLUX_REPORTING);
	/* It waits for the lock, or for others in between. */
	if (slurmctld_diag_stats.bf_active)
		starts.due = true;
	for (int i = 0; i < starts.count && !starts.due; i++)
		_write(&starts.at[i]);
	pollux_unlock(POLLUX_REPORTING);
}
