/* SPDX-License-Identifier: MIT */
/* crc.h - CRC-32C (Castagnoli), the checksum of saved state */
#ifndef PLX_CORE_CRC_H
#define PLX_CORE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Continue crc (0 to begin) over size bytes. */
uint32_t plx_crc32c(uint32_t crc, const void *data, size_t size);

/* Of two pieces one after the other, from those of each. */
uint32_t plx_crc32c_join(uint32_t first, uint32_t second,
			 uint64_t second_bytes);

#endif
