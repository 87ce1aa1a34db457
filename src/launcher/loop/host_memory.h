/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host_memory.h - is there memory for a second generation beside the first?
 *
 * Of this node alone: what its ranks use now, against what may still be taken
 * (wire/free_memory.h). root goes before every path that is read ("" but in
 * tests).
 */
#ifndef PLX_LAUNCHER_HOST_MEMORY_H
#define PLX_LAUNCHER_HOST_MEMORY_H

#include <stdint.h>

#include "core/base/error.h"

/*
 * Bytes resident in the processes on node that were given that socket. 0:
 * there are none, or they are not ours to see.
 */
uint64_t plx_memory_resident(const char *root, const char *socket,
			     const char *node);

/* Ranks now here and as many more: 0, or -1 with err saying what lacks. */
int plx_memory_suffices(const char *socket, const char *node, int now, int more,
			struct plx_error *err);

#endif
