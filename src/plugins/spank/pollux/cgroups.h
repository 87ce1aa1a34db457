/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroups.h - where control groups are mounted, and which ones a process is in
 *
 * A controller is named as in /proc/PID/cgroup: "devices", "freezer"; NULL is
 * version 2, which has all of them.
 */
#ifndef SPANK_POLLUX_CGROUPS_H
#define SPANK_POLLUX_CGROUPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* Where the hierarchy is mounted; -1: nowhere. */
int plx_cgroup_mount(const char *controller, char where[PATH_MAX],
		     struct plx_error *err);

/*
 * The group of a process or thread, in decimal digits or "self". False: it has
 * ended, or is not in this hierarchy.
 */
bool plx_cgroup_of(const char *pid, const char *controller,
		   char path[PATH_MAX]);

/*
 * The folder of a job's group, version 1; -1: the job has none there. node: of
 * the slurmd. The caller's to close.
 */
int plx_cgroup_open(const char *controller, const char *node, uint32_t uid,
		    uint32_t job);

/* The group that says which devices the job may open, in both versions. */
int plx_cgroup_open_devices(const char *node, uint32_t uid, uint32_t job);

#endif
