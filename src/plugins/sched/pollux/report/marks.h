/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.h - on each node that is closed to elastic jobs, why it is
 *
 * In its comment, where that is empty (scontrol show node, pollux-top). Not in
 * its reason: by that Slurm knows whether a node may come back by itself.
 */
#ifndef SCHED_POLLUX_MARKS_H
#define SCHED_POLLUX_MARKS_H

#include "sched/pollux/snapshot/slurm_snapshot.h"

/* Set and take away what has changed. By the thread alone; locks inside. */
void pollux_marks_report(const struct pollux_snapshot *snapshot, double now_s);

void pollux_marks_forget_all(void);

#endif
