/* SPDX-License-Identifier: MIT */
/* restore_old.h - checkpoints as they were before 0.2 */
#ifndef PLX_AGENT_RESTORE_OLD_H
#define PLX_AGENT_RESTORE_OLD_H

#include "agent/state/restore_read.h"

/* Rank 0: fill arrays and profile from a file of the former kind. */
enum plx_read plx_restore_old(struct pollux *p, const char *name,
			      struct plx_facts *facts, struct plx_error *err);

#endif
