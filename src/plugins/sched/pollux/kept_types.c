/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept_types.c - the types of GPUs that a job keeps to */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/pollux/job_options.h"
#include "sched/pollux/kept_types.h"

#define TYPES_MAX 64

/* Names, each once; they are the nodes'. */
struct names {
	const char *at[TYPES_MAX];
	int count;
	bool many; /* more than that, or one that is no word */
};

static void _add(struct names *names, const char *name)
{
	if (!name || !name[0])
		name = POLLUX_NO_TYPE;
	for (int i = 0; i < names->count; i++) {
		if (!strcmp(names->at[i], name))
			return;
	}
	if (names->count == TYPES_MAX || !plx_types_valid(name))
		names->many = true;
	else
		names->at[names->count++] = name;
}

/* All that a node has. */
static void _add_node(struct names *names, const gres_node_state_t *gpus)
{
	for (int t = 0; t < gpus->type_cnt; t++)
		_add(names, gpus->type_name[t]);
	if (pollux_node_count(gpus, POLLUX_NO_TYPE) > 0)
		_add(names, NULL);
}

/* What a job has of a node, by one entry of its list. */
static void _add_held(struct names *names, const gres_job_state_t *entry,
		      uint32_t offset, const gres_node_state_t *gpus)
{
	bitstr_t *bits =
		entry->gres_bit_alloc ? entry->gres_bit_alloc[offset] : NULL;

	if (bits && gpus->gres_bit_alloc) {
		for (int i = 0; i < bit_size(bits); i++) {
			if (bit_test(bits, i))
				_add(names, pollux_node_device_type(gpus, i));
		}
		return;
	}
	if (!entry->gres_cnt_node_alloc || !entry->gres_cnt_node_alloc[offset])
		return;
	if (entry->type_name)
		_add(names, entry->type_name);
	else
		_add_node(names, gpus);
}

static void _add_entry(struct names *names, const job_record_t *job,
		       const gres_job_state_t *entry)
{
	bitstr_t *nodes = job->job_resrcs->node_bitmap;
	uint32_t offset = 0;

	for (int n = pollux_slurm_next_bit(nodes, 0, node_record_count);
	     n < node_record_count && offset < entry->node_cnt;
	     n = pollux_slurm_next_bit(nodes, n + 1, node_record_count)) {
		const gres_node_state_t *gpus = NULL;

		if (node_record_table_ptr[n])
			gpus = pollux_node_gpus(node_record_table_ptr[n]);
		if (gpus)
			_add_held(names, entry, offset, gpus);
		offset++;
	}
}

static void _add_job(struct names *names, const job_record_t *job)
{
	uint32_t gpu = pollux_gpu_id();
	ListIterator iter = NULL;
	gres_state_t *state = NULL;

	if (!job->gres_list_alloc || !job->job_resrcs ||
	    !job->job_resrcs->node_bitmap)
		return;
	iter = list_iterator_create(job->gres_list_alloc);
	while ((state = list_next(iter))) {
		if (state->plugin_id == gpu)
			_add_entry(names, job, state->gres_data);
	}
	list_iterator_destroy(iter);
}

static int _by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* In the order of their names, so that the same types are the same text. */
static void _write(struct names *names, char types[PLX_TYPES_SIZE])
{
	size_t used = 0;

	types[0] = '\0';
	if (names->many)
		return;
	qsort(names->at, (size_t) names->count, sizeof(names->at[0]), _by_name);
	for (int i = 0; i < names->count; i++) {
		int length = snprintf(types + used, PLX_TYPES_SIZE - used,
				      "%s%s", i ? "," : "", names->at[i]);

		used += (size_t) length;
		if (used >= PLX_TYPES_SIZE) {
			types[0] = '\0';
			return;
		}
	}
}

/* It runs, asks for no type, and wants no mixture. */
static bool _keeps(const job_record_t *job, char types[PLX_TYPES_SIZE])
{
	struct pollux_job_options asked;

	pollux_job_gpu_type(job, types);
	return !types[0] && pollux_job_options(job, &asked) &&
	       !asked.options.mix;
}

/* What it had when it gave up its last GPU. */
static void _last_types(const job_record_t *job, char types[PLX_TYPES_SIZE])
{
	struct plx_target target;

	if (job->system_comment &&
	    plx_target_read(job->system_comment, &target, NULL) == 1)
		memcpy(types, target.types, sizeof(target.types));
}

void pollux_kept_types(const job_record_t *job, char types[PLX_TYPES_SIZE])
{
	struct names names = { .count = 0 };

	if (!_keeps(job, types) || IS_JOB_PENDING(job))
		return;
	_add_job(&names, job);
	if (names.count || names.many)
		_write(&names, types);
	else
		_last_types(job, types);
}

bool pollux_types_open(const job_record_t *job)
{
	struct names names = { .count = 0 };
	char types[PLX_TYPES_SIZE];

	if (!_keeps(job, types))
		return false;
	if (IS_JOB_PENDING(job))
		return true;
	_add_job(&names, job);
	if (names.count || names.many)
		return false;
	_last_types(job, types);
	return !types[0];
}

void pollux_types_best(bitstr_t *nodes, char types[PLX_TYPES_SIZE])
{
	struct names names = { .count = 0 };
	const char *best = NULL;
	int best_free = 0;
	int best_all = 0;

	for (int n = 0; n < node_record_count; n++) {
		if (bit_test(nodes, n) && node_record_table_ptr[n] &&
		    pollux_node_gpus(node_record_table_ptr[n]))
			_add_node(&names,
				  pollux_node_gpus(node_record_table_ptr[n]));
	}
	qsort(names.at, (size_t) names.count, sizeof(names.at[0]), _by_name);
	for (int i = 0; i < names.count; i++) {
		int free = 0;
		int all = 0;

		for (int n = 0; n < node_record_count; n++) {
			const gres_node_state_t *gpus = NULL;

			if (!bit_test(nodes, n) || !node_record_table_ptr[n])
				continue;
			gpus = pollux_node_gpus(node_record_table_ptr[n]);
			free += pollux_node_free(gpus, names.at[i]);
			all += pollux_node_count(gpus, names.at[i]);
		}
		if (best && (free < best_free ||
			     (free == best_free && all <= best_all)))
			continue;
		best = names.at[i];
		best_free = free;
		best_all = all;
	}
	names.count = best != NULL;
	names.at[0] = best;
	_write(&names, types);
}

void pollux_types_filter(bitstr_t *nodes, const char *types)
{
	if (!types[0])
		return;
	for (int n = pollux_slurm_first_node(nodes); n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n)) {
		const node_record_t *node = node_record_table_ptr[n];

		if (node && !pollux_node_count(pollux_node_gpus(node), types))
			bit_clear(nodes, n);
	}
}
