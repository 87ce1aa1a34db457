/* SPDX-License-Identifier: GPL-2.0-or-later */
/* holding.h - what a job holds, while its record says something else */
#ifndef SCHED_POLLUX_HOLDING_H
#define SCHED_POLLUX_HOLDING_H

#include "common/slurm_compat.h"
#include "core/records/target.h"

/*
 * What a job holds. Owns what it points to, but for the while it is put back.
 */
struct pollux_holding {
	job_resources_t *resources;
	List gres_list_alloc;
	bitstr_t **devices; /* [node_record_count], NULL where it has none */
	bitstr_t **in_use;  /* those that its steps hold; NULL: none */
	char types[PLX_TYPES_SIZE]; /* that it keeps to: kept_types.h */
	pollux_barred_t barred;	    /* what reservations keep from it */
};

#endif
