/* SPDX-License-Identifier: MIT */
/* test_crc.c - CRC-32C, by table and by instruction */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/crc_ways.h"
#include "unit.h"

enum { NOISE_BYTES = 5000 };

/* The definition, a bit at a time. */
static uint32_t by_definition(const uint8_t *data, size_t size)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < size; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void fill(uint8_t *data, size_t size)
{
	uint64_t seed = 1;

	for (size_t i = 0; i < size; i++)
		data[i] = unit_random(&seed);
}

static void known_sums_come_out(void **state)
{
	uint8_t bytes[32];

	(void) state;
	assert_int_equal(0, plx_crc32c(0, "", 0));
	assert_int_equal(0xe3069283, plx_crc32c(0, "123456789", 9));
	/* RFC 3720, B.4 */
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(0x8a9136aa, plx_crc32c(0, bytes, sizeof(bytes)));
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(0x62a8ab43, plx_crc32c(0, bytes, sizeof(bytes)));
	for (int i = 0; i < 32; i++)
		bytes[i] = i;
	assert_int_equal(0x46dd794e, plx_crc32c(0, bytes, sizeof(bytes)));
}

static void the_table_agrees_at_every_size_and_offset(void **state)
{
	uint8_t data[300];

	(void) state;
	fill(data, sizeof(data));
	for (size_t at = 0; at < 9; at++) {
		for (size_t size = 0; size + at <= sizeof(data); size++)
			assert_int_equal(by_definition(data + at, size),
					 plx_crc32c_table(0, data + at, size));
	}
}

static void the_instruction_agrees_at_every_size_and_offset(void **state)
{
	uint8_t data[300];

	(void) state;
	fill(data, sizeof(data));
	for (size_t at = 0; at < 9; at++) {
		for (size_t size = 0; size + at <= sizeof(data); size++)
			assert_int_equal(by_definition(data + at, size),
					 plx_crc32c_instruction(0, data + at,
								size));
	}
}

static void a_sum_goes_on_where_it_stopped(void **state)
{
	static uint8_t data[NOISE_BYTES];
	uint32_t whole;

	(void) state;
	fill(data, sizeof(data));
	whole = plx_crc32c(0, data, sizeof(data));
	for (size_t cut = 0; cut <= sizeof(data); cut += 37) {
		uint32_t first = plx_crc32c(0, data, cut);

		assert_int_equal(whole, plx_crc32c(first, data + cut,
						   sizeof(data) - cut));
	}
}

static void every_flipped_bit_shows(void **state)
{
	uint8_t data[64];
	uint32_t whole;

	(void) state;
	fill(data, sizeof(data));
	whole = plx_crc32c(0, data, sizeof(data));
	for (size_t bit = 0; bit < 8 * sizeof(data); bit++) {
		data[bit / 8] ^= 1 << bit % 8;
		assert_int_not_equal(whole, plx_crc32c(0, data, sizeof(data)));
		data[bit / 8] ^= 1 << bit % 8;
	}
}

static void large_sizes_agree_with_the_table(void **state)
{
	const size_t lanes = 3 * 8192;
	uint8_t *data = malloc(3 * lanes);

	(void) state;
	assert_non_null(data);
	fill(data, 3 * lanes);
	for (size_t at = 0; at < 3; at++) {
		for (size_t size = lanes - 2; size < 3 * lanes - at;
		     size += 4093)
			assert_int_equal(plx_crc32c_table(7, data + at, size),
					 plx_crc32c(7, data + at, size));
	}
	free(data);
}

static void pieces_join_to_the_whole(void **state)
{
	uint8_t data[NOISE_BYTES];
	uint32_t whole;

	(void) state;
	fill(data, sizeof(data));
	whole = plx_crc32c(0, data, sizeof(data));
	for (size_t cut = 0; cut <= sizeof(data); cut += 113) {
		size_t residual = sizeof(data) - cut;

		assert_int_equal(
			whole,
			plx_crc32c_join(plx_crc32c(0, data, cut),
					plx_crc32c(0, data + cut, residual),
					residual));
	}
	assert_int_equal(whole, plx_crc32c_join(whole, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_sums_come_out),
		cmocka_unit_test(the_table_agrees_at_every_size_and_offset),
		cmocka_unit_test(a_sum_goes_on_where_it_stopped),
		cmocka_unit_test(every_flipped_bit_shows),
		cmocka_unit_test(large_sizes_agree_with_the_table),
		cmocka_unit_test(pieces_join_to_the_whole),
		/* The last: not every processor has one. */
		cmocka_unit_test(
			the_instruction_agrees_at_every_size_and_offset),
	};
	size_t count = ARRAY_SIZE(tests);

	if (!plx_crc32c_has_instruction()) {
		printf("# a test left out: no CRC-32C instruction here\n");
		count--;
	}
	return _cmocka_run_group_tests("crc", tests, count, NULL, NULL);
}
