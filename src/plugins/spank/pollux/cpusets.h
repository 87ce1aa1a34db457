/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpusets.h - the CPUs of steps that live on when their job has fewer
 *
 * Slurm writes the job's cpuset before each step. Under version 1 of control
 * groups the kernel refuses to take a CPU from a job while the cpuset of one of
 * its steps has it (EBUSY), and Slurm then starts no step at all. So the batch
 * script and the launcher, which live through a resize, would keep the job
 * from every smaller shape. Before Slurm writes, in each new step's slurmstepd,
 * they are left what the job goes on with.
 *
 * Version 2 takes the CPUs from the steps by itself. Needs root.
 */
#ifndef SPANK_POLLUX_CPUSETS_H
#define SPANK_POLLUX_CPUSETS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define PLX_CPUS      8192 /* numbers below that */
#define PLX_CPUS_TEXT 4096 /* as long as the kernel's own file at most */

struct plx_cpus {
	uint64_t bits[PLX_CPUS / 64];
};

/* Read "0-3,8"; "" is none. -1: not such a text. */
int plx_cpus_parse(const char *text, struct plx_cpus *cpus);

/* Write the same. -1: `size` bytes are too few. */
int plx_cpus_print(const struct plx_cpus *cpus, char *text, size_t size);

/*
 * The folder of the job's cpuset on this node, the caller's to close. -1 where
 * there is none: version 2, CPUs are not constrained, or no step was here.
 */
int plx_cpusets_open(const char *node, uint32_t uid, uint32_t job);

/*
 * The job goes on with `cpus`: each step keeps those of them that it has, or
 * has all of them where that is none. The job's own cpuset has them as well
 * then, beside the old ones, which Slurm takes away. -1 with err set.
 */
int plx_cpusets_narrow(int folder, const char *cpus, struct plx_error *err);

#endif
