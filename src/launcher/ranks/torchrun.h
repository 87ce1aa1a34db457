/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * torchrun.h - a command line of torchrun, without it
 *
 * pollux-launch starts the ranks and sets for them what torchrun would; one
 * torchrun a rank would start each of them several times. So it is left out.
 */
#ifndef PLX_LAUNCHER_TORCHRUN_H
#define PLX_LAUNCHER_TORCHRUN_H

#include "core/base/error.h"

/*
 * What program (ends with NULL) starts by torchrun or python -m
 * torch.distributed.run: in *plain, NULL-terminated, the caller's to free; its
 * words are program's, or live as long as the process. NULL: it is something
 * else. -1 with err set: out of memory.
 */
int plx_torchrun_leave_out(char *const program[], char ***plain,
			   struct plx_error *err);

#endif
