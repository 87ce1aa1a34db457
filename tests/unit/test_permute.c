/* SPDX-License-Identifier: MIT */
/* test_permute.c - every sample of an epoch once, in an order of its own */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/permute.h"
#include "unit.h"

enum { SIZES = 2000 };

static void every_sample_comes_once(void **state)
{
	static unsigned char seen[SIZES];

	(void) state;
	for (uint64_t count = 1; count <= SIZES; count++) {
		struct plx_order order = { .seed = count, 1, count };

		memset(seen, 0, sizeof(seen));
		for (uint64_t i = 0; i < count; i++) {
			uint64_t at = plx_order_at(&order, i);

			assert_true(at < count);
			assert_int_equal(0, seen[at]++);
		}
	}
}

/* Positions at which both orders have the same sample. */
static int in_common(struct plx_order a, struct plx_order b)
{
	int common = 0;

	for (uint64_t i = 0; i < a.count; i++)
		common += plx_order_at(&a, i) == plx_order_at(&b, i);
	return common;
}

static void each_epoch_and_each_seed_has_its_own(void **state)
{
	struct plx_order first = { .seed = 7, .epoch = 0, .count = SIZES };

	(void) state;
	for (uint64_t i = 1; i < 50; i++) {
		struct plx_order epoch = { 7, i, SIZES };
		struct plx_order seed = { 7 + i, 0, SIZES };

		/* Unrelated orders share one place on average. */
		assert_true(in_common(first, epoch) < 10);
		assert_true(in_common(first, seed) < 10);
		/* Nor is the next seed's first epoch this one's second. */
		assert_true(in_common(epoch, seed) < 10);
	}
	assert_int_equal(SIZES, in_common(first, first));
}

static void neighbours_are_torn_apart(void **state)
{
	struct plx_order order = { .seed = 3, .epoch = 5, .count = 10000 };
	double moved = 0;

	(void) state;
	for (uint64_t i = 0; i + 1 < order.count; i++)
		moved += fabs((double) plx_order_at(&order, i) -
			      (double) plx_order_at(&order, i + 1));
	/* Two uniform places are a third of the range apart. */
	moved /= (double) (order.count - 1) * (double) order.count;
	assert_true(moved > 0.32 && moved < 0.347);
}

static void a_place_gets_any_sample_as_often(void **state)
{
	enum { BUCKETS = 20, EPOCHS = 20000 };
	double seen[BUCKETS] = { 0 };
	double chi = 0;

	(void) state;
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		struct plx_order order = { 1, epoch, BUCKETS };

		seen[plx_order_at(&order, 0)]++;
	}
	for (int i = 0; i < BUCKETS; i++)
		chi += pow(seen[i] - EPOCHS / BUCKETS, 2) / (EPOCHS / BUCKETS);
	assert_true(chi < 43.8); /* 19 degrees of freedom, p = 0.001 */
}

static void the_largest_dataset_is_in_range(void **state)
{
	const uint64_t counts[] = { UINT64_C(1) << 40, UINT64_MAX,
				    (UINT64_C(1) << 62) + 1 };

	(void) state;
	for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
		struct plx_order order = { 1, 2, counts[c] };

		for (uint64_t i = 0; i < 1000; i++)
			assert_true(plx_order_at(&order, i) < counts[c]);
		assert_true(plx_order_at(&order, counts[c] - 1) < counts[c]);
	}
}

/* Saved cursors would point at other samples were this to change. */
static void the_order_is_the_same_for_ever(void **state)
{
	const uint64_t want[] = { 692, 695, 15, 597, 790, 267, 473, 276 };
	struct plx_order order = { .seed = 42, .epoch = 3, .count = 1000 };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_int_equal(want[i], plx_order_at(&order, i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_comes_once),
		cmocka_unit_test(each_epoch_and_each_seed_has_its_own),
		cmocka_unit_test(neighbours_are_torn_apart),
		cmocka_unit_test(a_place_gets_any_sample_as_often),
		cmocka_unit_test(the_largest_dataset_is_in_range),
		cmocka_unit_test(the_order_is_the_same_for_ever),
	};

	return cmocka_run_group_tests_name("permute", tests, NULL, NULL);
}
