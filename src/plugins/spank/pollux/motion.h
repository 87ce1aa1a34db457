/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * motion.h - threads that one look saw and the look before it did not
 *
 * A thread is its number and when it began: numbers are given again. Not for
 * threads.
 */
#ifndef SPANK_POLLUX_MOTION_H
#define SPANK_POLLUX_MOTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a look saw; all zero at first. */
struct plx_motion {
	struct plx_moment {
		uint64_t tid;
		uint64_t start; /* ticks of the kernel's clock */
	} * all;
	size_t count;
	bool missed; /* one ended meanwhile, or there was no memory for it */
};

/* A line of /proc/TID/stat: when the thread began; false: not such a line. */
bool plx_motion_start(const char *line, uint64_t *start);

/* Reads when it began. tid: in decimal digits. */
void plx_motion_note(struct plx_motion *motion, const char *tid);

/* Was there nobody at all? */
bool plx_motion_nobody(const struct plx_motion *motion);

/* Is there none in `now` that is not in `before`? Both are sorted. */
bool plx_motion_none(struct plx_motion *before, struct plx_motion *now);

void plx_motion_free(struct plx_motion *motion);

#endif
