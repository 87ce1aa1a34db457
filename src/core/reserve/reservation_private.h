/* SPDX-License-Identifier: MIT */
/*
 * reservation_private.h - a reservation that is being made; for
 * reservation*.c only
 */
#ifndef PLX_CORE_RESERVATION_PRIVATE_H
#define PLX_CORE_RESERVATION_PRIVATE_H

#include "core/reserve/timeline.h"
#include "core/search/search.h"

/* A node as the present request sees it. */
struct plx_idle_node {
	int node;
	int take;     /* GPUs it would take */
	int parks;    /* jobs that would lose the GPU on their batch host */
	int leavers;  /* those of them that may be asked to leave it */
	int displace; /* of those, how many elastic jobs have */
	int kept;     /* of those, how many who may not be parked for it */
};

/* A problem as it was before a guess: all that reservations change of it. */
struct plx_kept_problem {
	struct plx_problem *problem; /* borrowed */
	int *gpus;
	double *consumables;
	int *batch_hosts; /* [job_count] */
};

/* As it is now. -1: no memory; to be released in any case. */
int plx_kept_problem_init(struct plx_kept_problem *kept,
			  struct plx_problem *problem);
/* As it is now, in place of what was kept. */
void plx_kept_problem_take(struct plx_kept_problem *kept);
/* The problem is again as it was. */
void plx_kept_problem_restore(const struct plx_kept_problem *kept);
void plx_kept_problem_release(struct plx_kept_problem *kept);

/* Numbers in problem->consumables. */
static inline size_t plx_consumable_size(const struct plx_problem *problem)
{
	return (size_t) problem->node_count *
	       (size_t) problem->consumable_kinds;
}

struct plx_reserving {
	struct plx_problem *problem;
	const struct plx_residual *residual; /* NULL: only GPUs matter */
	struct plx_timeline *timeline;
	struct plx_search *search;
	struct plx_resources *given; /* [node_count] to requests so far */
	bool *grouped;		     /* [node_count] one of a group is there */
	int *woken;		     /* [node_count] GPUs for parked jobs */
	struct plx_idle_node *idle_nodes; /* [node_count] */
	int idle_count;
	double *woken_consumables; /* [node * consumable_kinds + kind] to parked
				      jobs */
	struct plx_kept_problem before; /* the guess */
	bool *parked;  /* [job_count], search order: so far, for granted ones */
	double *pools; /* [residual->pool_count] of which others have not drawn
			*/
	bool tight;    /* jobs have to move already */
	bool *stuck;   /* [job_count], search order: from the beginning */
	bool leaving;  /* batch hosts may be left, in the present guess */
	int *there; /* in search order: who has GPUs or its batch host on node
		       0, then on node 1 and so on */
	int *there_first; /* [node_count + 1] where a node's begin */
};

/* Fill reserving->there, while batch hosts are as posed; -1: no memory. */
int plx_idle_index(struct plx_reserving *reserving);

/*
 * Fill making->idle_nodes with the nodes that could serve the request, those
 * where it displaces least first.
 */
void plx_idle_survey(struct plx_reserving *reserving,
		     const struct plx_request *request);

/* GPUs of the node that elastic jobs have. */
int plx_idle_held(const struct plx_reserving *reserving, int n);

/* May the job be asked to leave its batch host for the request? */
bool plx_idle_leaves(const struct plx_request *request,
		     const struct plx_job *job, int index);

#endif
