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

static void add(const struct plx_fate *fate, struct sums *sums,
		struct plx_summary *to)
{
	sums->jct_s += fate->finish_s - fate->entry->submit_s;
	sums->gpu_s += fate->gpu_s;
	sums->trained_s += fate->trained_s;
	sums->efficiency_s += fate->efficiency_s;
	sums->useful_s += fate->useful_s;
	to->restarts += fate->restarts;
	to->makespan_s = fmax(to->makespan_s, fate->finish_s);
	to->worst_ftf = fmax(to->worst_ftf, fate->fairness);
	to->unfair_jobs += fate->fairness > 1 ? 1 : 0;
}

int plx_summarize(const struct plx_story *story, struct plx_summary *summary,
		  struct plx_error *err)
{
	int count = story->workload->count;
	double *times = calloc((size_t) count, sizeof(*times));
	struct sums sums = { 0 };
	struct plx_summary made = {
		.name = story->workload->name,
		.jobs = count,
		.decisions = story->decision_count,
		.wall_s = story->wall_s,
		.node_hours = story->node_s / 3600,
		.mean_nodes = story->node_s / story->end_s,
	};

	if (!times)
		return plx_fail(err, "no memory for %d jobs", count);
	for (int i = 0; i < count; i++) {
		times[i] = story->fates[i].finish_s -
			   story->fates[i].entry->submit_s;
		add(&story->fates[i], &sums, &made);
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
	made.decision_p50_ms = 1e3 * plx_quantile(story->decisions_s,
						  story->decision_count, 0.5);
	made.decision_p99_ms = 1e3 * plx_quantile(story->decisions_s,
						  story->decision_count, 0.99);
	*summary = made;
	free(times);
	return 0;
}
