/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kept_types.h - the types of GPUs that a job keeps to
 *
 * Ranks wait for the slowest of them. So a job that asks for no type, and does
 * not say mix=yes, keeps to the types of the GPUs that it has while it runs; if
 * it has none just now, to those that it had last. Lists of types are as in
 * node_gpus.h.
 */
#ifndef SCHED_POLLUX_KEPT_TYPES_H
#define SCHED_POLLUX_KEPT_TYPES_H

#include "common/node_gpus.h"
#include "core/records/target.h"

/*
 * What the job's GPUs have to be, by its request or by what it has; "": any, or
 * it is not known. READ locks on jobs and nodes.
 */
void pollux_kept_types(const job_record_t *job, char types[PLX_TYPES_SIZE]);

/* May it begin on any one type: it has none, and keeps to none? Same locks. */
bool pollux_types_open(const job_record_t *job);

/*
 * The type of which these nodes have the most free GPUs; ties: the most in all,
 * then the first by name. "": they have no GPU. READ lock on nodes.
 */
void pollux_types_best(bitstr_t *nodes, char types[PLX_TYPES_SIZE]);

/* Clear the nodes that have no GPU of these types. READ lock on nodes. */
void pollux_types_filter(bitstr_t *nodes, const char *types);

#endif
