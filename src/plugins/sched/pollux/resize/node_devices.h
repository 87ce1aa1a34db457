/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_devices.h - the devices of a node that a job gets, and cores near them
 *
 * Slurm chooses a job's cores on the sockets of the GPUs that it would take. A
 * job that is resized has some already: while Slurm chooses, it sees these and
 * those that go with them alone. Sockets are from Cores= of gres.conf, links
 * from Links=.
 */
#ifndef SCHED_POLLUX_NODE_DEVICES_H
#define SCHED_POLLUX_NODE_DEVICES_H

#include "sched/pollux/job_shape.h"
#include "sched/pollux/resize/holding.h"

/* Its user said --gres-flags=enforce-binding. */
static inline bool pollux_devices_are_bound(const job_record_t *job)
{
	return job->bit_flags & GRES_ENFORCE_BIND;
}

/* How many GPUs of their socket cores go with. */
enum pollux_near {
	POLLUX_NEAR_ALL,  /* any number */
	POLLUX_NEAR_MORE, /* as many as they are for; other sockets' any number
			   */
	POLLUX_NEAR_EACH, /* as many as they are for */
};

/* Cores of a job on one node. */
struct pollux_cores {
	bitstr_t *bits; /* NULL: not known */
	enum pollux_near near;
	bool bound; /* it gains no GPU without a core on its socket */
};

/*
 * `count` devices of node n, which has files of them, for a job that held what
 * `held` says and has these cores there. The caller's to free; NULL: there are
 * too few.
 */
bitstr_t *pollux_devices_pick(const struct pollux_holding *held, int n,
			      int count, const struct pollux_cores *cores);

/* Cores that the resources have of node n. The caller's to free, or NULL. */
bitstr_t *pollux_devices_cores(const job_resources_t *resources, int n);

/*
 * Hide the devices that are not to count while the select plugin chooses cores:
 * on nodes where the job has some, all but those that it would get where it is
 * to have the shape; of wrong types, on any. For pollux_devices_show(), under
 * the same write lock; NULL: there are none.
 */
bitstr_t **pollux_devices_hide(const struct pollux_shape *shape,
			       const struct pollux_holding *held,
			       enum pollux_near near);
void pollux_devices_show(bitstr_t **hidden); /* accepts NULL */

#endif
