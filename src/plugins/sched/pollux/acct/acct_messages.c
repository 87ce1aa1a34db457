/* SPDX-License-Identifier: GPL-2.0-or-later */
/* acct_messages.c - messages for slurmdbd, through Slurm's own queue */

#include <string.h>

#include "sched/pollux/acct/acct_messages.h"
#include "sched/pollux/fingerprint.h"

/* Requeueing forgets a resize, but Slurm does not: an old time is none. */
static bool _resized(const job_record_t *job)
{
	return job->resize_time && job->resize_time >= job->start_time;
}

time_t pollux_row_key(const job_record_t *job)
{
	return _resized(job) ? job->resize_time : job->details->submit_time;
}

bool pollux_row_numbered(const job_record_t *job)
{
	return job->db_index && job->db_index != NO_VAL64;
}

#define NODES                                                                  \
	",4=" /* TRES_NODE in "1=2,2=500,4=1": CPUs and memory are first */

bool pollux_row_has_begun(const job_record_t *job)
{
	return !IS_JOB_PENDING(job) || IS_JOB_COMPLETING(job);
}

bool pollux_row_is_over(const job_record_t *job)
{
	return IS_JOB_FINISHED(job) ||
	       (IS_JOB_PENDING(job) && IS_JOB_COMPLETING(job));
}

bool pollux_row_knows_tres(const job_record_t *job)
{
	return !IS_JOB_FINISHED(job) || !job->tres_alloc_str ||
	       strstr(job->tres_alloc_str, NODES);
}

void pollux_row_read(const job_record_t *job, struct pollux_row *row)
{
	bool resized = _resized(job);
	time_t eligible = job->details->begin_time;

	/* Slurm forgets that when a running job is held, and sacct the row. */
	if (pollux_row_has_begun(job) &&
	    (!eligible || eligible > job->start_time))
		eligible = job->start_time;
	*row = (struct pollux_row){
		.submit = pollux_row_key(job),
		.start = resized ? job->resize_time : job->start_time,
		.eligible = resized ? job->resize_time : eligible,
		.nodes = xstrdup(job->nodes),
		.tres_alloc = pollux_row_knows_tres(job)
				      ? xstrdup(job->tres_alloc_str)
				      : NULL,
		.tres_req = xstrdup(job->tres_req_str),
		.node_count = job->total_nodes,
		.cpus = job->details->min_cpus,
		.priority = job->priority,
		.memory = job->details->pn_min_memory,
	};
}

void pollux_row_free(struct pollux_row *row)
{
	xfree(row->nodes);
	xfree(row->tres_alloc);
	xfree(row->tres_req);
	memset(row, 0, sizeof(*row));
}

uint64_t pollux_row_fingerprint(const job_record_t *job)
{
	const uint64_t numbers[] = {
		job->priority, job->time_limit,
		job->qos_id,   job->assoc_id,
		job->resv_id,  (uint64_t) job->details->begin_time,
	};
	const char *const texts[] = { job->name, job->account, job->wckey,
				      job->tres_req_str };
	uint64_t fingerprint = pollux_fingerprint(0, numbers, sizeof(numbers));

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		fingerprint = pollux_fingerprint_text(fingerprint,
						      texts[i] ? texts[i] : "");
	return fingerprint;
}

/*
 * Slurm's plugin reads all it sends from a job record, and waits for the answer
 * when the job is resizing. So it gets a record in which nothing is: a job that
 * was submitted when the row began finds or makes the same row.
 */
void pollux_report_start(const job_record_t *job, const struct pollux_row *row)
{
	job_details_t details = *job->details;
	job_record_t copy = *job;

	copy.details = &details;
	copy.db_index = NO_VAL64;
	copy.job_state = JOB_RUNNING;
	copy.resize_time = 0;
	copy.start_time = row->start;
	copy.nodes = row->nodes;
	copy.tres_alloc_str = row->tres_alloc;
	copy.tres_req_str = row->tres_req;
	copy.total_nodes = row->node_count;
	copy.priority = row->priority;
	details.submit_time = row->submit;
	details.begin_time = row->eligible;
	details.min_cpus = row->cpus;
	details.pn_min_memory = row->memory;
	(void) jobacct_storage_g_job_start(acct_db_conn, &copy);
}

void pollux_report_end(const job_record_t *job, uint64_t number, time_t end,
		       const char *tres_alloc)
{
	job_record_t copy = *job;

	copy.db_index = number;
	copy.job_state = JOB_RUNNING | JOB_RESIZING;
	copy.resize_time = end;
	copy.tres_alloc_str = (char *) tres_alloc;
	/* With it, and as a job that has ended, it would be told as such. */
	copy.bit_flags &= ~TRES_STR_CALC;
	copy.derived_ec = 0;
	copy.exit_code = 0;
	copy.requid = (uid_t) -1;
	(void) jobacct_storage_g_job_complete(acct_db_conn, &copy);
}

void pollux_report_end_as(const job_record_t *job, uint64_t number, time_t end,
			  const slurmdb_job_rec_t *other)
{
	job_record_t copy = *job;

	copy.db_index = number;
	copy.job_state = other->state;
	copy.resize_time = copy.end_time = end;
	copy.tres_alloc_str = other->tres_alloc_str;
	copy.bit_flags &= ~TRES_STR_CALC;
	copy.derived_ec = other->derived_ec;
	copy.exit_code = other->exitcode;
	copy.requid = other->requid;
	(void) jobacct_storage_g_job_complete(acct_db_conn, &copy);
}
