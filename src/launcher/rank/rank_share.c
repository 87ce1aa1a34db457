/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_share.c - a rank's even share of processors */
#include "config.h"

#ifdef HAVE_HWLOC

#include <stdbool.h>

#include "launcher/rank/rank_share.h"

int plx_share_cut(hwloc_topology_t topology, hwloc_bitmap_t set, int index,
		  int count)
{
	int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, set,
							   HWLOC_OBJ_CORE);
	bool by_core = cores >= count;
	int all = by_core ? cores : hwloc_bitmap_weight(set);
	int from = (int) ((long) all * index / count);
	int to = (int) ((long) all * (index + 1) / count);
	hwloc_bitmap_t own = hwloc_bitmap_alloc();

	for (int i = from; own && i < to; i++) {
		hwloc_obj_t unit = hwloc_get_obj_inside_cpuset_by_type(
			topology, set, by_core ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU,
			(unsigned int) i);

		if (unit)
			hwloc_bitmap_or(own, own, unit->cpuset);
	}
	if (own)
		hwloc_bitmap_and(set, set, own);
	hwloc_bitmap_free(own);
	return hwloc_bitmap_weight(set);
}

#endif
