/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patience.c - jobs that do not start in the room made for them */

#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/plan/patience.h"

/* More than a resize can take, launchers that do not answer included. */
#define PATIENCE_S 300

struct entry {
	uint32_t id;
	double since_s; /* room was made */
	bool ignored;
};

static struct {
	struct entry at[POLLUX_PENDING_MAX];
	int count;
} granted_to;

static struct entry *_find(uint32_t id)
{
	for (int i = 0; i < granted_to.count; i++) {
		if (granted_to.at[i].id == id)
			return &granted_to.at[i];
	}
	return NULL;
}

void pollux_patience_apply(struct pollux_view *view, double now_s)
{
	for (int i = 0; i < view->waiting_count; i++) {
		struct pollux_waiting *waiting = &view->waiting[i];
		struct entry *entry = _find(waiting->id);

		if (!entry)
			continue;
		waiting->ignored =
			(int) ((now_s - entry->since_s) / PATIENCE_S) % 2 == 1;
		if (waiting->ignored && !entry->ignored)
			info("sched/pollux: JobId=%u does not start in the "
			     "room made for it, its GPUs are lent out for %d s",
			     waiting->id, PATIENCE_S);
		entry->ignored = waiting->ignored;
	}
}

void pollux_patience_note(const struct pollux_view *view, const bool *granted,
			  double now_s)
{
	struct entry kept[POLLUX_PENDING_MAX];
	int count = 0;

	for (int i = 0; i < view->waiting_count; i++) {
		const struct entry *entry = _find(view->waiting[i].id);

		if (!view->waiting[i].gpus_per_node &&
		    !view->waiting[i].whole_nodes)
			continue; /* needs no room */
		if (!granted[i] && !view->waiting[i].ignored)
			continue;
		kept[count++] = entry ? *entry
				      : (struct entry){
						.id = view->waiting[i].id,
						.since_s = now_s,
					};
	}
	memcpy(granted_to.at, kept, sizeof(kept[0]) * (size_t) count);
	granted_to.count = count;
}
