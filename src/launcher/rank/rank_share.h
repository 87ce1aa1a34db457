/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_share.h - a rank's even share of processors */
#ifndef PLX_LAUNCHER_RANK_SHARE_H
#define PLX_LAUNCHER_RANK_SHARE_H

#include <hwloc.h>

/*
 * Cut set down to the index-th of count even parts: of its cores, so that no
 * core has two ranks; of its processors when there are fewer cores than parts.
 * How many processors are left, 0 when there are not enough for all.
 */
int plx_share_cut(hwloc_topology_t topology, hwloc_bitmap_t set, int index,
		  int count);

#endif
