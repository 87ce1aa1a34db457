/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease_watch.h - jobs that do not train give up what is above their least
 *
 * Without a status that can be believed, done, or saving or waiting for ever, a
 * job cannot be asked, or says what is no use. After pollux_lease it is asked
 * for its least all the same, and as no answer counts as one, gets it.
 */
#ifndef SCHED_POLLUX_LEASE_WATCH_H
#define SCHED_POLLUX_LEASE_WATCH_H

#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/params.h"
#include "sched/pollux/job_state.h"

/* Job j of a new snapshot. */
void pollux_lease_hear(const struct pollux_snapshot *snapshot, int j,
		       struct pollux_job_state *state,
		       const struct pollux_params *params);

/* Ask those whose time is over. Takes locks. */
void pollux_lease_claim(const struct pollux_snapshot *snapshot,
			const struct pollux_params *params);

#endif
