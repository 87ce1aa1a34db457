/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fingerprint.h - has something changed? One number of all of it, by FNV-1a */
#ifndef SCHED_POLLUX_FINGERPRINT_H
#define SCHED_POLLUX_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define POLLUX_FINGERPRINT_FROM 0xcbf29ce484222325u

/* These bytes as well. */
static inline uint64_t pollux_fingerprint(uint64_t fingerprint,
					  const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		fingerprint = (fingerprint ^ at[i]) * 0x100000001b3u;
	return fingerprint;
}

/* With its end, so that two texts are not one. */
static inline uint64_t pollux_fingerprint_text(uint64_t fingerprint,
					       const char *text)
{
	return pollux_fingerprint(fingerprint, text, strlen(text) + 1);
}

#endif
