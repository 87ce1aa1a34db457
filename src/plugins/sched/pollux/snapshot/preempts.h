/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preempts.h - which waiting jobs may preempt which elastic ones */
#ifndef SCHED_POLLUX_PREEMPTS_H
#define SCHED_POLLUX_PREEMPTS_H

#include "common/preempt_link.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "core/reserve/backlog.h"

/*
 * By which rule, as preempt/pollux_* says; NULL: nobody preempts anybody. Any
 * thread; NULL under a lock on slurmctld's configuration that excludes looks.
 */
void pollux_preempts_by(const struct pollux_preempt_rule *rule);

/* May anybody preempt anybody? */
bool pollux_preempts_possible(void);

/*
 * Those that may preempt others of the entries, chosen by priority, go before
 * them, as in Slurm's queue. Read lock on jobs.
 */
void pollux_preempts_order(struct plx_backlog_entry *entries, int count);

/*
 * What is found out of the elastic jobs of one look. Fills their `exempt_s`.
 * NULL: nobody preempts any. Read lock on jobs from here to _destroy(), which
 * accepts NULL, as do the others.
 */
struct pollux_preempts;
struct pollux_preempts *pollux_preempts_create(
	struct pollux_snapshot *snapshot);
void pollux_preempts_destroy(struct pollux_preempts *preempts);

/* Might the job preempt some of them, by its QOS or the partition? */
bool pollux_preempts_any(struct pollux_preempts *preempts,
			 const struct plx_backlog_entry *from);

/* Fill `preempts` of all that wait, an entry each. */
void pollux_preempts_fill(struct pollux_preempts *preempts,
			  const struct plx_backlog_entry *entries,
			  struct pollux_snapshot *snapshot);

#endif
