/* SPDX-License-Identifier: MIT */
/*
 * bounce.h - a thread's own way between memory of a GPU and the host's
 *
 * A buffer that the GPU reads and writes by itself (pinned memory), and a
 * stream, so that threads do not wait for each other's copies. Where such
 * memory is not to be had, the buffer is plain memory, and copies are those
 * of plx_device_read() and plx_device_write().
 */
#ifndef PLX_AGENT_BOUNCE_H
#define PLX_AGENT_BOUNCE_H

#include <stddef.h>

#include "core/base/error.h"

struct plx_bounce; /* of one thread, and no longer than one call */

/*
 * For pieces of at most so many bytes, of the GPU that data is on. Its copies
 * come after all work that is on the legacy default stream now. NULL with err
 * set.
 */
struct plx_bounce *plx_bounce_create(size_t bytes, const void *data,
				     struct plx_error *err);
void plx_bounce_destroy(struct plx_bounce *b); /* accepts NULL */

char *plx_bounce_buffer(struct plx_bounce *b); /* b's */

/* From the GPU into the buffer, and from there to the GPU; both block. */
int plx_bounce_fetch(struct plx_bounce *b, const void *data, size_t bytes,
		     struct plx_error *err);
int plx_bounce_send(struct plx_bounce *b, void *data, size_t bytes,
		    struct plx_error *err);

#endif
