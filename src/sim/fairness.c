/* SPDX-License-Identifier: MIT */
/* fairness.c - was a job better off than with its share of the cluster? */

#include "core/model/finish_time.h"
#include "sim/fairness.h"

/* Time-average of the jobs that were there while this one was. */
static double contention(const struct plx_story *story, int i)
{
	const struct plx_fate *mine = &story->fates[i];
	double from_s = mine->entry->submit_s;
	double shared_s = 0;

	for (int k = 0; k < story->workload->count; k++) {
		const struct plx_fate *other = &story->fates[k];
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
		       const struct plx_simjob *job, struct plx_story *story,
		       struct plx_error *err)
{
	struct plx_fate *fate = &story->fates[job->index];
	double nodes = setting->scaling.max_nodes ? story->node_s / story->end_s
						  : setting->node_count;
	struct plx_due due = plx_due_of(nodes * setting->node_gpus,
					contention(story, job->index),
					&job->app->limits.batch);
	double alone_s = 0;

	if (story->policy->adaptive && job->fixed_batch)
		due.gpus = 1;
	if (plx_simjob_alone(job, due.gpus, setting->node_gpus,
			     plx_setting_restart_s(setting, job->app), &alone_s,
			     err) < 0)
		return -1;
	fate->alone_s = alone_s / due.part;
	fate->fairness = plx_finish_fairness(
		fate->finish_s - fate->entry->submit_s, alone_s, &due);
	return 0;
}
