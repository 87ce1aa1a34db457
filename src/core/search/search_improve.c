/* SPDX-License-Identifier: MIT */
/*
 * search_improve.c - moves until nothing gets better
 *
 * Every job in the queue tries the configurations that are better for it than
 * its present one, others giving way, and makes the move that brings most to
 * all together. Forms that no better plan can have are left out. Whoever moved,
 * and all on the nodes concerned, are in the queue again.
 */
#include <math.h>

#include "core/search/search.h"

/* A gain below this share of the terms it changes is noise. */
#define GAIN_MIN 1e-9

#define STOP_EVERY 16 /* jobs looked at until somebody may want to stop */

void plx_queue_push(struct plx_search *search, struct plx_search_job *e)
{
	int at = search->queue_first + search->queue_count;

	if (e->dirty || e->fixed)
		return;
	e->dirty = true;
	search->queue_count++;
	search->queue[at % search->job_count] = (int) (e - search->jobs);
}

struct plx_search_job *plx_queue_pop(struct plx_search *search)
{
	struct plx_search_job *e =
		&search->jobs[search->queue[search->queue_first]];

	search->queue_first = (search->queue_first + 1) % search->job_count;
	search->queue_count--;
	e->dirty = false;
	return e;
}

void plx_queue_clear(struct plx_search *search)
{
	while (search->queue_count > 0)
		plx_queue_pop(search);
}

static void push_neighbours(struct plx_search *search,
			    const struct plx_placement *placement)
{
	for (int k = 0; k < placement->count; k++) {
		const struct plx_node *node =
			&search->nodes[placement->slots[k].node];

		for (int i = 0; i < node->job_count; i++)
			plx_queue_push(search, &search->jobs[node->jobs[i]]);
	}
}

/* Those that moved, and all on their nodes, may now do better. */
void plx_move_keep(struct plx_search *search)
{
	for (int i = 0; i < search->touched_count; i++) {
		struct plx_search_job *e = &search->jobs[search->touched[i]];

		plx_queue_push(search, e);
		push_neighbours(search, &e->at);
		push_neighbours(search, &e->saved);
		if (e->strayed)
			continue;
		e->strayed = true;
		search->strayed[search->strayed_count++] = search->touched[i];
	}
	plx_move_begin(search);
}

/* Is the present move a real gain? */
static bool worthwhile(const struct plx_search *search, double gain)
{
	double scale = 0;

	for (int i = 0; i < search->touched_count; i++)
		scale += fabs(search->jobs[search->touched[i]].saved.utility);
	return gain > GAIN_MIN * scale;
}

/* Try one; true when it is better than *best. Always undone. */
static bool try_config(struct plx_search *search, struct plx_search_job *e,
		       int config, double *best)
{
	double gain;
	bool better;

	search->least_gain = *best;
	/* One that fails is undone: it gains nothing. */
	(void) plx_search_move(search, e, config);
	search->least_gain = -INFINITY;
	gain = plx_move_gain(search);
	better = worthwhile(search, gain) && gain > *best;
	if (better)
		*best = gain;
	plx_move_undo(search);
	return better;
}

/* No plan better than the best so far has the job in this configuration. */
static bool hopeless(const struct plx_search *search,
		     const struct plx_search_job *e,
		     const struct plx_config *config)
{
	return config->utility <= plx_search_needed(search, e, config->gpus);
}

/* Make the move that was tried: by chance others would give way now. */
static bool repeat(struct plx_search *search, struct plx_search_job *e,
		   int config, uint64_t random)
{
	uint64_t next = search->random;
	bool moved;

	search->random = random;
	moved = plx_search_move(search, e, config);
	search->random = next;
	return moved;
}

/* The best move of one job. */
static bool improve_job(struct plx_search *search, struct plx_search_job *e)
{
	int choice = PLX_CONFIG_NOW - 1;
	double best = 0;
	uint64_t best_random = search->random;

	if (e->now.utility > e->at.utility &&
	    try_config(search, e, PLX_CONFIG_NOW, &best))
		choice = PLX_CONFIG_NOW;
	for (int i = 0; i < e->candidate_count; i++) {
		uint64_t random = search->random;

		/* Others hardly ever gain by giving way. */
		if (e->candidates[i].utility - e->at.utility <= best ||
		    search->work > search->budget)
			break;
		if (hopeless(search, e, &e->candidates[i]))
			continue;
		if (try_config(search, e, i, &best)) {
			choice = i;
			best_random = random;
		}
	}
	if (choice < PLX_CONFIG_NOW || !repeat(search, e, choice, best_random))
		return false;
	plx_move_keep(search);
	return true;
}

bool plx_search_stopped(struct plx_search *search)
{
	const struct plx_problem *problem = search->problem;

	if (search->stopped || !problem->stop)
		return search->stopped;
	search->stopped = problem->stop(problem->stop_context);
	return search->stopped;
}

void plx_search_descend(struct plx_search *search)
{
	for (int i = 1; search->queue_count > 0; i++) {
		improve_job(search, plx_queue_pop(search));
		if (search->work > search->budget ||
		    (i % STOP_EVERY == 0 && plx_search_stopped(search)))
			return;
	}
}
