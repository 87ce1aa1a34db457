/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backfill.h - Slurm's own backfill scheduler, run beside ours
 *
 * Rigid jobs shall be backfilled as well as without us, so Slurm's plugin
 * does it: sched_backfill.so is loaded into the same slurmctld and starts
 * its own thread. See docs/decisions/0002-backfill-beside.md. The first file of
 * that name may be ours (docs/decisions/0129-in-the-place-of-backfill.md): that
 * one is left out.
 *
 * Not thread-safe: called by the plugin's entry points only.
 */
#ifndef SCHED_POLLUX_BACKFILL_H
#define SCHED_POLLUX_BACKFILL_H

/*
 * Find it in one of these folders, colons between, and start it. An error line
 * when that fails.
 */
void pollux_backfill_start(const char *folders);
void pollux_backfill_reconfig(void);
/* Stop its thread and unload it. */
void pollux_backfill_stop(void);

#endif
