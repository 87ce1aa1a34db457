/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leave.h - whole jobs that leave the node of their batch script
 *
 * For a job of higher priority that wants the node, or because the node is
 * to be empty. Where the plan has another place for it, it is moved there
 * (start/migrate.h); otherwise it is put into the queue (start/evict.h).
 */
#ifndef SCHED_POLLUX_LEAVE_H
#define SCHED_POLLUX_LEAVE_H

#include "core/search/plan.h"
#include "core/reserve/reservation.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

enum pollux_leave {
	POLLUX_LEAVE_NOT,
	POLLUX_LEAVE_MOVES,  /* to another place */
	POLLUX_LEAVE_QUEUES, /* there is none */
};

/* Job j of the snapshot and the problem, and what the plan chose for it. */
enum pollux_leave pollux_leave_of(const struct pollux_snapshot *snapshot,
				  const struct plx_problem *problem, int j,
				  const struct plx_choice *choice);

/* Why, in one line; grants[waiting_count] with nodes. */
void pollux_leave_why(const struct pollux_snapshot *snapshot,
		      const struct plx_grant *grants, int j,
		      enum pollux_leave leave, const struct plx_choice *choice,
		      char *why, size_t size);

#endif
