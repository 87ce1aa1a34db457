/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lost.c - jobs that Slurm did not take back after a resize that failed */

#include "sched/pollux/resize/lost.h"
#include "sched/pollux/record.h"

static struct lost {
	uint32_t job_id;
	struct plx_error why;
} * lost; /* the thread's own */
static int lost_count;

void pollux_lost_note(const job_record_t *job, const struct plx_error *err)
{
	for (int i = 0; i < lost_count; i++) {
		if (lost[i].job_id == job->job_id)
			return;
	}
	xrecalloc(lost, lost_count + 1, sizeof(*lost));
	lost[lost_count++] =
		(struct lost){ .job_id = job->job_id, .why = *err };
}

static bool _requeue(job_record_t *job)
{
	return pollux_record_may_requeue(job) &&
	       pollux_slurm_requeue(job) == SLURM_SUCCESS;
}

/* Nobody starts there any more; the job itself goes on. */
static void _drain(job_record_t *job)
{
	char *reason = xstrdup_printf(
		"sched/pollux: GPUs of JobId=%u look free", job->job_id);

	drain_nodes(job->nodes, reason, slurm_conf.slurm_user_id);
	xfree(reason);
}

static void _end(job_record_t *job, const struct plx_error *why)
{
	bool requeued = _requeue(job);

	if (!requeued)
		_drain(job);
	error("sched/pollux: JobId=%u: %s: its GPUs look free, so %s %s",
	      job->job_id, why->text,
	      requeued ? "it is requeued, and leaves" : "nobody else starts on",
	      job->nodes);
}

void pollux_lost_end(void)
{
	for (int i = 0; i < lost_count; i++) {
		job_record_t *job = find_job_record(lost[i].job_id);

		if (job && IS_JOB_RUNNING(job) && !IS_JOB_COMPLETING(job))
			_end(job, &lost[i].why);
	}
	xfree(lost);
	lost_count = 0;
}
