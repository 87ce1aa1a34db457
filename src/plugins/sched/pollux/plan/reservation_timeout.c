/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reservation_timeout.c - jobs that do not start on what is reserved */

#include <math.h>
#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/plan/reservation_timeout.h"

/* For how long GPUs are lent out, at first and at most. */
#define IGNORE_S      60
#define IGNORE_MOST_S 3600

struct entry {
	uint32_t id;
	double gives_up_s; /* INFINITY: its reservation is not free yet */
	double ignored_until_s;
	double ignore_s; /* the next time */
};

static struct {
	struct entry at[POLLUX_PENDING_MAX];
	int count;
} waits;

static struct entry *_find(struct entry *at, int count, uint32_t id)
{
	for (int i = 0; i < count; i++) {
		if (at[i].id == id)
			return &at[i];
	}
	return NULL;
}

static void _give_up(struct entry *entry, double now_s)
{
	info("sched/pollux: JobId=%u does not start in the room made for it, "
	     "its GPUs are lent out for %.0f s",
	     entry->id, entry->ignore_s);
	entry->gives_up_s = INFINITY;
	entry->ignored_until_s = now_s + entry->ignore_s;
	entry->ignore_s = MIN(2 * entry->ignore_s, IGNORE_MOST_S);
}

void pollux_reservation_timeout_apply(struct pollux_snapshot *snapshot,
				      double now_s)
{
	for (int i = 0; i < waits.count; i++) {
		if (now_s >= waits.at[i].gives_up_s)
			_give_up(&waits.at[i], now_s);
	}
	for (int i = 0; i < snapshot->waiting_count; i++) {
		const struct entry *entry =
			_find(waits.at, waits.count, snapshot->waiting[i].id);

		snapshot->waiting[i].ignored =
			entry && now_s < entry->ignored_until_s;
	}
}

/* Nobody else is there any more. */
static bool _is_free(const struct pollux_snapshot *snapshot,
		     const struct pollux_waiting *waiting,
		     const struct plx_grant *grant)
{
	struct plx_resources takes =
		plx_resources_part(&waiting->each, grant->gpus);

	for (int n = 0; n < snapshot->node_count; n++) {
		const struct pollux_node *node = &snapshot->nodes[n];

		if (!grant->nodes[n])
			continue;
		if (node->left.gpus < grant->gpus ||
		    node->left.cpus < takes.cpus ||
		    (waiting->whole_nodes && node->left.cpus < node->cpus))
			return false;
	}
	return true;
}

static bool _holds_gpus(const struct pollux_waiting *waiting)
{
	return waiting->each.gpus > 0 || waiting->whole_nodes;
}

/* A het job starts when backfill comes by. */
static double _timeout_s(const struct pollux_waiting *waiting,
			 const struct pollux_params *params)
{
	double timeout_s = params->reservation_timeout_s;

	return waiting->het ? fmax(timeout_s, 2 * params->terms.interval_s)
			    : timeout_s;
}

/* In whichever of its partitions. */
static bool _has_free(const struct pollux_snapshot *snapshot,
		      const struct plx_grant *grants, uint32_t id)
{
	for (int i = 0; i < snapshot->waiting_count; i++) {
		const struct pollux_waiting *waiting = &snapshot->waiting[i];

		if (waiting->id == id && grants[i].granted &&
		    _holds_gpus(waiting) &&
		    _is_free(snapshot, waiting, &grants[i]))
			return true;
	}
	return false;
}

void pollux_reservation_timeout_note(const struct pollux_snapshot *snapshot,
				     const struct plx_grant *grants,
				     const struct pollux_params *params,
				     double now_s)
{
	struct entry kept[POLLUX_PENDING_MAX];
	int count = 0;

	for (int i = 0; i < snapshot->waiting_count; i++) {
		const struct pollux_waiting *waiting = &snapshot->waiting[i];
		const struct entry *before =
			_find(waits.at, waits.count, waiting->id);
		struct entry *entry = &kept[count];
		bool free_now = false;

		/* A job waits in each of its partitions, and starts once. */
		if (_find(kept, count, waiting->id))
			continue;
		free_now = _has_free(snapshot, grants, waiting->id);
		if (!before && !free_now)
			continue;
		count++;
		*entry = before ? *before
				: (struct entry){ .id = waiting->id,
						  .gives_up_s = INFINITY,
						  .ignore_s = IGNORE_S };
		if (!free_now)
			entry->gives_up_s = INFINITY;
		else if (isinf(entry->gives_up_s))
			entry->gives_up_s = now_s + _timeout_s(waiting, params);
	}
	memcpy(waits.at, kept, sizeof(kept[0]) * (size_t) count);
	waits.count = count;
}

double pollux_reservation_timeout_next_s(void)
{
	double next_s = INFINITY;

	for (int i = 0; i < waits.count; i++)
		next_s = fmin(next_s, waits.at[i].gives_up_s);
	return next_s;
}
