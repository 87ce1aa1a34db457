/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * await.h - nodes that a waiting job is promised, and that come free
 *
 * When the last rigid job in its way ends, a job could start if elastic jobs
 * gave way. The next cycle finds that out, but backfill may look before, and
 * knows elastic jobs by their time limits alone. So promised nodes are watched,
 * and one where GPUs come free is guarded until that cycle is over.
 *
 * Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_AWAIT_H
#define SCHED_POLLUX_AWAIT_H

#include "common/slurm_compat.h"
#include "core/reserve/reservation.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * After a cycle: watch the nodes that it promised where elastic jobs are among
 * those in the way. grants[waiting_count].
 */
void pollux_await_note(const struct pollux_snapshot *snapshot,
		       const struct plx_grant *grants);
void pollux_await_forget(void);

/* Is any node watched? */
bool pollux_await_any(void);

/*
 * Nodes with more free GPUs than in the last cycle, or that a job leaves; in
 * any look since. Borrowed until the next call of any of these, NULL: none.
 * A lock on nodes.
 */
bitstr_t *pollux_await_freed(void);

/*
 * Was there one in the last look, and none before the last cycle? The next
 * cycle is not to wait then. No lock.
 */
bool pollux_await_freed_any(void);

/* Was there one, however it was before? The next look is not to wait. No lock.
 */
bool pollux_await_freed_now(void);

#endif
