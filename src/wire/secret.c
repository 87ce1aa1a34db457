/* SPDX-License-Identifier: MIT */
/* secret.c - names that nobody else can guess, and so cannot take first */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/siphash.h"
#include "wire/secret.h"

static void write_hex(const uint64_t words[2], char text[PLX_SECRET_SIZE])
{
	snprintf(text, PLX_SECRET_SIZE, "%016" PRIx64 "%016" PRIx64, words[0],
		 words[1]);
}

int plx_secret_draw(char secret[PLX_SECRET_SIZE], struct plx_error *err)
{
	uint64_t words[2];

	if (getrandom(words, sizeof(words), 0) != sizeof(words))
		return plx_fail(err, "no random numbers: %s", strerror(errno));
	write_hex(words, secret);
	return 0;
}

static int read_key(const char *key, uint64_t words[2], struct plx_error *err)
{
	if (!key || strlen(key) != PLX_SECRET_SIZE - 1 ||
	    strspn(key, "0123456789abcdef") != PLX_SECRET_SIZE - 1 ||
	    sscanf(key, "%16" SCNx64 "%16" SCNx64, &words[0], &words[1]) != 2)
		return plx_fail(err, "this run has no key of its own");
	return 0;
}

int plx_secret_name(const char *key, const char *what,
		    char name[PLX_SECRET_SIZE], struct plx_error *err)
{
	char text[PLX_SECRET_WHAT + 1];
	uint64_t words[2];
	uint64_t made[2];
	int length;

	if (read_key(key, words, err) < 0)
		return -1;
	/* The halves of a name are hashes of two texts. */
	for (int half = 0; half < 2; half++) {
		length = snprintf(text, sizeof(text), "%d%s", half, what);
		if (length < 0 || (size_t) length >= sizeof(text))
			return plx_fail(err, "a name is made of too long a "
					     "text");
		made[half] = plx_siphash(words, text, (size_t) length);
	}
	write_hex(made, name);
	return 0;
}
