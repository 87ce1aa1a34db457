/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_parts.c - GPUs of which jobs have parts: shards, or MPS */

#include "common/node_gpus.h"
#include "common/node_parts.h"

static bool _is_part(const gres_state_t *state)
{
	char shard[] = "shard";
	char mps[] = "mps";

	return state->plugin_id == gres_build_id(shard) ||
	       state->plugin_id == gres_build_id(mps);
}

/* GPUs of which the node knows that jobs have parts; NULL: it has no parts. */
static bitstr_t *_known(const node_record_t *node)
{
	const gres_node_state_t *gpus = node ? pollux_node_gpus(node) : NULL;
	const gres_node_state_t *parts =
		gpus ? pollux_slurm_shared(gpus) : NULL;

	return parts ? parts->gres_bit_alloc : NULL;
}

static bool _entry(const job_record_t *job, const gres_job_state_t *entry,
		   bool mend)
{
	bitstr_t *nodes = job->job_resrcs->node_bitmap;
	uint32_t offset = 0;
	bool lost = false;

	for (int n = pollux_slurm_next_bit(nodes, 0, node_record_count);
	     entry->gres_bit_alloc && n < node_record_count &&
	     offset < entry->node_cnt;
	     n = pollux_slurm_next_bit(nodes, n + 1, node_record_count)) {
		bitstr_t *known = NULL;
		bitstr_t *has = NULL;

		known = _known(node_record_table_ptr[n]);
		has = entry->gres_bit_alloc[offset++];
		if (!known || !has || bit_size(known) != bit_size(has) ||
		    bit_super_set(has, known))
			continue;
		lost = true;
		if (mend)
			bit_or(known, has);
	}
	return lost;
}

static bool _look(const job_record_t *job, bool mend)
{
	ListIterator iter = NULL;
	gres_state_t *state = NULL;
	bool lost = false;

	if (!(IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) ||
	    !job->gres_list_alloc || !job->job_resrcs ||
	    !job->job_resrcs->node_bitmap)
		return false;
	iter = list_iterator_create(job->gres_list_alloc);
	while ((state = list_next(iter)))
		lost = (_is_part(state) &&
			_entry(job, state->gres_data, mend)) ||
		       lost;
	list_iterator_destroy(iter);
	return lost;
}

bool pollux_parts_lost(const job_record_t *job)
{
	return _look(job, false);
}

void pollux_parts_mend(const job_record_t *job)
{
	(void) _look(job, true);
}

/* Does the site give out parts of GPUs at all? */
static bool _are_shared(void)
{
	return xstrcasestr(slurm_conf.gres_plugins, "shard") ||
	       xstrcasestr(slurm_conf.gres_plugins, "mps");
}

static int _mend(void *x, void *arg)
{
	(void) arg;
	pollux_parts_mend(x);
	return 0;
}

void pollux_parts_mend_all(void)
{
	if (job_list && _are_shared())
		list_for_each_ro(job_list, _mend, NULL);
}
