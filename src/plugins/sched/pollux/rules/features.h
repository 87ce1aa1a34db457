/* SPDX-License-Identifier: GPL-2.0-or-later */
/* features.h - which nodes have what --constraint asks for */
#ifndef SCHED_POLLUX_FEATURES_H
#define SCHED_POLLUX_FEATURES_H

#include "common/slurm_compat.h"

/* What was found out for one look, by the text of the constraint. */
struct pollux_features;

/* Both of NULL are fine. The caller's to destroy. */
struct pollux_features *pollux_features_create(void);
void pollux_features_destroy(struct pollux_features *features);

/*
 * Clear nodes that lack what the job asks for now, active features counted
 * only: nobody reboots a node for a running job. Of alternatives in brackets,
 * [a|b], a job goes on with the first that all its nodes have. Locks: job,
 * node READ.
 */
void pollux_features_filter(struct pollux_features *features,
			    const job_record_t *job, bitstr_t *nodes);

/* Does the job ask for so many nodes of a kind, as in a*2 or [a*1&b*2]? */
bool pollux_features_counted(struct pollux_features *features,
			     const job_record_t *job);

#endif
