/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reserved.h - what reservations leave to a job, its own among them */
#ifndef SCHED_POLLUX_RESERVED_H
#define SCHED_POLLUX_RESERVED_H

#include "common/slurm_compat.h"

/* For how long the job wants the nodes. */
enum pollux_time {
	POLLUX_TIME_LEFT, /* to its end */
	POLLUX_TIME_SOON, /* some minutes: may it stay there that long? */
};

struct pollux_reserved;

/* Under READ locks on jobs and nodes until it is destroyed. */
struct pollux_reserved *pollux_reserved_create(void);
void pollux_reserved_destroy(struct pollux_reserved *reserved);

/* Are there any? */
bool pollux_reserved_any(const struct pollux_reserved *reserved);

/*
 * One has ended and is to recur: whoever asks Slurm what reservations leave
 * would move it on, which takes a write lock. Slurm does so itself in a moment.
 */
bool pollux_reserved_turning(const struct pollux_reserved *reserved);

/*
 * Clear nodes that the job may not use for so long. What it may not use of
 * the others goes to *barred, the caller's to release, if barred is not NULL.
 */
void pollux_reserved_filter(struct pollux_reserved *reserved,
			    const job_record_t *job, enum pollux_time time,
			    bitstr_t *nodes, pollux_barred_t *barred);

#endif
