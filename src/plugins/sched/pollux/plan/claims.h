/* SPDX-License-Identifier: GPL-2.0-or-later */
/* claims.h - what jobs say of themselves, held against what is seen */
#ifndef SCHED_POLLUX_CLAIMS_H
#define SCHED_POLLUX_CLAIMS_H

#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/job_state.h"

/*
 * Take what job j of the snapshot says; one line in the log when it is believed
 * less or more than before. By the plugin's thread, which holds no lock.
 */
void pollux_claims_hear(const struct pollux_snapshot *snapshot, int j,
			struct pollux_job_state *state);

/* It did what no honest job does, a sentence: it is believed less. */
void pollux_claims_break(struct pollux_job_state *state, const char *why);

#endif
