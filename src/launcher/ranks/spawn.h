/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spawn.h - what each child of the launcher does before it becomes srun */
#ifndef PLX_LAUNCHER_SPAWN_H
#define PLX_LAUNCHER_SPAWN_H

#include <sys/types.h>

/*
 * In the child, after fork(): the signals of an ordinary program, and an end
 * with its parent: srun takes SIGTERM for "kill the ranks and leave".
 */
void plx_spawned(pid_t parent);

#endif
