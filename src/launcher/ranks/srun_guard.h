/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * srun_guard.h - stands between the launcher and srun, to outlive the launcher
 *
 * An srun that ends with its launcher kills the ranks at once, which loses
 * what they have trained since the last checkpoint. The guard gives them time
 * to notice, save and leave; only what is left then is killed.
 */
#ifndef PLX_LAUNCHER_SRUN_GUARD_H
#define PLX_LAUNCHER_SRUN_GUARD_H

#include <sys/types.h>

#define PLX_GUARD_KILL SIGUSR2 /* to the guard: kill srun; SIGTERM: end it */

/*
 * In the child, after fork(): it becomes the guard, and its own child returns
 * to become srun, with the signals of an ordinary program. The guard's exit
 * code is srun's, as a shell has it.
 */
void plx_guarded(pid_t launcher, int grace_s);

#endif
