/* SPDX-License-Identifier: GPL-2.0-or-later */
/* motion.c - threads that one look saw and the look before it did not */

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/pollux/motion.h"

#define MOST		(1 << 20)
#define FIELDS_TO_START 20 /* from the one behind the name */

/* The name, in brackets, is the job's own and may have blanks and brackets. */
bool plx_motion_start(const char *line, uint64_t *start)
{
	const char *at = strrchr(line, ')');

	for (int i = 0; at && i < FIELDS_TO_START; i++)
		at = strchr(at + 1, ' ');
	if (!at || !isdigit((unsigned char) at[1]))
		return false;
	*start = strtoull(at + 1, NULL, 10);
	return true;
}

static bool read_start(const char *tid, uint64_t *start)
{
	char name[64];
	char line[1024];
	ssize_t got = -1;
	int file = -1;

	snprintf(name, sizeof(name), "/proc/%.20s/stat", tid);
	file = open(name, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	got = read(file, line, sizeof(line) - 1);
	close(file);
	line[got > 0 ? got : 0] = '\0';
	return plx_motion_start(line, start);
}

/* Doubled whenever it is full; false: no more. */
static bool may_note(struct plx_motion *motion)
{
	size_t count = motion->count;
	struct plx_moment *all = motion->all;

	if (count & (count - 1))
		return true;
	if (count < MOST)
		all = realloc(all, (count ? 2 * count : 1) * sizeof(*all));
	if (count == MOST || !all)
		return false;
	motion->all = all;
	return true;
}

void plx_motion_note(struct plx_motion *motion, const char *tid)
{
	struct plx_moment moment = { .tid = strtoull(tid, NULL, 10) };

	if (read_start(tid, &moment.start) && may_note(motion))
		motion->all[motion->count++] = moment;
	else
		motion->missed = true;
}

static int by_number(const void *one, const void *other)
{
	const struct plx_moment *a = one;
	const struct plx_moment *b = other;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

static void sort(struct plx_motion *motion)
{
	if (motion->count > 0)
		qsort(motion->all, motion->count, sizeof(motion->all[0]),
		      by_number);
}

bool plx_motion_nobody(const struct plx_motion *motion)
{
	return motion->count == 0 && !motion->missed;
}

bool plx_motion_none(struct plx_motion *before, struct plx_motion *now)
{
	size_t at = 0;

	if (now->missed)
		return false;
	sort(before);
	sort(now);
	for (size_t i = 0; i < now->count; i++) {
		while (at < before->count &&
		       by_number(&before->all[at], &now->all[i]) < 0)
			at++;
		if (at == before->count ||
		    by_number(&before->all[at], &now->all[i]) != 0)
			return false;
	}
	return true;
}

void plx_motion_free(struct plx_motion *motion)
{
	free(motion->all);
	*motion = (struct plx_motion){ 0 };
}
