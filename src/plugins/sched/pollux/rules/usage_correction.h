/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage_correction.h - Slurm's usage right across a resize
 *
 * To Slurm a resize is the end of one job and the beginning of another, and
 * it was made for a rare one. Counted as it is, each resize leaves the time
 * that has passed in the running TRES-minutes, counts usage since the last
 * run of the decay thread twice, and counts a task of an array as ended.
 *
 * Under slurmctld's WRITE lock on jobs; assoc_mgr's are taken inside.
 */
#ifndef SCHED_POLLUX_USAGE_CORRECTION_H
#define SCHED_POLLUX_USAGE_CORRECTION_H

#include "common/slurm_compat.h"

/* What the counters had before. The owner's to give to _close(). */
struct pollux_usage_correction {
	bool limits;	     /* Slurm counts at all */
	uint64_t *had;	     /* [slurmctld_tres_cnt] */
	uint64_t *run_s;     /* [counter * slurmctld_tres_cnt + i] */
	long double spent;   /* CPU-seconds of the association */
	uint64_t unused_s;   /* of its time limit, as it was counted */
	long double twice_s; /* will be counted again */
	bool array;	     /* a task of one */
	uint32_t run_tasks;
	uint32_t comp_tasks;
	uint32_t min_code;
	uint32_t max_code;
	bool ran;
};

/* Before job_pre_resize_acctg(), after it, after job_post_resize_acctg(). */
void pollux_usage_correction_open(job_record_t *job,
				  struct pollux_usage_correction *correction);
void pollux_usage_correction_ended(job_record_t *job,
				   struct pollux_usage_correction *correction);
void pollux_usage_correction_close(job_record_t *job,
				   struct pollux_usage_correction *correction);

/*
 * Take off what was counted twice, as soon as it is: now and then, by the
 * plugin's thread.
 */
void pollux_usage_correction_settle(void);

/* Is there anything to be taken off? By the plugin's thread. */
bool pollux_usage_correction_any(void);

#endif
