/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank_stop.h - telling a program to save, by a signal that it understands
 *
 * A signal that nobody has asked for kills. So it goes to those processes of
 * the program that have a handler for it, and only once there is one; and of
 * a process and those it started, to the outermost: a script that waits for
 * its python has none, the workers that python forked have inherited one.
 */
#ifndef PLX_LAUNCHER_RANK_STOP_H
#define PLX_LAUNCHER_RANK_STOP_H

#include <stdbool.h>
#include <sys/types.h>

/* How many processes, from pid on downwards, would take the signal? */
int plx_stop_takers(pid_t pid, int signal);

/* Send it to them. How many there were. */
int plx_stop_send(pid_t pid, int signal);

#endif
