/* SPDX-License-Identifier: MIT */
/* test_reservation_pools.c - no room for who lacks a licence */

#include <math.h>

#include "reservation_world.h"

#define COUNT_MAX 4

static const double none[] = { 0 };
static const double one[] = { 1 };
static const double two[] = { 2 };

/* GPUs of one node for a job that draws so many licences. */
static struct plx_request asks(uint32_t id, int gpus, const double *draws)
{
	return (struct plx_request){
		.id = id, .nodes = 1, .each.gpus = gpus, .draws = draws
	};
}

/* Of two nodes with four GPUs; three can be had of each. GPUs left. */
static int serve(const struct plx_residual *residual,
		 const struct plx_request *requests, int count,
		 struct plx_grant *grants)
{
	struct plx_problem *problem = full(2, 4);
	struct plx_error err = { .text = "" };
	int left = 0;

	for (int i = 0; i < count; i++)
		grants[i] = (struct plx_grant){ .granted = false };
	if (plx_reservation_make(problem, residual, requests, count, grants,
				 &err) < 0)
		fail_msg("%s", err.text);
	left = gpus_left(problem);
	plx_problem_destroy(problem);
	return left;
}

static void who_lacks_one_takes_nothing(void **state)
{
	const struct plx_residual residual = { .pools = one, .pool_count = 1 };
	const struct plx_request requests[] = {
		asks(7, 3, two),
		asks(8, 3, one),
		asks(9, 2, NULL),
	};
	struct plx_grant grants[COUNT_MAX];

	(void) state;
	assert_int_equal(3, serve(&residual, requests, 3, grants));
	assert_true(grants[0].lacks && !grants[0].granted);
	assert_true(isinf(grants[0].starts_s));
	assert_true(grants[1].granted && grants[2].granted);
	assert_false(grants[1].lacks || grants[2].lacks);
}

static void the_last_one_is_for_one_job(void **state)
{
	const struct plx_residual residual = { .pools = one, .pool_count = 1 };
	const struct plx_request requests[] = {
		asks(7, 1, one),
		asks(8, 1, one),
		asks(9, 1, none),
	};
	struct plx_grant grants[COUNT_MAX];

	(void) state;
	assert_int_equal(6, serve(&residual, requests, 3, grants));
	assert_true(grants[0].granted && grants[2].granted);
	assert_true(grants[1].lacks && !grants[1].granted);
}

/* Four GPUs of a node cannot be had: an elastic job keeps one. */
static bool second_is_served(bool pools_wait, struct plx_request first)
{
	const struct plx_residual residual = { .pools = two,
					       .pool_count = 1,
					       .pools_wait = pools_wait };
	const struct plx_request requests[] = { first, first, asks(8, 1, one) };
	struct plx_grant grants[COUNT_MAX];

	serve(&residual, requests, 3, grants);
	assert_false(grants[0].granted || grants[1].granted);
	return grants[2].granted;
}

static void who_waits_keeps_his_where_backfill_does(void **state)
{
	struct plx_request tentative = asks(7, 4, two);

	(void) state;
	tentative.tentative = true;
	assert_true(second_is_served(false, asks(7, 4, two)));
	assert_false(second_is_served(true, asks(7, 4, two)));
	/* Of two entries one keeps them. */
	assert_true(second_is_served(true, asks(7, 4, one)));
	/* It is promised nothing. */
	assert_true(second_is_served(true, tentative));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_lacks_one_takes_nothing),
		cmocka_unit_test(the_last_one_is_for_one_job),
		cmocka_unit_test(who_waits_keeps_his_where_backfill_does),
	};

	return cmocka_run_group_tests_name("reservation_pools", tests, NULL,
					   NULL);
}
