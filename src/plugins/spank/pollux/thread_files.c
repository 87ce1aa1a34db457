/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thread_files.c - threads of a process that have the same files and memory */

#include <linux/kcmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spank/pollux/thread_files.h"

/* As kcmp(2) answers. */
enum { SAME = 0, LESS = 1, GREATER = 2 };

/* By files, then by memory: one that ends has lost its memory first. */
static long order_of(struct plx_thread_files *seen, pid_t one, pid_t other)
{
	long order = syscall(SYS_kcmp, one, other, KCMP_FILES, 0, 0);

	seen->compared++;
	if (order != SAME)
		return order;
	seen->compared++;
	return syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0);
}

bool plx_thread_files_has(struct plx_thread_files *seen, pid_t tid)
{
	int first = 0;
	int end = seen->count;

	while (first < end) {
		int middle = first + (end - first) / 2;
		long order = order_of(seen, tid, seen->of[middle]);

		if (order == SAME)
			return true;
		/* One has ended, or the kernel does not say. */
		if (order != LESS && order != GREATER)
			return false;
		if (order == LESS)
			end = middle;
		else
			first = middle + 1;
	}
	if (seen->count == PLX_THREAD_FILES)
		return false;
	memmove(&seen->of[first + 1], &seen->of[first],
		(size_t) (seen->count - first) * sizeof(seen->of[0]));
	seen->of[first] = tid;
	seen->count++;
	return false;
}
