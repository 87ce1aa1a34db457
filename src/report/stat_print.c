/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stat_print.c - the numbers of sched/pollux, for people (stat.h) */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/records/metrics.h"
#include "report/stat.h"
#include "report/text.h"

#define STATE_WIDTH    9
#define DURATION_MAX_S 1e10

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

static void print_work(const struct plx_stat *stat, const struct plx_metrics *m,
		       FILE *out)
{
	fprintf(out, "cycles    %.0f, ",
		plx_stat_value(stat, "cycle_seconds_count", ""));
	print_times(stat, "cycle_seconds", "", out);
	fprintf(out, "; %" PRIu64 " made no plan\n", m->skipped);
	print_locks(stat, out);
	fprintf(out, "resizes   %" PRIu64 " asked; ", m->asked);
	print_kinds(stat, "resizes_total", out);
	fprintf(out,
		"; whole jobs: %" PRIu64 " moved, %" PRIu64
		" put into the queue",
		m->moved, m->evicted);
	fputs("\nrefused   ", out);
	print_kinds(stat, "refusals_total", out);
	fprintf(out,
		"\nfaults    %" PRIu64 " not answered in time, steps killed "
		"%" PRIu64 " times, %" PRIu64 " hints not believed; ranks "
		"failed %" PRIu64 " times where they were new\n",
		m->overdue, m->kills, m->hints_dropped, m->sick);
	if (m->now.nodes_sick > 0)
		fprintf(out,
			"sick      %d nodes are closed to elastic jobs, see "
			"slurmctld's log\n",
			m->now.nodes_sick);
	fprintf(out, "pauses    %.3g s in the middle, %.3g s the worst\n",
		m->now.pause_median_s, m->now.pause_worst_s);
}

static void print_state(const struct plx_stat *stat,
			const struct plx_gauges *now, FILE *out)
{
	fputs("GPUs      ", out);
	print_kinds(stat, "gpus", out);
	fprintf(out, "; %d kept back for jobs that wait\n", now->gpus_reserved);
	fprintf(out,
		"jobs      %d elastic, of these %d parked, %d being resized, "
		"%d measured; %d wait\n",
		now->jobs, now->jobs_parked, now->jobs_busy, now->jobs_profiled,
		now->jobs_waiting);
	fprintf(out,
		"speedup   %.3g mean, %.3g the worst off; fitness %.3g, "
		"planned %.3g; utility %.3g\n",
		now->speedup_mean, now->speedup_min, now->fitness,
		now->fitness_best, now->utility);
	fprintf(out,
		"fairness  %.3g the worst off by the mean; finish-time "
		"fairness %.3g mean, %.3g the worst\n",
		now->speedup_mean > 0 ? now->speedup_min / now->speedup_mean
				      : 0,
		now->finish_mean, now->finish_worst);
	fprintf(out, "nodes     %d with GPUs", now->nodes);
	if (now->nodes_wanted > 0)
		fprintf(out, ", %d wanted", now->nodes_wanted);
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
	struct plx_metrics metrics = { 0 };
	char counting[24];
	char ago[24];

	for (size_t i = 0; i < stat->count; i++)
		plx_metrics_take(&metrics, stat->samples[i].name,
				 stat->samples[i].labels,
				 stat->samples[i].value);
	duration(metrics.since_s, metrics.now_s, counting, sizeof(counting));
	duration(metrics.now_s, now_s, ago, sizeof(ago));
	fprintf(out, "sched/pollux has counted for %s, last told %s ago\n",
		counting, ago);
	print_work(stat, &metrics, out);
	print_state(stat, &metrics.now, out);
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
