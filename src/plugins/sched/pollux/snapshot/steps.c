/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps.c - steps that ended without slurmctld's knowing */

#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/steps.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/rules/slurmds.h"

/* More than the second that slurmctld takes off when a node is told twice. */
#define STALE_S 2

/* Of a job's steps, in one hold of the lock. */
#define ENDED_MAX 256

/* No other step has this time: new ones have none, reported ones a later. */
static time_t _stale_time(void)
{
	return slurmctld_config.boot_time - STALE_S;
}

/* slurmctld sets the time anew when a node reports the step. */
static bool _is_stale(const step_record_t *step)
{
	return step->state == JOB_RUNNING && step->step_layout &&
	       step->step_node_bitmap &&
	       step->time_last_active == _stale_time() &&
	       step->step_id.step_id < SLURM_MAX_NORMAL_STEP_ID;
}

/*
 * All of its nodes have. Slurm ends a step when the last one says so itself,
 * but not when that one was lost (kill_step_on_node).
 */
static bool _has_left(const step_record_t *step)
{
	return step->state == JOB_RUNNING && step->exit_node_bitmap &&
	       step->step_node_bitmap &&
	       step->step_id.step_id < SLURM_MAX_NORMAL_STEP_ID &&
	       bit_set_count(step->exit_node_bitmap) ==
		       bit_size(step->exit_node_bitmap);
}

static bool _registered(const step_record_t *step)
{
	for (int n = 0; n < node_record_count; n++) {
		if (bit_test(step->step_node_bitmap, n) &&
		    (!node_record_table_ptr[n] ||
		     !pollux_slurmds_registered(node_record_table_ptr[n])))
			return false;
	}
	return true;
}

static void _end(const slurm_step_id_t *id, int nodes)
{
	step_complete_msg_t message = {
		.step_id = *id,
		.range_last = nodes - 1,
	};
	uint32_t code = 0;
	int rest = 0;

	pollux_info("sched/pollux: JobId=%u: step %u has ended unseen",
		    id->job_id, id->step_id);
	(void) step_partial_comp(&message, slurm_conf.slurm_user_id, true,
				 &rest, &code);
}

static bool _runs(const job_record_t *job)
{
	return job && job->step_list && job->job_resrcs && job->node_bitmap &&
	       IS_JOB_RUNNING(job) && !IS_JOB_COMPLETING(job);
}

bool pollux_steps_due(const job_record_t *job)
{
	ListIterator iter = NULL;
	step_record_t *step = NULL;
	bool due = false;

	if (!_runs(job))
		return false;
	iter = list_iterator_create(job->step_list);
	while (!due && (step = list_next(iter)))
		due = _is_stale(step) || _has_left(step);
	list_iterator_destroy(iter);
	return due;
}

void pollux_steps_mend(job_record_t *job)
{
	slurm_step_id_t *ids = NULL;
	ListIterator iter = NULL;
	step_record_t *step = NULL;
	int *nodes = NULL;
	int count = 0;

	if (!_runs(job))
		return;
	ids = xcalloc(ENDED_MAX, sizeof(*ids));
	nodes = xcalloc(ENDED_MAX, sizeof(*nodes));
	iter = list_iterator_create(job->step_list);
	while (count < ENDED_MAX && (step = list_next(iter))) {
		if (!_has_left(step) &&
		    (!_is_stale(step) || !_registered(step)))
			continue;
		ids[count] = step->step_id;
		nodes[count++] = bit_set_count(step->step_node_bitmap);
	}
	list_iterator_destroy(iter);
	/* Ending a step takes it off the list. */
	for (int i = 0; i < count; i++)
		_end(&ids[i], nodes[i]);
	xfree(ids);
	xfree(nodes);
}

static void _check(job_record_t *job)
{
	ListIterator iter = NULL;
	step_record_t *step = NULL;

	if (!_runs(job))
		return;
	iter = list_iterator_create(job->step_list);
	while ((step = list_next(iter))) {
		if (step->step_id.step_id < SLURM_MAX_NORMAL_STEP_ID)
			step->time_last_active = _stale_time();
	}
	list_iterator_destroy(iter);
}

void pollux_steps_started(void)
{
	pollux_record_each(_check);
}
