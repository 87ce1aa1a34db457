/* SPDX-License-Identifier: MIT */
/*
 * search_repair.c - from what jobs have now to something feasible
 *
 * Most times nothing is to be done. When room was taken, a node lost or a
 * limit lowered, jobs give way one at a time, the cheapest step first. If
 * that ends in a corner, all are squeezed to their minimum from nothing;
 * the moves that follow let them grow again. plx_reservation_make() asks the
 * same function, so it never grants what the search cannot honour.
 */
#include <stddef.h>

#include "core/search/search.h"

/* Jobs have more of it than there is. */
static bool too_much(const struct plx_search *search,
		     const struct plx_node *node)
{
	return node->free < 0 ||
	       plx_consumables_short(search, (int) (node - search->nodes));
}

static bool crowded(const struct plx_search *search,
		    const struct plx_node *node)
{
	return too_much(search, node) ||
	       (search->problem->interference && node->multi > 1);
}

/* Nobody here can be asked to go. */
static bool only_fixed(const struct plx_search *search,
		       const struct plx_node *node)
{
	for (int i = 0; i < node->job_count; i++) {
		const struct plx_search_job *e = &search->jobs[node->jobs[i]];

		if (!e->fixed && (too_much(search, node) || e->at.count > 1))
			return false;
	}
	return true;
}

/*
 * What is lost if this job gives way; false when it cannot, or would be as
 * before: then it is not what the node is short of.
 */
static bool give_way(struct plx_search *search, struct plx_search_job *e,
		     double *gain)
{
	plx_move_begin(search);
	plx_move_touch(search, e);
	plx_placement_take(search, e);
	if (!plx_search_fit(search, e) ||
	    plx_placement_equal(&e->at, &e->saved)) {
		plx_move_undo(search);
		return false;
	}
	*gain = plx_move_gain(search);
	return true;
}

/* The next job here by id; NULL: none. Trying one changes the list's order. */
static struct plx_search_job *next_job(struct plx_search *search,
				       const struct plx_node *node, int after)
{
	int next = search->job_count;

	for (int i = 0; i < node->job_count; i++) {
		if (node->jobs[i] > after && node->jobs[i] < next)
			next = node->jobs[i];
	}
	return next < search->job_count ? &search->jobs[next] : NULL;
}

/* One job of a crowded node gives way: the one that loses least. */
static bool relieve(struct plx_search *search, const struct plx_node *node)
{
	struct plx_search_job *least = NULL;
	double least_gain = 0;
	double gain;

	for (struct plx_search_job *e = next_job(search, node, -1); e;
	     e = next_job(search, node, (int) (e - search->jobs))) {
		if (e->fixed || (!too_much(search, node) && e->at.count < 2))
			continue;
		if (!give_way(search, e, &gain))
			continue;
		plx_move_undo(search);
		/* In doubt the job with the higher id gives way. */
		if (!least || gain >= least_gain) {
			least = e;
			least_gain = gain;
		}
	}
	return least && give_way(search, least, &gain);
}

/* Pinned and stuck jobs, where they are. */
static void placement_fixed(struct plx_search *search)
{
	plx_search_reset(search);
	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		if (!e->job->fixed && !e->stuck)
			continue;
		plx_placement_put(search, e, &e->now);
		plx_placement_fix(search, e);
	}
}

/*
 * Jobs of a node give way until it is not crowded; false when they cannot. Who
 * gives way has fewer GPUs here, mostly none: else it would go on for ever.
 */
static bool relieve_all(struct plx_search *search, const struct plx_node *node)
{
	int n = (int) (node - search->nodes);
	int held = search->problem->gpus[n] - node->free;
	int rounds = node->job_count + held + search->node_gpus_max;

	while (crowded(search, node) && !only_fixed(search, node)) {
		if (rounds-- <= 0 || !relieve(search, node))
			return false;
	}
	return true;
}

/* Start from what all have; false in a corner. */
static bool adjust(struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		if (!e->fixed && e->now_valid)
			plx_placement_put(search, e, &e->now);
	}
	for (int n = 0; n < search->node_count; n++) {
		if (!relieve_all(search, &search->nodes[n]))
			return false;
	}
	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		if (!e->fixed && !e->now_valid && !plx_search_fit(search, e))
			return false;
	}
	return true;
}

/* The hardest to placement first. */
static int rank(const struct plx_search_job *e)
{
	if (e->may_park)
		return 2;
	return plx_needs_batch_host(e, 1) || e->required ? 0 : 1;
}

/* Seat all at their smallest; the first that cannot be is then stuck. */
static bool squeeze_all(struct plx_search *search)
{
	for (int t = 0; t < 3; t++) {
		for (int j = 0; j < search->job_count; j++) {
			struct plx_search_job *e = &search->jobs[j];

			if (e->fixed || rank(e) != t)
				continue;
			if (!plx_search_squeeze(search, e)) {
				e->stuck = true;
				return false;
			}
		}
	}
	return true;
}

int plx_search_repair(struct plx_search *search)
{
	int stuck = 0;

	placement_fixed(search);
	if (!adjust(search)) {
		do
			placement_fixed(search);
		while (!squeeze_all(search));
	}
	plx_move_begin(search);
	for (int j = 0; j < search->job_count; j++)
		stuck += search->jobs[j].stuck;
	return stuck;
}
