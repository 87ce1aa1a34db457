/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmds.c - nodes whose slurmd is older, or not heard yet */

#include "sched/pollux/rules/slurmds.h"

/* After its start slurmctld has all nodes register within seconds. */
#define REGISTER_S 120

/* Of a backup slurmctld: since it has taken over. */
static time_t began;

void pollux_slurmds_begin(void)
{
	began = time(NULL);
}

bool pollux_slurmds_unheard(const node_record_t *node)
{
	return IS_NODE_NO_RESPOND(node) || IS_NODE_UNKNOWN(node);
}

bool pollux_slurmds_settled(void)
{
	return time(NULL) >= began + REGISTER_S;
}

/* Slurm does not save it. A slurmd that was started with -b has no up_time. */
bool pollux_slurmds_registered(const node_record_t *node)
{
	return node->slurmd_start_time != 0;
}

bool pollux_slurmds_awaited(const node_record_t *node)
{
	return !pollux_slurmds_registered(node) && !IS_NODE_DOWN(node) &&
	       !pollux_slurmds_settled();
}

/* What was heard last of nodes that are away or asleep means nothing. */
static bool _is_there(int n)
{
	return bit_test(avail_node_bitmap, n) &&
	       !bit_test(power_node_bitmap, n) &&
	       !bit_test(booting_node_bitmap, n);
}

uint16_t pollux_slurmds_spoken(const job_record_t *job)
{
	const node_record_t *node = NULL;

	/* One that was put back into the queue may have it of its last run. */
	if (!IS_JOB_PENDING(job) && job->batch_host)
		node = find_node_record(job->batch_host);
	return node ? node->protocol_version : 0;
}

/* The first of these nodes, from n on, that is older. */
static int _older(bitstr_t *nodes, int n, uint16_t protocol)
{
	while (n < node_record_count &&
	       (node_record_table_ptr[n]->protocol_version >= protocol ||
		!_is_there(n)))
		n = pollux_slurm_node_after(nodes, n);
	return n;
}

bool pollux_slurmds_differ(void)
{
	uint16_t first = 0;

	for (int n = pollux_slurm_first_node(avail_node_bitmap);
	     n < node_record_count;
	     n = pollux_slurm_node_after(avail_node_bitmap, n)) {
		uint16_t protocol = node_record_table_ptr[n]->protocol_version;

		if (!_is_there(n))
			continue;
		if (first && protocol != first)
			return true;
		first = protocol;
	}
	return false;
}

void pollux_slurmds_filter(const job_record_t *job, bitstr_t *nodes)
{
	uint16_t protocol = pollux_slurmds_spoken(job);

	for (int n = _older(nodes, pollux_slurm_first_node(nodes), protocol);
	     n < node_record_count;
	     n = _older(nodes, pollux_slurm_node_after(nodes, n), protocol))
		bit_clear(nodes, n);
}

bool pollux_slurmds_older(const job_record_t *job)
{
	bitstr_t *nodes = job->node_bitmap;

	return nodes && _older(nodes, pollux_slurm_first_node(nodes),
			       pollux_slurmds_spoken(job)) < node_record_count;
}

uint16_t pollux_slurmds_protocol(bitstr_t *nodes, uint16_t most)
{
	for (int n = pollux_slurm_first_node(nodes); n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n))
		most = MIN(most, node_record_table_ptr[n]->protocol_version);
	return most;
}
