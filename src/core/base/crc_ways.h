/* SPDX-License-Identifier: MIT */
/* crc_ways.h - the ways plx_crc32c() chooses from, for its tests */
#ifndef PLX_CORE_CRC_WAYS_H
#define PLX_CORE_CRC_WAYS_H

#include <stdbool.h>

#include "core/base/crc.h"

/* On every machine. */
uint32_t plx_crc32c_table(uint32_t crc, const void *data, size_t size);

/* The processor has an instruction for it. */
bool plx_crc32c_has_instruction(void);
/* Requires plx_crc32c_has_instruction(). */
uint32_t plx_crc32c_instruction(uint32_t crc, const void *data, size_t size);

#endif
