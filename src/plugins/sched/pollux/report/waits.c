/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waits.c - on the record of each elastic job that waits, why it does */

#include <stdio.h>
#include <string.h>

#include "core/records/explanation.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/snapshot/moldable_jobs.h"
#include "sched/pollux/snapshot/waiting.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/start/spread_start.h"
#include "sched/pollux/report/count.h"
#include "sched/pollux/report/waits.h"

/* How often those that wait are told why, at most. */
#define REPORT_S 5
/* How a sentence of plan/leave.h begins: it says more than these. */
#define LEAVES "leaves "

/* A job, by its entries: one for each of its partitions. */
struct wait {
	const struct pollux_waiting *first;
	bool granted;	/* in one of them */
	bool displaces; /* others have to make room for that */
	bool spread;	/* in another shape than that of its request */
	bool ignored, blocked;
	bool lacks; /* licences */
};

static bool _is_first(const struct pollux_snapshot *snapshot, int i)
{
	for (int k = 0; k < i; k++) {
		if (snapshot->waiting[k].id == snapshot->waiting[i].id)
			return false;
	}
	return true;
}

static struct wait _wait(const struct pollux_snapshot *snapshot, int i,
			 const struct plx_grant *grants)
{
	struct wait wait = {
		.first = &snapshot->waiting[i],
		.ignored = true,
		.blocked = true,
		.lacks = true,
	};

	for (int k = i; k < snapshot->waiting_count; k++) {
		const struct pollux_waiting *entry = &snapshot->waiting[k];

		if (entry->id != wait.first->id)
			continue;
		wait.ignored = wait.ignored && entry->ignored;
		wait.blocked = wait.blocked && entry->blocked;
		wait.lacks =
			wait.lacks && (entry->unlicensed || grants[k].lacks);
		if (grants[k].granted && !wait.granted) {
			wait.granted = true;
			wait.displaces = grants[k].displaces;
			wait.spread = pollux_spread_is(entry, &grants[k]);
		}
	}
	return wait;
}

static const char *_plural(int count)
{
	return count == 1 ? "" : "s";
}

static void _why(const struct wait *wait, const struct plx_shape *best,
		 char *why, size_t size)
{
	int least = wait->first->nodes * (int) wait->first->each.gpus;
	const char *plural = _plural(least);

	if (best && best->gpus > 0)
		snprintf(why, size,
			 "waits: %d GPU%s on %d node%s are best now, others "
			 "have to give theirs",
			 best->gpus, _plural(best->gpus), best->nodes,
			 _plural(best->nodes));
	else if (wait->blocked)
		snprintf(why, size,
			 "waits: its account or QOS is at its limit, and no "
			 "job that could shrink is in its way");
	else if (wait->lacks)
		snprintf(why, size, "waits: its licences are not free");
	else if (wait->ignored)
		snprintf(why, size,
			 "waits: it did not start in the room made for it, "
			 "which is lent out for a while");
	else if (wait->granted && wait->displaces)
		snprintf(why, size,
			 "waits: others make room for its least %d GPU%s",
			 least, plural);
	else if (wait->granted && wait->spread)
		snprintf(why, size,
			 "waits: its least %d GPU%s are free on several nodes, "
			 "it is about to start there",
			 least, plural);
	else if (wait->granted)
		snprintf(why, size,
			 "waits: there is room for its least %d GPU%s, it is "
			 "Slurm's to start it",
			 least, plural);
	else
		snprintf(why, size,
			 "waits: there is no room for its least %d GPU%s",
			 least, plural);
}

/* Write lock on jobs. */
static void _write(uint32_t job_id, const char *why)
{
	struct plx_target target = { 0 };
	job_record_t *job = find_job_record(job_id);

	if (!job || !pollux_is_waiting(job, time(NULL)) ||
	    plx_target_read(job->system_comment, &target, NULL) < 0 ||
	    target.state != PLX_TARGET_NONE)
		return;
	snprintf(target.why, sizeof(target.why), "%s", why);
	pollux_record_publish(job, &target);
	pollux_count(POLLUX_DID_REPORT);
	pollux_verbose("sched/pollux: JobId=%u %s", job_id, why);
}

/* True when there is something to write. */
static bool _note(const struct pollux_snapshot *snapshot, int i,
		  const struct plx_plan *plan, const struct plx_grant *grants,
		  char *why, size_t size)
{
	const struct pollux_waiting *waiting = &snapshot->waiting[i];
	struct wait wait;

	if (!waiting->told || !_is_first(snapshot, i) ||
	    !strncmp(waiting->told, LEAVES, strlen(LEAVES)))
		return false;
	if (plan) {
		wait = _wait(snapshot, i, grants);
		_why(&wait,
		     waiting->moldable < 0
			     ? NULL
			     : &plan->choices[waiting->moldable].shape,
		     why, size);
	} else {
		snprintf(why, size,
			 "waits: it is Slurm's to start it, resizing is "
			 "switched off, pollux_enabled=no");
	}
	return !plx_explanation_same(waiting->told, why);
}

void pollux_waits_report(const struct pollux_snapshot *snapshot,
			 const struct plx_plan *plan,
			 const struct plx_grant *grants)
{
	static double told_s;
	double now_s = pollux_now_s();
	bool locked = false;

	if (told_s && now_s - told_s < REPORT_S)
		return;
	told_s = now_s;
	for (int i = 0; i < snapshot->waiting_count; i++) {
		char why[PLX_WHY_SIZE];

		if (!_note(snapshot, i, plan, grants, why, sizeof(why)))
			continue;
		if (!locked)
			pollux_lock(POLLUX_REPORTING);
		locked = true;
		_write(snapshot->waiting[i].id, why);
		pollux_lock_yield(POLLUX_REPORTING);
	}
	if (locked)
		pollux_unlock(POLLUX_REPORTING);
}
