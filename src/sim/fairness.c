/* SPDX-License-Identifier: MIT */
/* fairness.c - was a job better off than with its share of the cluster? */

#include "core/model/finish_time.h"
#include "sim/fairness.h"

/* Time-average of the jobs that were there while this one was. */
static double contention(const struct plx_run_result *run_result, int i)
{
	const struct plx_job_result *mine = &run_result->job_results[i];
	double from_s = mine->entry->submit_s;
	double shared_s = 0;

	for (int k = 0; k < run_result->workload->count; k++) {
		const struct plx_job_result *other =
			&run_result->job_results[k];
		double begin_s = other->entry->submit_s;
		double end_s = other->finish_s;

		begin_s = begin_s > from_s ? begin_s : from_s;
		end_s = end_s < mine->finish_s ? end_s : mine->finish_s;
		if (end_s > begin_s)
			shared_s += end_s - begin_s;
	}
	/* A job that took no time had no company. */
	return shared_s > 0 ? shared_s / (mine->finish_s - from_s) : 1;
}

int plx_judge_fairness(const struct plx_setting *setting,
		       const struct plx_simjob *job,
		       struct plx_run_result *run_result, struct plx_error *err)
{
	struct plx_job_result *job_result =
		&run_result->job_results[job->index];
	double nodes = setting->scaling.max_nodes
			       ? run_result->node_s / run_result->end_s
			       : setting->node_count;
	struct plx_due due = plx_due_of(nodes * setting->node_gpus,
					contention(run_result, job->index),
					&job->app->limits.batch);
	double alone_s = 0;

	if (run_result->policy->adaptive && job->fixed_batch)
		due.gpus = 1;
	if (plx_simjob_alone(job, due.gpus, setting->node_gpus,
			     plx_setting_restart_s(setting, job->app), &alone_s,
			     err) < 0)
		return -1;
	job_result->alone_s = alone_s / due.part;
	job_result->fairness = plx_finish_fairness(
		job_result->finish_s - job_result->entry->submit_s, alone_s,
		&due);
	return 0;
}
