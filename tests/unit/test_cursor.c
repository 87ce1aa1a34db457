/* SPDX-License-Identifier: MIT */
/* test_cursor.c - who gets which samples, and when they count */

#include <stdlib.h>
#include <string.h>

#include "agent/base/cursor.h"
#include "reached.h"
#include "unit.h"

/* Train one epoch with these batches; how often was each sample used? */
/* Batches of an epoch. */
enum { WHOLE, LESS, EMPTY_PART, BATCHES };
static struct reached batches[BATCHES] = {
	[WHOLE] = { "as large as asked", 0 },
	[LESS] = { "the rest of an epoch", 0 },
	[EMPTY_PART] = { "a rank gets nothing of it", 0 },
};

static void use_epoch(struct plx_cursor *cursor, uint64_t *random, int *used)
{
	uint64_t epoch = cursor->epoch;

	while (cursor->epoch == epoch) {
		uint64_t parts = 1 + unit_random(random) % 40;
		uint64_t asked = 1 + unit_random(random) % 97;
		uint64_t batch = plx_cursor_batch(cursor, asked);
		uint64_t covered = cursor->position;

		for (uint64_t i = 0; i < parts; i++) {
			struct plx_range part =
				plx_cursor_part(cursor, batch, i, parts);

			assert_int_equal(covered, part.first);
			assert_true(part.count >= batch / parts);
			assert_true(part.count <= batch / parts + 1);
			covered += part.count;
			for (uint64_t k = 0; k < part.count; k++)
				used[plx_cursor_sample(cursor,
						       part.first + k)]++;
		}
		assert_int_equal(cursor->position + batch, covered);
		batches[batch == asked ? WHOLE : LESS].times++;
		batches[EMPTY_PART].times += batch < parts;
		plx_cursor_advance(cursor, batch);
	}
}

static void every_sample_is_used_once_whatever_the_shapes(void **state)
{
	uint64_t random = 7;

	(void) state;
	for (uint64_t samples = 1; samples < 2000; samples += 1 + samples / 3) {
		struct plx_cursor cursor = { .seed = samples,
					     .samples = samples,
					     .epochs = 3 };
		int *used = calloc(samples, sizeof(*used));

		assert_non_null(used);
		for (int epoch = 0; epoch < 3; epoch++) {
			use_epoch(&cursor, &random, used);
			for (uint64_t i = 0; i < samples; i++)
				assert_int_equal(epoch + 1, used[i]);
		}
		assert_true(plx_cursor_finished(&cursor));
		assert_int_equal(3 * samples, plx_cursor_used(&cursor));
		free(used);
	}
	assert_all_reached(batches, BATCHES, 20);
}

static void epochs_have_different_orders(void **state)
{
	struct plx_cursor first = { .seed = 1, .samples = 1000, .epochs = 2 };
	struct plx_cursor second = first;
	int same = 0;

	(void) state;
	second.epoch = 1;
	for (uint64_t i = 0; i < 1000; i++)
		same += plx_cursor_sample(&first, i) ==
			plx_cursor_sample(&second, i);
	assert_true(same < 20);
}

static void a_batch_never_crosses_an_epoch(void **state)
{
	struct plx_cursor cursor = { .samples = 10, .epochs = 2 };

	(void) state;
	plx_cursor_advance(&cursor, plx_cursor_batch(&cursor, 8));
	assert_int_equal(2, plx_cursor_batch(&cursor, 8));
	plx_cursor_advance(&cursor, 2);
	assert_int_equal(1, cursor.epoch);
	assert_int_equal(0, cursor.position);
	assert_int_equal(2, cursor.step);
}

static void the_last_batch_of_an_epoch_is_not_tiny(void **state)
{
	struct plx_cursor cursor = { .samples = 18, .epochs = 1 };

	(void) state;
	assert_int_equal(8, plx_cursor_batch(&cursor, 8));
	plx_cursor_advance(&cursor, 8);
	assert_int_equal(5, plx_cursor_batch(&cursor, 8));
	plx_cursor_advance(&cursor, 5);
	assert_int_equal(5, plx_cursor_batch(&cursor, 8));
}

static void progress_goes_from_none_to_all(void **state)
{
	struct plx_cursor cursor = { .samples = 10, .epochs = 2 };

	(void) state;
	assert_true(plx_cursor_progress(&cursor) == 0);
	plx_cursor_advance(&cursor, 5);
	assert_true(plx_cursor_progress(&cursor) == 0.25);
	plx_cursor_advance(&cursor, 5);
	plx_cursor_advance(&cursor, 10);
	assert_true(plx_cursor_progress(&cursor) == 1);
	assert_true(plx_cursor_finished(&cursor));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_is_used_once_whatever_the_shapes),
		cmocka_unit_test(epochs_have_different_orders),
		cmocka_unit_test(a_batch_never_crosses_an_epoch),
		cmocka_unit_test(the_last_batch_of_an_epoch_is_not_tiny),
		cmocka_unit_test(progress_goes_from_none_to_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
