/* SPDX-License-Identifier: MIT */
/* batch.h - every policy on every workload, on all cores */
#ifndef PLX_SIM_BATCH_H
#define PLX_SIM_BATCH_H

#include "sim/simulate.h"

struct plx_task {
	const struct plx_setting *setting;
	const struct plx_policy *policy;
	const struct plx_workload *workload;
	struct plx_run_result run_result; /* out */
	int rc;				  /* out: -1 with err set */
	struct plx_error err;
};

/*
 * Run all tasks on up to `threads` threads. Results do not depend on how
 * many. With progress, a line on standard error tells how many are done.
 * -1: one failed; the first that did is in err.
 */
int plx_tasks_run(struct plx_task *tasks, int count, int threads, bool progress,
		  struct plx_error *err);

#endif
