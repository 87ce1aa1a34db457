/* SPDX-License-Identifier: MIT */
/* devices.c - which GPUs of a node a job gets */

#include "core/problem/devices.h"

enum rank { USED, HELD_NEAR, HELD_FAR, FREE_NEAR, FREE_FAR, NEVER };

/* Do the job's cores on the socket of device i go with one more device there?
 */
static bool is_near(const struct plx_devices *devices, int i,
		    const bool *chosen)
{
	int socket = devices->at[i].socket;
	int taken = 0;

	if (socket < 0 || !devices->capacity)
		return true;
	for (int k = 0; k < devices->size; k++)
		taken += chosen[k] && devices->at[k].socket == socket;
	return taken < devices->capacity[socket];
}

static enum rank rank_of(const struct plx_devices *devices, int i,
			 const bool *chosen)
{
	const struct plx_device *device = &devices->at[i];

	if (device->barred)
		return NEVER;
	if (device->used)
		return USED;
	if (device->held)
		return is_near(devices, i, chosen) ? HELD_NEAR : HELD_FAR;
	if (is_near(devices, i, chosen))
		return FREE_NEAR;
	return devices->only_near ? NEVER : FREE_FAR;
}

/* Links of device i to those chosen, or before any is, to all it could join. */
static long links_of(const struct plx_devices *devices, int i, bool first,
		     const bool *chosen)
{
	long sum = 0;

	for (int k = 0; devices->links && k < devices->size; k++) {
		int links = devices->links[i * devices->size + k];

		if (k != i && links > 0 &&
		    (first ? rank_of(devices, k, chosen) != NEVER : chosen[k]))
			sum += links;
	}
	return sum;
}

/* -1: there is no other. */
static int next_device(const struct plx_devices *devices, bool first,
		       const bool *chosen)
{
	enum rank best_rank = NEVER;
	long best_links = 0;
	int best = -1;

	for (int i = 0; i < devices->size; i++) {
		enum rank rank = NEVER;
		long links = 0;

		if (!chosen[i])
			rank = rank_of(devices, i, chosen);
		if (rank == NEVER || rank > best_rank)
			continue;
		links = links_of(devices, i, first, chosen);
		if (best >= 0 && rank == best_rank && links <= best_links)
			continue;
		best = i;
		best_rank = rank;
		best_links = links;
	}
	return best;
}

bool plx_devices_choose(const struct plx_devices *devices, int count,
			bool *chosen)
{
	for (int i = 0; i < devices->size; i++)
		chosen[i] = false;
	for (int have = 0; have < count; have++) {
		int next = next_device(devices, have == 0 && count > 1, chosen);

		if (next < 0)
			return false;
		chosen[next] = true;
	}
	return true;
}
