/* SPDX-License-Identifier: MIT */
/*
 * error.h - one sentence about what went wrong
 *
 * The first function to know writes the sentence; callers pass it on.
 */
#ifndef PLX_CORE_ERROR_H
#define PLX_CORE_ERROR_H

#define PLX_ERROR_SIZE 256

struct plx_error {
	char text[PLX_ERROR_SIZE]; /* no newline, no final full stop */
	int kind; /* of an enum that its reader knows; 0: none is said */
};

/*
 * Format the sentence into err (may be NULL), cut to size; control characters
 * become '?'. Always -1.
 */
int plx_fail(struct plx_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same of a kind, for those who count or tell apart: see
 * core/records/refusal.h. */
int plx_fail_as(struct plx_error *err, int kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
