/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot_read.c - what is asked of a snapshot that was made */

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/snapshot_read.h"

int pollux_snapshot_find(const struct pollux_snapshot *snapshot,
			 const char *name)
{
	for (int n = 0; n < snapshot->node_count; n++) {
		if (!xstrcmp(snapshot->nodes[n].name, name))
			return n;
	}
	return -1;
}

char *pollux_snapshot_names(const struct pollux_snapshot *snapshot,
			    const bool *nodes)
{
	pollux_hostlist_t names = hostlist_create(NULL);
	char *text = NULL;

	for (int n = 0; n < snapshot->node_count; n++) {
		if (nodes[n] && snapshot->nodes[n].name)
			hostlist_push_host(names, snapshot->nodes[n].name);
	}
	hostlist_sort(names);
	text = hostlist_ranged_string_xmalloc(names);
	hostlist_destroy(names);
	return text;
}

const bool *pollux_snapshot_nodes(struct pollux_snapshot *snapshot, int set)
{
	struct pollux_set *of = set < 0 ? NULL : &snapshot->sets[set];
	int count = snapshot->node_count;

	if (!of || of->nodes)
		return of ? of->nodes : NULL;
	of->nodes = xcalloc(count + 1, sizeof(*of->nodes));
	for (int n = pollux_slurm_next_bit(of->bits, 0, count); n < count;
	     n = pollux_slurm_next_bit(of->bits, n + 1, count))
		of->nodes[n] = true;
	return of->nodes;
}

bool pollux_snapshot_same_nodes(const struct pollux_snapshot *snapshot)
{
	if (snapshot->node_count != node_record_count)
		return false;
	for (int n = 0; n < snapshot->node_count; n++) {
		const node_record_t *record = node_record_table_ptr[n];

		if (xstrcmp(record ? record->name : NULL,
			    snapshot->nodes[n].name))
			return false;
	}
	return true;
}
