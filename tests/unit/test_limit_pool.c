/* SPDX-License-Identifier: MIT */
/* test_limit_pool.c - limits that several jobs share */

#include <stdbool.h>
#include <string.h>

#include "core/reserve/limit_pool.h"
#include "unit.h"

#define MOST 6 /* jobs, pools and claims of a random case */

static const struct plx_take first = { .pool = 0, .each = 1 };

/* A job that takes one of pool 0 for each of its GPUs. */
static struct plx_sharer job(uint32_t id, int now, int least, int wants)
{
	return (struct plx_sharer){
		.id = id,
		.now = now,
		.least = least,
		.wants = wants,
		.take_count = 1,
		.demand = &first,
	};
}

static void assert_split(const struct plx_sharer *jobs, int count,
			 double available, const int *want)
{
	struct plx_limit_pool pool = { .available = available };
	struct plx_error err;
	int shares[MOST];

	assert_int_equal(
		plx_limit_pool_split(jobs, count, &pool, 1, shares, &err), 0);
	for (int j = 0; j < count; j++)
		assert_int_equal(shares[j], want[j]);
}

static void what_there_is_is_split_evenly(void **state)
{
	struct plx_sharer jobs[] = { job(1, 1, 1, 9), job(2, 1, 1, 9) };

	(void) state;
	assert_split(jobs, 2, 6, (int[]){ 3, 3 });
	assert_split(jobs, 2, 7, (int[]){ 4, 3 });
}

static void who_wants_less_leaves_it_to_others(void **state)
{
	struct plx_sharer jobs[] = { job(1, 1, 1, 2), job(2, 1, 1, 9) };

	(void) state;
	assert_split(jobs, 2, 8, (int[]){ 2, 6 });
}

static void who_holds_a_little_more_keeps_it(void **state)
{
	struct plx_sharer jobs[] = { job(1, 6, 1, 9), job(2, 2, 1, 9) };

	(void) state;
	assert_split(jobs, 2, 8, (int[]){ 6, 2 });
	jobs[0].now = 7;
	jobs[1].now = 1;
	assert_split(jobs, 2, 8, (int[]){ 6, 2 });
	assert_split(jobs, 2, 12, (int[]){ 7, 5 });
}

static void a_lowered_limit_takes_nothing_away(void **state)
{
	struct plx_sharer jobs[] = { job(1, 4, 1, 9), job(2, 3, 1, 9) };

	(void) state;
	assert_split(jobs, 2, 2, (int[]){ 4, 3 });
}

static void a_parked_job_comes_first(void **state)
{
	struct plx_sharer jobs[] = { job(1, 5, 1, 9), job(2, 0, 3, 9) };

	(void) state;
	assert_split(jobs, 2, 5, (int[]){ 2, 3 });
	assert_split(jobs, 2, 3, (int[]){ 2, 3 });
	jobs[1].wants = 0;
	assert_split(jobs, 2, 5, (int[]){ 5, 0 });
}

static void a_share_is_one_of_the_jobs_sizes(void **state)
{
	static const int powers[] = { 1, 2, 4, 8 };
	struct plx_sharer jobs[] = { job(1, 1, 1, 9), job(2, 1, 1, 9) };

	(void) state;
	jobs[0].wants = 8;
	jobs[0].sizes = powers;
	jobs[0].size_count = 4;
	/* What does not make a size of one is the other's. */
	assert_split(jobs, 2, 7, (int[]){ 4, 3 });
	assert_split(jobs, 2, 8, (int[]){ 4, 4 });
	jobs[0].id = 3;
	assert_split(jobs, 2, 6, (int[]){ 2, 4 });
	/* One size more than is even is kept. */
	jobs[0].now = 4;
	assert_split(jobs, 2, 6, (int[]){ 4, 2 });
}

static void a_pinned_job_keeps_what_it_has(void **state)
{
	struct plx_sharer jobs[] = { job(1, 5, 1, 9), job(2, 1, 1, 9) };

	(void) state;
	jobs[0].fixed = true;
	assert_split(jobs, 2, 8, (int[]){ 5, 3 });
}

static void accounts_below_accounts_all_count(void **state)
{
	const struct plx_take low[] = { { 0, 1 }, { 1, 1 } };
	const struct plx_take high[] = { { 1, 1 } };
	struct plx_sharer jobs[] = { job(1, 1, 1, 9), job(2, 1, 1, 9),
				     job(3, 1, 1, 9) };
	const struct plx_limit_pool pools[] = { { .available = 5 },
						{ .available = 12 } };
	struct plx_error err;
	int shares[3];

	(void) state;
	jobs[0].demand = low;
	jobs[0].take_count = 2;
	jobs[1].demand = low;
	jobs[1].take_count = 2;
	jobs[2].demand = high;
	assert_int_equal(plx_limit_pool_split(jobs, 3, pools, 2, shares, &err),
			 0);
	assert_int_equal(shares[0], 3);
	assert_int_equal(shares[1], 2);
	assert_int_equal(shares[2], 7);
}

static void cpus_of_a_gpu_are_weighed(void **state)
{
	const struct plx_take four = { .pool = 0, .each = 4 };
	struct plx_sharer jobs[] = { job(1, 1, 1, 9), job(2, 1, 1, 9) };

	(void) state;
	jobs[0].demand = &four;
	assert_split(jobs, 2, 16, (int[]){ 3, 4 });
}

static void a_claim_makes_jobs_smaller(void **state)
{
	struct plx_sharer jobs[] = { job(1, 6, 1, 6), job(2, 2, 1, 9) };
	struct plx_limit_pool pool = { .available = 8 };
	const struct plx_take four = { .pool = 0, .each = 4 };
	const struct plx_draw claim = { .take_count = 1, .demand = &four };
	struct plx_error err;
	bool granted = false;
	bool parked[2];
	int shares[2];

	(void) state;
	assert_int_equal(plx_limit_pool_grant(jobs, 2, &pool, 1, &claim, 1,
					      &granted, parked, &err),
			 0);
	assert_true(granted);
	assert_false(parked[0] || parked[1]);
	assert_int_equal(plx_limit_pool_split(jobs, 2, &pool, 1, shares, &err),
			 0);
	assert_int_equal(shares[0], 2);
	assert_int_equal(shares[1], 2);
}

static void a_claim_parks_only_whom_it_may(void **state)
{
	struct plx_sharer jobs[] = { job(1, 3, 3, 6), job(2, 3, 3, 9) };
	const struct plx_take six = { .pool = 0, .each = 6 };
	bool keeps[2] = { true, false };
	struct plx_draw claim = { .take_count = 1,
				  .demand = &six,
				  .keeps = keeps };
	struct plx_limit_pool pool = { .available = 8 };
	struct plx_error err;
	bool granted = true;
	bool parked[2];

	(void) state;
	assert_int_equal(plx_limit_pool_grant(jobs, 2, &pool, 1, &claim, 1,
					      &granted, parked, &err),
			 0);
	assert_false(granted);
	assert_false(parked[0] || parked[1]);
	pool = (struct plx_limit_pool){ .available = 9 };
	assert_int_equal(plx_limit_pool_grant(jobs, 2, &pool, 1, &claim, 1,
					      &granted, parked, &err),
			 0);
	assert_true(granted);
	assert_true(!parked[0] && parked[1]);
	claim.keeps = NULL;
	pool = (struct plx_limit_pool){ .available = 9 };
	assert_int_equal(plx_limit_pool_grant(jobs, 2, &pool, 1, &claim, 1,
					      &granted, parked, &err),
			 0);
	assert_false(granted);
}

/* Accounts 0 and 1 have a limit each; the claim is under that of account 0. */
static void a_claim_parks_nobody_of_another_account(void **state)
{
	const struct plx_take second = { .pool = 1, .each = 1 };
	struct plx_sharer jobs[] = { job(1, 3, 3, 6), job(2, 3, 3, 9),
				     job(3, 3, 3, 9) };
	const struct plx_take three = { .pool = 0, .each = 3 };
	const bool keeps[3] = { false, false, false };
	struct plx_limit_pool pools[] = { { .available = 3 },
					  { .available = 6 } };
	const struct plx_draw claim = { .take_count = 1,
					.demand = &three,
					.keeps = keeps };
	struct plx_error err;
	bool granted = false;
	bool parked[3];

	(void) state;
	jobs[1].demand = &second;
	jobs[2].demand = &second;
	assert_int_equal(plx_limit_pool_grant(jobs, 3, pools, 2, &claim, 1,
					      &granted, parked, &err),
			 0);
	assert_true(granted);
	assert_true(parked[0] && !parked[1] && !parked[2]);
}

/* The youngest alone is not enough, and then not needed. */
static void a_claim_parks_none_too_many(void **state)
{
	struct plx_sharer jobs[] = { job(1, 4, 4, 6), job(2, 1, 1, 9) };
	const struct plx_take four = { .pool = 0, .each = 4 };
	const bool keeps[2] = { false, false };
	struct plx_limit_pool pool = { .available = 5 };
	const struct plx_draw claim = { .take_count = 1,
					.demand = &four,
					.keeps = keeps };
	struct plx_error err;
	bool granted = false;
	bool parked[2];

	(void) state;
	assert_int_equal(plx_limit_pool_grant(jobs, 2, &pool, 1, &claim, 1,
					      &granted, parked, &err),
			 0);
	assert_true(granted);
	assert_true(parked[0] && !parked[1]);
}

/* A random tree of accounts: job j is below pools leaf, root. */
struct world {
	struct plx_sharer jobs[MOST];
	struct plx_take demand[MOST][2];
	struct plx_limit_pool pools[MOST];
	int job_count, pool_count;
};

static void make_world(uint64_t *seed, struct world *w, int most)
{
	memset(w, 0, sizeof(*w));
	w->job_count = 1 + (int) (unit_random(seed) % 4);
	w->pool_count = 1 + (int) (unit_random(seed) % 3);
	for (int p = 0; p < w->pool_count; p++)
		w->pools[p].available = (double) (unit_random(seed) % 14);
	for (int j = 0; j < w->job_count; j++) {
		int leaf = (int) (unit_random(seed) % (uint64_t) w->pool_count);

		w->demand[j][0] = (struct plx_take){ .pool = 0, .each = 1 };
		w->demand[j][1] = (struct plx_take){ .pool = leaf, .each = 1 };
		w->jobs[j] =
			job((uint32_t) j + 1,
			    (int) (unit_random(seed) % (uint64_t) (most + 1)),
			    1, (int) (unit_random(seed) % 7));
		w->jobs[j].demand = w->demand[j];
		w->jobs[j].take_count = leaf ? 2 : 1;
	}
}

static double used(const struct world *w, const int *shares, int p)
{
	double sum = 0;

	for (int j = 0; j < w->job_count; j++) {
		for (int t = 0; t < w->jobs[j].take_count; t++) {
			if (w->demand[j][t].pool == p)
				sum += shares[j] * w->demand[j][t].each;
		}
	}
	return sum;
}

/* Room as the split has to see it: what is held stays. */
static bool fits(const struct world *w, const int *shares)
{
	int now[MOST];

	for (int j = 0; j < w->job_count; j++)
		now[j] = w->jobs[j].now;
	for (int p = 0; p < w->pool_count; p++) {
		double held = used(w, now, p);
		double available = w->pools[p].available > held
					   ? w->pools[p].available
					   : held;

		if (used(w, shares, p) > available)
			return false;
	}
	return true;
}

/* What none gets less than: what it holds and wants. */
static int base(const struct plx_sharer *its)
{
	return its->now < its->wants ? its->now : its->wants;
}

/* Is a more even than b: the smallest larger, then the next, ...? */
static bool is_fairer(const int *a, const int *b, int count)
{
	for (int level = 0; level < 16; level++) {
		int below_a = 0;
		int below_b = 0;

		for (int j = 0; j < count; j++) {
			below_a += a[j] <= level;
			below_b += b[j] <= level;
		}
		if (below_a != below_b)
			return below_a < below_b;
	}
	return false;
}

/* Try all splits there are. */
static bool best_of(const struct world *w, int j, int *try, const int *shares)
{
	if (j == w->job_count)
		return !fits(w, try) || !is_fairer(try, shares, j);
	for (int g = base(&w->jobs[j]); g <= w->jobs[j].wants; g++) {
		try[j] = g;
		if (!best_of(w, j + 1, try, shares))
			return false;
	}
	return true;
}

static void no_split_of_all_is_fairer(void **state)
{
	uint64_t seed = 7;
	int short_of = 0; /* jobs that get less than they want */
	int raised = 0;	  /* that get more than they have */
	int two = 0;	  /* below two limits */

	(void) state;
	for (int i = 0; i < 3000; i++) {
		struct plx_error err;
		struct world w;
		int shares[MOST];
		int try[MOST];

		make_world(&seed, &w, 1);
		assert_int_equal(plx_limit_pool_split(w.jobs, w.job_count,
						      w.pools, w.pool_count,
						      shares, &err),
				 0);
		assert_true(fits(&w, shares));
		for (int j = 0; j < w.job_count; j++) {
			assert_true(shares[j] >= base(&w.jobs[j]) &&
				    shares[j] <= w.jobs[j].wants);
			short_of += shares[j] < w.jobs[j].wants;
			raised += shares[j] > base(&w.jobs[j]);
			two += w.jobs[j].take_count > 1;
		}
		assert_true(best_of(&w, 0, try, shares));
	}
	assert_true(short_of > 500 && raised > 500 && two > 500);
}

/* More is held than some limit allows now. */
static bool is_over(const struct world *w)
{
	int now[MOST];

	for (int j = 0; j < w->job_count; j++)
		now[j] = w->jobs[j].now;
	for (int p = 0; p < w->pool_count; p++) {
		if (used(w, now, p) > w->pools[p].available)
			return true;
	}
	return false;
}

/* Nothing is left that a job could still use; what is held is the room. */
static void nothing_is_left_over(void **state)
{
	uint64_t seed = 5;
	int short_of = 0;
	int over = 0; /* worlds where more is held than there is room for */

	(void) state;
	for (int i = 0; i < 3000; i++) {
		struct plx_error err;
		struct world w;
		int shares[MOST];

		make_world(&seed, &w, 5);
		assert_int_equal(plx_limit_pool_split(w.jobs, w.job_count,
						      w.pools, w.pool_count,
						      shares, &err),
				 0);
		assert_true(fits(&w, shares));
		over += is_over(&w);
		for (int j = 0; j < w.job_count; j++) {
			if (shares[j] >= w.jobs[j].wants)
				continue;
			short_of++;
			shares[j]++;
			assert_false(fits(&w, shares));
			shares[j]--;
		}
	}
	assert_true(short_of > 500 && over > 500);
}

/* Would the claim fit with job j running beside the others? */
static bool fits_beside(const struct world *w, const struct plx_take *take,
			const bool *parked, int j)
{
	int least[MOST];

	for (int i = 0; i < w->job_count; i++) {
		bool gone = parked[i] && i != j;

		least[i] = gone || w->jobs[i].now <= 0 ? 0 : 1;
	}
	return used(w, least, take->pool) + take->each <=
	       w->pools[take->pool].available;
}

/*
 * A claim that was granted fits beside all shares; rooms say so; and none was
 * parked that need not be, or that the claim may not park.
 */
static void granted_claims_fit_beside_the_shares(void **state)
{
	uint64_t seed = 11;
	int count = 0;
	int parked_count = 0;
	int kept_count = 0;

	(void) state;
	for (int i = 0; i < 3000; i++) {
		struct plx_take take = { .pool = 0 };
		bool keeps[MOST];
		struct plx_draw claim = { .take_count = 1,
					  .demand = &take,
					  .keeps = keeps };
		struct plx_error err;
		struct world w, before;
		bool parked[MOST];
		bool granted = false;
		int shares[MOST];

		make_world(&seed, &w, 5);
		take.each = (double) (unit_random(&seed) % 6);
		take.pool =
			(int) (unit_random(&seed) % (uint64_t) w.pool_count);
		for (int j = 0; j < w.job_count; j++)
			keeps[j] = unit_random(&seed) % 2;
		before = w;
		assert_int_equal(plx_limit_pool_grant(w.jobs, w.job_count,
						      w.pools, w.pool_count,
						      &claim, 1, &granted,
						      parked, &err),
				 0);
		for (int j = 0; j < w.job_count; j++) {
			parked_count += parked[j];
			kept_count += keeps[j] && granted;
			assert_false(parked[j] && keeps[j]);
			assert_false(parked[j] &&
				     fits_beside(&before, &take, parked, j));
			/* As the plan does: it may have no GPU. */
			if (parked[j])
				w.jobs[j].now = w.jobs[j].wants = 0;
		}
		if (!granted)
			continue;
		count++;
		assert_int_equal(plx_limit_pool_split(w.jobs, w.job_count,
						      w.pools, w.pool_count,
						      shares, &err),
				 0);
		if (take.each > 0)
			assert_true(used(&w, shares, take.pool) + take.each <=
				    before.pools[take.pool].available);
	}
	assert_true(count > 300 && parked_count > 100 && kept_count > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_there_is_is_split_evenly),
		cmocka_unit_test(who_wants_less_leaves_it_to_others),
		cmocka_unit_test(who_holds_a_little_more_keeps_it),
		cmocka_unit_test(a_lowered_limit_takes_nothing_away),
		cmocka_unit_test(a_parked_job_comes_first),
		cmocka_unit_test(a_share_is_one_of_the_jobs_sizes),
		cmocka_unit_test(a_pinned_job_keeps_what_it_has),
		cmocka_unit_test(accounts_below_accounts_all_count),
		cmocka_unit_test(cpus_of_a_gpu_are_weighed),
		cmocka_unit_test(a_claim_makes_jobs_smaller),
		cmocka_unit_test(a_claim_parks_only_whom_it_may),
		cmocka_unit_test(a_claim_parks_nobody_of_another_account),
		cmocka_unit_test(a_claim_parks_none_too_many),
		cmocka_unit_test(no_split_of_all_is_fairer),
		cmocka_unit_test(nothing_is_left_over),
		cmocka_unit_test(granted_claims_fit_beside_the_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
