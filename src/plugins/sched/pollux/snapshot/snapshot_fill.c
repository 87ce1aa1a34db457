/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot_fill.c - how a snapshot has its jobs, nodes and types of GPU */

#include <stdio.h>
#include <string.h>

#include "common/node_gpus.h"
#include "sched/pollux/kept_types.h"
#include "sched/pollux/snapshot/snapshot_fill.h"
#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/rules/switches.h"

/* That a job keeps for its script on the node where that runs. */
#define BATCH_HOST_CPUS 1

/* At least twice as many slots as sets; 0 is a free one. */
static void _make_slots(struct pollux_snapshot *snapshot)
{
	int count = MAX(2 * snapshot->set_slot_count, 64);

	if (2 * snapshot->set_count < snapshot->set_slot_count)
		return;
	xfree(snapshot->set_slots);
	snapshot->set_slots = xcalloc(count, sizeof(*snapshot->set_slots));
	snapshot->set_slot_count = count;
	xrecalloc(snapshot->sets, count / 2, sizeof(*snapshot->sets));
	for (int i = 0; i < snapshot->set_count; i++) {
		uint64_t slot = snapshot->sets[i].digest;

		while (snapshot->set_slots[slot & (uint64_t) (count - 1)])
			slot++;
		snapshot->set_slots[slot & (uint64_t) (count - 1)] = i + 1;
	}
}

/*
 * While some nodes take no jobs, and their jobs may stay there, there are about
 * as many sets as jobs.
 */
int pollux_snapshot_set(struct pollux_snapshot *snapshot, bitstr_t *bits)
{
	uint64_t digest = pollux_slurm_bits_digest(bits);
	uint64_t slot = digest;
	uint64_t mask = 0;
	int at = 0;

	_make_slots(snapshot);
	mask = (uint64_t) snapshot->set_slot_count - 1;
	while ((at = snapshot->set_slots[slot & mask])) {
		const struct pollux_set *set = &snapshot->sets[at - 1];

		if (set->digest == digest && bit_equal(set->bits, bits)) {
			FREE_NULL_BITMAP(bits);
			return at - 1;
		}
		slot++;
	}
	snapshot->sets[snapshot->set_count] =
		(struct pollux_set){ .bits = bits, .digest = digest };
	snapshot->set_slots[slot & mask] = ++snapshot->set_count;
	return snapshot->set_count - 1;
}

void pollux_snapshot_sets_fill(struct pollux_snapshot *snapshot)
{
	int count = snapshot->job_count + snapshot->moldable_count;

	for (int j = 0; j < count; j++) {
		struct pollux_job *job = &snapshot->jobs[j];

		job->allowed =
			pollux_snapshot_nodes(snapshot, job->allowed_set);
		job->required =
			pollux_snapshot_nodes(snapshot, job->required_set);
	}
}

void pollux_snapshot_sets_release(struct pollux_snapshot *snapshot)
{
	for (int i = 0; i < snapshot->set_count; i++) {
		bitstr_t *bits = snapshot->sets[i].bits;

		FREE_NULL_BITMAP(bits);
		xfree(snapshot->sets[i].nodes);
	}
	xfree(snapshot->sets);
	xfree(snapshot->set_slots);
}

void pollux_snapshot_needs(const job_record_t *record, struct pollux_job *job)
{
	struct pollux_needs needs = pollux_job_needs(record);

	job->per_gpu = (struct plx_resources){
		.gpus = 1,
		.cpus = needs.cpus,
		.memory = (double) needs.memory,
	};
	job->script = (struct plx_resources){
		.cpus = BATCH_HOST_CPUS,
		.memory = (double) (needs.memory + needs.node_memory),
	};
}

void pollux_snapshot_node_range(const job_record_t *record,
				const struct pollux_job_options *asked,
				struct pollux_job *job)
{
	const part_record_t *part = record->part_ptr;
	const slurmdb_qos_rec_t *qos = record->qos_ptr;
	uint32_t flags = qos ? qos->flags : 0;
	struct elastic_nodes nodes = asked->nodes;

	if (!(flags & QOS_FLAG_PART_MIN_NODE))
		nodes.min = MAX(nodes.min, part->min_nodes);
	if (!(flags & QOS_FLAG_PART_MAX_NODE) && part->max_nodes < NO_VAL &&
	    (!nodes.max || part->max_nodes < nodes.max))
		nodes.max = part->max_nodes;
	if (nodes.max)
		nodes.min = MIN(nodes.min, nodes.max);
	job->min_nodes = (int) MIN(nodes.min, INT32_MAX);
	job->max_nodes = (int) nodes.max;
	job->max_switches = pollux_switches_asked(record, asked);
}

int pollux_snapshot_types(struct pollux_snapshot *snapshot, const char *types,
			  const struct pollux_rules *rules)
{
	struct pollux_kind *kind = NULL;

	for (int i = 0; i < snapshot->kind_count; i++) {
		if (!xstrcmp(snapshot->kinds[i].type, types))
			return i;
	}
	xrecalloc(snapshot->kinds, snapshot->kind_count + 1,
		  sizeof(*snapshot->kinds));
	kind = &snapshot->kinds[snapshot->kind_count];
	snprintf(kind->type, sizeof(kind->type), "%s", types);
	kind->free = xcalloc(snapshot->node_count + 1, sizeof(*kind->free));
	kind->all = xcalloc(snapshot->node_count + 1, sizeof(*kind->all));
	for (int n = 0; n < snapshot->node_count; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		if (!node)
			continue;
		kind->all[n] = pollux_node_count(pollux_node_gpus(node), types);
		kind->mixed =
			kind->mixed || (kind->all[n] &&
					kind->all[n] < snapshot->nodes[n].gpus);
		if (pollux_node_open(rules, n))
			kind->free[n] =
				pollux_node_free(pollux_node_gpus(node), types);
	}
	return snapshot->kind_count++;
}

void pollux_snapshot_kind(struct pollux_snapshot *snapshot,
			  const job_record_t *record,
			  struct pollux_rules *rules, bitstr_t *allowed,
			  struct pollux_job *job)
{
	const char *measured = job->status.hint.type;
	char types[PLX_TYPES_SIZE];

	snprintf(types, sizeof(types), "%s",
		 pollux_rules_kept_types(rules, record));
	if (!types[0] && pollux_types_open(record)) {
		pollux_rules_best_type(rules, allowed, types);
		pollux_rules_of_types(rules, types, allowed);
	}
	job->kind =
		types[0] ? pollux_snapshot_types(snapshot, types, rules) : -1;
	/*
	 * Whoever says no type, or mixes them, is believed on all. Who has
	 * several names the one where its first rank is.
	 */
	job->unlike_model = job->status.has_hint && measured[0] && types[0] &&
			    !strchr(types, ',') && strcmp(measured, types) != 0;
}

/* Zeros, for the next snapshot: new memory would cost time under the lock. */
static struct {
	struct pollux_job *jobs;
	int size;
} idle;

/* There is memory for a power of two. */
static void _grow_jobs(struct pollux_snapshot *snapshot, int count)
{
	int before = snapshot->job_size;

	if (count <= before)
		return;
	snapshot->job_size = MAX(before, 1);
	while (snapshot->job_size < count)
		snapshot->job_size *= 2;
	xrecalloc(snapshot->jobs, snapshot->job_size, sizeof(*snapshot->jobs));
	memset(&snapshot->jobs[before], 0,
	       sizeof(*snapshot->jobs) *
		       (size_t) (snapshot->job_size - before));
}

void pollux_snapshot_jobs_forget(void)
{
	xfree(idle.jobs);
	idle.size = 0;
}

void pollux_snapshot_expect(struct pollux_snapshot *snapshot, int count)
{
	snapshot->jobs = idle.jobs;
	snapshot->job_size = idle.size;
	idle.jobs = NULL;
	idle.size = 0;
	_grow_jobs(snapshot, count);
}

struct pollux_job *pollux_snapshot_next(struct pollux_snapshot *snapshot)
{
	int count = snapshot->job_count + snapshot->moldable_count;

	_grow_jobs(snapshot, count + 1);
	return &snapshot->jobs[count];
}

void pollux_snapshot_jobs_release(struct pollux_snapshot *snapshot)
{
	int count = snapshot->job_count + snapshot->moldable_count;

	if (snapshot->job_size <= idle.size) {
		xfree(snapshot->jobs);
		return;
	}
	/* The one behind was looked at, perhaps, and found to be none. */
	memset(snapshot->jobs, 0,
	       sizeof(*snapshot->jobs) *
		       (size_t) MIN(count + 1, snapshot->job_size));
	xfree(idle.jobs);
	idle.jobs = snapshot->jobs;
	idle.size = snapshot->job_size;
	snapshot->jobs = NULL;
}
