/* SPDX-License-Identifier: MIT */
/*
 * search_worst.c - how well off the worst off can be, at best
 *
 * For the fitness that is the least of all values the sum of utilities bounds
 * little. But for any value it is known how many GPUs it takes to give it to
 * everybody, were there no nodes.
 */
#include <math.h>

#include "core/search/search.h"

#define HALVES 50 /* of the range of values */

/* Fewest GPUs with this utility at least; -1: not with any. */
static int needs(const struct plx_search_job *e, double utility)
{
	int held = plx_placement_shape(&e->now).gpus;
	bool now = e->now_utility >= utility;
	int last = now && e->now_valid ? held - 1 : e->cap;

	if (e->job->fixed)
		return now ? 0 : -1;
	if ((e->may_park && e->utility_parked >= utility) || (e->stuck && now))
		return 0;
	for (int g = 1; g <= last && g <= e->cap; g++) {
		if (isnan(e->counts[g]) ? plx_next_known(e, g) >= utility
					: e->counts[g] >= utility)
			return e->stuck ? 0 : g;
	}
	return now && e->now_valid ? held : -1;
}

/* Could all have this value, the floor included? */
static bool all_have(const struct plx_search *search, double value)
{
	long gpus = search->open_gpus;

	for (int j = 0; j < search->job_count && gpus >= 0; j++) {
		const struct plx_search_job *e = &search->jobs[j];
		int need = needs(
			e, plx_job_weight(search, e) *
				   plx_utility(search->fairness,
					       value - PLX_SPEEDUP_FLOOR));

		if (need < 0)
			return false;
		gpus -= need;
	}
	return gpus >= 0;
}

double plx_search_worst(const struct plx_search *search, double most)
{
	double low = 0;
	double high = most;

	if (all_have(search, high))
		return high;
	for (int i = 0; i < HALVES; i++) {
		double middle = low + (high - low) / 2;

		if (all_have(search, middle))
			low = middle;
		else
			high = middle;
	}
	return high;
}
