/* SPDX-License-Identifier: MIT */
/* test_lease.c - GPUs above a job's minimum are a lease */

#include <string.h>

#include "core/jobs/lease.h"
#include "unit.h"

#define TERM_S 300.0
#define LOOK_S 5.0

static const char *why(enum plx_phase phase)
{
	const struct plx_status status = { .phase = phase };

	return plx_lease_why(&status);
}

static void who_trains_or_starts_is_not_idle(void **state)
{
	(void) state;
	assert_null(why(PLX_PHASE_TRAINING));
	assert_null(why(PLX_PHASE_STARTING));
}

static void silence_and_every_other_phase_is_idle_and_says_why(void **state)
{
	(void) state;
	assert_non_null(plx_lease_why(NULL));
	assert_non_null(strstr(why(PLX_PHASE_DONE), "done"));
	assert_non_null(strstr(why(PLX_PHASE_SAVING), "save"));
	assert_non_null(strstr(why(PLX_PHASE_WAITING), "wait"));
}

/* Looked at until its lease is over, or so long; the time that it had. */
static double held_s(double idle_s, double trains_s, double most_s)
{
	struct plx_lease lease = { 0 };
	double round_s = idle_s + trains_s;

	for (double t = 0; t < most_s; t += LOOK_S) {
		double at_s = t - round_s * (double) (long) (t / round_s);

		if (plx_lease_look(&lease, 1000 + t, at_s < idle_s, TERM_S))
			return t;
	}
	return most_s;
}

static void a_job_that_says_nothing_has_the_term_and_no_more(void **state)
{
	(void) state;
	assert_true(held_s(1e9, 1, 1e4) == TERM_S);
}

/* Mostly silent, with a word of training now and then. */
static void to_flap_gains_little(void **state)
{
	(void) state;
	assert_true(held_s(290, 10, 1e5) <= 2 * TERM_S);
	assert_true(held_s(60, 20, 1e5) <= 3 * TERM_S);
}

static void a_save_now_and_then_is_made_good_by_training(void **state)
{
	(void) state;
	assert_true(held_s(120, 600, 1e6) == 1e6);
}

static void time_stands_still_for_who_is_suspended_or_resized(void **state)
{
	struct plx_lease lease = { 0 };

	(void) state;
	assert_false(plx_lease_look(&lease, 1000, true, TERM_S));
	assert_false(plx_lease_look(&lease, 1200, true, TERM_S));
	plx_lease_pause(&lease);
	assert_false(plx_lease_look(&lease, 9000, true, TERM_S));
	assert_false(plx_lease_look(&lease, 9099, true, TERM_S));
	assert_true(plx_lease_look(&lease, 9100, true, TERM_S));
}

static void a_term_of_zero_is_for_ever(void **state)
{
	struct plx_lease lease = { 0 };

	(void) state;
	assert_false(plx_lease_look(&lease, 1000, true, 0));
	assert_false(plx_lease_look(&lease, 1e9, true, 0));
}

static void what_is_kept_is_the_least_at_home_first(void **state)
{
	static const bool last[] = { false, false, true };
	static const struct {
		int gpus[3];
		int batch_host;
		const bool *wanted;
		int min_gpus, min_nodes;
		int keep[3];
	} cases[] = {
		{ { 4, 4, 4 }, 1, NULL, 1, 0, { 0, 1, 0 } },
		{ { 4, 4, 4 }, 1, NULL, 4, 0, { 0, 4, 0 } },
		{ { 4, 4, 4 }, 1, NULL, 6, 0, { 2, 4, 0 } },
		{ { 4, 4, 4 }, 1, NULL, 1, 2, { 1, 1, 0 } },
		{ { 4, 4, 4 }, 1, NULL, 6, 2, { 4, 2, 0 } },
		{ { 4, 4, 4 }, 0, last, 1, 0, { 0, 0, 1 } },
		{ { 4, 4, 4 }, 0, last, 1, 2, { 1, 0, 1 } },
		{ { 1, 4, 0 }, 2, NULL, 2, 0, { 0, 2, 0 } },
		{ { 1, 1, 0 }, 2, NULL, 9, 3, { 1, 1, 0 } },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct plx_least least = {
			.gpus = cases[i].gpus,
			.node_count = 3,
			.batch_host = cases[i].batch_host,
			.wanted = cases[i].wanted,
			.min_gpus = cases[i].min_gpus,
			.min_nodes = cases[i].min_nodes,
		};
		int keep[3];
		int count = plx_lease_least(&least, keep);

		assert_memory_equal(cases[i].keep, keep, sizeof(keep));
		assert_int_equal(keep[0] + keep[1] + keep[2], count);
	}
}

static void what_is_kept_is_one_of_its_sizes(void **state)
{
	static const int gpus[] = { 4, 4, 4 };
	static const bool wanted[] = { true, true, true };
	const struct plx_sizes sizes = { .count = 3, .list = { 1, 4, 8 } };
	struct plx_least least = { .gpus = gpus,
				   .node_count = 3,
				   .batch_host = 1,
				   .min_gpus = 1,
				   .min_nodes = 2,
				   .sizes = &sizes };
	int keep[3];

	(void) state;
	assert_int_equal(4, plx_lease_least(&least, keep));
	assert_int_equal(1, keep[1]);
	assert_int_equal(3, keep[0]);
	least.wanted = wanted;
	assert_int_equal(4, plx_lease_least(&least, keep));
	least.min_gpus = 8;
	assert_int_equal(8, plx_lease_least(&least, keep));
}

static void of_whole_nodes_whole_nodes_are_kept(void **state)
{
	static const int gpus[] = { 4, 4, 4 };
	struct plx_least least = { .gpus = gpus,
				   .node_count = 3,
				   .batch_host = 1,
				   .min_gpus = 4,
				   .whole = true };
	int keep[3];

	(void) state;
	assert_int_equal(4, plx_lease_least(&least, keep));
	assert_int_equal(4, keep[1]);
	least.min_gpus = 8;
	assert_int_equal(8, plx_lease_least(&least, keep));
	assert_int_equal(4, keep[0]);
	assert_int_equal(0, keep[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_trains_or_starts_is_not_idle),
		cmocka_unit_test(
			silence_and_every_other_phase_is_idle_and_says_why),
		cmocka_unit_test(
			a_job_that_says_nothing_has_the_term_and_no_more),
		cmocka_unit_test(to_flap_gains_little),
		cmocka_unit_test(a_save_now_and_then_is_made_good_by_training),
		cmocka_unit_test(
			time_stands_still_for_who_is_suspended_or_resized),
		cmocka_unit_test(a_term_of_zero_is_for_ever),
		cmocka_unit_test(what_is_kept_is_the_least_at_home_first),
		cmocka_unit_test(what_is_kept_is_one_of_its_sizes),
		cmocka_unit_test(of_whole_nodes_whole_nodes_are_kept),
	};

	return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
