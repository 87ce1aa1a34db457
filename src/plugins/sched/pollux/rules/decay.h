/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decay.h - up to when Slurm has counted what running jobs use
 *
 * priority/multifactor takes what has passed off the running minutes every
 * PriorityCalcPeriod, and says when only in a file of StateSaveLocation. By
 * the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_DECAY_H
#define SCHED_POLLUX_DECAY_H

#include <time.h>

/* Where is the file? Under a lock on Slurm's configuration. */
void pollux_decay_find(void);

/* Read it; holding no lock, as the file may be on a slow disk. */
void pollux_decay_read(void);

/* Its last run; 0: unknown. */
time_t pollux_decay_last(void);

#endif
