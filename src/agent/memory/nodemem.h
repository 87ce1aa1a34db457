/* SPDX-License-Identifier: MIT */
/*
 * nodemem.h - memory of a node that processes of one job share
 *
 * A memfd: it dies with the last process that holds it, so nothing is left
 * behind, even after kill -9. Found by name: its owner hands the descriptor
 * out over an abstract UNIX socket, to processes of the same user only.
 */
#ifndef PLX_AGENT_NODEMEM_H
#define PLX_AGENT_NODEMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define PLX_NODEMEM_NAME 108 /* bytes with the final NUL, an address's */

struct plx_nodemem;

/*
 * The name of what generation keeps for job here, the same for all processes
 * of this run: it is made from the run's key, and nobody else can guess it.
 * -1 with err set where there is no key.
 */
int plx_nodemem_name(char name[PLX_NODEMEM_NAME], const char *job,
		     uint64_t generation, struct plx_error *err);

/*
 * Where memory can be shared: the host. Several virtual nodes of Slurm may be
 * one; with POLLUX_NODES_APART they behave as if they were not.
 */
const char *plx_nodemem_here(void);

/*
 * Get and touch so much memory, then hand it out under name: in the
 * background, see plx_nodemem_ready(). The caller's to destroy. NULL with err
 * set.
 */
struct plx_nodemem *plx_nodemem_create(const char *name, size_t bytes,
				       struct plx_error *err);

/* Wait until it is there. 0, or -1 with err set: it is not to be had. */
int plx_nodemem_ready(struct plx_nodemem *mem, struct plx_error *err);

/* It would not have to wait. */
bool plx_nodemem_settled(struct plx_nodemem *mem);

/* The owner, ready, wants at least so much: what is there stays. */
int plx_nodemem_grow(struct plx_nodemem *mem, size_t bytes,
		     struct plx_error *err);

/*
 * Look for another process's memory until it is there, in the background; see
 * plx_nodemem_ready(). NULL with err set.
 */
struct plx_nodemem *plx_nodemem_expect(const char *name, struct plx_error *err);

/*
 * Another process's memory, mapped and touched. NULL with err set when there
 * is none of this name, or it is another user's.
 */
struct plx_nodemem *plx_nodemem_open(const char *name, struct plx_error *err);

/* The same for a file known by its path, as /proc/PID/fd/N. */
struct plx_nodemem *plx_nodemem_open_path(const char *path,
					  struct plx_error *err);

/* Its owner may have grown it: map all of it. */
int plx_nodemem_follow(struct plx_nodemem *mem, struct plx_error *err);

char *plx_nodemem_base(const struct plx_nodemem *mem);
size_t plx_nodemem_bytes(const struct plx_nodemem *mem);

/* Accepts NULL. Others that have it open keep it. */
void plx_nodemem_destroy(struct plx_nodemem *mem);

#endif
