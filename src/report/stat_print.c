/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stat_print.c - the numbers of sched/pollux, for people (stat.h) */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/stat.h"
#include "report/text.h"

#define STATE_WIDTH    9
#define DURATION_MAX_S 1e10

static double value(const struct plx_stat *stat, const char *name)
{
	return plx_stat_value(stat, name, "");
}

static void print_times(const struct plx_stat *stat, const char *name,
			const char *labels, FILE *out)
{
	double most = plx_stat_quantile(stat, name, labels, 1);

	fprintf(out, "half below %.3g ms, 99 %% below %.3g ms, longest %.3g ms",
		1e3 * plx_stat_quantile(stat, name, labels, 0.5),
		1e3 * plx_stat_quantile(stat, name, labels, 0.99), 1e3 * most);
}

/* "7 grow, 1 shrink": all samples of a name, by their label. */
static void print_kinds(const struct plx_stat *stat, const char *name,
			FILE *out)
{
	const char *comma = "";

	for (size_t i = 0; i < stat->count; i++) {
		const struct plx_stat_sample *sample = &stat->samples[i];
		const char *quote = strchr(sample->labels, '"');

		if (strcmp(sample->name, name) != 0 || !quote)
			continue;
		fprintf(out, "%s%.0f %.*s", comma, sample->value,
			(int) strcspn(quote + 1, "\""), quote + 1);
		comma = ", ";
	}
}

static void print_locks(const struct plx_stat *stat, FILE *out)
{
	for (size_t i = 0; i < stat->count; i++) {
		const struct plx_stat_sample *sample = &stat->samples[i];
		const char *quote = strchr(sample->labels, '"');
		char labels[100];

		if (strcmp(sample->name, "lock_held_seconds_count") != 0 ||
		    !quote)
			continue;
		snprintf(labels, sizeof(labels), "%s,", sample->labels);
		fprintf(out, "lock      %.*s: %.0f times, ",
			(int) strcspn(quote + 1, "\""), quote + 1,
			sample->value);
		print_times(stat, "lock_held_seconds", labels, out);
		putc('\n', out);
	}
}

static void print_work(const struct plx_stat *stat, FILE *out)
{
	fprintf(out, "cycles    %.0f, ", value(stat, "cycle_seconds_count"));
	print_times(stat, "cycle_seconds", "", out);
	fprintf(out, "; %.0f made no plan\n",
		value(stat, "cycles_skipped_total"));
	print_locks(stat, out);
	fprintf(out, "resizes   %.0f asked; ", value(stat, "asked_total"));
	print_kinds(stat, "resizes_total", out);
	fprintf(out, "; whole jobs: %.0f moved, %.0f put into the queue",
		value(stat, "moved_total"), value(stat, "evicted_total"));
	fputs("\nrefused   ", out);
	print_kinds(stat, "refusals_total", out);
	fprintf(out,
		"\nfaults    %.0f not answered in time, steps killed %.0f "
		"times, %.0f hints not believed; ranks failed %.0f times "
		"where they were new\n",
		value(stat, "overdue_total"), value(stat, "kills_total"),
		value(stat, "hints_dropped_total"),
		value(stat, "ranks_failed_total"));
	if (value(stat, "nodes_sick") > 0)
		fprintf(out,
			"sick      %.0f nodes are closed to elastic jobs, see "
			"slurmctld's log\n",
			value(stat, "nodes_sick"));
	fprintf(out, "pauses    %.3g s in the middle, %.3g s the worst\n",
		value(stat, "pause_median_seconds"),
		value(stat, "pause_worst_seconds"));
}

static void print_state(const struct plx_stat *stat, FILE *out)
{
	double mean = value(stat, "speedup_mean");

	fputs("GPUs      ", out);
	print_kinds(stat, "gpus", out);
	fprintf(out, "; %.0f kept back for jobs that wait\n",
		value(stat, "gpus_reserved"));
	fprintf(out,
		"jobs      %.0f elastic, of these %.0f parked, %.0f being "
		"resized, %.0f measured; %.0f wait\n",
		value(stat, "jobs"), value(stat, "jobs_parked"),
		value(stat, "jobs_resizing"), value(stat, "jobs_profiled"),
		value(stat, "jobs_waiting"));
	fprintf(out,
		"speedup   %.3g mean, %.3g the worst off; fitness %.3g, "
		"planned %.3g; utility %.3g\n",
		mean, value(stat, "speedup_min"), value(stat, "fitness"),
		value(stat, "fitness_planned"), value(stat, "utility_ratio"));
	fprintf(out,
		"fairness  %.3g the worst off by the mean; finish-time "
		"fairness %.3g mean, %.3g the worst\n",
		mean > 0 ? value(stat, "speedup_min") / mean : 0,
		value(stat, "finish_time_fairness_mean"),
		value(stat, "finish_time_fairness_worst"));
	fprintf(out, "nodes     %.0f with GPUs", value(stat, "nodes"));
	if (value(stat, "nodes_wanted") > 0)
		fprintf(out, ", %.0f wanted", value(stat, "nodes_wanted"));
	putc('\n', out);
}

/* The file's times may be anything. */
static const char *duration(double from_s, double to_s, char *text, size_t size)
{
	double seconds = fmin(fmax(to_s - from_s, 0), DURATION_MAX_S);

	return plx_text_duration((int64_t) seconds, text, size);
}

void plx_stat_print(const struct plx_stat *stat, double now_s, FILE *out)
{
	double start_s = value(stat, "start_time_seconds");
	double written_s = value(stat, "written_time_seconds");
	char counting[24];
	char ago[24];

	duration(start_s, written_s, counting, sizeof(counting));
	duration(written_s, now_s, ago, sizeof(ago));
	fprintf(out, "sched/pollux has counted for %s, last told %s ago\n",
		counting, ago);
	print_work(stat, out);
	print_state(stat, out);
}

static bool is_told(const struct plx_view_job *job)
{
	return job->elastic && job->running;
}

void plx_stat_jobs(const struct plx_view *view, FILE *out)
{
	fprintf(out, "%7s  %4s  %-*s  %7s  %s\n", "JOB", "GPUS", STATE_WIDTH,
		"STATE", "SPEEDUP", "WHY");
	for (size_t i = 0; i < view->count; i++) {
		const struct plx_view_job *job = &view->jobs[i];
		char why[PLX_WHY_SIZE];
		char speedup[16] = "-";

		if (!is_told(job))
			continue;
		if (job->target.speedup > 0)
			snprintf(speedup, sizeof(speedup), "%.2f",
				 job->target.speedup);
		fprintf(out, "%7s  %4d  %-*s  %7s  %s\n", job->id, job->gpus,
			STATE_WIDTH,
			job->told ? plx_phase_name(job->status.phase)
				  : "unheard",
			speedup,
			plx_text_clean(job->target.why, why, sizeof(why)));
	}
}

json_t *plx_stat_jobs_json(const struct plx_view *view)
{
	json_t *out = json_array();

	for (size_t i = 0; i < view->count; i++) {
		const struct plx_view_job *job = &view->jobs[i];
		char why[PLX_WHY_SIZE];

		if (!is_told(job))
			continue;
		json_array_append_new(
			out,
			json_pack("{s:s, s:i, s:s, s:f, s:s}", "job", job->id,
				  "gpus", job->gpus, "state",
				  job->told ? plx_phase_name(job->status.phase)
					    : "unheard",
				  "speedup", job->target.speedup, "why",
				  plx_text_clean(job->target.why, why,
						 sizeof(why))));
	}
	return out;
}
