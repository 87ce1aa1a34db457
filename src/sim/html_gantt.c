/* SPDX-License-Identifier: MIT */
/* html_gantt.c - what a policy gave to whom: by application, and by job */

#include <math.h>
#include <stdlib.h>

#include "chart/plot.h"
#include "chart/web_page.h"
#include "sim/html_chart.h"

enum {
	BANDS = 240, /* points of time */
	BAND_HEIGHT = 150,
	APP_COLOURS = 8,
	GANTT_HEIGHT = 420, /* at most */
	GANTT_ROW = 12,	    /* at most */
};

static int app_index(const struct plx_results *results,
		     const struct plx_app *app)
{
	int a = 0;

	while (results->catalog->apps[a] != app)
		a++;
	return a;
}

/* Mean GPUs [apps][BANDS], then sums of all applications up to each. */
static void stack(const struct plx_results *results,
		  const struct plx_run_result *run_result, double width_s,
		  double *stacks)
{
	const struct plx_sim_timeline *timeline = &run_result->timeline;

	for (int i = 0; i < timeline->span_count; i++) {
		const struct plx_sim_span *span = &timeline->spans[i];
		const struct plx_workload_entry *entry =
			&run_result->workload->entries[span->job];
		double *row = stacks + app_index(results, entry->app) * BANDS;

		for (int b = (int) (span->begin_s / width_s);
		     b < BANDS && b * width_s < span->end_s; b++) {
			double from_s = fmax(b * width_s, span->begin_s);
			double to_s = fmin((b + 1) * width_s, span->end_s);

			row[b] += span->gpus * (to_s - from_s) / width_s;
		}
	}
	for (int a = 1; a < results->catalog->count; a++) {
		for (int b = 0; b < BANDS; b++)
			stacks[a * BANDS + b] += stacks[(a - 1) * BANDS + b];
	}
}

int plx_chart_bands(const struct plx_results *results, int policy, int workload,
		    FILE *out, struct plx_error *err)
{
	const struct plx_run_result *run_result =
		plx_results_of(results, policy, workload);
	double end_s = plx_chart_end_s(results, workload);
	int apps = results->catalog->count;
	double *stacks = calloc((size_t) apps * BANDS, sizeof(*stacks));
	char class[16];
	struct plx_plot plot;

	if (!stacks)
		return plx_fail(err, "no memory for %d applications", apps);
	stack(results, run_result, end_s / BANDS, stacks);
	fprintf(out,
		"<figure><figcaption><b>%s: GPUs by application</b>"
		"</figcaption>\n",
		run_result->policy->name);
	plot = plx_plot_begin(out, BAND_HEIGHT, "GPUs by application");
	plot.x = plx_axis_time(end_s);
	plot.y = (struct plx_axis){ 0, results->gpus, PLX_UNIT_COUNT, "GPUs" };
	plx_plot_frame(&plot);
	/* From the ground up to the sum: those above are painted before. */
	for (int a = apps - 1; a >= 0; a--) {
		snprintf(class, sizeof(class), "area a%d", a % APP_COLOURS);
		plx_plot_steps(&plot, class, stacks + a * BANDS, BANDS, true);
	}
	plx_plot_end(&plot);
	fprintf(out, "</figure>\n");
	free(stacks);
	return 0;
}

static void report_job(const struct plx_run_result *run_result, int job,
		       FILE *out)
{
	const struct plx_job_result *job_result = &run_result->job_results[job];

	fprintf(out, "<title>");
	plx_web_text(out, job_result->entry->name);
	fprintf(out, " (");
	plx_web_text(out, job_result->entry->app->name);
	fprintf(out,
		"): submitted %.2f h, waited %.0f s, took %.0f s, %d "
		"restarts, %.1f GPU hours, fairness %.2f</title>",
		job_result->entry->submit_s / 3600,
		job_result->start_s - job_result->entry->submit_s,
		job_result->finish_s - job_result->entry->submit_s,
		job_result->restarts, job_result->gpu_s / 3600,
		job_result->fairness);
}

/* A row: all its time thin, and thick where it had GPUs. */
static void draw_job(const struct plx_plot *plot,
		     const struct plx_run_result *run_result, const int *spans,
		     int job)
{
	const struct plx_sim_span *all = run_result->timeline.spans;
	const struct plx_job_result *job_result = &run_result->job_results[job];
	double y = plx_plot_y(plot, job + 0.5);

	fprintf(plot->out, "<g>");
	report_job(run_result, job, plot->out);
	fprintf(plot->out, "<path class=\"wait\" d=\"M%.1f %.1fH%.1f\"/>",
		plx_plot_x(plot, job_result->entry->submit_s), y,
		plx_plot_x(plot, job_result->finish_s));
	for (int i = spans[job]; i < spans[job + 1]; i++) {
		const struct plx_sim_span *span = &all[spans[i]];
		double x = plx_plot_x(plot, span->begin_s);
		double end = plx_plot_x(plot, span->end_s);

		/* One that nobody could see is not worth its bytes. */
		if (end - x >= 0.1)
			fprintf(plot->out,
				"<path class=\"g%d\" d=\"M%.1f %.1fH%.1f\"/>",
				plx_web_grade(span->gpus), x, y, end);
	}
	fprintf(plot->out, "</g>\n");
}

/*
 * Spans by job: those of job j are [from[j]] to [from[j + 1] - 1] of the same
 * array, which go on after the jobs. The caller's to free; NULL: no memory.
 */
static int *sort_spans(const struct plx_run_result *run_result)
{
	const struct plx_sim_timeline *timeline = &run_result->timeline;
	int jobs = run_result->workload->count;
	size_t size = (size_t) (jobs + 1 + timeline->span_count);
	int *from = calloc(size, sizeof(*from));
	int sum = jobs + 1;

	if (!from)
		return NULL;
	for (int i = 0; i < timeline->span_count; i++)
		from[timeline->spans[i].job]++;
	for (int j = 0; j <= jobs; j++) {
		sum += from[j];
		from[j] = sum;
	}
	for (int i = timeline->span_count - 1; i >= 0; i--)
		from[--from[timeline->spans[i].job]] = i;
	return from;
}

int plx_chart_gantt(const struct plx_results *results, int policy, int workload,
		    FILE *out, struct plx_error *err)
{
	const struct plx_run_result *run_result =
		plx_results_of(results, policy, workload);
	int jobs = run_result->workload->count;
	double row = fmin(GANTT_ROW, (double) GANTT_HEIGHT / jobs);
	int *spans = sort_spans(run_result);
	struct plx_plot plot;

	if (!spans)
		return plx_fail(err, "no memory for %d jobs", jobs);
	fprintf(out,
		"<figure><figcaption><b>%s: GPUs of each job</b> thin: "
		"waiting; point at a job to see its name</figcaption>\n",
		run_result->policy->name);
	plot = plx_plot_begin(out, row * jobs, "GPUs of each job over time");
	plot.x = plx_axis_time(plx_chart_end_s(results, workload));
	/* The first submitted is on top. */
	plot.y = (struct plx_axis){ jobs, 0, PLX_UNIT_COUNT,
				    "jobs as submitted" };
	plx_plot_frame(&plot);
	fprintf(out,
		"<g class=\"gantt\" stroke-width=\"%.2f\" "
		"style=\"--w:%.2f\">\n",
		fmax(row * 0.85, 0.5), fmin(row * 0.4, 1));
	for (int j = 0; j < jobs; j++)
		draw_job(&plot, run_result, spans, j);
	fprintf(out, "</g>\n");
	plx_plot_end(&plot);
	fprintf(out, "</figure>\n");
	free(spans);
	return 0;
}

void plx_chart_band_keys(const struct plx_results *results, FILE *out)
{
	fprintf(out, "<p class=\"keys\">Applications:\n");
	for (int a = 0; a < results->catalog->count; a++)
		plx_web_key(out, 'a', a % APP_COLOURS,
			    results->catalog->apps[a]->name);
	fprintf(out, "</p>\n");
}
