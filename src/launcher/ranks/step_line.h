/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_line.h - the command line that starts ranks: srun's or mpirun's */
#ifndef PLX_LAUNCHER_STEP_LINE_H
#define PLX_LAUNCHER_STEP_LINE_H

#include "launcher/ranks/srun_step.h"

/*
 * A NULL-terminated list of texts in one block, the caller's to free; NULL
 * when out of memory, or when a text is too long.
 */
char **plx_step_arguments(const struct plx_step_order *order,
			  const struct plx_launch_step *step);

#endif
