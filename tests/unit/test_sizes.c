/* SPDX-License-Identifier: MIT */
/* test_sizes.c - numbers of GPUs that a job may run on */

#include <limits.h>
#include <stdlib.h>

#include "core/records/sizes.h"
#include "unit.h"

static const struct plx_sizes any;
static const struct plx_sizes powers = { .count = 4, .list = { 1, 2, 4, 8 } };
static const struct plx_sizes eights = { .step = 8 };

static void the_next_and_the_last_size_are_found(void **state)
{
	(void) state;
	assert_int_equal(1, plx_sizes_up(&powers, 0));
	assert_int_equal(4, plx_sizes_up(&powers, 3));
	assert_int_equal(4, plx_sizes_up(&powers, 4));
	assert_int_equal(0, plx_sizes_up(&powers, 9));
	assert_int_equal(0, plx_sizes_down(&powers, 0));
	assert_int_equal(2, plx_sizes_down(&powers, 3));
	assert_int_equal(8, plx_sizes_down(&powers, INT_MAX));
	assert_int_equal(8, plx_sizes_up(&eights, 0));
	assert_int_equal(8, plx_sizes_up(&eights, 8));
	assert_int_equal(16, plx_sizes_up(&eights, 9));
	assert_int_equal(0, plx_sizes_up(&eights, INT_MAX));
	assert_int_equal(0, plx_sizes_down(&eights, 7));
	assert_int_equal(16, plx_sizes_down(&eights, 23));
	assert_int_equal(3, plx_sizes_up(&any, 3));
	assert_int_equal(3, plx_sizes_down(&any, 3));
}

static void what_is_allowed_is_on_the_list_or_a_multiple(void **state)
{
	(void) state;
	for (int g = 1; g <= 64; g++) {
		assert_true(plx_sizes_allow(&any, g));
		assert_int_equal(g == 1 || g == 2 || g == 4 || g == 8,
				 plx_sizes_allow(&powers, g));
		assert_int_equal(g % 8 == 0, plx_sizes_allow(&eights, g));
	}
	assert_false(plx_sizes_allow(&eights, 0));
}

static void sizes_within_limits_make_a_list(void **state)
{
	struct plx_error err;
	int *list = NULL;
	int count = 7;

	(void) state;
	assert_int_equal(0, plx_sizes_list(&any, 1, 9, &list, &count, &err));
	assert_null(list);
	assert_int_equal(0, count);
	assert_int_equal(0, plx_sizes_list(&powers, 2, 7, &list, &count, &err));
	assert_int_equal(2, count);
	assert_int_equal(2, list[0]);
	assert_int_equal(4, list[1]);
	free(list);
	assert_int_equal(0,
			 plx_sizes_list(&eights, 9, 32, &list, &count, &err));
	assert_int_equal(3, count);
	assert_int_equal(16, list[0]);
	assert_int_equal(32, list[2]);
	free(list);
}

static void an_uneven_shape_leaves_an_even_one_of_a_size(void **state)
{
	static const int gpus[] = { 4, 3, 1 };
	int nodes;

	(void) state;
	assert_int_equal(3, plx_sizes_level(&any, gpus, 3, &nodes));
	assert_int_equal(2, nodes);
	assert_int_equal(2, plx_sizes_level(&powers, gpus, 3, &nodes));
	assert_int_equal(2, nodes);
	assert_int_equal(0, plx_sizes_level(&eights, gpus, 3, &nodes));
	assert_int_equal(0, nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_and_the_last_size_are_found),
		cmocka_unit_test(what_is_allowed_is_on_the_list_or_a_multiple),
		cmocka_unit_test(sizes_within_limits_make_a_list),
		cmocka_unit_test(an_uneven_shape_leaves_an_even_one_of_a_size),
	};

	return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
