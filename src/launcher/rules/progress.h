/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress.h - one line that says how far the training is; pure */
#ifndef PLX_LAUNCHER_PROGRESS_H
#define PLX_LAUNCHER_PROGRESS_H

#include <stddef.h>

#include "core/records/status.h"

/*
 * " 42.3 %  loss 0.531  1913 samples/s  4 GPUs  batch 256  ETA 1:02:03"; only
 * the phase and the size of a job that says nothing. unit: "GPUs" or "ranks".
 */
void plx_progress_text(const struct plx_status *status, int ranks,
		       const char *unit, char *text, size_t size);

#endif
