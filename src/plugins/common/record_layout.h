/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_layout.h - are slurmctld's records as in the headers we were built
 * with?
 *
 * A vendor's patch, or a source that is not quite the installed one, moves what
 * we read and write, and nothing else would notice. Slurm knows how long each
 * record is that it allocated, and records begin with a magic number.
 */
#ifndef POLLUX_LAYOUT_H
#define POLLUX_LAYOUT_H

#include <stdbool.h>

/*
 * Look at a live record of each kind that was not looked at yet, and try what
 * the select plugin has of a job on a copy. The caller holds slurmctld's locks
 * for jobs, nodes and partitions. NULL, or what is not as it should be, in
 * words; the same again ever after.
 */
const char *pollux_layout_wrong(void);

/* Was one of each kind found, so that nothing is left to look at? */
bool pollux_layout_known(void);

#endif
