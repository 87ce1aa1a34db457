/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_files.h - threads of a process that have the same files and memory
 *
 * What one of them shows of its files in /proc, all show. Not for threads.
 */
#ifndef SPANK_POLLUX_THREAD_FILES_H
#define SPANK_POLLUX_THREAD_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#define PLX_THREAD_FILES 256 /* different tables that are told apart */

/* Of one process; all zero at first. */
struct plx_thread_files {
	pid_t of[PLX_THREAD_FILES]; /* a thread of each, as kcmp(2) sorts */
	int count;
	long compared; /* calls of kcmp(2) */
};

/*
 * Is there one before it that is alike? Else it is remembered, unless there are
 * too many. False for each thread where the kernel does not compare.
 */
bool plx_thread_files_has(struct plx_thread_files *seen, pid_t tid);

#endif
