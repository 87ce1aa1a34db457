/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deadlines.c - nodes that were announced to go away */

#include <string.h>

#include "core/records/drain_deadline.h"
#include "sched/pollux/snapshot/deadlines.h"
#include "sched/pollux/fingerprint.h"

/* The thread's own: for each node the mark of the reason last told of. */
static struct {
	uint64_t *marks;
	int count;
} told;

static double _utc_offset_s(time_t at)
{
	struct tm local;

	return localtime_r(&at, &local) ? (double) local.tm_gmtoff : 0;
}

static void _complain(const node_record_t *node, int n,
		      const struct plx_error *err)
{
	uint64_t mark =
		pollux_fingerprint_text(POLLUX_FINGERPRINT_FROM, node->name);

	/* 0: none yet */
	mark = pollux_fingerprint_text(mark, node->reason) | 1;

	if (n >= told.count) {
		xrecalloc(told.marks, n + 1, sizeof(*told.marks));
		told.count = n + 1;
	}
	if (told.marks[n] == mark)
		return;
	told.marks[n] = mark;
	error("sched/pollux: node %s is drained and nobody is told when to "
	      "leave it: %s",
	      node->name, err->text);
}

bool pollux_deadlines_due(const node_record_t *node, int n, time_t now)
{
	struct plx_drain_deadline deadline;
	struct plx_error err;

	if (!IS_NODE_DRAIN(node) || !node->reason)
		return false;
	if (plx_drain_deadline_read(node->reason, (double) node->reason_time,
				    _utc_offset_s(node->reason_time), &deadline,
				    &err) < 0) {
		_complain(node, n, &err);
		return false;
	}
	/* Clocks may have been changed by an hour until then. */
	if (deadline.kind == PLX_DRAIN_DEADLINE_UNTIL &&
	    deadline.until_s < INT32_MAX)
		plx_drain_deadline_read(
			node->reason, (double) node->reason_time,
			_utc_offset_s((time_t) deadline.until_s), &deadline,
			&err);
	return plx_drain_deadline_is_due(&deadline, (double) now);
}

void pollux_deadlines_forget_all(void)
{
	xfree(told.marks);
	told.count = 0;
}
