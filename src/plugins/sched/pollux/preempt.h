/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preempt.h - elastic jobs give up GPUs before Slurm preempts them
 *
 * preempt/pollux_* asks here, in threads of slurmctld's, whether a job that may
 * be preempted is spared (common/preempt_link.h). A cycle says who can give up
 * GPUs, and for whom that is being done (core/reserve/preemption.h). Without
 * that plugin nobody asks, and nothing here has any effect.
 */
#ifndef SCHED_POLLUX_PREEMPT_H
#define SCHED_POLLUX_PREEMPT_H

#include "core/reserve/reservation.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/params.h"

/*
 * A cycle has looked: giving[job_count] is whether a job can give up GPUs in
 * place, asked[job_count] whether it is about to. No lock of slurmctld.
 */
void pollux_preempt_note(const struct pollux_snapshot *snapshot,
			 const struct plx_grant *grants, const bool *giving,
			 const bool *asked, double now_s);

/* How long a preemptor waits for a job without GraceTime. */
void pollux_preempt_set(double wait_s);

/* Has the job waited for too long, so that Slurm preempts for it? */
bool pollux_preempt_is_over(uint32_t id, double now_s);

/* True once when Slurm may preempt what it could not before. */
bool pollux_preempt_offers(double now_s);

/* Nobody is spared any more. */
void pollux_preempt_forget(void);

#endif
