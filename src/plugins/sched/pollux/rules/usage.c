/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage.c - where Slurm counts what a job uses */

#include <string.h>

#include "sched/pollux/rules/usage.h"
#include "sched/pollux/rules/decay.h"

struct pollux_usage_copy {
	uint64_t *used;	  /* [counter * slurmctld_tres_cnt + i] */
	uint64_t *run_s;  /* the same */
	bitstr_t **nodes; /* [counter] */
};

static struct pollux_usage_counter *_add(struct pollux_usage_counters *counters)
{
	xrecalloc(counters->at, counters->count + 1, sizeof(*counters->at));
	return &counters->at[counters->count++];
}

static void _add_association(struct pollux_usage_counters *counters,
			     slurmdb_assoc_usage_t *usage)
{
	*_add(counters) = (struct pollux_usage_counter){
		.used = usage->grp_used_tres,
		.nodes = &usage->grp_node_bitmap,
		.node_jobs = usage->grp_node_job_cnt,
		.run_s = usage->grp_used_tres_run_secs,
		.spent = usage->usage_tres_raw,
		.billed = &usage->usage_raw,
		.wall_s = &usage->grp_used_wall,
	};
}

static void _add_part(struct pollux_usage_counters *counters,
		      slurmdb_used_limits_t *part)
{
	*_add(counters) = (struct pollux_usage_counter){
		.used = part->tres,
		.nodes = &part->node_bitmap,
		.node_jobs = part->node_job_cnt,
	};
}

static void _add_qos(job_record_t *job, struct pollux_usage_counters *counters,
		     slurmdb_qos_rec_t *qos)
{
	slurmdb_qos_usage_t *usage = qos ? qos->usage : NULL;

	if (!usage)
		return;
	*_add(counters) = (struct pollux_usage_counter){
		.used = usage->grp_used_tres,
		.nodes = &usage->grp_node_bitmap,
		.node_jobs = usage->grp_node_job_cnt,
		.run_s = usage->grp_used_tres_run_secs,
		.spent = usage->usage_tres_raw,
		.billed = &usage->usage_raw,
		.wall_s = &usage->grp_used_wall,
	};
	_add_part(counters, acct_policy_get_user_used_limits(
				    &usage->user_limit_list, job->user_id));
	_add_part(counters,
		  acct_policy_get_acct_used_limits(&usage->acct_limit_list,
						   job->assoc_ptr->acct));
}

void pollux_usage_open(job_record_t *job,
		       struct pollux_usage_counters *counters)
{
	slurmdb_assoc_rec_t *assoc = job->assoc_ptr;
	slurmdb_qos_rec_t *first = NULL;
	slurmdb_qos_rec_t *second = NULL;

	*counters = (struct pollux_usage_counters){ 0 };
	if (!assoc)
		return;
	for (; assoc; assoc = assoc->usage->parent_assoc_ptr)
		_add_association(counters, assoc->usage);
	acct_policy_set_qos_order(job, &first, &second);
	_add_qos(job, counters, first);
	_add_qos(job, counters, second);
}

void pollux_usage_release(struct pollux_usage_counters *counters)
{
	xfree(counters->at);
	counters->count = 0;
}

uint64_t pollux_usage_count(const uint64_t *counts, int i)
{
	if (!counts || i < 0 || i == TRES_ARRAY_ENERGY ||
	    counts[i] == NO_VAL64 || counts[i] == NO_CONSUME_VAL64)
		return 0;
	return counts[i];
}

uint64_t pollux_usage_unused_s(const job_record_t *job, time_t now)
{
	uint64_t limit_s = (uint64_t) job->time_limit * 60;
	uint64_t ends = (uint64_t) job->start_time + limit_s;
	time_t last = pollux_decay_last();

	/* It takes off what has passed when a job ends, and not before. */
	if (!xstrcmp(slurm_conf.priority_type, "priority/basic"))
		return limit_s;
	/* What has passed is taken off by the decay thread, now and then. */
	if (last && last <= now)
		now = MAX(last, job->start_time);
	if (ends <= (uint64_t) now)
		return 0;
	ends -= (uint64_t) now;
	if (job->qos_ptr && job->qos_ptr->usage_factor >= 0)
		ends = (uint64_t) ((double) ends * job->qos_ptr->usage_factor);
	return ends;
}

/* Nodes on which no other job of the counter runs. */
static void _uncount_nodes(const job_record_t *job,
			   struct pollux_usage_counter *counter)
{
	bitstr_t *nodes = bit_copy(*counter->nodes);

	for (int n = 0; n < node_record_count; n++) {
		if (bit_test(nodes, n) && bit_test(job->node_bitmap, n) &&
		    counter->node_jobs && counter->node_jobs[n] <= 1)
			bit_clear(nodes, n);
	}
	*counter->nodes = nodes;
	counter->used[TRES_ARRAY_NODE] = (uint64_t) bit_set_count(nodes);
}

static void _uncount(const job_record_t *job,
		     struct pollux_usage_counter *counter, uint64_t unused_s)
{
	for (int i = 0; i < slurmctld_tres_cnt; i++) {
		uint64_t had = pollux_usage_count(job->tres_alloc_cnt, i);

		if (i != TRES_ARRAY_NODE)
			counter->used[i] -= MIN(counter->used[i], had);
		if (counter->run_s)
			counter->run_s[i] -=
				MIN(counter->run_s[i], had * unused_s);
	}
	if (*counter->nodes && job->node_bitmap)
		_uncount_nodes(job, counter);
}

struct pollux_usage_copy *pollux_usage_uncount(
	job_record_t *job, struct pollux_usage_counters *counters)
{
	struct pollux_usage_copy *copy = xmalloc(sizeof(*copy));
	size_t size = sizeof(uint64_t) * (size_t) slurmctld_tres_cnt;
	uint64_t unused_s = pollux_usage_unused_s(job, time(NULL));

	copy->used = xcalloc(counters->count + 1, size);
	copy->run_s = xcalloc(counters->count + 1, size);
	copy->nodes = xcalloc(counters->count + 1, sizeof(*copy->nodes));
	for (int b = 0; b < counters->count; b++) {
		struct pollux_usage_counter *counter = &counters->at[b];

		memcpy(copy->used + b * slurmctld_tres_cnt, counter->used,
		       size);
		if (counter->run_s)
			memcpy(copy->run_s + b * slurmctld_tres_cnt,
			       counter->run_s, size);
		copy->nodes[b] = *counter->nodes;
		_uncount(job, counter, unused_s);
	}
	return copy;
}

void pollux_usage_recount(struct pollux_usage_counters *counters,
			  struct pollux_usage_copy *copy)
{
	size_t size = sizeof(uint64_t) * (size_t) slurmctld_tres_cnt;

	for (int b = 0; b < counters->count; b++) {
		struct pollux_usage_counter *counter = &counters->at[b];

		memcpy(counter->used, copy->used + b * slurmctld_tres_cnt,
		       size);
		if (counter->run_s)
			memcpy(counter->run_s,
			       copy->run_s + b * slurmctld_tres_cnt, size);
		if (*counter->nodes != copy->nodes[b])
			FREE_NULL_BITMAP(*counter->nodes);
		*counter->nodes = copy->nodes[b];
	}
	xfree(copy->used);
	xfree(copy->run_s);
	xfree(copy->nodes);
	xfree(copy);
}
