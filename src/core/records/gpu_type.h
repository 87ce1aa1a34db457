/* SPDX-License-Identifier: MIT */
/*
 * gpu_type.h - the names of types of GPUs, as a text on a job's record
 *
 * As in gres.conf, several separated by commas; "-" is GPUs without a type.
 */
#ifndef PLX_CORE_GPU_TYPE_H
#define PLX_CORE_GPU_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#define PLX_TYPE_MARKS "-_.+" /* in a name, besides letters and digits */
#define PLX_TYPES_SIZE 128    /* bytes, with the final NUL */

/* Letters, digits, marks and ","; at least one, and an end within the size. */
bool plx_types_valid(const char types[PLX_TYPES_SIZE]);

/* To compare: equal for equal texts; 0 for "", which is no type. */
uint32_t plx_types_digest(const char *types);

#endif
