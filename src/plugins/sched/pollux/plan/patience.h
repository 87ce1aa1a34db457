/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patience.h - jobs that do not start in the room made for them
 *
 * GPUs are kept back for a waiting job only as far as this plugin understands
 * what it waits for. A job that waits for something else must not keep GPUs
 * idle for ever: after a while they are lent out, for a while.
 * Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_PATIENCE_H
#define SCHED_POLLUX_PATIENCE_H

#include "sched/pollux/look/view.h"

/* Set waiting[].ignored for those whose turn it is to wait in vain. */
void pollux_patience_apply(struct pollux_view *view, double now_s);

/* Remember who got room in this cycle: granted[waiting_count]. */
void pollux_patience_note(const struct pollux_view *view, const bool *granted,
			  double now_s);

#endif
