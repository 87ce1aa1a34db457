/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_gpus.h - the GPUs of a node as slurmctld counts them
 *
 * Under a lock on nodes. A type of NULL or "" stands for all of them; it may be
 * several, separated by commas, and POLLUX_NO_TYPE is GPUs without a type.
 */
#ifndef POLLUX_COMMON_NODE_GPUS_H
#define POLLUX_COMMON_NODE_GPUS_H

#include "common/gpus.h"
#include "common/slurm_compat.h"
#include "job_submit/pollux/shape.h"

/* Slurm's number for the resource "gpu". */
uint32_t pollux_gpu_id(void);

/* NULL when it has none. */
const gres_node_state_t *pollux_node_gpus(const node_record_t *node);

/*
 * How many of a type it has; how many of these no job holds, nor a part of
 * them. Accepts NULL.
 */
int pollux_node_count(const gres_node_state_t *gpus, const char *type);
int pollux_node_free(const gres_node_state_t *gpus, const char *type);

/* Has it GPUs of other types, too? */
bool pollux_node_is_mixed(const gres_node_state_t *gpus, const char *type);

/* The type of device i, POLLUX_NO_TYPE where it has none. Borrowed. */
const char *pollux_node_device_type(const gres_node_state_t *gpus, int i);

/* Device i is of that type. */
bool pollux_node_device_is(const gres_node_state_t *gpus, int i,
			   const char *type);

/* Other jobs have parts of device i: shards, or MPS. */
bool pollux_node_device_shared(const gres_node_state_t *gpus, int i);

/*
 * Slurm counts GPUs in use by device, and again by type. A job that it takes
 * back, after a restart or from us, is counted by type with all its GPUs on
 * its first idle node. The devices are right: the first says whether the
 * types disagree with them, the second counts these anew (write lock on
 * nodes).
 */
bool pollux_node_miscounted(const gres_node_state_t *gpus);
void pollux_node_recount(const node_record_t *node);

/*
 * Count free devices as somebody's, and back: so that the select plugin chooses
 * cores for the others. Write lock on nodes, held all the while.
 */
void pollux_node_hide(const node_record_t *node, bitstr_t *devices);
void pollux_node_show(const node_record_t *node, bitstr_t *devices);

/*
 * The nodes that have GPUs of that type, as they are configured; nodes: of
 * these alone, or NULL for all.
 */
struct shape_cluster pollux_gpu_cluster(const char *type, bitstr_t *nodes);

/* What the job's GPUs have to be; "" for any, or several types. */
void pollux_job_gpu_type(const job_record_t *job,
			 char type[POLLUX_GPU_TYPE_SIZE]);

/* What each of its GPUs brings along. */
struct pollux_needs pollux_job_needs(const job_record_t *job);

#endif
