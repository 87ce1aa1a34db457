/* SPDX-License-Identifier: MIT */
/*
 * crc.c - CRC-32C (Castagnoli), the checksum of saved state
 *
 * The processor's instruction where there is one, else eight bytes at a time
 * by table ("slicing-by-8").
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/crc_ways.h"

#define POLYNOMIAL UINT32_C(0x82f63b78) /* bits reversed */

static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][i] = crc;
	}
	for (int i = 0; i < 256; i++) {
		for (int t = 1; t < 8; t++) {
			uint32_t before = tables[t - 1][i];

			tables[t][i] = before >> 8 ^ tables[0][before & 0xff];
		}
	}
}

static uint32_t eight_bytes(uint32_t crc, const uint8_t *p)
{
	crc ^= p[0] | p[1] << 8 | p[2] << 16 | (uint32_t) p[3] << 24;
	return tables[7][crc & 0xff] ^ tables[6][crc >> 8 & 0xff] ^
	       tables[5][crc >> 16 & 0xff] ^ tables[4][crc >> 24] ^
	       tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^
	       tables[0][p[7]];
}

uint32_t plx_crc32c_table(uint32_t crc, const void *data, size_t size)
{
	const uint8_t *p = data;

	pthread_once(&tables_once, fill_tables);
	crc = ~crc;
	for (; size >= 8; size -= 8, p += 8)
		crc = eight_bytes(crc, p);
	for (; size; size--, p++)
		crc = crc >> 8 ^ tables[0][(crc ^ *p) & 0xff];
	return ~crc;
}

/* ---- two pieces ---- */

/*
 * A checksum is a polynomial over GF(2) modulo that of CRC-32C, highest power
 * in the lowest bit. Appending n bits multiplies what is before them by x^n.
 */
#define ONE 0x80000000u /* x^0 */
#define X   0x40000000u

static uint32_t times(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1) {
		if (a & ONE)
			product ^= b;
		b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
	}
	return product;
}

uint32_t plx_crc32c_join(uint32_t first, uint32_t second, uint64_t second_bytes)
{
	uint32_t shift = ONE;
	uint32_t square = X;

	/* x^(8 n) = (x^8)^n: three squarings first. */
	for (int i = 0; i < 3; i++)
		square = times(square, square);
	for (; second_bytes; second_bytes >>= 1) {
		if (second_bytes & 1)
			shift = times(shift, square);
		square = times(square, square);
	}
	return times(shift, first) ^ second;
}

/* ---- by instruction ---- */

#ifdef __x86_64__
/*
 * One instruction must wait for the result of that before: three lanes, each
 * a piece of its own, keep the processor busy.
 */
#define LANE_BYTES ((size_t) 8192)
#define LANE_SHIFT 0x28461564u /* x^(8 LANE_BYTES) */

bool plx_crc32c_has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

static uint64_t word_at(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* Three lanes in a row; crc without the final complement, here and below. */
__attribute__((target("sse4.2"))) static uint32_t three_lanes(uint32_t crc,
							      const uint8_t *p)
{
	uint64_t a = crc;
	uint64_t b = 0;
	uint64_t c = 0;

	for (size_t i = 0; i < LANE_BYTES; i += 8) {
		a = __builtin_ia32_crc32di(a, word_at(p + i));
		b = __builtin_ia32_crc32di(b, word_at(p + LANE_BYTES + i));
		c = __builtin_ia32_crc32di(c, word_at(p + 2 * LANE_BYTES + i));
	}
	b ^= times(LANE_SHIFT, (uint32_t) a);
	return (uint32_t) c ^ times(LANE_SHIFT, (uint32_t) b);
}

__attribute__((target("sse4.2"))) uint32_t plx_crc32c_instruction(
	uint32_t crc, const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t wide;

	crc = ~crc;
	for (; size >= 3 * LANE_BYTES; size -= 3 * LANE_BYTES) {
		crc = three_lanes(crc, p);
		p += 3 * LANE_BYTES;
	}
	wide = crc;
	for (; size >= 8; size -= 8, p += 8)
		wide = __builtin_ia32_crc32di(wide, word_at(p));
	crc = (uint32_t) wide;
	for (; size; size--, p++)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return ~crc;
}
#else
bool plx_crc32c_has_instruction(void)
{
	return false;
}

uint32_t plx_crc32c_instruction(uint32_t crc, const void *data, size_t size)
{
	return plx_crc32c_table(crc, data, size);
}
#endif

uint32_t plx_crc32c(uint32_t crc, const void *data, size_t size)
{
	if (plx_crc32c_has_instruction())
		return plx_crc32c_instruction(crc, data, size);
	return plx_crc32c_table(crc, data, size);
}
