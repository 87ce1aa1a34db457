/* SPDX-License-Identifier: MIT */
/*
 * search_price.c - the price of a GPU, and what no plan can surpass
 *
 * Were GPUs for sale, each job would take the count whose value less its
 * price is largest. At the price where all that is there is sold, the sum of
 * these surpluses and of the takings bounds every plan from above (the
 * Lagrangian dual of the knapsack that remains when nodes are forgotten), and
 * what the jobs would buy is close to the best plan.
 *
 * Of a job's value only the upper concave hull matters. Where there are many
 * jobs, not all counts are asked for. Those that were not are taken to have the
 * value of the next larger one, and are asked for when a job would buy one.
 * That is too little for a job to which more GPUs are worth less: with what few
 * jobs have all counts are known, and the bound holds.
 */
#include <float.h>
#include <math.h>
#include <stddef.h>

#include "core/search/search.h"

#define ROUNDS	  16   /* of asking for counts that somebody would buy */
#define HALVES	  48   /* of the range of prices */
#define RANGE	  1e-9 /* of prices, below the largest */
#define STEP	  1.1  /* of a price that is nearly known */
#define ALIKE	  1e-9 /* prices */
#define FEW	  16   /* counts are all asked for, ... */
#define ASKED	  8192 /* or so many of all jobs together */
#define UPGRADE	  16   /* jobs that get what is left over */
#define GOLDEN	  0.6180339887498949
#define SECTIONS  20
#define LOG_BELOW 2 /* of prices, around that with hysteresis */
#define LOG_ABOVE 3

/* The first counts to ask for: 1, 2, 4, ..., or all of few. */
static void ask_first(const struct plx_search *search, struct plx_search_job *e)
{
	const struct plx_job *job = e->job;
	bool all = job->table || e->cap <= FEW ||
		   (job->size_count > 0 && job->size_count <= FEW);
	int next = 1;

	for (int g = 1; g <= e->cap; g++) {
		if (!plx_listed(job->sizes, job->size_count, g)) {
			e->counts[g] = -INFINITY;
		} else if (all || g >= next) {
			e->counts[g] = plx_value_of_count(search, e, g);
			next = 2 * g;
		}
	}
	if (e->cap > 0)
		e->counts[e->cap] = plx_value_of_count(search, e, e->cap);
	/* Nothing above it would bound what lies between. */
	for (int g = e->cap; g > 0 && !(e->counts[g] > -INFINITY); g--) {
		if (isnan(e->counts[g]))
			e->counts[g] = plx_value_of_count(search, e, g);
	}
}

static void hull_add(struct plx_search_job *e, int gpus, double utility,
		     bool guess)
{
	struct plx_point *hull = e->hull;
	int n = e->hull_count;

	if (n > 0 && utility <= hull[n - 1].utility)
		return;
	while (n > 0 && hull[n - 1].gpus == gpus)
		n--;
	while (n > 1 && (utility - hull[n - 2].utility) *
					(hull[n - 1].gpus - hull[n - 2].gpus) >=
				(hull[n - 1].utility - hull[n - 2].utility) *
					(gpus - hull[n - 2].gpus))
		n--;
	hull[n] = (struct plx_point){
		.gpus = gpus,
		.guess = guess,
		.utility = utility,
	};
	e->hull_count = n + 1;
}

double plx_next_known(const struct plx_search_job *e, int g)
{
	while (g <= e->cap && !(e->counts[g] > -INFINITY))
		g++;
	return g <= e->cap ? e->counts[g] : -INFINITY;
}

static void hull_fill(struct plx_search_job *e)
{
	int now = e->now_valid ? plx_placement_shape(&e->now).gpus : 0;
	bool gap = false;

	e->hull_count = 0;
	if (e->may_park)
		hull_add(e, 0, e->utility_parked, false);
	for (int g = 1; g <= e->cap || g <= now; g++) {
		double value = g <= e->cap ? e->counts[g] : -INFINITY;

		if (isnan(value)) {
			if (!gap && plx_next_known(e, g) > -INFINITY)
				hull_add(e, g, plx_next_known(e, g), true);
			gap = true;
		} else {
			if (value > -INFINITY)
				hull_add(e, g, value, false);
			gap = false;
		}
		if (g == now)
			hull_add(e, g, e->now.utility, false);
	}
}

/* The point that is bought at this price; the fewest GPUs in doubt. */
static const struct plx_point *bought(const struct plx_search_job *e,
				      double price)
{
	const struct plx_point *point = e->hull;
	const struct plx_point *last = e->hull + e->hull_count - 1;

	while (point < last && point[1].utility - point->utility >
				       price * (point[1].gpus - point->gpus))
		point++;
	return point;
}

static bool buys(const struct plx_search_job *e)
{
	return !e->job->fixed && e->hull_count > 0;
}

static long sold_at(const struct plx_search *search, double price)
{
	long sold = 0;

	for (int j = 0; j < search->job_count; j++) {
		const struct plx_search_job *e = &search->jobs[j];

		if (buys(e))
			sold += bought(e, price)->gpus;
	}
	return sold;
}

static double steepest(const struct plx_search *search)
{
	double most = 0;

	for (int j = 0; j < search->job_count; j++) {
		const struct plx_search_job *e = &search->jobs[j];

		if (buys(e) && e->hull_count > 1)
			most = fmax(
				most,
				(e->hull[1].utility - e->hull[0].utility) /
					(e->hull[1].gpus - e->hull[0].gpus));
	}
	return most;
}

/* More is wanted than there is. */
static bool scarce(const struct plx_search *search, double price)
{
	return sold_at(search, price) > search->open_gpus;
}

/* The lowest price, nearly, at which no more is sold than there is. */
static double find_price(const struct plx_search *search, double near)
{
	double most = steepest(search);
	double high = near > 0 ? fmin(most, near * STEP) : most;
	double low = near > 0 ? high / STEP / STEP : most * RANGE;

	if (!scarce(search, 0))
		return 0;
	/* At the highest price all take as little as they may. */
	if (scarce(search, high))
		high = most;
	while (low > DBL_MIN && !scarce(search, low)) {
		double step = high / low;

		high = low;
		low /= step * step;
	}
	for (int i = 0; i < HALVES && high > low * (1 + ALIKE); i++) {
		double middle = sqrt(low) * sqrt(high);

		if (scarce(search, middle))
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Ask in the middle of the gap above the count; false: known already. */
static bool ask_within(const struct plx_search *search,
		       struct plx_search_job *e, int gpus)
{
	int end = gpus;
	int middle;

	while (end <= e->cap && isnan(e->counts[end]))
		end++;
	middle = gpus + (end - gpus) / 2;
	if (middle > e->cap || !isnan(e->counts[middle]))
		return false;
	e->counts[middle] = plx_value_of_count(search, e, middle);
	return true;
}

/* Ask for what somebody would buy unseen. */
static bool ask_buyers(struct plx_search *search)
{
	bool asked = false;

	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];
		const struct plx_point *point;

		if (!buys(e))
			continue;
		point = bought(e, search->price);
		if (!point->guess && point + 1 < e->hull + e->hull_count &&
		    point[1].guess)
			point++;
		if (point->guess && ask_within(search, e, point->gpus)) {
			hull_fill(e);
			asked = true;
		}
	}
	return asked;
}

/* What is left over goes to those that gain most by it. */
static void sell_remainder(struct plx_search *search)
{
	long residual = search->open_gpus - sold_at(search, search->price);

	for (int i = 0; i < UPGRADE && residual > 0; i++) {
		struct plx_search_job *best = NULL;
		double best_slope = 0;

		for (int j = 0; j < search->job_count; j++) {
			struct plx_search_job *e = &search->jobs[j];
			const struct plx_point *p = e->target;
			double slope;

			if (!buys(e) || p + 1 == e->hull + e->hull_count ||
			    p[1].guess || p[1].gpus - p->gpus > residual)
				continue;
			slope = (p[1].utility - p->utility) /
				(p[1].gpus - p->gpus);
			if (slope > best_slope) {
				best = e;
				best_slope = slope;
			}
		}
		if (!best)
			return;
		residual -= best->target[1].gpus - best->target->gpus;
		best->target++;
	}
}

/* The most a job adds to the bound when GPUs cost so much. */
static double surplus(const struct plx_search_job *e, double price, double now)
{
	int held = plx_placement_shape(&e->now).gpus;
	double most = e->may_park ? e->utility_parked : -INFINITY;
	bool gap = false;

	for (int g = 1; g <= e->cap; g++) {
		double value = e->counts[g];
		bool guess = isnan(value);

		if (guess && !gap)
			value = plx_next_known(e, g);
		if (!isnan(value))
			most = fmax(most, value - price * g);
		gap = guess;
	}
	if (e->now_valid)
		most = fmax(most, now - price * held);
	return most;
}

/*
 * The bound on the sum of utilities of every plan. A job that is stuck may
 * have been given up too early, so it gets the best there is for nothing.
 */
static double bound_sum(const struct plx_search *search, double price,
			bool truly)
{
	double sum = price * (double) search->open_gpus;

	for (int j = 0; j < search->job_count; j++) {
		const struct plx_search_job *e = &search->jobs[j];
		double now = truly ? e->now_utility : e->now.utility;

		if (e->job->fixed)
			sum += now;
		else if (e->stuck)
			sum += fmax(now, surplus(e, 0, now));
		else
			sum += surplus(e, price, now);
	}
	return sum;
}

/* GPUs that no fixed job holds. */
static long open_gpus(const struct plx_search *search)
{
	long gpus = 0;

	for (int n = 0; n < search->node_count; n++) {
		int open = search->problem->gpus[n];

		open -= search->nodes[n].fixed;
		gpus += open > 0 ? open : 0;
	}
	return gpus;
}

void plx_search_price(struct plx_search *search)
{
	search->open_gpus = open_gpus(search);
	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		if (e->job->fixed)
			continue;
		ask_first(search, e);
		hull_fill(e);
	}
	search->price = find_price(search, 0);
	for (int i = 0; i < ROUNDS && ask_buyers(search); i++)
		search->price = find_price(search, search->price);
	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		e->target = buys(e) ? bought(e, search->price) : NULL;
		e->surplus = e->target ? e->target->utility -
						 search->price * e->target->gpus
				       : 0;
	}
	sell_remainder(search);
	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		e->want = e->target ? e->target->gpus : 0;
	}
}

static double truly_at(const struct plx_search *search, double logarithm)
{
	return bound_sum(search, exp(logarithm), true);
}

/*
 * Without hysteresis another price is best, and any is valid. The sum is convex
 * in the price: golden section.
 */
static double least_truly(const struct plx_search *search)
{
	double least = bound_sum(search, search->price, true);
	double low = log(search->price) - LOG_BELOW;
	double high = log(search->price) + LOG_ABOVE;
	double a = high - (high - low) * GOLDEN;
	double b = low + (high - low) * GOLDEN;
	double at_a;
	double at_b;

	if (search->price <= 0)
		return least;
	at_a = truly_at(search, a);
	at_b = truly_at(search, b);
	for (int i = 0; i < SECTIONS && !search->stopped; i++) {
		least = fmin(least, fmin(at_a, at_b));
		if (at_a < at_b) {
			high = b;
			b = a;
			at_b = at_a;
			a = high - (high - low) * GOLDEN;
			at_a = truly_at(search, a);
		} else {
			low = a;
			a = b;
			at_a = at_b;
			b = low + (high - low) * GOLDEN;
			at_b = truly_at(search, b);
		}
	}
	return least;
}

/* More GPUs may be worth less: then what was not asked for may be the most. */
static void ask_rest(const struct plx_search *search, struct plx_search_job *e)
{
	if (e->cap > ASKED / search->job_count)
		return;
	for (int g = 1; g <= e->cap; g++) {
		if (isnan(e->counts[g]))
			e->counts[g] = plx_value_of_count(search, e, g);
	}
}

void plx_search_bound(struct plx_search *search)
{
	/*
	 * Of what was not asked for then, some is known to be worth less; or
	 * more, and then less is ruled out than might be.
	 */
	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		if (!buys(e))
			continue;
		ask_rest(search, e);
		e->surplus = fmin(e->surplus,
				  surplus(e, search->price, e->now.utility));
	}
	search->priced = bound_sum(search, search->price, false);
	search->bound = search->priced;
	search->bound_truly = bound_sum(search, search->price, true);
	for (int j = 0; j < search->job_count; j++) {
		if (search->jobs[j].now.count > 0 && search->price > 0) {
			search->bound_truly = least_truly(search);
			return;
		}
	}
}

double plx_search_needed(const struct plx_search *search,
			 const struct plx_search_job *e, int gpus)
{
	if (search->exact && gpus <= e->cap)
		return search->best_sum - e->others[gpus];
	return search->best_sum - search->priced + e->surplus +
	       search->price * gpus;
}

double plx_search_most(const struct plx_search *search,
		       const struct plx_search_job *e)
{
	double p = search->fairness;
	double utility = fmax(e->now_utility, e->utility_parked);

	if (!e->job->fixed)
		utility = fmax(utility, surplus(e, 0, e->now_utility));
	utility /= plx_job_weight(search, e);
	if (fabs(p) < PLX_FAIRNESS_TINY)
		return exp(utility);
	return pow(fabs(utility), 1 / p);
}
