/* SPDX-License-Identifier: GPL-2.0-or-later */
/* local_gpus.h - this machine's GPUs, and the ranks that run on it */
#ifndef PLX_LAUNCHER_LOCAL_GPUS_H
#define PLX_LAUNCHER_LOCAL_GPUS_H

#include "core/base/error.h"

/*
 * What the ranks may see, as a list for CUDA_VISIBLE_DEVICES, the caller's to
 * free: the user's own as far as CUDA reads it, if set, else all. Empty: the
 * user wants none. NULL: there are none (*gpus 0), or out of memory (*gpus -1,
 * err set).
 */
char *plx_local_gpus(int *gpus, struct plx_error *err);

/* Every pollux-rank below this process is to have its program save. */
void plx_local_nudge(void);

#endif
