/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * left_nodes.h - what steps of a job could still open on nodes that it left
 *
 * A step's credential says what its job had when it was made, and is good for
 * two minutes (cred_expire= of AuthInfo). A node takes it again once the job is
 * back there: slurmd forgets then what it would refuse. So who keeps one back
 * could have GPUs there that are another job's by now. Slurm has a job that is
 * requeued wait for as long. Here a job comes back to a node within that time
 * only where it gets all devices that it had there, and perhaps others.
 *
 * Not known to a slurmctld that was started meanwhile. Used by the plugin's
 * thread alone.
 */
#ifndef SCHED_POLLUX_LEFT_NODES_H
#define SCHED_POLLUX_LEFT_NODES_H

#include "common/slurm_compat.h"
#include "core/base/error.h"
#include "sched/pollux/job_shape.h"

/* A clause, after the node's name. */
#define POLLUX_LEFT_WHY                                                        \
	"is one that it left: for two minutes it comes back only to all "      \
	"GPUs that it had there"

/*
 * The job gives up nodes on which it had[node_record_count] devices: all but
 * `keeps`, or all of them where that is NULL.
 */
void pollux_left_note(uint32_t job_id, bitstr_t *const *had, bitstr_t *keeps);

/* Seconds until it may come back to all of them as it likes; 0: it may. */
double pollux_left_s(uint32_t job_id);

/* Clear the nodes where others have what it had. READ lock on nodes. */
void pollux_left_filter(const job_record_t *job, bitstr_t *nodes);

/*
 * May the job, on node_bitmap of its record, have has[node_record_count] on
 * those of its resources? -1 with err set. READ lock on jobs and nodes.
 */
int pollux_left_test(const job_record_t *job, bitstr_t *const *has,
		     struct plx_error *err);

/*
 * A job is to start in the shape: hide devices from the select plugin, as
 * pollux_devices_hide() does, so that it gets what it had. *hidden is NULL
 * where there is nothing to hide. -1 with err set: it cannot have that. WRITE
 * lock on nodes.
 */
int pollux_left_hide(const job_record_t *job, const struct pollux_shape *shape,
		     bitstr_t ***hidden, struct plx_error *err);

#endif
