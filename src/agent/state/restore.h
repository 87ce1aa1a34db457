/* SPDX-License-Identifier: MIT */
/*
 * restore.h - which checkpoint to go on from
 *
 * All are collective. Failures are negative, a value of enum pollux_status,
 * with the sentence in p->err.
 */
#ifndef PLX_AGENT_RESTORE_H
#define PLX_AGENT_RESTORE_H

#include "agent/state/agent.h"

/* Bring back the newest good checkpoint or rescue, if there is one. */
int plx_restore(struct pollux *p);

/*
 * The same for state that came another way, from memory: p's cursor, profile,
 * `flushed` and meter are set. From now on this generation owns the folder.
 */
int plx_restore_adopt(struct pollux *p);

/*
 * The generation that came after us is dead and the launcher has us train on,
 * under a new number (0: it said none): the folder is ours again.
 */
int plx_restore_resume(struct pollux *p, uint64_t generation);

#endif
