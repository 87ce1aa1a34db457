/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard.c - nodes where nobody else starts while room is made there */

#include "sched/pollux/guard.h"

static bitstr_t *guarded; /* NULL: none; by slurmctld's lock on nodes */

void pollux_guard_forget(void)
{
	FREE_NULL_BITMAP(guarded);
}

bool pollux_guard_any(void)
{
	return guarded != NULL;
}

bool pollux_guard_has(int n)
{
	return guarded && n < bit_size(guarded) && bit_test(guarded, n);
}

/* Nodes may have been configured anew, and the bitmap with them. */
static bool _fits(bitstr_t *nodes)
{
	return nodes && bit_size(nodes) == bit_size(share_node_bitmap);
}

static bool _is_shared(int n)
{
	const node_record_t *node = node_record_table_ptr[n];

	return node && node->no_share_job_cnt == 0;
}

static void _lower(void)
{
	if (_fits(guarded))
		bit_and_not(share_node_bitmap, guarded);
}

/* As Slurm does when the last job ends that shares with nobody. */
static void _lift(void)
{
	if (!_fits(guarded))
		return;
	for (int n = pollux_slurm_first_node(guarded); n < node_record_count;
	     n = pollux_slurm_node_after(guarded, n)) {
		if (_is_shared(n))
			bit_set(share_node_bitmap, n);
	}
}

void pollux_guard_set(bitstr_t *nodes)
{
	_lift();
	FREE_NULL_BITMAP(guarded);
	if (_fits(nodes) && bit_ffs(nodes) >= 0)
		guarded = bit_copy(nodes);
	_lower();
}

bool pollux_guard_holds(bitstr_t *nodes)
{
	if (!_fits(nodes) || bit_ffs(nodes) < 0)
		return !guarded;
	return _fits(guarded) && bit_equal(guarded, nodes) &&
	       !bit_overlap_any(guarded, share_node_bitmap);
}

int pollux_guard_select(job_record_t *job, uint32_t scheduler)
{
	int rc = SLURM_ERROR;

	_lift();
	rc = pollux_slurm_select_nodes(job, scheduler);
	_lower();
	return rc;
}

void pollux_guard_filter(bitstr_t *nodes)
{
	bitstr_t *shared = bit_copy(share_node_bitmap);

	if (_fits(guarded)) {
		for (int n = pollux_slurm_first_node(guarded);
		     n < node_record_count;
		     n = pollux_slurm_node_after(guarded, n)) {
			if (_is_shared(n))
				bit_set(shared, n);
		}
	}
	bit_and(nodes, shared);
	FREE_NULL_BITMAP(shared);
}
