/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - where the ranks run: one a GPU, node by node
 *
 * Without any GPU in the job: one rank a task, spread evenly.
 */
#ifndef PLX_LAUNCHER_LAYOUT_H
#define PLX_LAUNCHER_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/records/gpu_type.h"

#define PLX_NODE_NAME_SIZE 256
#define PLX_GRES_SIZE	   256

struct plx_layout_node {
	char name[PLX_NODE_NAME_SIZE];
	char gres[PLX_GRES_SIZE];  /* as Slurm says it: "gpu:2(IDX:0-1)";
				      "": not known yet */
	char type[PLX_TYPES_SIZE]; /* of its GPUs; "": not known */
	int ranks;
	int cpus; /* of the job on this node */
};

struct plx_layout {
	struct plx_layout_node
		*nodes; /* only those with ranks, or tasks to come */
	int count;
	int ranks;
	bool gpus; /* a GPU each; false: CPUs only */
};

/* GPUs in a text like "gpu:2(IDX:0-1),gpu:tesla:1(IDX:3)"; NULL has none. */
int plx_gres_gpus(const char *gres);

/* Bytes of the first entry of such a text, which may have commas in brackets.
 */
size_t plx_gres_entry(const char *gres);

/* Append a node (copied). */
int plx_layout_add(struct plx_layout *layout,
		   const struct plx_layout_node *node, struct plx_error *err);

/* Spread tasks over nodes that have none yet, the first ones get the rest. */
void plx_layout_spread(struct plx_layout *layout, int tasks);

/* Put the node called first at the head, if it is there. */
void plx_layout_lead(struct plx_layout *layout, const char *first);

/*
 * The same ranks on the same devices, in whatever order? Devices that are not
 * known are taken for the same.
 */
bool plx_layout_equal(const struct plx_layout *a, const struct plx_layout *b);

/* Ranks on that node; 0 where it, or the layout, is none. */
int plx_layout_on(const struct plx_layout *layout, const char *node);

/* Has whole at least as many ranks on each node that part has any on? */
bool plx_layout_within(const struct plx_layout *part,
		       const struct plx_layout *whole);

/* Learn the devices not known, where it has as many ranks as known has. */
void plx_layout_learn(struct plx_layout *layout,
		      const struct plx_layout *known);

/*
 * What is left of a node when it keeps so many ranks, each with cpus of them
 * if that is known (0: not): its CPUs in proportion.
 */
void plx_layout_keep(struct plx_layout_node *node, int ranks, int cpus);

/* Leave the last nodes without so many ranks that there are `ranks` of them. */
void plx_layout_trim(struct plx_layout *layout, int ranks);

/* CPUs each rank can have on every node, at least 1. */
int plx_layout_cpus_per_rank(const struct plx_layout *layout);

/* One line a rank, as SLURM_HOSTFILE wants it. */
void plx_layout_write_hosts(const struct plx_layout *layout, FILE *out);

int plx_layout_copy(struct plx_layout *to, const struct plx_layout *from,
		    struct plx_error *err);
void plx_layout_release(struct plx_layout *layout);

#endif
