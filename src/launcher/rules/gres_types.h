/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gres_types.h - the types of the GPUs that a job has, from Slurm's texts */
#ifndef PLX_LAUNCHER_GRES_TYPES_H
#define PLX_LAUNCHER_GRES_TYPES_H

#include <stdbool.h>

#include "core/records/gpu_type.h"

/* Does a job's text name the type of each of its GPUs? */
bool plx_gres_named(const char *job);

/*
 * As gpu_type.h has them: by the job's text ("gpu:a100:2(IDX:0-1)") where that
 * names them, else by what the node has ("gpu:a100:4") or, where that are
 * several, by the numbers of those in use there ("gpu:a100:2(IDX:0-1)"). "":
 * not known.
 */
void plx_gres_types(const char *job, const char *node, const char *used,
		    char types[PLX_TYPES_SIZE]);

#endif
