/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_bind.c - a rank's cores and memory, near its GPU */
#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_HWLOC
#include "launcher/rank/rank_share.h"
#endif

#include "launcher/rank/rank_bind.h"

#define LEAST_SHARE 2 /* processors */
#define TEXT_SIZE   1024

int plx_bind_masks_differ(const char *list)
{
	size_t first = strcspn(list, ",");

	for (const char *at = list + first; *at == ',';) {
		size_t length = strcspn(++at, ",");

		if (length != first || strncmp(at, list, first) != 0)
			return 1;
		at += length;
	}
	return 0;
}

int plx_bind_none(const struct plx_place *place)
{
	cpu_set_t set;
	int count = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		count = CPU_COUNT(&set) / place->locals;
	return count > 1 ? count : 1;
}

#ifdef HAVE_HWLOC

/* Processors near a GPU; -1 when nobody knows. set is overwritten. */
static int near_gpu(const char *gpu, hwloc_bitmap_t set)
{
	char path[TEXT_SIZE];
	char list[TEXT_SIZE] = "";
	FILE *in = NULL;

	if (plx_bind_gpu_file("", gpu, path, sizeof(path)) == 0)
		in = fopen(path, "re");
	if (!in)
		return -1;
	if (!fgets(list, sizeof(list), in))
		list[0] = '\0';
	fclose(in);
	list[strcspn(list, "\n")] = '\0';
	if (!list[0] || hwloc_bitmap_list_sscanf(set, list) < 0)
		return -1;
	return hwloc_bitmap_iszero(set) ? -1 : 0;
}

/* A machine that is as large as it must be to know cores and nodes. */
static hwloc_topology_t load_topology(void)
{
	hwloc_topology_t topology;

	if (hwloc_topology_init(&topology) < 0)
		return NULL;
	hwloc_topology_set_all_types_filter(topology,
					    HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE,
				       HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE,
				       HWLOC_TYPE_FILTER_KEEP_ALL);
	if (hwloc_topology_load(topology) == 0)
		return topology;
	hwloc_topology_destroy(topology);
	return NULL;
}

/* What this rank may use, and which of how many shares of it is its own. */
struct share {
	hwloc_bitmap_t set;
	int index;
	int count;
	const char *why; /* of this set */
};

static void find_set(const struct plx_place *place, struct share *share)
{
	hwloc_bitmap_t local = hwloc_bitmap_alloc();
	char gpu[TEXT_SIZE];
	char other[TEXT_SIZE];

	share->index = place->local;
	share->count = place->locals;
	share->why = "its share of the node";
	if (!local || plx_place_gpu(place, getenv, gpu, sizeof(gpu)) < 0 ||
	    near_gpu(gpu, local) < 0 ||
	    !hwloc_bitmap_intersects(local, share->set))
		goto done;
	hwloc_bitmap_and(share->set, share->set, local);
	share->why = "near its GPU";
	/* Who else is near there? Each of the others' devices says it. */
	share->index = 0;
	share->count = 0;
	for (int i = 0; i < place->locals; i++) {
		struct plx_place at = *place;

		at.local = i;
		if (plx_place_gpu(&at, getenv, other, sizeof(other)) < 0 ||
		    near_gpu(other, local) < 0 ||
		    !hwloc_bitmap_intersects(local, share->set))
			continue;
		share->index += i < place->local;
		share->count++;
	}
done:
	hwloc_bitmap_free(local);
}

static int bind_share(hwloc_topology_t topology, struct share *share,
		      char *says, size_t size)
{
	char list[TEXT_SIZE];
	int weight;

	weight =
		plx_share_cut(topology, share->set, share->index, share->count);
	hwloc_bitmap_list_snprintf(list, sizeof(list), share->set);
	if (weight < LEAST_SHARE)
		snprintf(says, size, "not bound: less than %d processors",
			 LEAST_SHARE);
	else if (hwloc_set_cpubind(topology, share->set,
				   HWLOC_CPUBIND_PROCESS) < 0)
		snprintf(says, size, "not bound: refused");
	else
		snprintf(says, size, "bound to processors %s, %s", list,
			 share->why);
	/* Memory follows the processors; where it cannot, it is no loss. */
	if (weight >= LEAST_SHARE)
		hwloc_set_membind(topology, share->set, HWLOC_MEMBIND_BIND,
				  HWLOC_MEMBIND_PROCESS);
	return weight > 1 ? weight : 1;
}

int plx_bind(const struct plx_place *place, char *says, size_t size)
{
	const char *masks = getenv("SLURM_CPU_BIND_LIST");
	struct share share = { .set = hwloc_bitmap_alloc() };
	hwloc_topology_t topology = NULL;
	struct plx_place alone = *place;
	int threads;

	if (masks && plx_bind_masks_differ(masks)) {
		snprintf(says, size, "bound by srun");
		alone.locals = 1;
		return plx_bind_none(&alone);
	}
	threads = plx_bind_none(place);
	snprintf(says, size, "not bound: no share of the processors");
	/* Not worth the look at the machine. */
	if (threads < LEAST_SHARE && place->locals > 1)
		goto done;
	topology = load_topology();
	if (!topology || !share.set ||
	    hwloc_get_cpubind(topology, share.set, HWLOC_CPUBIND_PROCESS) < 0)
		goto done;
	find_set(place, &share);
	threads = bind_share(topology, &share, says, size);
done:
	if (topology)
		hwloc_topology_destroy(topology);
	hwloc_bitmap_free(share.set);
	return threads;
}

#else

int plx_bind(const struct plx_place *place, char *says, size_t size)
{
	snprintf(says, size, "not bound: built without hwloc");
	return plx_bind_none(place);
}

#endif
