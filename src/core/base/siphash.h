/* SPDX-License-Identifier: MIT */
/*
 * siphash.h - a hash that nobody can foretell without its key
 *
 * SipHash-2-4 of Aumasson and Bernstein (2012), 64 bits. Pure.
 */
#ifndef PLX_CORE_SIPHASH_H
#define PLX_CORE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* The key's first byte is the lowest of key[0], as in the paper. */
uint64_t plx_siphash(const uint64_t key[2], const void *data, size_t size);

#endif
