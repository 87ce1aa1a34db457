/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_parts.h - GPUs of which jobs have parts: shards, or MPS
 *
 * Slurm 22.05 forgets on its nodes which these are, some seconds after
 * slurmctld was started, when a slurmd registers; jobs still know it.
 */
#ifndef POLLUX_NODE_PARTS_H
#define POLLUX_NODE_PARTS_H

#include "common/slurm_compat.h"

/* Has a running job parts of GPUs that its node takes for nobody's? */
bool pollux_parts_lost(const job_record_t *job);

/* Tell its nodes. Write lock on nodes. */
void pollux_parts_mend(const job_record_t *job);

/* The same of all jobs; locks on jobs as well. */
void pollux_parts_mend_all(void);

#endif
