/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what must be true of every parser of others' text, whatever it reads
 *
 * Each target takes the bytes, feeds them to one parser and stops the program
 * when an invariant does not hold; sanitizers find the rest. `fuzz` runs them
 * with bytes of its own (fuzz.c); one.c gives one of them to libFuzzer or
 * AFL++. See tests/fuzz/run.
 */
#ifndef PLX_FUZZ_H
#define PLX_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "targets.h"

#define TEXT_MAX 2048 /* bytes of an input, with the NUL that text gets */

#define MUST(condition)                                                        \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__,       \
				__LINE__, #condition);                         \
			abort();                                               \
		}                                                              \
	} while (0)

/* The bytes up to the first NUL, as text. */
static inline const char *fuzz_text(const uint8_t *data, size_t size,
				    char text[TEXT_MAX])
{
	if (size >= TEXT_MAX)
		size = TEXT_MAX - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* One line, short, of what a terminal and a log can bear. */
static inline void fuzz_is_a_line(const char *text, size_t most)
{
	MUST(strlen(text) < most);
	for (; *text; text++)
		MUST((unsigned char) *text >= ' ' && *text != 127);
}

/* fuzz_name() of every target. */
#define FUZZ_DECLARE(name) int fuzz_##name(const uint8_t *data, size_t size);
FUZZ_TARGETS(FUZZ_DECLARE)

/* The target of this name; NULL: there is none. */
typedef int fuzz_function(const uint8_t *data, size_t size);
fuzz_function *fuzz_find(const char *name);

struct plx_channel;

/* wrap.c: a channel on a connected socket, which becomes its own. */
struct plx_channel *plx_channel_wrap(int fd, struct plx_error *err);

#endif
