/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - reading and writing one job record
 *
 * The caller holds slurmctld's job lock: READ for what reads, WRITE for what
 * writes. Nodes are given by their index, valid for as long as the lock.
 */
#ifndef SCHED_POLLUX_RECORD_H
#define SCHED_POLLUX_RECORD_H

#include "common/node_gpus.h"
#include "core/records/status.h"
#include "core/records/target.h"

/* For every job that slurmctld knows. */
void pollux_record_each(void (*act)(job_record_t *job));

/* GPUs the job has on each node: gpus[node_record_count], all written. */
void pollux_record_gpus(const job_record_t *job, int *gpus);
/* The same summed up. */
int pollux_record_gpu_count(const job_record_t *job);

/* Its user said mode=requeue: its shape changes by a requeue alone. */
bool pollux_record_is_moldable(const job_record_t *job);

/* A batch job that may be requeued. */
bool pollux_record_may_requeue(const job_record_t *job);

/* Running, all nodes up, not ending, not suspended: may be resized. */
bool pollux_record_runs(const job_record_t *job);

/*
 * Index of the node that cannot be given up: where the launcher runs, else
 * the batch host. -1 when there is none.
 */
int pollux_record_batch_host(job_record_t *job,
			     const struct plx_status *status);

/*
 * A launcher goes on running through a resize, so it must hold nothing that is
 * given up: a step with GPUs, or any other GRES, is none. -1 with err set, and
 * the status that of a job without launcher.
 */
int pollux_record_believe(job_record_t *job, struct plx_status *status,
			  struct plx_error *err);

/* What its launcher says; of a job that has none, or lies: "no launcher". */
void pollux_record_status(job_record_t *job, struct plx_status *status);

/* Is it none of Slurm's own, as that of the script? */
bool pollux_record_is_users(const step_record_t *step);

/*
 * Does it run, with a number from `from` on and below `before`, and is neither
 * the launcher's nor Slurm's own? One of which slurmctld does not count the
 * number always does: nobody knows when it was begun.
 */
bool pollux_record_is_rank(const job_record_t *job, const step_record_t *step,
			   const struct plx_status *status, uint32_t from,
			   uint32_t before);

/* How many steps are so, below `before`. */
int pollux_record_steps(job_record_t *job, const struct plx_status *status,
			uint32_t before);
#define POLLUX_ALL_STEPS UINT32_MAX

/*
 * Does a step run that began with GPUs which the record does not tell any more,
 * as the job was resized since?
 */
bool pollux_record_outlived(const job_record_t *job);

/* When the present shape began, as accounting has it. */
time_t pollux_record_since(const job_record_t *job);

/*
 * Write the target into system_comment, keeping what others wrote there. This
 * alone does not count as a change of the job (last_job_update): each makes
 * Slurm's backfill give up its pass, where it may not go on (bf_continue).
 */
void pollux_record_publish(job_record_t *job, const struct plx_target *target);

#endif
