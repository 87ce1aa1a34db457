/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moldable_refusals.h - on how many GPUs Slurm did not start a moldable job
 *
 * Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_MOLDABLE_REFUSALS_H
#define SCHED_POLLUX_MOLDABLE_REFUSALS_H

#include "core/base/error.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/* The job did not start on so many: for a minute it is not tried with them. */
void pollux_moldable_refused(const struct pollux_job *job, int gpus,
			     const struct plx_error *why);

/* GPUs it may be tried with now; PLX_GPUS_MAX: any number. */
int pollux_moldable_most(uint32_t job_id);

/* Is it left to Slurm for now? */
bool pollux_moldable_is_slurms(uint32_t job_id);

void pollux_moldable_forget_all(void);

#endif
