/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target_shape.c - which nodes a job that was asked is to have */

#include <string.h>

#include "core/records/refusal.h"
#include "sched/pollux/kept_types.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/target_shape.h"

static int _batch_host(const job_record_t *job)
{
	node_record_t *node = find_node_record(job->batch_host);

	return node ? (int) node->index : -1;
}

static void _add_without_gpus(struct pollux_shape *shape, int at)
{
	if (bit_test(shape->nodes, at))
		return;
	if (shape->gpus && !shape->counts) {
		shape->counts = xcalloc(node_record_count, sizeof(int));
		for (int n = pollux_slurm_first_node(shape->nodes);
		     n < node_record_count;
		     n = pollux_slurm_node_after(shape->nodes, n))
			shape->counts[n] = shape->gpus;
	}
	bit_set(shape->nodes, at);
}

bool pollux_target_shape_host(job_record_t *job,
			      const struct plx_status *status,
			      struct pollux_shape *shape)
{
	int batch_host = pollux_record_batch_host(job, status);
	int host = _batch_host(job);

	if (batch_host < 0 || host < 0)
		return false;
	_add_without_gpus(shape, batch_host);
	if (job->batch_flag)
		_add_without_gpus(shape, host);
	return true;
}

/* Has the job GPUs on that host, by one of its nodes? */
static bool _is_among(const int *held, const char *host)
{
	for (int n = 0; n < node_record_count; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		if (held[n] && node && !xstrcmp(node->node_hostname, host))
			return true;
	}
	return false;
}

bool pollux_target_shape_is_apart(const job_record_t *job,
				  const struct pollux_shape *shape)
{
	int *held = xcalloc(node_record_count, sizeof(*held));
	bool apart = true;

	pollux_record_gpus(job, held);
	for (int n = pollux_slurm_first_node(shape->nodes);
	     apart && n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n)) {
		const node_record_t *node = node_record_table_ptr[n];

		apart = !node || !pollux_shape_on(shape, n) ||
			!_is_among(held, node->node_hostname);
	}
	xfree(held);
	return apart;
}

/* Does the node have `gpus` of this type for this job? */
static bool _fits(const job_record_t *job, int n, int own, int gpus,
		  const char *type)
{
	const node_record_t *node = node_record_table_ptr[n];

	if (!node || !bit_test(job->part_ptr->node_bitmap, n) ||
	    (!bit_test(job->node_bitmap, n) && !bit_test(avail_node_bitmap, n)))
		return false;
	return pollux_node_free(pollux_node_gpus(node), type) + own >= gpus;
}

/* For a target whose nodes were forgotten: its batch host, its own, others. */
static int _choose_nodes(job_record_t *job, const struct plx_status *status,
			 const struct plx_target *target, bitstr_t *nodes,
			 struct plx_error *err)
{
	int *own = xcalloc(node_record_count, sizeof(*own));
	int batch_host = pollux_record_batch_host(job, status);
	int want = MAX(target->nodes, 1);
	int have = 0;
	char type[PLX_TYPES_SIZE];

	pollux_kept_types(job, type);
	pollux_record_gpus(job, own);
	for (int pass = 0; pass < 3; pass++) {
		for (int n = 0; n < node_record_count && have < want; n++) {
			bool is_own = bit_test(job->node_bitmap, n);

			if (bit_test(nodes, n) ||
			    (pass == 0 && n != batch_host) ||
			    (pass == 1 && !is_own))
				continue;
			if (!_fits(job, n, own[n], target->gpus_per_node, type))
				continue;
			bit_set(nodes, n);
			have++;
		}
	}
	xfree(own);
	return have == want ? 0
			    : plx_fail_as(err, PLX_REFUSED_RESOURCES,
					  "its GPUs are gone");
}

int pollux_target_shape_write(const struct pollux_shape *shape,
			      struct plx_target *target, char **names,
			      struct plx_error *err)
{
	int *counts = xcalloc(node_record_count, sizeof(*counts));
	bitstr_t *nodes = bit_copy(shape->nodes);
	pollux_hostlist_t hosts = NULL;
	char *text = NULL;
	char *name = NULL;
	int count = 0;
	int rc = 0;

	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n)) {
		if (shape->gpus && !pollux_shape_on(shape, n))
			bit_clear(nodes, n);
	}
	text = bitmap2node_name(nodes);
	hosts = hostlist_create(text);
	FREE_NULL_BITMAP(nodes);
	while ((name = hostlist_shift(hosts))) {
		const node_record_t *node = find_node_record(name);

		if (node)
			counts[count++] =
				pollux_shape_on(shape, (int) node->index);
		free(name);
	}
	hostlist_destroy(hosts);
	target->on[0] = '\0';
	if (strlen(text) < sizeof(target->on))
		strcpy(target->on, text);
	rc = plx_target_count(target, counts, count, err);
	xfree(counts);
	if (rc == 0)
		*names = text;
	else
		xfree(text);
	return rc;
}

int pollux_target_shape_read(const struct plx_target *target, char *names,
			     struct pollux_shape *shape, struct plx_error *err)
{
	pollux_hostlist_t hosts = NULL;
	char *name = NULL;

	*shape = (struct pollux_shape){ .gpus = target->gpus_per_node };
	if (pollux_slurm_nodes(names, &shape->nodes))
		return plx_fail_as(err, PLX_REFUSED_NODES,
				   "one of %s is not a node any more", names);
	if (!target->each[0])
		return 0;
	shape->counts = xcalloc(node_record_count, sizeof(*shape->counts));
	hosts = hostlist_create(names);
	for (int i = 0; (name = hostlist_shift(hosts)); i++) {
		const node_record_t *node = find_node_record(name);

		if (node)
			shape->counts[node->index] = plx_target_each(target, i);
		free(name);
	}
	hostlist_destroy(hosts);
	return 0;
}

int pollux_target_shape(job_record_t *job, const struct pollux_job_state *state,
			const struct plx_status *status,
			struct pollux_shape *shape, struct plx_error *err)
{
	if (state->want) {
		if (pollux_target_shape_read(&state->target, state->want, shape,
					     err) < 0)
			return -1;
	} else {
		*shape = (struct pollux_shape){
			.gpus = state->target.gpus_per_node,
			.nodes = bit_alloc(node_record_count),
		};
		if (_choose_nodes(job, status, &state->target, shape->nodes,
				  err) < 0)
			return -1;
	}
	if (!state->target.move &&
	    !pollux_target_shape_host(job, status, shape))
		return plx_fail_as(err, PLX_REFUSED_BATCH_HOST,
				   "its batch host is not known");
	return 0;
}

bool pollux_evicts(const struct plx_target *target)
{
	return target->move && plx_target_gpus(target) == 0;
}
