/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodes.h - the nodes that Slurm lets a job use
 *
 * A running job may gain GPUs where a new job with its request, its user and
 * the time that is left to it would be started. All under READ locks on conf,
 * job, node and partition, which are held from _create() to _destroy(): what
 * is the same for many jobs is found out once.
 */
#ifndef SCHED_POLLUX_NODES_H
#define SCHED_POLLUX_NODES_H

#include "common/slurm_compat.h"
#include "core/base/error.h"
#include "core/records/target.h"
#include "sched/pollux/job_shape.h"

struct pollux_rules;

struct pollux_rules *pollux_rules_create(void);
/* The same, for who knows all jobs that have nodes. */
struct pollux_rules *pollux_rules_create_with(job_record_t **jobs, int count);
void pollux_rules_destroy(struct pollux_rules *rules); /* accepts NULL */

/*
 * As pollux_types_filter() and pollux_types_best() of kept_types.h, for who
 * asks for many jobs: the answers are remembered.
 */
void pollux_rules_of_types(struct pollux_rules *rules, const char *types,
			   bitstr_t *nodes);
void pollux_rules_best_type(struct pollux_rules *rules, bitstr_t *nodes,
			    char types[PLX_TYPES_SIZE]);
/* As pollux_kept_types(), found out once a job. Valid until the next call. */
const char *pollux_rules_kept_types(struct pollux_rules *rules,
				    const job_record_t *job);
/* Clear the nodes that take no new jobs, or have no GPU free. */
void pollux_rules_idle(struct pollux_rules *rules, bitstr_t *nodes);

/* See pollux_reserved_turning(). */
bool pollux_rules_turning(const struct pollux_rules *rules);

/* Takes the node new jobs of anybody, now? Not while others end there. */
bool pollux_node_open(const struct pollux_rules *rules, int n);

/* Where the job may have GPUs that it does not have yet. Caller's to free. */
bitstr_t *pollux_nodes_gain(struct pollux_rules *rules,
			    const job_record_t *job);

/*
 * The same, and those of its own nodes where it may stay: all but nodes that
 * are being drained or kept for a reservation that begins soon. *barred, which
 * was zeroed: what it may not have there, the caller's to release. unlike,
 * which has a bit for each node, or NULL: those where it could gain GPUs if it
 * did not keep to types (kept_types.h).
 */
bitstr_t *pollux_nodes_allowed(struct pollux_rules *rules,
			       const job_record_t *job, pollux_barred_t *barred,
			       bitstr_t *unlike);

/*
 * Where a pending job may wait for room in one of its partitions: on nodes
 * that are in use, too. Caller's to free.
 */
bitstr_t *pollux_nodes_waited(struct pollux_rules *rules,
			      const job_record_t *job,
			      const part_record_t *part);

/* Those of them that are powered down, of a job that runs; NULL: none. */
bitstr_t *pollux_nodes_asleep(struct pollux_rules *rules,
			      const job_record_t *job);

/*
 * GPUs of each node of a job that has its nodes for itself; 0: it has not; -1:
 * not as many on each.
 */
int pollux_nodes_whole(const job_record_t *job);

/* Why the job keeps its shape whatever happens; NULL: it need not. */
const char *pollux_nodes_fixed(struct pollux_rules *rules,
			       const job_record_t *job);

/*
 * Why it keeps its shape until all its nodes are upgraded (slurmds.h); NULL: it
 * need not.
 */
const char *pollux_nodes_unreached(const struct pollux_rules *rules,
				   const job_record_t *job);

/* Those of --nodelist, the caller's to free; NULL: its user named none. */
bitstr_t *pollux_nodes_listed(const job_record_t *job);

/* Has the shape, unless parked, all nodes that its user named? Or -1. */
int pollux_nodes_required(const job_record_t *job,
			  const struct pollux_shape *shape,
			  struct plx_error *err);

/*
 * May the job, which holds what its record says, have this shape? -1 with err
 * naming the first node and rule against it. *barred, which was zeroed: what
 * it may not have there, the caller's to release. WRITE locks will do as well.
 */
int pollux_nodes_test(const job_record_t *job, const struct pollux_shape *shape,
		      pollux_barred_t *barred, struct plx_error *err);

#endif
