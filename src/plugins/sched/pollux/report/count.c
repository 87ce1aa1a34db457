/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count.c - what the plugin has done, counted */

#include <time.h>

#include "common/slurm_compat.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/report/count.h"

static struct {
	pthread_mutex_t mutex;
	struct plx_metrics metrics; /* protected by it, all of it */
	int nodes_wanted;
	double utility_low, utility_high;
} shared = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
};

#define AT(field) offsetof(struct plx_metrics, field)

static const size_t events[] = {
	[POLLUX_DID_SKIP] = AT(skipped),
	[POLLUX_DID_ASK] = AT(asked),
	[POLLUX_WAS_OVERDUE] = AT(overdue),
	[POLLUX_DID_KILL] = AT(kills),
	[POLLUX_DROPPED_HINT] = AT(hints_dropped),
	[POLLUX_WAS_SICK] = AT(sick),
	[POLLUX_DID_REPORT] = AT(told),
	[POLLUX_DID_MOVE] = AT(moved),
	[POLLUX_DID_EVICT] = AT(evicted),
};

void pollux_count(enum pollux_event event)
{
	slurm_mutex_lock(&shared.mutex);
	++*(uint64_t *) ((char *) &shared.metrics + events[event]);
	slurm_mutex_unlock(&shared.mutex);
}

void pollux_count_resize(enum plx_resize_kind kind)
{
	slurm_mutex_lock(&shared.mutex);
	shared.metrics.resizes[kind]++;
	slurm_mutex_unlock(&shared.mutex);
}

void pollux_count_refusal(int kind)
{
	if (kind < 0 || kind >= PLX_REFUSALS)
		kind = PLX_REFUSED_OTHER;
	slurm_mutex_lock(&shared.mutex);
	shared.metrics.refusals[kind]++;
	slurm_mutex_unlock(&shared.mutex);
}

void pollux_count_cycle(double seconds)
{
	slurm_mutex_lock(&shared.mutex);
	plx_times_add(&shared.metrics.cycles, seconds);
	slurm_mutex_unlock(&shared.mutex);
}

void pollux_count_gauges(const struct plx_gauges *gauges)
{
	slurm_mutex_lock(&shared.mutex);
	shared.metrics.now = *gauges;
	slurm_mutex_unlock(&shared.mutex);
}

void pollux_count_wanted(int nodes, double low, double high)
{
	slurm_mutex_lock(&shared.mutex);
	shared.nodes_wanted = nodes;
	shared.utility_low = low;
	shared.utility_high = high;
	slurm_mutex_unlock(&shared.mutex);
}

void pollux_count_read(struct plx_metrics *metrics, double now_s)
{
	slurm_mutex_lock(&shared.mutex);
	if (!shared.metrics.since_s)
		shared.metrics.since_s = now_s;
	*metrics = shared.metrics;
	metrics->now.nodes_wanted = shared.nodes_wanted;
	metrics->now.utility_low = shared.utility_low;
	metrics->now.utility_high = shared.utility_high;
	slurm_mutex_unlock(&shared.mutex);
	pollux_locks_read(metrics);
	metrics->now_s = now_s;
}
