/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * constrain.h - control groups of nodes follow what a job gives up
 *
 * Slurm writes what a job may use of a node (devices, memory, CPUs) when a
 * step starts there, as the step's credential says. Nothing rewrites it when
 * a running job gives up GPUs of a node that it keeps: its script could open
 * them on, and whatever holds them open could use them. So before GPUs are
 * given up, slurmctld launches a step of its own on these nodes, with a
 * credential of the shape that the job is to have. Slurm's own code then
 * writes the groups; SPANK's plugin pollux, in the same slurmstepd, ends
 * processes of the job that hold what it may not open any more. The GPUs
 * are given up when the step has ended on all nodes, and not before.
 *
 * Where Slurm does not constrain devices nothing of that is done.
 *
 * Used by the plugin's thread alone; nodes are asked in threads of their own,
 * as one may not answer.
 */
#ifndef SCHED_POLLUX_CONSTRAIN_H
#define SCHED_POLLUX_CONSTRAIN_H

#include "common/slurm_compat.h"
#include "core/base/error.h"

/* What pollux_constrain() and pollux_resize() return while nodes are asked. */
#define POLLUX_CONSTRAINING 1
/*
 * The job starts a step whenever nodes have been told, so that no end can be
 * seen; or it began one of a number that is ours.
 */
#define POLLUX_RESTLESS 2

/*
 * Nodes answer, but do not confirm: processes of the job do not end there, or
 * the step's own is held up, as by a home directory that hangs. Never said
 * where the job was suspended meanwhile.
 */
#define POLLUX_STUCK 3
/* The same, but that a node did not answer. */
#define POLLUX_UNHEARD 4

/* Does Slurm keep jobs from devices that they were not given? */
bool pollux_constrain_wanted(void);

/*
 * May the job give up what it held, had[node_record_count], for what its
 * record shows now? 0: it may. POLLUX_CONSTRAINING: nodes are being told; ask
 * again with the same shape. POLLUX_RESTLESS, POLLUX_STUCK, POLLUX_UNHEARD or
 * -1, with err set. Lock: job WRITE.
 */
int pollux_constrain(job_record_t *job, bitstr_t *const *had,
		     struct plx_error *err);

/* Are nodes of the job being told? */
bool pollux_constrain_busy(uint32_t job_id);

/* The job is not there any more, or keeps what it has. */
void pollux_constrain_forget(uint32_t job_id);

/* Wait for the threads: the plugin is about to be unloaded. */
void pollux_constrain_stop(void);

#endif
