/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * local.h - a job without Slurm: its record, and who may ask for what
 *
 * Stands in for slurmctld and its scheduler: it keeps the record that the
 * launcher reads and writes (registry.h), and speaks the same protocol of
 * targets and acknowledgements (docs/resize.md). What it is asked comes from
 * another terminal, over a socket in the job's run folder:
 *
 *	$XDG_RUNTIME_DIR/pollux/NAME, or /tmp/pollux-UID/NAME
 *		lock	held as long as the launcher lives, with its process id
 *		socket	lines of text, one connection a request
 */
#ifndef PLX_LAUNCHER_LOCAL_H
#define PLX_LAUNCHER_LOCAL_H

#include <stdbool.h>

#include "core/base/error.h"
#include "launcher/job/registry.h"

struct plx_local;

/* What is wanted; all borrowed for the call. */
struct plx_local_order {
	const char *name;     /* NULL: after program, with a number if needed */
	char *const *program; /* with its arguments, ends with NULL */
	const char *params;   /* as --scheduler-params, NULL: no limits */
	int ranks;	      /* 0: one a GPU, or 1 */
};

/*
 * Take the name (another launcher that has it is an error), find the GPUs of
 * this machine, listen. NULL with err set.
 */
struct plx_local *plx_local_create(const struct plx_local_order *order,
				   struct plx_error *err);
void plx_local_destroy(struct plx_local *local); /* accepts NULL */

const char *plx_local_name(const struct plx_local *local);
/* Its name without the number; a folder is called after it. */
const char *plx_local_base(const struct plx_local *local);
const char *plx_local_node(const struct plx_local *local); /* this machine */
/* GPUs, as for CUDA_VISIBLE_DEVICES; "": none wanted. NULL: there are none. */
const char *plx_local_devices(const struct plx_local *local);
/* --scheduler-params as the ranks are to know them. */
const char *plx_local_params(const struct plx_local *local);
const struct plx_registry *plx_local_registry(struct plx_local *local);

#endif
