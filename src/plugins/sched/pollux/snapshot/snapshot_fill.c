/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot_fill.c - how a snapshot has its jobs, nodes and types of GPU */

#include <stdio.h>
#include <string.h>

#include "common/node_gpus.h"
#include "sched/pollux/kept_types.h"
#include "sched/pollux/snapshot/snapshot_fill.h"
#include "sched/pollux/rules/switches.h"

/* Nodes that some jobs may use. */
struct pollux_set {
	bitstr_t *bits;
	int count; /* those of others soon differ in one of these */
	int first;
	int last;
	bool *nodes; /* [node_count] the same */
};

/* While slurmctld gathers its nodes each job has a set of its own. */
static bool _same(const struct pollux_set *a, const struct pollux_set *b)
{
	return a->count == b->count && a->first == b->first &&
	       a->last == b->last && bit_equal(a->bits, b->bits);
}

const bool *pollux_snapshot_set(struct pollux_snapshot *snapshot,
				bitstr_t *bits)
{
	const struct pollux_set wanted = {
		.bits = bits,
		.count = bit_set_count(bits),
		.first = (int) bit_ffs(bits),
		.last = (int) bit_fls(bits),
	};
	struct pollux_set *set = NULL;

	for (int i = 0; i < snapshot->set_count; i++) {
		set = &snapshot->sets[i];
		if (_same(set, &wanted)) {
			FREE_NULL_BITMAP(bits);
			return set->nodes;
		}
	}
	xrecalloc(snapshot->sets, snapshot->set_count + 1,
		  sizeof(*snapshot->sets));
	set = &snapshot->sets[snapshot->set_count++];
	*set = wanted;
	set->nodes = xcalloc(snapshot->node_count + 1, sizeof(*set->nodes));
	for (int n = 0; n < snapshot->node_count; n++)
		set->nodes[n] = bit_test(bits, n);
	return set->nodes;
}

void pollux_snapshot_sets_release(struct pollux_snapshot *snapshot)
{
	for (int i = 0; i < snapshot->set_count; i++) {
		FREE_NULL_BITMAP(snapshot->sets[i].bits);
		xfree(snapshot->sets[i].nodes);
	}
	xfree(snapshot->sets);
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

static int _kind(struct pollux_snapshot *snapshot, const char *types,
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
	job->kind = types[0] ? _kind(snapshot, types, rules) : -1;
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
static void _make_room(struct pollux_snapshot *snapshot, int count)
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

void pollux_snapshot_expect(struct pollux_snapshot *snapshot, int count)
{
	snapshot->jobs = idle.jobs;
	snapshot->job_size = idle.size;
	idle.jobs = NULL;
	idle.size = 0;
	_make_room(snapshot, count);
}

struct pollux_job *pollux_snapshot_next(struct pollux_snapshot *snapshot)
{
	int count = snapshot->job_count + snapshot->moldable_count;

	_make_room(snapshot, count + 1);
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
