/* SPDX-License-Identifier: MIT */
/* summary.c - a simulated workload in a few numbers */

#include <math.h>
#include <stdlib.h>

#include "sim/summary.h"

double plx_quantile(const double *sorted, int count, double part)
{
	double at = part * (count - 1);
	int i = (int) at;

	if (count == 0)
		return 0;
	if (i + 1 >= count)
		return sorted[count - 1];
	return sorted[i] + (sorted[i + 1] - sorted[i]) * (at - i);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* What adds up over jobs. */
struct sums {
	double jct_s;
	double gpu_s, trained_s, efficiency_s, useful_s;
};

static void add(const struct plx_job_result *job_result, struct sums *sums,
		struct plx_summary *to)
{
	sums->jct_s += job_result->finish_s - job_result->entry->submit_s;
	sums->gpu_s += job_result->gpu_s;
	sums->trained_s += job_result->trained_s;
	sums->efficiency_s += job_result->efficiency_s;
	sums->useful_s += job_result->useful_s;
	to->restarts += job_result->restarts;
	to->makespan_s = fmax(to->makespan_s, job_result->finish_s);
	to->worst_ftf = fmax(to->worst_ftf, job_result->fairness);
	to->unfair_jobs += job_result->fairness > 1 ? 1 : 0;
}

int plx_summarize(const struct plx_run_result *run_result,
		  struct plx_summary *summary, struct plx_error *err)
{
	int count = run_result->workload->count;
	double *times = calloc((size_t) count, sizeof(*times));
	struct sums sums = { 0 };
	struct plx_summary made = {
		.name = run_result->workload->name,
		.jobs = count,
		.decisions = run_result->decision_count,
		.wall_s = run_result->wall_s,
		.node_hours = run_result->node_s / 3600,
		.mean_nodes = run_result->node_s / run_result->end_s,
	};

	if (!times)
		return plx_fail(err, "no memory for %d jobs", count);
	for (int i = 0; i < count; i++) {
		times[i] = run_result->job_results[i].finish_s -
			   run_result->job_results[i].entry->submit_s;
		add(&run_result->job_results[i], &sums, &made);
	}
	qsort(times, (size_t) count, sizeof(*times), by_value);
	made.unfair_jobs /= count;
	made.avg_jct_s = sums.jct_s / count;
	made.p50_jct_s = plx_quantile(times, count, 0.5);
	made.p99_jct_s = plx_quantile(times, count, 0.99);
	made.gpu_hours = sums.gpu_s / 3600;
	if (sums.trained_s > 0)
		made.avg_efficiency = sums.efficiency_s / sums.trained_s;
	if (sums.gpu_s > 0)
		made.avg_goodput_ratio = sums.useful_s / sums.gpu_s;
	made.decision_p50_ms =
		1e3 * plx_quantile(run_result->decisions_s,
				   run_result->decision_count, 0.5);
	made.decision_p99_ms =
		1e3 * plx_quantile(run_result->decisions_s,
				   run_result->decision_count, 0.99);
	*summary = made;
	free(times);
	return 0;
}
