/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frozen.h - a job's tasks are frozen for a moment
 *
 * Slurm has the tasks of each step in a control group that can be frozen:
 * step_N of the freezer's hierarchy (version 1, proctrack/cgroup), or
 * step_N/user/task_M (version 2). slurmstepd is in neither; a group that this
 * process is in is never frozen. A child thaws them when it is told to, when
 * this process dies, or when the time is over.
 *
 * Needs root. Not for threads; it forks.
 */
#ifndef SPANK_POLLUX_FROZEN_H
#define SPANK_POLLUX_FROZEN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define PLX_FROZEN 256 /* groups */

struct plx_frozen {
	struct plx_frozen_group {
		int state; /* file that says whether it is frozen */
		int order; /* file that takes the order */
		int watch; /* of writes to it by others; -1: none */
		bool ours; /* false: somebody else has frozen it */
	} all[PLX_FROZEN];
	int count;
	int watches; /* inotify; -1: none */
	bool is_v1;
	char mounted[PATH_MAX];
	pid_t guard; /* 0: none */
	int tie;     /* the guard hears when it is closed */
};

/*
 * Freeze the tasks of the job's group, for limit_ms at most, and wait a fifth
 * of a second for them: one that waits for a disk or a device freezes when it
 * is back, before it runs any of its own code. A group that was frozen before
 * is left so. Where nothing can be frozen, nothing is. mounted: of the freezer
 * or version 2; "": nowhere.
 */
void plx_frozen_begin(struct plx_frozen *frozen, const char *mounted,
		      const char *job, bool is_v1, int limit_ms);

/*
 * Is the group of this process frozen, with all that is in it, by whomever? pid
 * in decimal digits. No group at all cannot be.
 */
bool plx_frozen_has(const struct plx_frozen *frozen, const char *pid);

/* Has somebody else, as scancel does, or the guard thawed one meanwhile? */
bool plx_frozen_is_broken(const struct plx_frozen *frozen);

/*
 * Thaw them, but for what somebody else has frozen meanwhile, as scontrol
 * suspend does.
 */
void plx_frozen_end(struct plx_frozen *frozen);

#endif
