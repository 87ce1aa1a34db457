/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ask.h - a resize, from the request to the new shape (docs/resize.md)
 *
 * Used by the plugin's thread alone. Locks are taken inside, for one job at
 * a time.
 */
#ifndef SCHED_POLLUX_ASK_H
#define SCHED_POLLUX_ASK_H

#include "sched/pollux/params.h"
#include "sched/pollux/resize/resize.h"
#include "sched/pollux/track.h"
#include "sched/pollux/look/view.h"

/* Seconds of a clock that never jumps. */
double pollux_now_s(void);

/*
 * Ask job j of the view for the shape gpus[node_count] (the same number on
 * each node that has any; all 0: park it), if it still is what it was in the
 * view and Slurm could give it that now. False when it was not asked.
 */
bool pollux_ask(const struct pollux_view *view, int j, const int *gpus,
		const char *why, const struct pollux_params *params);

/* Wait again for the answer to a target that an earlier slurmctld asked for. */
void pollux_ask_again(struct pollux_track *track,
		      const struct plx_target *target,
		      const struct pollux_params *params);

/*
 * Look at all jobs in the middle of a resize and do what is due. True when
 * one of them got its shape.
 */
bool pollux_ask_tick(void);

#endif
