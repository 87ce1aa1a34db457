/* SPDX-License-Identifier: MIT */
/*
 * search_improve.c - moves until nothing gets better, within a budget
 *
 * Every job tries the forms that are better for it than its present one,
 * others giving way, and makes the move that brings most to all together.
 * At first a job at most doubles in one move, so that all grow side by side.
 * When no job finds one, a few random moves shake the plan and the search
 * goes on from there; the best plan seen wins. The budget counts nodes and
 * forms looked at, not time: the same problem gives the same plan anywhere.
 */
#include <math.h>

#include "core/search.h"

/* A gain below this share of the terms it changes is noise. */
#define GAIN_MIN 1e-9

#define CLOSE 1e-4 /* share of the fitness that nobody looks for */

#define BUDGET_BASE 200000L
#define BUDGET_CELL 20000L /* per job and node */
#define BUDGET_MAX  1000000000L
#define KICKS_BASE  100 /* without success, until the search ends ... */
#define KICKS_JOB   2	/* ... and so many more for each job */

/* Is the present move a real gain? */
static bool worthwhile(const struct plx_search *search, double gain)
{
	double scale = 0;

	for (int i = 0; i < search->touched_count; i++)
		scale += fabs(search->jobs[search->touched[i]].saved.utility);
	return gain > GAIN_MIN * scale;
}

/* Those that moved, and all on their nodes, may now do better. */
static void mark_dirty(struct plx_search *search)
{
	for (int i = 0; i < search->touched_count; i++) {
		struct plx_elastic *e = &search->jobs[search->touched[i]];
		const struct plx_seat *seats[] = { &e->at, &e->saved };

		e->dirty = true;
		for (int s = 0; s < 2; s++) {
			for (int k = 0; k < seats[s]->count; k++) {
				int n = seats[s]->spots[k].node;
				const struct plx_node *node = &search->nodes[n];

				for (int v = 0; v < node->job_count; v++)
					search->jobs[node->jobs[v]].dirty =
						true;
			}
		}
	}
}

/* Try one; true when it is better than *best. Always undone. */
static bool try_form(struct plx_search *search, struct plx_elastic *e, int form,
		     double *best)
{
	double gain;
	bool better;

	if (!plx_search_move(search, e, form))
		return false;
	gain = plx_move_gain(search);
	better = worthwhile(search, gain) && gain > *best;
	if (better)
		*best = gain;
	plx_move_undo(search);
	return better;
}

/* The most GPUs for a job in the next move, while all grow in strides. */
static int stride_of(const struct plx_elastic *e)
{
	int gpus = plx_seat_shape(&e->at).gpus;

	return 2 * (gpus > 0 ? gpus : e->job->min_gpus);
}

/* No plan better than the best so far has the job in this form. */
static bool hopeless(const struct plx_search *search,
		     const struct plx_elastic *e, const struct plx_form *form)
{
	return form->utility <= plx_search_needed(search, e, form->gpus);
}

/* The best move of one job. */
static bool improve_job(struct plx_search *search, struct plx_elastic *e)
{
	int choice = PLX_FORM_NOW - 1;
	double best = 0;

	if (e->now.utility > e->at.utility &&
	    try_form(search, e, PLX_FORM_NOW, &best))
		choice = PLX_FORM_NOW;
	for (int i = 0; i < e->form_count; i++) {
		/* Others hardly ever gain by giving way. */
		if (e->forms[i].utility - e->at.utility <= best ||
		    search->work > search->budget)
			break;
		if ((search->stride && e->forms[i].gpus > stride_of(e)) ||
		    hopeless(search, e, &e->forms[i]))
			continue;
		if (try_form(search, e, i, &best))
			choice = i;
	}
	if (choice < PLX_FORM_NOW || !plx_search_move(search, e, choice))
		return false;
	mark_dirty(search);
	plx_move_begin(search);
	return true;
}

/* Until no dirty job finds a better form. */
static void descend(struct plx_search *search)
{
	bool again = true;

	while (again && search->work < search->budget) {
		again = false;
		for (int j = 0; j < search->job_count; j++) {
			struct plx_elastic *e = &search->jobs[j];

			if (!e->dirty || e->fixed)
				continue;
			e->dirty = false;
			again |= improve_job(search, e);
			if (search->work > search->budget)
				break;
		}
	}
}

static void set_dirty(struct plx_search *search, bool dirty)
{
	for (int j = 0; j < search->job_count; j++)
		search->jobs[j].dirty = dirty;
}

/* Its GPUs are for others to try; it comes back if they do not need them. */
static bool park(struct plx_search *search, struct plx_elastic *e)
{
	if (!e->may_park)
		return false;
	plx_move_begin(search);
	plx_move_touch(search, e);
	plx_seat_take(search, e);
	for (int j = 0; j < search->job_count; j++) {
		if (search->jobs[j].at.count == 0)
			search->jobs[j].dirty = true;
	}
	mark_dirty(search);
	e->dirty = false;
	return true;
}

/* A random job gets a random form, or nothing. */
static void kick(struct plx_search *search)
{
	uint64_t job = plx_search_random(search) % (uint64_t) search->job_count;
	struct plx_elastic *e = &search->jobs[job];
	uint64_t dice = plx_search_random(search);

	search->work++;
	if (e->fixed || e->form_count == 0)
		return;
	if (dice % 4 == 0 && park(search, e))
		return;
	search->shake = true;
	if (plx_search_move(search, e,
			    (int) ((dice >> 8) % (uint64_t) e->form_count)))
		mark_dirty(search);
	search->shake = false;
}

/* Before anybody grows, all get what little they need. */
static void seat_parked(struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++) {
		struct plx_elastic *e = &search->jobs[j];

		if (!e->fixed && e->at.count == 0)
			plx_search_squeeze(search, e);
	}
}

static double total(const struct plx_search *search)
{
	double sum = 0;

	for (int j = 0; j < search->job_count; j++)
		sum += search->jobs[j].at.utility;
	return sum;
}

static void keep_best(struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++)
		plx_seat_copy(&search->jobs[j].best, &search->jobs[j].at);
}

static void return_to_best(struct plx_search *search)
{
	plx_move_begin(search);
	for (int j = 0; j < search->job_count; j++) {
		struct plx_elastic *e = &search->jobs[j];

		if (!plx_seat_equal(&e->at, &e->best))
			plx_move_touch(search, e);
	}
	for (int i = 0; i < search->touched_count; i++)
		plx_seat_take(search, &search->jobs[search->touched[i]]);
	for (int i = 0; i < search->touched_count; i++) {
		struct plx_elastic *e = &search->jobs[search->touched[i]];

		plx_seat_put(search, e, &e->best);
	}
	plx_move_begin(search);
	search->work += search->job_count;
}

/* What a share of the fitness is in the sum of utilities. */
static double share_of_sum(const struct plx_search *search, double sum)
{
	double weights = 0;

	if (fabs(search->fairness) >= PLX_FAIRNESS_TINY)
		return fabs(search->fairness * sum);
	for (int j = 0; j < search->job_count; j++)
		weights += plx_weight(search->jobs[j].job);
	return weights;
}

/* Remember the sum of the best plan; false: good enough. */
static bool set_gap(struct plx_search *search, double sum)
{
	search->best_sum = sum;
	return search->bound - sum > CLOSE * share_of_sum(search, sum);
}

static void shake(struct plx_search *search)
{
	int patience = KICKS_BASE + KICKS_JOB * search->job_count;
	double best = total(search);
	bool open = set_gap(search, best);

	keep_best(search);
	for (int k = 0; k < patience && open && search->work < search->budget;
	     k++) {
		double sum;

		set_dirty(search, false);
		for (int i = 0; i <= k % 3; i++)
			kick(search);
		search->poorest = k % 2;
		descend(search);
		sum = total(search);
		if (sum > best + GAIN_MIN * fabs(best)) {
			best = sum;
			keep_best(search);
			open = set_gap(search, best);
			k = -1;
		} else {
			return_to_best(search);
		}
	}
	search->poorest = false;
}

/* Seat everybody close to what they want, if that is better. */
static bool pack(struct plx_search *search)
{
	double sum = total(search);

	keep_best(search);
	if (!plx_search_pack(search) || !(total(search) > sum))
		return_to_best(search);
	return set_gap(search, total(search));
}

void plx_search_improve(struct plx_search *search)
{
	long cells = (long) search->job_count * search->node_count;

	if (search->job_count == 0)
		return;
	search->budget = BUDGET_BASE + BUDGET_CELL * cells;
	if (search->budget > BUDGET_MAX)
		search->budget = BUDGET_MAX;
	search->work = 0;
	seat_parked(search);
	if (!set_gap(search, total(search)) || !pack(search))
		return;
	if (plx_search_exact(search) && !pack(search))
		return;
	set_dirty(search, true);
	descend(search);
	shake(search);
}
