/* SPDX-License-Identifier: MIT */
/*
 * test_next_bit.c - Slurm's bitmaps are read by words where that is possible
 *
 * Slurm's own functions are played here, by their slow and simple meaning.
 */
#include <string.h>

#include "common/slurm_compat.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "unit.h"

enum { BITS = 300 };

slurm_conf_t slurm_conf;

#if POLLUX_SLURM_24
#error "this is about releases whose bitmaps are arrays"
#endif

/* As Slurm has them: two words, then the bits from the lowest on. */
static bitstr_t map[BITSTR_OVERHEAD + BITS / 64 + 1];

static bool has(int n)
{
	return (uint64_t) map[BITSTR_OVERHEAD + n / 64] >> n % 64 & 1;
}

static void put(int n)
{
	uint64_t word = (uint64_t) map[BITSTR_OVERHEAD + n / 64];

	map[BITSTR_OVERHEAD + n / 64] =
		(bitstr_t) (word | (uint64_t) 1 << n % 64);
}

bitoff_t bit_size(bitstr_t *bits)
{
	(void) bits;
	return BITS;
}

static void assert_all_found(int size)
{
	for (int from = 0; from <= size; from++) {
		int n = from;

		while (n < size && !has(n))
			n++;
		assert_int_equal(n, pollux_slurm_next_bit(map, from, size));
	}
}

static void each_bit_is_found_from_each_one_before_it(void **state)
{
	(void) state;
	for (int n = 0; n < BITS; n++) {
		memset(map, 0, sizeof(map));
		put(n);
		assert_all_found(BITS);
	}
}

static void of_many_bits_the_next_one_is_found(void **state)
{
	(void) state;
	for (int step = 1; step < 70; step++) {
		memset(map, 0, sizeof(map));
		for (int n = 0; n < BITS; n += step)
			put(n);
		assert_all_found(BITS);
	}
}

static void a_bit_behind_the_size_is_none(void **state)
{
	(void) state;
	memset(map, 0, sizeof(map));
	put(130);
	for (int size = 0; size < 140; size++)
		assert_all_found(size);
}

static void other_bits_have_another_digest(void **state)
{
	uint64_t seen[BITS];

	(void) state;
	for (int n = 0; n < BITS; n++) {
		memset(map, 0, sizeof(map));
		put(n);
		seen[n] = pollux_slurm_bits_digest(map);
		assert_true(seen[n] == pollux_slurm_bits_digest(map));
		for (int k = 0; k < n; k++)
			assert_true(seen[k] != seen[n]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_bit_is_found_from_each_one_before_it),
		cmocka_unit_test(of_many_bits_the_next_one_is_found),
		cmocka_unit_test(a_bit_behind_the_size_is_none),
		cmocka_unit_test(other_bits_have_another_digest),
	};

	return cmocka_run_group_tests_name("next_bit", tests, NULL, NULL);
}
