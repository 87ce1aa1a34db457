/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moldable_jobs.c - moldable jobs that wait for their start, or run */

#include <string.h>

#include "common/node_gpus.h"
#include "core/base/section.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/snapshot/snapshot_fill.h"
#include "sched/pollux/snapshot/moldable_jobs.h"
#include "sched/pollux/snapshot/cpu_limits.h"
#include "sched/pollux/snapshot/moldable_refusals.h"
#include "sched/pollux/snapshot/queue_reason.h"
#include "sched/pollux/record.h"
#include "sched/pollux/rules/job_limits.h"
#include "sched/pollux/job_state.h"

/* A start so far ahead is not looked out for: other things happen before. */
#define SOON_S 120

/* What is done with all jobs in a queue; the rest is for few of them. */
static bool _may_be_due(const job_record_t *job)
{
	return IS_JOB_PENDING(job) && !IS_JOB_COMPLETING(job) &&
	       job->priority && job->batch_flag && job->details &&
	       job->part_ptr && job->spank_job_env_size;
}

/* Its time has come: we know before Slurm, which has looked too early. */
static bool _is_its_time(const job_record_t *job)
{
	return job->state_reason == WAIT_TIME &&
	       !(job->details->depend_list &&
		 list_count(job->details->depend_list));
}

/*
 * slurmd refuses a start from the second in which its last run was ended, and
 * Slurm ends a job for good then. It was submitted anew after that.
 */
static bool _has_just_run(const job_record_t *job, time_t now)
{
	return job->restart_cnt && now <= job->details->submit_time;
}

bool pollux_moldable_waits(const job_record_t *job, time_t now)
{
	const struct pollux_job_state *state = NULL;

	if (!_may_be_due(job) || job->details->begin_time > now ||
	    _has_just_run(job, now) || job->het_job_id || job->resv_name ||
	    job->fed_details || job->burst_buffer || job->array_recs ||
	    (job->details->req_nodes && job->details->req_nodes[0]))
		return false;
	if (!_is_its_time(job) && !pollux_waits_for_nodes(job, now))
		return false;
	state = pollux_job_state_find(job->job_id);
	return !(state && state->phase == POLLUX_MOVING) &&
	       !pollux_moldable_is_slurms(job->job_id) &&
	       pollux_record_is_moldable(job);
}

void pollux_moldable_begins(const job_record_t *job,
			    struct pollux_snapshot *snapshot)
{
	double begins_s = 0;

	if (!_may_be_due(job) || job->details->begin_time <= snapshot->now ||
	    job->details->begin_time > snapshot->now + SOON_S ||
	    !pollux_record_is_moldable(job))
		return;
	begins_s = (double) job->details->begin_time;
	if (!snapshot->begins_s || begins_s < snapshot->begins_s)
		snapshot->begins_s = begins_s;
}

/* Whoever writes nothing but the time of a checkpoint makes no mistake. */
void pollux_moldable_status(const job_record_t *record, struct pollux_job *job)
{
	char fields[PLX_FIELDS_MAX];
	struct plx_error err = { .text = "" };
	double now_s = (double) time(NULL);
	double saved = 0;
	bool told = false;

	memset(&job->status, 0, sizeof(job->status));
	job->status.launcher = PLX_WAKE_NONE;
	job->saved_s = -1;
	job->complaint[0] = '\0';
	if (!plx_section_get(record->comment, fields, sizeof(fields)))
		return;
	told = plx_field_doubles(fields, "saved", 1, now_s, &saved, 1, NULL) ==
	       1;
	if (told && saved >= (double) record->start_time)
		job->saved_s = now_s - saved;
	if (plx_status_read(record->comment, &job->status, &err) < 1) {
		memset(&job->status, 0, sizeof(job->status));
		if (told)
			err.text[0] = '\0';
	}
	job->status.launcher = PLX_WAKE_NONE;
	snprintf(job->complaint, sizeof(job->complaint), "%s", err.text);
}

static void _fill(const job_record_t *record, struct pollux_rules *rules,
		  struct pollux_snapshot *snapshot, int i)
{
	struct pollux_job *job = pollux_snapshot_next(snapshot);
	bitstr_t *allowed = NULL;
	struct pollux_job_options asked;

	memset(job, 0, sizeof(*job));
	if (!pollux_job_options(record, &asked))
		return;
	job->options = asked.options;
	job->id = record->job_id;
	job->uid = record->user_id;
	job->batch_host = -1;
	pollux_snapshot_node_range(record, &asked, job);
	job->priority = snapshot->waiting[i].priority;
	job->ends_s = snapshot->waiting[i].seconds;
	pollux_moldable_status(record, job);
	job->saved_s = -1;
	if (plx_target_read(record->system_comment, &job->target, NULL) < 0)
		memset(&job->target, 0, sizeof(job->target));
	job->capped = true;
	job->most_gpus = pollux_moldable_most(job->id);
	pollux_snapshot_needs(record, job);
	job->cpu_limit = pollux_cpu_limit_of(snapshot, record->part_ptr);
	job->unreserved = -1;
	pollux_job_limits_node(snapshot, record, job);
	allowed = pollux_nodes_waited(rules, record, record->part_ptr);
	pollux_snapshot_kind(snapshot, record, rules, allowed, job);
	job->allowed_count = bit_set_count(allowed);
	for (int n = 0;
	     snapshot->waiting[i].whole_nodes && n < snapshot->node_count;
	     n++) {
		if (bit_test(allowed, n))
			job->whole_gpus =
				MAX(job->whole_gpus, snapshot->nodes[n].gpus);
	}
	job->allowed_set = pollux_snapshot_set(snapshot, allowed);
	job->required_set = -1;
	snapshot->waiting[i].moldable =
		snapshot->job_count + snapshot->moldable_count++;
}

/* Where it is known already, from another of its partitions. */
static int _seen(const struct pollux_snapshot *snapshot, uint32_t id)
{
	for (int j = snapshot->job_count;
	     j < snapshot->job_count + snapshot->moldable_count; j++) {
		if (snapshot->jobs[j].id == id)
			return j;
	}
	return -1;
}

void pollux_moldable_jobs_fill(struct pollux_snapshot *snapshot,
			       struct pollux_rules *rules)
{
	for (int i = 0; i < snapshot->waiting_count; i++) {
		const job_record_t *record = NULL;

		snapshot->waiting[i].moldable =
			_seen(snapshot, snapshot->waiting[i].id);
		if (snapshot->waiting[i].moldable >= 0)
			continue;
		record = find_job_record(snapshot->waiting[i].id);
		if (record && pollux_moldable_waits(record, snapshot->now))
			_fill(record, rules, snapshot, i);
	}
}
