/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overlap.h - old and new shape at once, for a job whose ranks train on
 *
 * While new ranks get ready beside the old ones, the job holds on each node
 * the larger of what it had and what it is to have. Where that is more than
 * either, what is too much is only lent, and taken back once the launcher says
 * that the old ranks are gone.
 */
#ifndef SCHED_POLLUX_OVERLAP_H
#define SCHED_POLLUX_OVERLAP_H

#include "sched/pollux/job_shape.h"

enum pollux_overlap_kind {
	POLLUX_OVERLAP_NONE, /* it has all already, and is to give some back */
	POLLUX_OVERLAP_NEW,  /* nothing is to be given back */
	POLLUX_OVERLAP_BOTH,
};

/*
 * The shape to hold meanwhile, in *overlap, the caller's to release. Under a
 * lock on jobs.
 */
enum pollux_overlap_kind pollux_overlap(const job_record_t *job,
					const struct pollux_shape *want,
					struct pollux_shape *overlap);

/*
 * Is that within the job's own max= and --nodes? A limit holds meanwhile, too;
 * those of accounts and QOS are asked about by pollux_resize(). -1 with err
 * set. Under a lock on jobs.
 */
int pollux_overlap_test(const job_record_t *job,
			const struct pollux_shape *overlap,
			struct plx_error *err);

#endif
