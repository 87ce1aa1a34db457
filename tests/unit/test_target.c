/* SPDX-License-Identifier: MIT */
/* test_target.c - shapes and moves in what the scheduler tells a job */

#include <stdio.h>
#include <string.h>

#include "core/base/fields.h"
#include "core/base/section.h"
#include "core/records/target.h"
#include "unit.h"

static int read_fields(const char *fields, struct plx_target *target)
{
	char comment[PLX_COMMENT_MAX];
	struct plx_error err;

	assert_int_equal(0, plx_section_put(NULL, fields, comment,
					    sizeof(comment), &err));
	return plx_target_read(comment, target, &err);
}

static void again(const struct plx_target *target, struct plx_target *read)
{
	char fields[PLX_FIELDS_MAX];
	struct plx_error err;

	assert_int_equal(0, plx_target_write(target, fields, sizeof(fields),
					     &err));
	assert_int_equal(1, read_fields(fields, read));
}

static void different_counts_are_told_node_by_node(void **state)
{
	struct plx_target target = { .serial = 1,
				     .state = PLX_TARGET_REQUESTED,
				     .on = "n[1-3]" };
	const int counts[] = { 4, 1, 12 };
	struct plx_target read;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_target_count(&target, counts, 3, &err));
	assert_string_equal("4,1,12", target.each);
	again(&target, &read);
	assert_int_equal(3, read.nodes);
	assert_int_equal(1, read.gpus_per_node);
	assert_int_equal(17, plx_target_gpus(&read));
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts[i], plx_target_each(&read, i));
	assert_int_equal(0, plx_target_each(&read, 3));
}

static void equal_counts_are_told_as_ever(void **state)
{
	struct plx_target target = { .serial = 1, .each = "4,1" };
	const int counts[] = { 3, 3 };
	char fields[PLX_FIELDS_MAX];
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_target_count(&target, counts, 2, &err));
	assert_int_equal(0, plx_target_write(&target, fields, sizeof(fields),
					     &err));
	assert_null(strstr(fields, "each"));
	assert_int_equal(3, plx_target_each(&target, 1));
	assert_int_equal(6, plx_target_gpus(&target));
}

static void counts_without_room_are_refused(void **state)
{
	struct plx_target target = { .on = "n[1-200]", .nodes = 7 };
	struct plx_target nameless = { .on = "" };
	int counts[200];
	struct plx_error err;

	(void) state;
	for (int i = 0; i < 200; i++)
		counts[i] = 1 + i % 2;
	assert_int_equal(-1, plx_target_count(&target, counts, 200, &err));
	assert_int_equal(7, target.nodes);
	assert_int_equal(-1, plx_target_count(&nameless, counts, 2, &err));
}

static void what_does_not_add_up_is_broken(void **state)
{
	static const char *const cases[] = {
		"each=4,1",    "each=4,1,2,3",
		"each=4,0,2",  "each=4,1,2,",
		"each=,4,1,2", "each=4,1,5000",
		"each=4;1;2",  "each=2,2,2",
		"each=4,-1,2", "each=4,1,2147483648",
	};
	struct plx_target target;
	char fields[PLX_FIELDS_MAX];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(fields, sizeof(fields),
			 "serial=4 state=asked nodes=3 gpus=1 %s on=n(1-3)",
			 cases[i]);
		assert_int_equal(-1, read_fields(fields, &target));
	}
	assert_int_equal(-1, read_fields("serial=4 state=asked nodes=3 gpus=1 "
					 "each=4,1,2",
					 &target));
	assert_int_equal(1, read_fields("serial=4 state=asked nodes=3 gpus=1 "
					"each=4,1,2 on=n(1-3)",
					&target));
}

static void a_move_keeps_age_and_time(void **state)
{
	const struct plx_target target = { .serial = 3,
					   .state = PLX_TARGET_MOVING,
					   .nodes = 1,
					   .gpus_per_node = 2,
					   .move = true,
					   .accrued = 1700000000,
					   .left_s = 3599,
					   .on = "n2" };
	struct plx_target read;

	(void) state;
	again(&target, &read);
	assert_int_equal(PLX_TARGET_MOVING, read.state);
	assert_true(read.move);
	assert_int_equal(1700000000, read.accrued);
	assert_int_equal(3599, read.left_s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(different_counts_are_told_node_by_node),
		cmocka_unit_test(equal_counts_are_told_as_ever),
		cmocka_unit_test(counts_without_room_are_refused),
		cmocka_unit_test(what_does_not_add_up_is_broken),
		cmocka_unit_test(a_move_keeps_age_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
