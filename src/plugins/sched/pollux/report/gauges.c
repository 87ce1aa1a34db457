/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gauges.c - how the cluster does, as the last cycle found it */

#include <math.h>
#include <stdlib.h>

#include "common/slurm_compat.h"
#include "core/model/finish_time.h"
#include "core/problem/objective.h"
#include "sched/pollux/plan/sick_nodes.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/report/count.h"
#include "sched/pollux/report/gauges.h"
#include "sched/pollux/job_state.h"

/* Finish-time fairness of jobs that tell what they have left. */
struct told {
	int count;
	double sum;
	double worst;
};

static void _nodes(const struct pollux_snapshot *snapshot, const int *reserved,
		   struct plx_gauges *now)
{
	for (int n = 0; n < snapshot->node_count; n++) {
		const struct pollux_node *node = &snapshot->nodes[n];

		if (!node->usable || !node->gpus)
			continue;
		now->nodes++;
		now->gpus += node->gpus;
		now->gpus_idle += node->left.gpus;
		now->gpus_reserved += MAX(MIN(reserved[n], node->left.gpus), 0);
		for (int j = 0; j < snapshot->job_count; j++)
			now->gpus_elastic += snapshot->jobs[j].gpus[n];
	}
	now->gpus_rigid =
		MAX(now->gpus - now->gpus_idle - now->gpus_elastic, 0);
}

/* GPUs that elastic jobs share, and the most of a node. */
static int _shared_gpus(const struct plx_problem *problem, int *largest)
{
	int gpus = 0;

	*largest = 1;
	for (int n = 0; n < problem->node_count; n++) {
		gpus += problem->gpus[n];
		*largest = MAX(*largest, problem->gpus_total[n]);
	}
	return gpus;
}

static void _finish(const struct pollux_job *job, const struct plx_job *planned,
		    const struct plx_due *due, int largest, double goodput,
		    struct told *told)
{
	const struct plx_hint *hint = &job->status.hint;
	struct plx_shape shape = {
		.nodes = (due->gpus + largest - 1) / largest,
		.gpus = due->gpus,
	};
	struct plx_halfway halfway = {
		.since_s = (double) job->here_s,
		.progress = hint->progress,
		.samples_left = hint->samples_left,
		.goodput = goodput,
	};
	double ratio;

	if (!job->status.has_hint ||
	    !plx_batch_best(&planned->goodput, shape, NULL,
			    &halfway.goodput_due))
		return;
	ratio = plx_finish_expected(&halfway, due);
	if (ratio <= 0)
		return;
	told->count++;
	told->sum += ratio;
	told->worst = fmax(told->worst, ratio);
}

static void _values(const struct pollux_snapshot *snapshot,
		    const struct plx_problem *problem, struct plx_gauges *now)
{
	double sum = now->gpus_rigid; /* each as useful as one GPU can be */
	int largest;
	int shared = _shared_gpus(problem, &largest);
	struct told told = { 0 };

	now->speedup_min = INFINITY;
	for (int j = 0; j < snapshot->job_count; j++) {
		const struct plx_job *job = &problem->jobs[j];
		struct plx_yardstick fair = plx_fair_share(problem, job);
		struct plx_shape shape = plx_shape_on(
			job->now, problem->node_count, problem->switches);
		double speedup = plx_speedup(job, &fair, shape);
		struct plx_due due = plx_due_of(shared, snapshot->job_count,
						&job->goodput.limits);

		sum += plx_speedup_alone(job, shape);
		now->jobs_parked += shape.gpus == 0;
		if (!job->profiled)
			continue;
		now->jobs_profiled++;
		now->speedup_mean += speedup;
		now->speedup_min = fmin(now->speedup_min, speedup);
		_finish(&snapshot->jobs[j], job, &due, largest,
			speedup * fair.goodput, &told);
	}
	now->speedup_mean /= MAX(now->jobs_profiled, 1);
	now->finish_mean = told.sum / MAX(told.count, 1);
	now->finish_worst = told.worst;
	now->speedup_min = now->jobs_profiled ? now->speedup_min : 0;
	now->utility = now->gpus ? sum / now->gpus : 0;
}

static int _by_size(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static void _pauses(const struct pollux_snapshot *snapshot,
		    struct plx_gauges *now)
{
	double *medians = xcalloc(snapshot->job_count + 1, sizeof(*medians));
	int count = 0;

	for (int j = 0; j < snapshot->job_count; j++) {
		const struct plx_status *status = &snapshot->jobs[j].status;

		if (status->resizes <= 0)
			continue;
		medians[count++] = status->pause_s[0];
		now->pause_worst_s =
			fmax(now->pause_worst_s, status->pause_s[1]);
	}
	qsort(medians, (size_t) count, sizeof(*medians), _by_size);
	if (count)
		now->pause_median_s = medians[count / 2];
	xfree(medians);
}

void pollux_gauges(const struct pollux_snapshot *snapshot,
		   const struct plx_problem *problem,
		   const struct plx_plan *plan, const int *reserved)
{
	struct plx_gauges now = {
		.jobs = snapshot->job_count,
		.jobs_waiting = snapshot->waiting_count,
		.fitness = plan->fitness_now,
		.fitness_best = plan->fitness,
		.nodes_sick = pollux_sick_count(pollux_now_s()),
	};
	const struct pollux_job_state *state = NULL;

	for (int i = 0; (state = pollux_job_state_at(i)); i++)
		now.jobs_busy += state->phase != POLLUX_IDLE;
	_nodes(snapshot, reserved, &now);
	_values(snapshot, problem, &now);
	_pauses(snapshot, &now);
	pollux_count_gauges(&now);
}
