/* SPDX-License-Identifier: MIT */
/* metrics.c - a scheduler's numbers as text for Prometheus, format 0.0.4 */

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/sheet.h"
#include "core/records/metrics.h"

#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define TEXT_SIZE 65536 /* several times what can be written */
#define COUNT_MAX 9e15	/* exact in a double */
#define DIGITS	  10

static const double bounds[PLX_BUCKETS] = {
	0.0001, 0.0003, 0.001, 0.002, 0.005, 0.01, 0.03,
	0.1,	0.3,	1,     3,     10,    30,   100,
};

static const char *const resize_names[] = {
	[PLX_RESIZE_GROW] = "grow", [PLX_RESIZE_SHRINK] = "shrink",
	[PLX_RESIZE_MOVE] = "move", [PLX_RESIZE_PARK] = "park",
	[PLX_RESIZE_WAKE] = "wake", [PLX_RESIZE_START] = "start",
};

enum type { COUNTER, GAUGE };

static const char *const type_names[] = {
	[COUNTER] = "counter",
	[GAUGE] = "gauge",
};

/* A number by itself. */
struct row {
	const char *name; /* without "pollux_" */
	const char *help;
	enum type type;
	bool whole; /* an int; else a double, or a uint64_t of a counter */
	size_t offset;
	const char *label; /* 'state="idle"', or NULL */
};

#define AT(field)  offsetof(struct plx_metrics, field)
#define NOW(field) offsetof(struct plx_metrics, now.field)

/* Rows of one name follow each other; the first one's help counts. */
/* clang-format off */
static const struct row rows[] = {
	{ "cycles_skipped_total", "Cycles that made no plan.",
	  COUNTER, false, AT(skipped), NULL },
	{ "asked_total", "Requests to launchers to make way for a shape.",
	  COUNTER, false, AT(asked), NULL },
	{ "overdue_total", "Requests that no launcher answered in time.",
	  COUNTER, false, AT(overdue), NULL },
	{ "kills_total", "Times that a job's steps were killed for a resize.",
	  COUNTER, false, AT(kills), NULL },
	{ "hints_dropped_total", "What jobs told and was not believed.",
	  COUNTER, false, AT(hints_dropped), NULL },
	{ "ranks_failed_total", "Times that new ranks failed on a node.",
	  COUNTER, false, AT(sick), NULL },
	{ "explained_total", "Sentences written on job records.",
	  COUNTER, false, AT(told), NULL },
	{ "moved_total", "Whole jobs that were moved, batch script included.",
	  COUNTER, false, AT(moved), NULL },
	{ "evicted_total", "Whole jobs that were saved and put into the queue.",
	  COUNTER, false, AT(evicted), NULL },
	{ "gpus", "GPUs of usable nodes, by who has them.",
	  GAUGE, true, NOW(gpus_elastic), "state=\"elastic\"" },
	{ "gpus", NULL, GAUGE, true, NOW(gpus_rigid), "state=\"rigid\"" },
	{ "gpus", NULL, GAUGE, true, NOW(gpus_idle), "state=\"idle\"" },
	{ "gpus_reserved", "Idle GPUs kept back for jobs that wait.",
	  GAUGE, true, NOW(gpus_reserved), NULL },
	{ "jobs", "Elastic jobs that run.",
	  GAUGE, true, NOW(jobs), NULL },
	{ "jobs_parked", "Elastic jobs that have no GPU.",
	  GAUGE, true, NOW(jobs_parked), NULL },
	{ "jobs_resizing", "Elastic jobs in the middle of a resize.",
	  GAUGE, true, NOW(jobs_busy), NULL },
	{ "jobs_profiled", "Elastic jobs whose goodput is known.",
	  GAUGE, true, NOW(jobs_profiled), NULL },
	{ "jobs_waiting", "Jobs of any kind that wait for resources.",
	  GAUGE, true, NOW(jobs_waiting), NULL },
	{ "nodes", "Nodes with GPUs that may be used.",
	  GAUGE, true, NOW(nodes), NULL },
	{ "nodes_sick", "Nodes closed to elastic jobs: ranks of several jobs "
	  "failed there.", GAUGE, true, NOW(nodes_sick), NULL },
	{ "nodes_wanted", "Nodes at which utility is in its band; 0: "
	  "not asked.", GAUGE, true, NOW(nodes_wanted), NULL },
	{ "fitness", "Mean speedup as weighed, of what jobs have.",
	  GAUGE, false, NOW(fitness), NULL },
	{ "fitness_planned", "The same of the plan.",
	  GAUGE, false, NOW(fitness_best), NULL },
	{ "utility_ratio", "Speedups over one GPU, by the jobs' GPUs.",
	  GAUGE, false, NOW(utility), NULL },
	{ "utility_band_ratio", "Band that utility is to be in; 0: not asked.",
	  GAUGE, false, NOW(utility_low), "bound=\"low\"" },
	{ "utility_band_ratio", NULL,
	  GAUGE, false, NOW(utility_high), "bound=\"high\"" },
	{ "speedup_mean", "Mean goodput of measured jobs over that of their "
	  "fair share.", GAUGE, false, NOW(speedup_mean), NULL },
	{ "speedup_min", "The same of the worst off.",
	  GAUGE, false, NOW(speedup_min), NULL },
	{ "finish_time_fairness_mean", "Time jobs take by the time they would "
	  "take alone on their part of the cluster, expected; 0: not known.",
	  GAUGE, false, NOW(finish_mean), NULL },
	{ "finish_time_fairness_worst", "The same of the worst off.",
	  GAUGE, false, NOW(finish_worst), NULL },
	{ "pause_median_seconds", "Median of running jobs' median pauses.",
	  GAUGE, false, NOW(pause_median_s), NULL },
	{ "pause_worst_seconds", "Worst pause of the running jobs.",
	  GAUGE, false, NOW(pause_worst_s), NULL },
	{ "start_time_seconds", "When counting began, since 1970.",
	  GAUGE, false, AT(since_s), NULL },
	{ "written_time_seconds", "When this was written, since 1970.",
	  GAUGE, false, AT(now_s), NULL },
};
/* clang-format on */

/* Never NaN: nobody can add it up. */
static const char *number(double value, char text[PLX_NUMBER_SIZE])
{
	return plx_number(isfinite(value) ? value : 0, DIGITS, text);
}

static void head(struct plx_sheet *sheet, const char *name, const char *help,
		 const char *type)
{
	plx_sheet_add(sheet, "# HELP pollux_%s %s\n# TYPE pollux_%s %s\n", name,
		      help, name, type);
}

static void add_row(struct plx_sheet *sheet, const struct plx_metrics *metrics,
		    const struct row *row)
{
	const char *at = (const char *) metrics + row->offset;
	char text[PLX_NUMBER_SIZE];

	if (row->help)
		head(sheet, row->name, row->help, type_names[row->type]);
	plx_sheet_add(sheet, "pollux_%s%s%s%s ", row->name,
		      row->label ? "{" : "", row->label ? row->label : "",
		      row->label ? "}" : "");
	if (row->type == COUNTER)
		plx_sheet_add(sheet, "%" PRIu64 "\n", *(const uint64_t *) at);
	else if (row->whole)
		plx_sheet_add(sheet, "%d\n", *(const int *) at);
	else
		plx_sheet_add(sheet, "%s\n",
			      number(*(const double *) at, text));
}

/* label: 'lock="job",' or "". */
static void add_times(struct plx_sheet *sheet, const char *name,
		      const char *label, const struct plx_times *times)
{
	size_t length = strlen(label);
	uint64_t count = 0;
	char bare[64] = "";
	char text[PLX_NUMBER_SIZE];

	if (length)
		snprintf(bare, sizeof(bare), "{%.*s}", (int) length - 1, label);
	for (int i = 0; i < PLX_BUCKETS; i++) {
		count += times->counts[i];
		plx_sheet_add(sheet,
			      "pollux_%s_bucket{%sle=\"%s\"} %" PRIu64 "\n",
			      name, label, number(bounds[i], text), count);
	}
	count += times->counts[PLX_BUCKETS];
	plx_sheet_add(sheet, "pollux_%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n",
		      name, label, count);
	plx_sheet_add(sheet, "pollux_%s_sum%s %s\n", name, bare,
		      number(times->sum_s, text));
	plx_sheet_add(sheet, "pollux_%s_count%s %" PRIu64 "\n", name, bare,
		      count);
}

static void add_cycles(struct plx_sheet *sheet,
		       const struct plx_metrics *metrics)
{
	char text[PLX_NUMBER_SIZE];

	head(sheet, "cycle_seconds",
	     "Duration of a cycle, the search included.", "histogram");
	add_times(sheet, "cycle_seconds", "", &metrics->cycles);
	head(sheet, "cycle_longest_seconds", "The longest cycle.", "gauge");
	plx_sheet_add(sheet, "pollux_cycle_longest_seconds %s\n",
		      number(metrics->cycles.most_s, text));
}

/* What is told of each lock besides how its times are spread. */
static const struct {
	const char *name;
	const char *help;
	enum type type;
	size_t offset; /* of a double in struct plx_lock_times */
} held_rows[] = {
	{ "lock_held_longest_seconds", "The longest of these.", GAUGE,
	  offsetof(struct plx_lock_times, times.most_s) },
	{ "lock_cpu_seconds_total", "Processor time of these.", COUNTER,
	  offsetof(struct plx_lock_times, cpu_s) },
	{ "lock_cpu_longest_seconds", "The most processor time of one.", GAUGE,
	  offsetof(struct plx_lock_times, cpu_most_s) },
};

/* Names of locks are ours: nothing in them to escape. */
static void add_held(struct plx_sheet *sheet, const struct plx_metrics *metrics)
{
	char label[40];
	char text[PLX_NUMBER_SIZE];

	if (!metrics->held_count)
		return;
	head(sheet, "lock_held_seconds",
	     "How long slurmctld's locks were held.", "histogram");
	for (int i = 0; i < metrics->held_count; i++) {
		snprintf(label, sizeof(label), "lock=\"%.24s\",",
			 metrics->held[i].lock);
		add_times(sheet, "lock_held_seconds", label,
			  &metrics->held[i].times);
	}
	for (size_t r = 0; r < COUNT(held_rows); r++) {
		head(sheet, held_rows[r].name, held_rows[r].help,
		     type_names[held_rows[r].type]);
		for (int i = 0; i < metrics->held_count; i++)
			plx_sheet_add(
				sheet, "pollux_%s{lock=\"%.24s\"} %s\n",
				held_rows[r].name, metrics->held[i].lock,
				number(*(const double
						 *) ((const char *) &metrics
							     ->held[i] +
						     held_rows[r].offset),
				       text));
	}
}

static void add_kinds(struct plx_sheet *sheet,
		      const struct plx_metrics *metrics)
{
	head(sheet, "resizes_total", "Jobs that got another shape, by kind.",
	     "counter");
	for (int i = 0; i < PLX_RESIZES; i++)
		plx_sheet_add(sheet,
			      "pollux_resizes_total{kind=\"%s\"} %" PRIu64 "\n",
			      plx_resize_name(i), metrics->resizes[i]);
	head(sheet, "refusals_total",
	     "Jobs that did not get a shape they were to have, by reason.",
	     "counter");
	/* What has no reason of its own comes last. */
	for (int i = 1; i <= PLX_REFUSALS; i++) {
		int kind = i % PLX_REFUSALS;

		plx_sheet_add(sheet,
			      "pollux_refusals_total{reason=\"%s\"} %" PRIu64
			      "\n",
			      plx_refusal_name(kind), metrics->refusals[kind]);
	}
}

const char *plx_resize_name(enum plx_resize_kind kind)
{
	return (size_t) kind < COUNT(resize_names) ? resize_names[kind] : "?";
}

enum plx_resize_kind plx_resize_kind_of(int from, int to)
{
	if (to == 0)
		return PLX_RESIZE_PARK;
	if (from == 0)
		return PLX_RESIZE_WAKE;
	if (to == from)
		return PLX_RESIZE_MOVE;
	return to > from ? PLX_RESIZE_GROW : PLX_RESIZE_SHRINK;
}

double plx_times_bound(int i)
{
	return i < PLX_BUCKETS ? bounds[i] : INFINITY;
}

void plx_times_add(struct plx_times *times, double seconds)
{
	int i = 0;

	if (!(seconds > 0) || !isfinite(seconds))
		seconds = 0;
	while (i < PLX_BUCKETS && seconds > bounds[i])
		i++;
	times->counts[i]++;
	times->sum_s += seconds;
	times->most_s = fmax(times->most_s, seconds);
}

uint64_t plx_times_count(const struct plx_times *times)
{
	uint64_t count = 0;

	for (int i = 0; i <= PLX_BUCKETS; i++)
		count += times->counts[i];
	return count;
}

char *plx_metrics_text(const struct plx_metrics *metrics)
{
	struct plx_sheet sheet = plx_sheet_create(TEXT_SIZE);

	add_cycles(&sheet, metrics);
	add_held(&sheet, metrics);
	add_kinds(&sheet, metrics);
	for (size_t i = 0; i < COUNT(rows); i++)
		add_row(&sheet, metrics, &rows[i]);
	return plx_sheet_take(&sheet);
}

static const struct row *find_row(const char *name, const char *labels)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (!strcmp(rows[i].name, name) &&
		    !strcmp(rows[i].label ? rows[i].label : "", labels))
			return &rows[i];
	}
	return NULL;
}

bool plx_metrics_take(struct plx_metrics *metrics, const char *name,
		      const char *labels, double value)
{
	const struct row *row = find_row(name, labels);
	char *at = (char *) metrics + (row ? row->offset : 0);

	if (!row || !isfinite(value))
		return false;
	if (row->type == COUNTER)
		*(uint64_t *) at = (uint64_t) fmin(fmax(value, 0), COUNT_MAX);
	else if (row->whole)
		*(int *) at = (int) fmin(fmax(value, INT_MIN), INT_MAX);
	else
		*(double *) at = value;
	return true;
}
