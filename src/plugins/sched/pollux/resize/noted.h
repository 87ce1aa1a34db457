/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * noted.h - nodes that noted by a job's number which steps are late
 *
 * See spank/pollux/late.h. All but the node of its script do: a next run of the
 * job, which counts its steps anew, could not begin any there until that note
 * counts no more. Slurm begins a requeued job after that, a move does not.
 */
#ifndef SCHED_POLLUX_NOTED_H
#define SCHED_POLLUX_NOTED_H

#include "common/slurm_compat.h"
#include "sched/pollux/job_state.h"

/* These have just agreed to what it gives up; now_s: monotonic clock. */
void pollux_noted_add(job_record_t *job, struct pollux_job_state *state,
		      bitstr_t *nodes, double now_s);

/* Is one of these so? NULL: any node. */
bool pollux_noted_bars(const struct pollux_job_state *state, bitstr_t *nodes,
		       double now_s);

#endif
