/* SPDX-License-Identifier: GPL-2.0-or-later */
/* first_row.c - see first_row.h */

#include "sched/pollux/acct/acct_messages.h"
#include "sched/pollux/acct/first_row.h"
#include "sched/pollux/locks.h"

static struct {
	pthread_mutex_t mutex;
	struct first_row {
		uint32_t job_id;
		uint64_t number;
		time_t end;
		char *tres_alloc;
		bool ended;
	} * at;
	int count;
	int size;
} rows = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void _remove(int i)
{
	xfree(rows.at[i].tres_alloc);
	rows.at[i] = rows.at[--rows.count];
}

void pollux_first_row_keep(const job_record_t *job, uint64_t number)
{
	if (!number || !job->tres_alloc_str)
		return;
	slurm_mutex_lock(&rows.mutex);
	if (rows.count == rows.size) {
		rows.size = rows.size ? 2 * rows.size : 64;
		xrecalloc(rows.at, rows.size, sizeof(rows.at[0]));
	}
	rows.at[rows.count++] = (struct first_row){
		.job_id = job->job_id,
		.number = number,
		.end = job->resize_time,
		.tres_alloc = xstrdup(job->tres_alloc_str),
	};
	slurm_mutex_unlock(&rows.mutex);
}

void pollux_first_row_ended(uint32_t job_id)
{
	slurm_mutex_lock(&rows.mutex);
	for (int i = 0; i < rows.count; i++)
		rows.at[i].ended |= rows.at[i].job_id == job_id;
	slurm_mutex_unlock(&rows.mutex);
}

/* Slurm spoils the row before this, and not again. */
static bool _is_over(const job_record_t *job)
{
	return !IS_JOB_RUNNING(job) && !IS_JOB_SUSPENDED(job) &&
	       !IS_JOB_COMPLETING(job) &&
	       (!job->step_list || list_count(job->step_list) == 0);
}

/* Is there nothing more to be done about it? */
static bool _is_done(const struct first_row *row)
{
	const job_record_t *job = find_job_record(row->job_id);

	if (job && !_is_over(job))
		return false;
	if (job)
		pollux_report_end(job, row->number, row->end, row->tres_alloc);
	return true;
}

static bool _any_ended(void)
{
	bool any = false;

	slurm_mutex_lock(&rows.mutex);
	for (int i = 0; i < rows.count && !any; i++)
		any = rows.at[i].ended;
	slurm_mutex_unlock(&rows.mutex);
	return any;
}

/* Slurm's lock comes first, as in a resize. */
void pollux_first_row_mend(void)
{
	if (!_any_ended())
		return;
	pollux_lock(POLLUX_JUDGE);
	slurm_mutex_lock(&rows.mutex);
	for (int i = rows.count - 1; i >= 0; i--) {
		if (rows.at[i].ended && _is_done(&rows.at[i]))
			_remove(i);
	}
	slurm_mutex_unlock(&rows.mutex);
	pollux_unlock(POLLUX_JUDGE);
}

void pollux_first_row_free(void)
{
	slurm_mutex_lock(&rows.mutex);
	while (rows.count > 0)
		_remove(rows.count - 1);
	xfree(rows.at);
	rows.size = 0;
	slurm_mutex_unlock(&rows.mutex);
}
