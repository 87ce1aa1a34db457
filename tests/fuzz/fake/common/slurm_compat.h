/* SPDX-License-Identifier: MIT */
/* slurm_compat.h - as much of Slurm as the parsers need, for fuzzers alone */
#ifndef POLLUX_SLURM_COMPAT_H
#define POLLUX_SLURM_COMPAT_H

#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define xfree(p)                                                               \
	do {                                                                   \
		free(p);                                                       \
		(p) = NULL;                                                    \
	} while (0)
#define error(...) ((void) snprintf(NULL, 0, __VA_ARGS__))

#include <stdio.h>

static inline char *xstrdup(const char *text)
{
	return text ? strdup(text) : NULL;
}

#define xstrcmp(a, b) strcmp(a, b)

static struct {
	const char *priority_type;
	const char *state_save_location;
} __attribute__((unused)) slurm_conf = { "priority/multifactor", "/state" };

#endif
