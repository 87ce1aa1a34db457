/* SPDX-License-Identifier: MIT */
/*
 * search_exchange.c - who of two takes which of their placements
 *
 * Jobs that are worth the same anywhere may end on each other's nodes: as good
 * a plan on paper, but all of them have to move, and each waits for another
 * one to go first. After the search, two jobs exchange their placements where
 * no utility is lost and more GPUs stay where they are.
 */
#include <math.h>

#include "core/search/search.h"

#define ROUNDING 1e-9	  /* of utilities */
#define BUDGET	 2000000L /* pairs looked at */

/* GPUs of the placement that the job has already. */
static int kept(const struct plx_search_job *e,
		const struct plx_placement *placement)
{
	int gpus = 0;

	for (int i = 0; i < placement->count; i++) {
		int now = e->job->now[placement->slots[i].node];
		int there = placement->slots[i].gpus;

		gpus += now < there ? now : there;
	}
	return gpus;
}

/* May the job have this placement, as far as its own rules go? */
static bool may_have(const struct plx_search *search,
		     const struct plx_search_job *e,
		     const struct plx_placement *placement)
{
	struct plx_shape shape = plx_placement_shape(placement);

	for (int i = 0; i < placement->count; i++) {
		if (!plx_job_usable(e->job, placement->slots[i].node) ||
		    !plx_node_share(e, placement->slots[i].gpus))
			return false;
	}
	return shape.nodes >= e->job->min_nodes &&
	       shape.nodes <= plx_nodes_max(search, e) &&
	       (shape.nodes > 1 || plx_one_node(e, shape.gpus)) &&
	       plx_span_allowed(e, plx_search_span(search, placement)) &&
	       plx_size_allowed(e, shape.gpus) &&
	       plx_placement_complete(e, placement);
}

/* What it is worth there; the job does not sit. */
static double utility_of(struct plx_search *search, struct plx_search_job *e,
			 const struct plx_placement *placement)
{
	if (plx_placement_equal(&e->now, placement))
		return e->now.utility;
	return plx_value(search, e, plx_search_shape(search, placement));
}

static bool fits(const struct plx_search *search,
		 const struct plx_search_job *e,
		 const struct plx_placement *placement)
{
	for (int i = 0; i < placement->count; i++) {
		if (plx_node_free(search, e, placement->slots[i].node) <
		    placement->slots[i].gpus)
			return false;
	}
	return true;
}

/* Sit down, if there is room. */
static bool sit(struct plx_search *search, struct plx_search_job *e,
		struct plx_placement *placement)
{
	if (!fits(search, e, placement))
		return false;
	placement->utility = utility_of(search, e, placement);
	plx_placement_put(search, e, placement);
	return true;
}

static bool gains(struct plx_search *search, struct plx_search_job *a,
		  struct plx_search_job *b)
{
	double before = a->at.utility + b->at.utility;
	double after;

	if (b == a || b->fixed || b->at.count == 0 ||
	    kept(a, &b->at) + kept(b, &a->at) <=
		    kept(a, &a->at) + kept(b, &b->at) ||
	    !may_have(search, a, &b->at) || !may_have(search, b, &a->at))
		return false;
	after = utility_of(search, a, &b->at) + utility_of(search, b, &a->at);
	return after >= before - ROUNDING * fabs(before);
}

/*
 * Each takes the other's placement; false, and as before, when that has no
 * room.
 */
static bool exchange(struct plx_search *search, struct plx_search_job *a,
		     struct plx_search_job *b)
{
	bool done;

	plx_move_begin(search);
	plx_move_touch(search, a);
	plx_move_touch(search, b);
	plx_placement_take(search, a);
	plx_placement_take(search, b);
	plx_placement_copy(&search->picked, &b->saved);
	done = sit(search, a, &search->picked);
	plx_placement_copy(&search->picked, &a->saved);
	done = done && sit(search, b, &search->picked);
	if (!done)
		plx_move_undo(search);
	plx_move_begin(search);
	return done;
}

/* With somebody who sits where the job has GPUs now. */
static bool improve(struct plx_search *search, struct plx_search_job *a)
{
	for (int i = 0; i < a->now.count; i++) {
		const struct plx_node *node =
			&search->nodes[a->now.slots[i].node];

		for (int k = 0; k < node->job_count; k++) {
			struct plx_search_job *b = &search->jobs[node->jobs[k]];

			search->work++;
			if (gains(search, a, b) && exchange(search, a, b))
				return true;
		}
	}
	return false;
}

/* Each exchange keeps more GPUs in place, so there is an end. */
void plx_search_exchange(struct plx_search *search)
{
	long budget = search->work + BUDGET;
	bool again = true;

	while (again && search->work < budget) {
		again = false;
		for (int j = 0; j < search->job_count; j++) {
			struct plx_search_job *e = &search->jobs[j];

			if (e->fixed || e->at.count == 0 ||
			    plx_placement_equal(&e->at, &e->now))
				continue;
			again = improve(search, e) || again;
		}
	}
}
