/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage_correction.h - Slurm's books right across a resize
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

/* What stood in the books before. The owner's to give to _close(). */
struct pollux_ledger {
	bool limits;	     /* Slurm counts at all */
	uint64_t *had;	     /* [slurmctld_tres_cnt] */
	uint64_t *run_s;     /* [book * slurmctld_tres_cnt + i] */
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
void pollux_ledger_open(job_record_t *job, struct pollux_ledger *ledger);
void pollux_ledger_ended(job_record_t *job, struct pollux_ledger *ledger);
void pollux_ledger_close(job_record_t *job, struct pollux_ledger *ledger);

/*
 * Take off what was counted twice, as soon as it is: now and then, by the
 * plugin's thread.
 */
void pollux_ledger_settle(void);

/* Is there anything to be taken off? By the plugin's thread. */
bool pollux_ledger_any(void);

#endif
