/* SPDX-License-Identifier: MIT */
/*
 * search_shake.c - from a first plan to the best that the budget allows
 *
 * The search starts from what there is, or from what the price suggests if
 * that is better, and lets everybody improve. Then a few random moves shake
 * the plan and the search goes on from there; the best plan seen wins. It
 * ends when the bound leaves little to look for. The budget counts nodes and
 * configurations looked at, not time: the same problem gives the same plan
 * anywhere.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/search/search.h"

/* A gain below this share of the sum is noise. */
#define GAIN_MIN 1e-9

#define CLOSE	 1e-4 /* share of the fitness that nobody looks for */
#define FAR	 1e-2 /* share of it that deserves the whole budget */
#define VERY_FAR 4    /* times that: as many times the base of the budget */

#define ORDERED 5e-3 /* share of it from where the first to move matters */

#define BETTER	      0.9	 /* of a gap, that is worth another budget */
#define BUDGET_FIRST  300000000L /* until there is a first plan */
#define BUDGET_BASE   150000.0	 /* of the shaking ... */
#define BUDGET_SQUARE 8.0	 /* ... and for each pair of jobs, ... */
#define BUDGET_PAIRS                                                           \
	8000000.0	  /* ... a second at most: the next plan goes on       \
			   */
#define BUDGET_JOB 1500.0 /* of many nodes, for each job */
#define PACKS	   4	  /* until all have what they need */
#define KICKS_BASE 100	  /* without success, until the search ends ... */
#define KICKS_JOB  2	  /* ... and so many more for each job */
#define KICK_TRIES 8 /* jobs and configurations drawn for a promising one */

/* Those without a GPU are nobody's neighbours. */
static void push_parked(struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++) {
		if (search->jobs[j].at.count == 0)
			plx_queue_push(search, &search->jobs[j]);
	}
}

/* Its GPUs are for others to try; it comes back if they do not need them. */
static bool park(struct plx_search *search, struct plx_search_job *e)
{
	if (!e->may_park || e->at.count == 0)
		return false;
	plx_move_begin(search);
	plx_move_touch(search, e);
	plx_placement_take(search, e);
	plx_move_keep(search);
	return true;
}

/* What the job gives away at the price; the more, the more it may gain. */
static double regret(const struct plx_search *search,
		     const struct plx_search_job *e)
{
	return e->surplus - e->at.utility +
	       search->price * plx_placement_shape(&e->at).gpus;
}

/* The one with most to regret of a few. */
static struct plx_search_job *draw_job(struct plx_search *search, int tries)
{
	struct plx_search_job *most = NULL;

	for (int i = 0; i < tries; i++) {
		uint64_t job = plx_search_random(search) %
			       (uint64_t) search->job_count;
		struct plx_search_job *e = &search->jobs[job];

		if (e->fixed || e->candidate_count == 0)
			continue;
		if (!most || regret(search, e) > regret(search, most))
			most = e;
	}
	return most;
}

static int draw_config(struct plx_search *search,
		       const struct plx_search_job *e, int tries)
{
	int config = 0;

	for (int i = 0; i < tries; i++) {
		config = (int) (plx_search_random(search) %
				(uint64_t) e->candidate_count);
		if (e->candidates[config].utility >
		    plx_search_needed(search, e, e->candidates[config].gpus))
			break;
	}
	return config;
}

/* A random job gets a random configuration, or nothing. */
static void kick(struct plx_search *search, int tries)
{
	struct plx_search_job *e = draw_job(search, tries);

	search->work++;
	if (!e)
		return;
	if (plx_search_random(search) % 4 == 0 && park(search, e))
		return;
	search->shake = true;
	if (plx_search_move(search, e, draw_config(search, e, tries)))
		plx_move_keep(search);
	search->shake = false;
}

/*
 * Before anybody grows, all get what little they need. One that is fixed has
 * no candidates, if it has no GPU.
 */
static void placement_parked(struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++) {
		if (search->jobs[j].at.count == 0)
			plx_search_squeeze(search, &search->jobs[j]);
	}
}

static double total(const struct plx_search *search)
{
	double sum = 0;

	for (int j = 0; j < search->job_count; j++)
		sum += search->jobs[j].at.utility;
	return sum;
}

/* What a share of the fitness is in the sum, which has the sign of p. */
static double share_of_sum(const struct plx_search *search, double sum)
{
	double weights = 0;

	if (fabs(search->fairness) >= PLX_FAIRNESS_TINY)
		return search->fairness * sum;
	for (int j = 0; j < search->job_count; j++)
		weights += plx_job_weight(search, &search->jobs[j]);
	return weights;
}

/* What a better plan may gain, as a share of the fitness. */
static double gap(const struct plx_search *search)
{
	double share = share_of_sum(search, search->best_sum);

	return share > 0 ? (search->bound - search->best_sum) / share : 0;
}

/* All stray from the best plan, as far as anybody knows. */
static void stray_all(struct plx_search *search)
{
	search->strayed_count = 0;
	for (int j = 0; j < search->job_count; j++) {
		if (search->jobs[j].fixed)
			continue;
		search->jobs[j].strayed = true;
		search->strayed[search->strayed_count++] = j;
	}
}

static double gain_over_best(const struct plx_search *search)
{
	double gain = 0;

	for (int i = 0; i < search->strayed_count; i++) {
		const struct plx_search_job *e =
			&search->jobs[search->strayed[i]];

		gain += e->at.utility - e->best.utility;
	}
	return gain;
}

static void keep_best(struct plx_search *search)
{
	for (int i = 0; i < search->strayed_count; i++) {
		struct plx_search_job *e = &search->jobs[search->strayed[i]];

		e->strayed = false;
		plx_placement_copy(&e->best, &e->at);
	}
	search->strayed_count = 0;
	search->best_sum = total(search);
}

static void return_to_best(struct plx_search *search)
{
	plx_move_begin(search);
	for (int i = 0; i < search->strayed_count; i++)
		plx_placement_take(search, &search->jobs[search->strayed[i]]);
	for (int i = 0; i < search->strayed_count; i++) {
		struct plx_search_job *e = &search->jobs[search->strayed[i]];

		e->strayed = false;
		plx_placement_put(search, e, &e->best);
	}
	search->strayed_count = 0;
}

static void shake(struct plx_search *search)
{
	int patience = KICKS_BASE + KICKS_JOB * search->job_count;

	for (int k = 0;
	     k < patience && gap(search) > CLOSE &&
	     search->work < search->budget && !plx_search_stopped(search);
	     k++) {
		plx_queue_clear(search);
		for (int i = 0; i <= k % 2; i++)
			kick(search, k % 3 == 2 ? 1 : KICK_TRIES);
		push_parked(search);
		search->poorest = k % 4 == 3;
		plx_search_descend(search);
		if (gain_over_best(search) >
		    GAIN_MIN * fabs(search->best_sum)) {
			keep_best(search);
			k = -1;
		} else {
			return_to_best(search);
		}
	}
	search->poorest = false;
}

/* Those still without a GPU take one from whoever loses least. */
static void admit(struct plx_search *search)
{
	push_parked(search);
	plx_search_descend(search);
}

/* Does somebody who is to have GPUs sit nowhere? */
static bool any_missed(const struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++) {
		const struct plx_search_job *e = &search->jobs[j];

		if (e->want > 0 && e->at.count == 0)
			return true;
	}
	return false;
}

/*
 * Place everybody close to what they want, if that is better. One left without
 * any is worse than all the others gain: whoever was comes first the next
 * time, and in the end takes from others.
 */
static void pack(struct plx_search *search, bool slots)
{
	bool packed = slots ? plx_slots_pack(search) : plx_search_pack(search);

	for (int i = 1; !slots && i < PACKS && packed && any_missed(search);
	     i++)
		packed = plx_search_pack(search);
	stray_all(search);
	if (packed && any_missed(search))
		admit(search);
	if (packed && gain_over_best(search) > 0)
		keep_best(search);
	else
		return_to_best(search);
}

static void shake_budget(struct plx_search *search, bool slots)
{
	double jobs = search->job_count;
	double far = gap(search) / FAR;
	double square = fmin(1, far * far);
	double budget =
		BUDGET_BASE * fmin(fmax(1, far), VERY_FAR) +
		fmin(BUDGET_SQUARE * jobs * jobs, BUDGET_PAIRS) * square;

	/* Then the first plan is good: what is left is small. */
	if (slots)
		budget =
			BUDGET_BASE + fmin(BUDGET_JOB * jobs, BUDGET_PAIRS) *
					      fmin(fmax(far, square), VERY_FAR);
	search->budget = search->work + (long) fmin(budget, BUDGET_FIRST);
}

/* More counts are known now. Without memory a list of candidates is shorter. */
static void refill_candidates(struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++)
		plx_candidates_fill(search, &search->jobs[j], NULL);
}

/* A job, to be sorted. */
struct ranked {
	struct plx_search_job *e;
	double regret;
};

static int by_regret(const void *a, const void *b)
{
	const struct ranked *x = a;
	const struct ranked *y = b;

	if (x->regret != y->regret)
		return x->regret > y->regret ? -1 : 1;
	return (x->e > y->e) - (x->e < y->e);
}

/*
 * Those with most to regret come first, where nodes are many: the first to come
 * takes what all others would like. Without memory, by id.
 */
static void push_all(struct plx_search *search)
{
	size_t count = (size_t) search->job_count;
	struct ranked *ranked = NULL;

	if (search->problem->uniform && search->indexed &&
	    gap(search) > ORDERED)
		ranked = malloc(count * sizeof(*ranked));
	for (size_t j = 0; j < count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		if (ranked)
			ranked[j] = (struct ranked){
				.e = e,
				.regret = regret(search, e),
			};
		else
			plx_queue_push(search, e);
	}
	if (ranked)
		qsort(ranked, count, sizeof(*ranked), by_regret);
	for (size_t j = 0; ranked && j < count; j++)
		plx_queue_push(search, ranked[j].e);
	free(ranked);
}

void plx_search_improve(struct plx_search *search)
{
	double first;
	bool slots; /* gave a better plan */

	if (search->job_count == 0)
		return;
	search->work = 0;
	search->budget = BUDGET_FIRST;
	placement_parked(search);
	stray_all(search);
	keep_best(search);
	/* A large plan is not to be made anew for one who came. */
	if (search->indexed) {
		admit(search);
		keep_best(search);
	}
	if (gap(search) > CLOSE)
		pack(search, false);
	first = gap(search);
	if (!search->stopped && first > CLOSE && search->indexed &&
	    plx_slots_matter(search))
		pack(search, true);
	slots = gap(search) < BETTER * first;
	if (gap(search) > CLOSE && plx_search_exact(search)) {
		refill_candidates(search);
		pack(search, false);
	}
	if (plx_search_stopped(search))
		return;
	/* Of little weight, a job may want what all would not notice. */
	push_all(search);
	if (slots)
		shake_budget(search, slots);
	plx_search_descend(search);
	keep_best(search);
	/* What no job wants to mend is left to chance, and that takes longer.
	 */
	if (!slots || search->queue_count == 0)
		shake_budget(search, false);
	shake(search);
}
