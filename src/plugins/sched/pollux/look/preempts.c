/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preempts.c - which waiting jobs may preempt which elastic ones */

#include <string.h>

#include "src/common/assoc_mgr.h"

#include "sched/pollux/look/preempts.h"

/* Any thread sets it; who looks holds slurmctld's lock on its configuration. */
static const struct pollux_preempt_rule *shared;

void pollux_preempts_by(const struct pollux_preempt_rule *rule)
{
	__atomic_store_n(&shared, rule, __ATOMIC_RELEASE);
}

static const struct pollux_preempt_rule *_rule(void)
{
	return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}

/*
 * A job of several partitions is asked about in each; *copy is used where that
 * is not the one on its record.
 */
static job_record_t *_as_in(const struct plx_backlog_entry *from,
			    job_record_t *copy)
{
	const job_record_t *job = from->job;

	if (job->part_ptr == from->partition)
		return (job_record_t *) job;
	memcpy(copy, job, sizeof(*copy));
	copy->part_ptr = (part_record_t *) from->partition;
	return copy;
}

/* Among those before the i-th, the first that it may preempt; i: none. */
static int _first_below(const struct plx_backlog_entry *entries, int i,
			const struct pollux_preempt_rule *rule)
{
	job_record_t copies[2];
	job_record_t *preemptor = _as_in(&entries[i], &copies[0]);
	int k = 0;

	while (k < i && !rule->may(_as_in(&entries[k], &copies[1]), preemptor))
		k++;
	return k;
}

void pollux_preempts_order(struct plx_backlog_entry *entries, int count)
{
	const struct pollux_preempt_rule *rule = _rule();
	struct plx_backlog_entry *at = entries;
	assoc_mgr_lock_t locks = { .qos = READ_LOCK };

	if (!rule || count < 2)
		return;
	assoc_mgr_lock(&locks);
	for (int i = 1; i < count; i++) {
		int k = _first_below(at, i, rule);
		struct plx_backlog_entry moved = at[i];

		memmove(&at[k + 1], &at[k], sizeof(*at) * (size_t) (i - k));
		at[k] = moved;
	}
	assoc_mgr_unlock(&locks);
}

/*
 * Seconds until the job may be preempted, by Slurm's PreemptExemptTime; 0: it
 * may be now. Read lock on QOS.
 */
static double _exempt_s(job_record_t *victim, time_t now)
{
	time_t until = acct_policy_get_preemptable_time(victim);

	return until > now ? (double) (until - now) : 0;
}

/*
 * The elastic jobs that somebody may preempt, or NULL; the caller's. Read lock
 * on QOS.
 */
static job_record_t **_victims(struct pollux_snapshot *snapshot,
			       const struct pollux_preempt_rule *rule)
{
	job_record_t **victims =
		xcalloc(snapshot->job_count + 1, sizeof(*victims));

	for (int j = 0; j < snapshot->job_count; j++) {
		struct pollux_job *job = &snapshot->jobs[j];
		job_record_t *victim = find_job_record(job->id);

		if (!victim || !victim->node_bitmap ||
		    rule->mode(victim) == PREEMPT_MODE_OFF)
			continue;
		victims[j] = victim;
		job->exempt_s = _exempt_s(victim, snapshot->now);
	}
	return victims;
}

/* May it, now, and on nodes that it could use? */
static bool _may(job_record_t *victim, const struct pollux_job *job,
		 job_record_t *preemptor,
		 const struct pollux_preempt_rule *rule)
{
	return victim && job->exempt_s <= 0 && rule->may(victim, preemptor) &&
	       bit_overlap_any(victim->node_bitmap,
			       preemptor->part_ptr->node_bitmap);
}

static void _fill(const struct plx_backlog_entry *from, job_record_t **victims,
		  const struct pollux_preempt_rule *rule,
		  const struct pollux_snapshot *snapshot,
		  struct pollux_waiting *waiting)
{
	job_record_t copy;
	job_record_t *preemptor = _as_in(from, &copy);
	bool any = false;

	/* Slurm preempts for these itself, at once. */
	if (preemptor->het_job_id)
		return;
	waiting->preempts =
		xcalloc(snapshot->job_count + 1, sizeof(*waiting->preempts));
	for (int j = 0; j < snapshot->job_count; j++) {
		waiting->preempts[j] =
			_may(victims[j], &snapshot->jobs[j], preemptor, rule);
		any = any || waiting->preempts[j];
	}
	if (!any)
		xfree(waiting->preempts);
}

void pollux_preempts_fill(const struct plx_backlog_entry *entries,
			  struct pollux_snapshot *snapshot)
{
	const struct pollux_preempt_rule *rule = _rule();
	assoc_mgr_lock_t locks = { .qos = READ_LOCK };
	job_record_t **victims = NULL;

	if (!rule || !snapshot->job_count || !snapshot->waiting_count)
		return;
	/* sacctmgr may change by which QOS jobs preempt. */
	assoc_mgr_lock(&locks);
	victims = _victims(snapshot, rule);
	for (int i = 0; i < snapshot->waiting_count; i++)
		_fill(&entries[i], victims, rule, snapshot,
		      &snapshot->waiting[i]);
	assoc_mgr_unlock(&locks);
	xfree(victims);
}
