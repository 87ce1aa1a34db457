/* SPDX-License-Identifier: MIT */
/*
 * reservation.h - keep GPUs back for jobs that wait for Slurm to start them
 *
 * Elastic jobs fill the cluster; a job that Slurm is about to start (rigid,
 * or elastic in its smallest shape) would wait for ever. Before the search,
 * its GPUs are reserved: they are taken out of problem->gpus, on the nodes
 * where that displaces least, so the search makes elastic jobs smaller. As in
 * backfill, a reservation is made anew in each cycle; those of scontrol are
 * the plugin's rules/reserved.h.
 */
#ifndef PLX_CORE_RESERVATION_H
#define PLX_CORE_RESERVATION_H

#include "core/base/error.h"
#include "core/base/resources.h"
#include "core/problem/problem.h"

/* What may be done to elastic jobs for a request. */
enum plx_effort {
	PLX_EFFORT_ALL,	   /* whatever suffices */
	PLX_EFFORT_SHRINK, /* none of them is parked, or put into the queue */
	PLX_EFFORT_IDLE,   /* nothing: it takes what is idle */
};

struct plx_request {
	uint32_t id; /* of those with one id, not 0, one is served */
	int nodes;   /* nodes it wants, >= 1 */
	struct plx_resources each; /* of these, >= 0; GPUs are whole */
	/*
	 * [consumable_kinds] of the problem's consumables on each node; NULL:
	 * nothing
	 */
	const double *demand;
	bool whole_nodes;    /* --exclusive: all of its nodes */
	double seconds;	     /* until it has ended, by its time limit */
	const bool *allowed; /* [node_count], borrowed; NULL: all */
	/*
	 * [job_count] of the problem, borrowed: elastic jobs it may not park
	 * (their priority is higher, or they may not be parked); NULL: all.
	 */
	const bool *keeps;
	/*
	 * [job_count] of the problem, borrowed: elastic jobs that may be put
	 * started again elsewhere for it, or, where it may park them, put into
	 * the queue; NULL: none.
	 */
	const bool *leaves;
	/*
	 * It is a parked job of the problem that is to come back: others that
	 * come later cannot have its GPUs, but the problem has them again.
	 */
	bool wakes;
	enum plx_effort effort;
	/*
	 * Nothing is promised to this: the same job follows in another way, or
	 * it starts now or not at all.
	 */
	bool tentative;
	/* The same, where something is promised to its id already. */
	bool once;
	/* [pool_count] of the rest, in all; borrowed; NULL: nothing */
	const double *draws;
	/*
	 * It starts with all of so many jobs of this group; 0: alone. Nodes of
	 * such jobs are different, as backfill would have them.
	 */
	uint32_t group;
	int group_size;
};

/* What the problem does not know of the cluster. */
struct plx_residual {
	/*
	 * [node_count] CPUs and memory that rigid jobs do not have (GPUs are
	 * the problem's); NULL: no matter
	 */
	const struct plx_resources *left;
	const struct plx_resources *per_gpu; /* [node_count] elastic jobs take
						there; with `left` */
	/*
	 * [node_count] that a job takes for each GPU it gains there, at most;
	 * NULL: what those take that have some.
	 */
	const struct plx_resources *per_gain;
	/*
	 * [job_count] of the problem: that it keeps without a GPU on the node
	 * of its script; NULL: nothing
	 */
	const struct plx_resources *scripts;
	const struct plx_node_alloc *allocs;
	int alloc_count;
	double now_s;	     /* on the clock that promises are rounded on ... */
	double resolution_s; /* ... to this; 0: not at all */
	double window_s;     /* how far promises go; 0: without end */
	/*
	 * What is idle of a node that is promised for so soon is taken out of
	 * problem->gpus: it is not worth a job's while to grow there.
	 */
	double soon_s;
	/*
	 * Who gives up something within so long only has an epilog to end:
	 * where a group lacks just that, nobody grows onto the rest meanwhile;
	 * 0: all may.
	 */
	double together_s;
	/*
	 * What is free of things that are on no node: licences. Who may have
	 * his comes by priority; with pools_wait what a job that cannot start
	 * lacks is kept from those behind it.
	 */
	const double *pools; /* [pool_count] */
	int pool_count;
	bool pools_wait;
};

struct plx_grant {
	bool granted;	 /* its nodes are reserved now */
	bool displaces;	 /* elastic jobs have to give way for it */
	bool lacks;	 /* not granted, as what it draws is not free */
	double starts_s; /* otherwise: when it could; INFINITY: unknown */
	int gpus;	 /* granted: on each of its nodes, as requested */
	bool *nodes;	 /* [node_count] of the caller's, or NULL: which */
	bool *promised;	 /* the same, of one that could start later */
};

/*
 * Reserve nodes for the requests, in the order given (Slurm's priority order),
 * out of problem->gpus and consumables. A request that cannot be served even
 * when elastic jobs are as small as allowed takes nothing now; it is promised
 * nodes for later, and those that come after it have to be gone from them by
 * then. Never leaves a fixed job or one in `keeps` without its minimum.
 * residual NULL: only GPUs matter, and nothing is promised.
 *
 * A job whose batch host cannot be had otherwise leaves it if it may: its
 * `batch_host` in the problem becomes -1, so that the search finds another
 * place for it. One for which that finds none has to wait in the queue. Of all
 * ways the first is taken that suffices: jobs shrink, go elsewhere, are parked
 * on their batch host, wait in the queue.
 */
int plx_reservation_make(struct plx_problem *problem,
			 const struct plx_residual *residual,
			 const struct plx_request *requests, int count,
			 struct plx_grant *grants, struct plx_error *err);

#endif
