/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rings.c - no files are kept in rings of io_uring */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spank/pollux/rings.h"

/* The same number for programs of 32 bits; x32 has a bit more. */
#define REGISTER  427 /* io_uring_register(2) */
#define X32	  0x40000000u
#define FILES	  2	      /* IORING_REGISTER_FILES */
#define FILES2	  13	      /* IORING_REGISTER_FILES2 */
#define BY_NUMBER 0x80000000u /* the ring is told by its registered number */

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LOW 4
#else
#define LOW 0
#endif

/* What adds a file later needs the table that these two make. */
int plx_rings_without_files(struct plx_error *err)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~X32),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REGISTER, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1]) + LOW),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~BY_NUMBER),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILES, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILES2, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog filter = {
		.len = sizeof(rules) / sizeof(rules[0]),
		.filter = rules,
	};

	/* It guards no secrets: processors need not be slowed down for it. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) == 0)
		return 0;
	return plx_fail(err, "seccomp: %s", strerror(errno));
}
