/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preempts.c - which waiting jobs may preempt which elastic ones */

#include <string.h>

#include "src/common/assoc_mgr.h"

#include "sched/pollux/snapshot/preempts.h"

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

bool pollux_preempts_possible(void)
{
	return _rule() != NULL;
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
 * Slurm's rules look at QOS and partition, and in some modes at priority. So a
 * question is asked once for all jobs that have these in common: there are
 * thousands of jobs, and the read lock is held.
 */
struct alike {
	const void *qos;
	const void *part;
	job_record_t *lowest; /* the job of the lowest priority among them */
};

enum answer { NO, YES, BY_PRIORITY };

/* Jobs that wait, with what is said of each alike[alike_count]. */
struct row {
	const void *qos;
	const void *part;
	enum answer *answers;
	bool any;	/* there is a yes */
	bool asks;	/* their priority matters */
	bool *preempts; /* [job_count] of one of them; NULL: not found out */
};

struct pollux_preempts {
	const struct pollux_preempt_rule *rule;
	job_record_t **victims; /* [job_count] or NULL: it is none */
	int *alike_of;		/* [job_count] */
	int job_count;
	struct alike *alike;
	int alike_count;
	struct row *rows;
	int row_count;
	int last; /* the row that was found last */
};

static int _alike(struct pollux_preempts *preempts, job_record_t *victim)
{
	int k = 0;

	for (; k < preempts->alike_count; k++) {
		struct alike *alike = &preempts->alike[k];

		if (alike->qos != victim->qos_ptr ||
		    alike->part != victim->part_ptr)
			continue;
		if (victim->priority < alike->lowest->priority)
			alike->lowest = victim;
		return k;
	}
	xrecalloc(preempts->alike, k + 1, sizeof(*preempts->alike));
	preempts->alike[k] = (struct alike){ .qos = victim->qos_ptr,
					     .part = victim->part_ptr,
					     .lowest = victim };
	preempts->alike_count++;
	return k;
}

struct pollux_preempts *pollux_preempts_create(struct pollux_snapshot *snapshot)
{
	const struct pollux_preempt_rule *rule = _rule();
	assoc_mgr_lock_t locks = { .qos = READ_LOCK };
	struct pollux_preempts *preempts = NULL;

	if (!rule || !snapshot->job_count)
		return NULL;
	preempts = xcalloc(1, sizeof(*preempts));
	preempts->rule = rule;
	preempts->job_count = snapshot->job_count;
	preempts->victims =
		xcalloc(snapshot->job_count, sizeof(*preempts->victims));
	preempts->alike_of =
		xcalloc(snapshot->job_count, sizeof(*preempts->alike_of));
	/* sacctmgr may change by which QOS jobs preempt. */
	assoc_mgr_lock(&locks);
	for (int j = 0; j < snapshot->job_count; j++) {
		struct pollux_job *job = &snapshot->jobs[j];
		job_record_t *victim = find_job_record(job->id);

		if (!victim || !victim->node_bitmap ||
		    rule->mode(victim) == PREEMPT_MODE_OFF)
			continue;
		preempts->victims[j] = victim;
		preempts->alike_of[j] = _alike(preempts, victim);
		job->exempt_s = _exempt_s(victim, snapshot->now);
	}
	assoc_mgr_unlock(&locks);
	return preempts;
}

void pollux_preempts_destroy(struct pollux_preempts *preempts)
{
	if (!preempts)
		return;
	for (int r = 0; r < preempts->row_count; r++) {
		xfree(preempts->rows[r].answers);
		xfree(preempts->rows[r].preempts);
	}
	xfree(preempts->rows);
	xfree(preempts->alike);
	xfree(preempts->alike_of);
	xfree(preempts->victims);
	xfree(preempts);
}

/* Newer releases have a mode in which it matters whatever the QOS. */
static bool _is_by_priority(const job_record_t *preemptor,
			    const struct alike *alike)
{
	const slurmdb_qos_rec_t *qos = preemptor->qos_ptr;
	uint16_t mode = slurm_conf.preempt_mode | (qos ? qos->preempt_mode : 0);

	return mode & POLLUX_PREEMPT_MODE_PRIORITY ||
	       (mode & PREEMPT_MODE_WITHIN && qos && qos == alike->qos);
}

/* Read lock on QOS, as for all below. */
static struct row *_add_row(struct pollux_preempts *preempts,
			    job_record_t *preemptor)
{
	int r = preempts->row_count++;
	struct row *row = NULL;

	xrecalloc(preempts->rows, r + 1, sizeof(*preempts->rows));
	row = &preempts->rows[r];
	row->qos = preemptor->qos_ptr;
	row->part = preemptor->part_ptr;
	row->answers =
		xcalloc(preempts->alike_count + 1, sizeof(*row->answers));
	for (int k = 0; k < preempts->alike_count; k++) {
		const struct alike *alike = &preempts->alike[k];

		if (_is_by_priority(preemptor, alike))
			row->answers[k] = BY_PRIORITY;
		else if (preempts->rule->may(alike->lowest, preemptor))
			row->answers[k] = YES;
		row->any = row->any || row->answers[k] == YES;
		row->asks = row->asks || row->answers[k] == BY_PRIORITY;
	}
	preempts->last = r;
	return row;
}

/* NULL: nobody like it was asked about yet. No lock. */
static struct row *_find_row(struct pollux_preempts *preempts, const void *qos,
			     const void *part)
{
	for (int i = 0; i < preempts->row_count; i++) {
		int r = (preempts->last + i) % preempts->row_count;
		struct row *row = &preempts->rows[r];

		if (row->qos == qos && row->part == part) {
			preempts->last = r;
			return row;
		}
	}
	return NULL;
}

static bool _may_any(const struct pollux_preempts *preempts,
		     const struct row *row, job_record_t *preemptor)
{
	bool any = row->any;

	for (int k = 0; k < preempts->alike_count && !any; k++)
		any = row->answers[k] == BY_PRIORITY &&
		      preempts->rule->may(preempts->alike[k].lowest, preemptor);
	return any;
}

bool pollux_preempts_any(struct pollux_preempts *preempts,
			 const struct plx_backlog_entry *from)
{
	const job_record_t *job = from->job;
	assoc_mgr_lock_t locks = { .qos = READ_LOCK };
	job_record_t copy;
	struct row *row = NULL;
	bool any = false;

	/* Slurm preempts for parts of het jobs itself, at once. */
	if (!preempts || !preempts->alike_count || job->het_job_id)
		return false;
	row = _find_row(preempts, job->qos_ptr, from->partition);
	if (row && !row->asks)
		return row->any;
	assoc_mgr_lock(&locks);
	if (!row)
		row = _add_row(preempts, _as_in(from, &copy));
	any = _may_any(preempts, row, _as_in(from, &copy));
	assoc_mgr_unlock(&locks);
	return any;
}

/* May it, now, and on nodes that it could use? */
static bool _may(const struct pollux_preempts *preempts, const struct row *row,
		 const struct pollux_job *job, int j, job_record_t *preemptor)
{
	job_record_t *victim = preempts->victims[j];
	enum answer answer = NO;

	if (!victim || job->exempt_s > 0)
		return false;
	answer = row->answers[preempts->alike_of[j]];
	if (answer == BY_PRIORITY)
		answer = preempts->rule->may(victim, preemptor) ? YES : NO;
	return answer == YES &&
	       bit_overlap_any(victim->node_bitmap,
			       preemptor->part_ptr->node_bitmap);
}

static void _fill(struct pollux_preempts *preempts,
		  const struct plx_backlog_entry *from,
		  const struct pollux_snapshot *snapshot,
		  struct pollux_waiting *waiting)
{
	size_t size = sizeof(bool) * (size_t) preempts->job_count;
	job_record_t copy;
	job_record_t *preemptor = _as_in(from, &copy);
	struct row *row =
		_find_row(preempts, preemptor->qos_ptr, preemptor->part_ptr);
	bool any = false;

	if (!row)
		row = _add_row(preempts, preemptor);
	if (!row->any && !row->asks)
		return;
	waiting->preempts = xmalloc(size);
	if (row->preempts && !row->asks) {
		memcpy(waiting->preempts, row->preempts, size);
	} else {
		for (int j = 0; j < preempts->job_count; j++)
			waiting->preempts[j] =
				_may(preempts, row, &snapshot->jobs[j], j,
				     preemptor);
		xfree(row->preempts);
		row->preempts = xmalloc(size);
		memcpy(row->preempts, waiting->preempts, size);
	}
	for (int j = 0; j < preempts->job_count && !any; j++)
		any = waiting->preempts[j];
	if (!any)
		xfree(waiting->preempts);
}

void pollux_preempts_fill(struct pollux_preempts *preempts,
			  const struct plx_backlog_entry *entries,
			  struct pollux_snapshot *snapshot)
{
	assoc_mgr_lock_t locks = { .qos = READ_LOCK };

	if (!preempts || !preempts->alike_count)
		return;
	assoc_mgr_lock(&locks);
	for (int i = 0; i < snapshot->waiting_count; i++) {
		const job_record_t *job = entries[i].job;

		if (!job->het_job_id)
			_fill(preempts, &entries[i], snapshot,
			      &snapshot->waiting[i]);
	}
	assoc_mgr_unlock(&locks);
}
