/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preempts.h - which waiting jobs may preempt which elastic ones */
#ifndef SCHED_POLLUX_PREEMPTS_H
#define SCHED_POLLUX_PREEMPTS_H

#include "common/preempt_link.h"
#include "sched/pollux/look/slurm_snapshot.h"
#include "sched/pollux/look/waiting.h"

/*
 * By which rule, as preempt/pollux_* says; NULL: nobody preempts anybody. Any
 * thread; NULL under a lock on slurmctld's configuration that excludes looks.
 */
void pollux_preempts_by(const struct pollux_preempt_rule *rule);

/*
 * Those that may preempt others of the entries, chosen by priority, go before
 * them, as in Slurm's queue. Read lock on jobs.
 */
void pollux_preempts_order(struct plx_backlog_entry *entries, int count);

/*
 * Fill `preempts` of all that wait, an entry each, and `exempt_s`. Same lock.
 */
void pollux_preempts_fill(const struct plx_backlog_entry *entries,
			  struct pollux_snapshot *snapshot);

#endif
