/* SPDX-License-Identifier: MIT */
/* lease.c - GPUs above a job's minimum are a lease */

#include <math.h>
#include <string.h>

#include "core/jobs/lease.h"

const char *plx_lease_why(const struct plx_status *status)
{
	if (!status)
		return "nothing that it says can be believed";
	switch (status->phase) {
	case PLX_PHASE_SAVING:
		return "it does not end to save";
	case PLX_PHASE_WAITING:
		return "it does not end to wait";
	case PLX_PHASE_DONE:
		return "its training is done";
	case PLX_PHASE_STARTING: /* it is asked like any other */
	case PLX_PHASE_TRAINING:
		break;
	}
	return NULL;
}

bool plx_lease_look(struct plx_lease *lease, double now_s, bool idle,
		    double term_s)
{
	double since_s = lease->last_s > 0 ? fmax(now_s - lease->last_s, 0) : 0;

	/* What it did in between is not known where it has changed. */
	if (lease->idle && idle)
		lease->idle_s += since_s;
	else if (!lease->idle && !idle)
		lease->idle_s = fmax(lease->idle_s - since_s, 0);
	lease->last_s = now_s;
	lease->idle = idle;
	return term_s > 0 && idle && lease->idle_s >= term_s;
}

void plx_lease_pause(struct plx_lease *lease)
{
	lease->last_s = 0;
}

void plx_lease_reset(struct plx_lease *lease)
{
	memset(lease, 0, sizeof(*lease));
}

/* Is node a to be kept before node b? */
static bool goes_before(const struct plx_least *least, int a, int b)
{
	bool wanted_a = least->wanted && least->wanted[a];
	bool wanted_b = least->wanted && least->wanted[b];

	if (wanted_a != wanted_b)
		return wanted_a;
	if ((a == least->batch_host) != (b == least->batch_host))
		return a == least->batch_host;
	if (least->gpus[a] != least->gpus[b])
		return least->gpus[a] > least->gpus[b];
	return a < b;
}

/* The next node to be kept: with GPUs, and none of them kept yet. -1: none. */
static int next_node(const struct plx_least *least, const int *keep)
{
	int best = -1;

	for (int n = 0; n < least->node_count; n++) {
		if (least->gpus[n] > 0 && !keep[n] &&
		    (best < 0 || goes_before(least, n, best)))
			best = n;
	}
	return best;
}

/* As many more as are missing, where some are kept already. */
static int fill(const struct plx_least *least, int missing, int *keep)
{
	int added = 0;

	for (int n = 0; n < least->node_count && added < missing; n++) {
		int more = keep[n] ? least->gpus[n] - keep[n] : 0;

		if (more > missing - added)
			more = missing - added;
		keep[n] += more;
		added += more;
	}
	return added;
}

/* Nodes that it needs: those to be kept come first. */
static int nodes_needed(const struct plx_least *least)
{
	int wanted = 0;

	for (int n = 0; least->wanted && n < least->node_count; n++)
		wanted += least->wanted[n] && least->gpus[n] > 0;
	if (wanted < least->min_nodes)
		wanted = least->min_nodes;
	return wanted > 1 ? wanted : 1;
}

int plx_lease_least(const struct plx_least *least, int *keep)
{
	int nodes = nodes_needed(least);
	int goal = least->min_gpus;
	int gpus = 0;
	int n = 0;

	memset(keep, 0, sizeof(*keep) * (size_t) least->node_count);
	while ((n = next_node(least, keep)) >= 0) {
		if (nodes <= 0 && gpus >= goal)
			break;
		keep[n] = least->whole ? least->gpus[n] : 1;
		gpus += keep[n];
		if (least->sizes && goal < plx_sizes_up(least->sizes, gpus))
			goal = plx_sizes_up(least->sizes, gpus);
		if (--nodes <= 0)
			gpus += fill(least, goal - gpus, keep);
	}
	return gpus;
}
