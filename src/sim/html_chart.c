/* SPDX-License-Identifier: MIT */
/* html_chart.c - lines that compare policies: completion, and over time */

#include <math.h>
#include <stdlib.h>

#include "chart/plot.h"
#include "sim/html_chart.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum { LINE_POINTS = 180, LINE_HEIGHT = 150, JCT_HEIGHT = 150 };

static void figure(FILE *out, const char *title, const char *note)
{
	fprintf(out, "<figure><figcaption><b>%s</b> %s</figcaption>\n", title,
		note);
}

double plx_chart_end_s(const struct plx_results *results, int workload)
{
	double end_s = 0;

	for (int p = 0; p < results->policy_count; p++)
		end_s = fmax(end_s,
			     plx_results_of(results, p, workload)->end_s);
	return end_s;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Completion times, rising; the caller's to free. NULL: no memory. */
static double *sorted_times(const struct plx_run_result *run_result)
{
	int count = run_result->workload->count;
	double *times = calloc((size_t) count, sizeof(*times));

	for (int i = 0; times && i < count; i++)
		times[i] = run_result->job_results[i].finish_s -
			   run_result->job_results[i].entry->submit_s;
	if (times)
		qsort(times, (size_t) count, sizeof(*times), by_value);
	return times;
}

/* Steps up by a job each time. */
static void draw_jct(const struct plx_plot *plot, const double *times,
		     int count, int policy)
{
	fprintf(plot->out, "<path class=\"line p%d\" d=\"M%.1f %.1f",
		policy % PLX_POLICY_COLOURS, plx_plot_x(plot, plot->x.low),
		plx_plot_y(plot, 0));
	for (int i = 0; i < count; i++)
		fprintf(plot->out, "H%.1fV%.1f", plx_plot_x(plot, times[i]),
			plx_plot_y(plot, (i + 1.0) / count));
	fprintf(plot->out, "H%.1f\"/>\n", plx_plot_x(plot, plot->x.high));
}

int plx_chart_jct(const struct plx_results *results, int workload, FILE *out,
		  struct plx_error *err)
{
	int jobs = plx_results_of(results, 0, workload)->workload->count;
	double **times =
		calloc((size_t) results->policy_count, sizeof(double *));
	struct plx_plot plot;
	double low = INFINITY;
	double high = 0;
	int rc = -1;

	for (int p = 0; times && p < results->policy_count; p++) {
		times[p] = sorted_times(plx_results_of(results, p, workload));
		if (!times[p])
			goto done;
		low = fmin(low, times[p][0]);
		high = fmax(high, times[p][jobs - 1]);
	}
	if (!times)
		goto done;
	figure(out, "Completion times",
	       "share of jobs that took at most so long, from submission");
	plot = plx_plot_begin(out, JCT_HEIGHT,
			      "Distribution of completion "
			      "times by policy");
	low = fmax(low / 1.2, 1);
	plot.x = (struct plx_axis){ low, fmax(high * 1.2, low * 10),
				    PLX_UNIT_LOG_TIME, "completion time" };
	plot.y = (struct plx_axis){ 0, 1, PLX_UNIT_PERCENT, "jobs done" };
	plx_plot_frame(&plot);
	for (int p = 0; p < results->policy_count; p++)
		draw_jct(&plot, times[p], jobs, p);
	plx_plot_end(&plot);
	fprintf(out, "</figure>\n");
	rc = 0;
done:
	for (int p = 0; times && p < results->policy_count; p++)
		free(times[p]);
	free(times);
	return rc < 0 ? plx_fail(err, "no memory for %d jobs", jobs) : 0;
}

/* What can be seen over time; NAN: nothing to be seen then. */
static double goodput(const struct plx_tick *tick)
{
	return tick->useful_s / tick->seconds;
}

static double efficiency(const struct plx_tick *tick)
{
	return tick->trained_s > 0 ? tick->efficiency_s / tick->trained_s : NAN;
}

static double busy(const struct plx_tick *tick)
{
	return tick->gpu_s / tick->seconds;
}

static double active(const struct plx_tick *tick)
{
	return tick->active_s / tick->seconds;
}

static double waiting(const struct plx_tick *tick)
{
	return tick->waiting_s / tick->seconds;
}

static double nodes(const struct plx_tick *tick)
{
	return tick->node_s / tick->seconds;
}

static const struct series {
	const char *title, *note, *label;
	enum plx_unit unit;
	double (*value)(const struct plx_tick *tick);
	bool scaling;  /* only where the cluster changes its size */
	bool all_gpus; /* the axis ends there */
} all_series[] = {
	/* clang-format off */
	{ "Cluster goodput", "progress, as that of so many GPUs each alone at "
	  "its job's base batch", "GPUs' worth", PLX_UNIT_COUNT, goodput,
	  false, false },
	{ "Statistical efficiency", "what a sample is worth at the batch sizes "
	  "in use, to one at the base batch", "efficiency", PLX_UNIT_PERCENT,
	  efficiency, false, false },
	{ "GPUs in use", "restarts included", "GPUs", PLX_UNIT_COUNT, busy,
	  false, true },
	{ "Jobs", "submitted and not done", "jobs", PLX_UNIT_COUNT, active,
	  false, false },
	{ "Queue", "of these without a GPU", "jobs", PLX_UNIT_COUNT, waiting,
	  false, false },
	{ "Nodes", "paid for", "nodes", PLX_UNIT_COUNT, nodes, true, false },
	/* clang-format on */
};

/* Parts of a timeline put together, so that there are not too many. */
static struct plx_tick merged(const struct plx_sim_timeline *timeline,
			      int first, int count)
{
	struct plx_tick sum = { 0 };

	for (int i = first; i < first + count && i < timeline->tick_count; i++)
		plx_tick_sum(&sum, &timeline->ticks[i]);
	return sum;
}

static int merge_count(const struct plx_sim_timeline *timeline)
{
	return (timeline->tick_count - 1) / LINE_POINTS + 1;
}

static double peak(const struct plx_results *results, int workload,
		   const struct series *series)
{
	double most = 0;

	for (int p = 0; p < results->policy_count; p++) {
		const struct plx_sim_timeline *timeline =
			&plx_results_of(results, p, workload)->timeline;
		int step = merge_count(timeline);

		for (int i = 0; i < timeline->tick_count; i += step) {
			struct plx_tick tick = merged(timeline, i, step);

			most = fmax(most, series->value(&tick));
		}
	}
	return most;
}

static void draw_line(const struct plx_plot *plot,
		      const struct plx_sim_timeline *timeline,
		      const struct series *series, int policy)
{
	int step = merge_count(timeline);
	double at_s = 0;
	bool down = false; /* the pen */

	fprintf(plot->out, "<path class=\"line p%d\" d=\"",
		policy % PLX_POLICY_COLOURS);
	for (int i = 0; i < timeline->tick_count; i += step) {
		struct plx_tick tick = merged(timeline, i, step);
		double value = series->value(&tick);

		if (isfinite(value))
			fprintf(plot->out, "%s%.1f %.1f", down ? " " : "M",
				plx_plot_x(plot, at_s + tick.seconds / 2),
				plx_plot_y(plot, value));
		down = isfinite(value);
		at_s += tick.seconds;
	}
	fprintf(plot->out, "\"/>\n");
}

static void chart_series(const struct plx_results *results, int workload,
			 const struct series *series, FILE *out)
{
	double most = series->all_gpus ? results->gpus
				       : peak(results, workload, series);
	struct plx_plot plot;

	figure(out, series->title, series->note);
	plot = plx_plot_begin(out, LINE_HEIGHT, series->title);
	plot.x = plx_axis_time(plx_chart_end_s(results, workload));
	plot.y = (struct plx_axis){ 0, plx_plot_end_for(most), series->unit,
				    series->label };
	if (series->unit == PLX_UNIT_PERCENT)
		plot.y.high = 1;
	else if (series->all_gpus)
		plot.y.high = most;
	plx_plot_frame(&plot);
	for (int p = 0; p < results->policy_count; p++)
		draw_line(&plot,
			  &plx_results_of(results, p, workload)->timeline,
			  series, p);
	plx_plot_end(&plot);
	fprintf(out, "</figure>\n");
}

void plx_chart_lines(const struct plx_results *results, int workload, FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_series); i++) {
		if (!all_series[i].scaling || results->scales)
			chart_series(results, workload, &all_series[i], out);
	}
}
