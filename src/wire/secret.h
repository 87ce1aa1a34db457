/* SPDX-License-Identifier: MIT */
/*
 * secret.h - names that nobody else can guess, and so cannot take first
 *
 * A run's key is drawn once by its launcher and handed down in the environment
 * of its steps, which the same user alone can read. Names of sockets that
 * everybody can see once they are there are made from it: who knows some of
 * them knows nothing of the next.
 */
#ifndef PLX_WIRE_SECRET_H
#define PLX_WIRE_SECRET_H

#include <stddef.h>

#include "core/base/error.h"

#define PLX_SECRET_SIZE 33  /* 128 bits in hex, and the final NUL */
#define PLX_SECRET_WHAT 512 /* what a name is made of, with it */

/* Draw one. 0, or -1 with err set: the kernel has none to give. */
int plx_secret_draw(char secret[PLX_SECRET_SIZE], struct plx_error *err);

/*
 * The name of `what` under that key: the same for all who have both. -1 with
 * err set when the key is none, or the text too long.
 */
int plx_secret_name(const char *key, const char *what,
		    char name[PLX_SECRET_SIZE], struct plx_error *err);

#endif
