/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_columns.c - the columns of pollux-top (top_columns.h) */

#define _GNU_SOURCE

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "report/text.h"
#include "report/top_columns.h"

#define WRITER(name)                                                           \
	static void name(const struct plx_view *view,                          \
			 const struct plx_view_job *job, char *text,           \
			 size_t size)

/* "7s", "12m", "3h", "4d": where a duration must be short. */
static void short_duration(int64_t seconds, char *text, size_t size)
{
	if (seconds < 60)
		snprintf(text, size, "%" PRId64 "s", seconds);
	else if (seconds < 3600)
		snprintf(text, size, "%" PRId64 "m", seconds / 60);
	else if (seconds < 2 * 86400)
		snprintf(text, size, "%" PRId64 "h", seconds / 3600);
	else
		snprintf(text, size, "%" PRId64 "d", seconds / 86400);
}

WRITER(write_id)
{
	(void) view;
	snprintf(text, size, "%s", job->id);
}

WRITER(write_name)
{
	(void) view;
	snprintf(text, size, "%s", job->name);
}

WRITER(write_user)
{
	(void) view;
	snprintf(text, size, "%s", job->user);
}

WRITER(write_state)
{
	(void) view;
	snprintf(text, size, "%s", plx_view_state(job));
}

WRITER(write_placement)
{
	(void) view;
	if (job->gpus > 0)
		snprintf(text, size, "%s", job->placement);
}

WRITER(write_gpus)
{
	(void) view;
	if (job->running)
		snprintf(text, size, "%d", job->gpus);
}

WRITER(write_batch)
{
	int64_t batch = plx_view_batch(job);

	(void) view;
	if (batch > 0)
		snprintf(text, size, "%" PRId64, batch);
}

/* 0 is what a job tells that has not measured it here yet. */
static double goodput_value(const struct plx_view_job *job)
{
	return plx_view_measured(job) && job->status.hint.goodput > 0
		       ? job->status.hint.goodput
		       : NAN;
}

WRITER(write_goodput)
{
	(void) view;
	if (goodput_value(job) > 0)
		snprintf(text, size, "%.0f/s", job->status.hint.goodput);
}

WRITER(write_efficiency)
{
	double efficiency = plx_view_efficiency(job);

	(void) view;
	if (isfinite(efficiency))
		snprintf(text, size, "%.0f%%", 100 * efficiency);
}

WRITER(write_speedup)
{
	(void) view;
	if (job->running && job->target.speedup > 0)
		snprintf(text, size, "%.2f", job->target.speedup);
}

WRITER(write_done)
{
	(void) view;
	if (job->told && job->status.has_hint && job->running)
		snprintf(text, size, "%.0f%%", 100 * job->status.hint.progress);
}

WRITER(write_left)
{
	int64_t left_s = plx_view_left_s(job);

	(void) view;
	if (left_s >= 0)
		plx_text_duration(left_s, text, size);
}

/* "4>8 12s": the last change of shape, and how long ago it was. */
WRITER(write_changed)
{
	char ago[24];

	if (!job->running || job->changed_s <= 0)
		return;
	short_duration(
		view->now_s > job->changed_s ? view->now_s - job->changed_s : 0,
		ago, sizeof(ago));
	if (job->was_gpus >= 0)
		snprintf(text, size, "%d>%d %s", job->was_gpus, job->gpus, ago);
	else
		snprintf(text, size, "%s", ago);
}

WRITER(write_why)
{
	(void) view;
	plx_view_why(job, text, size);
}

static double id_value(const struct plx_view_job *job)
{
	return job->number;
}

static const char *name_word(const struct plx_view_job *job)
{
	return job->name;
}

static const char *user_word(const struct plx_view_job *job)
{
	return job->user;
}

/* Those that run, then those that wait, then those that have ended. */
static double state_value(const struct plx_view_job *job)
{
	if (job->running)
		return job->gpus > 0 ? 0 : 1;
	if (job->waiting)
		return 3;
	return strcmp(job->state, "SUSPENDED") ? 4 : 2;
}

static double gpus_value(const struct plx_view_job *job)
{
	return job->running ? job->gpus : NAN;
}

static double batch_value(const struct plx_view_job *job)
{
	int64_t batch = plx_view_batch(job);

	return batch > 0 ? (double) batch : NAN;
}

static double speedup_value(const struct plx_view_job *job)
{
	return job->running && job->target.speedup > 0 ? job->target.speedup
						       : NAN;
}

static double done_value(const struct plx_view_job *job)
{
	return job->told && job->status.has_hint && job->running
		       ? job->status.hint.progress
		       : NAN;
}

static double left_value(const struct plx_view_job *job)
{
	int64_t left_s = plx_view_left_s(job);

	return left_s >= 0 ? (double) left_s : NAN;
}

static double changed_value(const struct plx_view_job *job)
{
	return job->running && job->changed_s > 0 ? (double) job->changed_s
						  : NAN;
}

/* clang-format off */
const struct plx_top_column plx_top_columns[] = {
	{ "JOB", "job", 'j', true, false, 5, 14, 0, 5,
	  "the job's number", write_id, id_value, NULL },
	{ "NAME", "name", 'n', false, false, 8, 20, 3, 20,
	  "its name", write_name, NULL, name_word },
	{ "USER", "user", 'u', false, false, 8, 8, 12, 0,
	  "whose it is", write_user, NULL, user_word },
	{ "STATE", "state", 's', false, false, 9, 9, 2, 9,
	  "Slurm's state, or what it is at", write_state, state_value, NULL },
	{ "GPUS", NULL, 0, false, false, 0, 0, 0, 24,
	  NULL, write_placement, NULL, NULL },
	{ "GPUS", "gpus", 'g', true, true, 4, 4, 1, 0,
	  "GPUs it has", write_gpus, gpus_value, NULL },
	{ "BATCH", "batch", 'b', true, true, 6, 6, 6, 6,
	  "total batch, samples", write_batch, batch_value, NULL },
	{ "GOODPUT", "goodput", 'p', true, true, 7, 8, 4, 8,
	  "useful samples a second", write_goodput, goodput_value, NULL },
	{ "EFF", "efficiency", 'e', true, true, 4, 4, 7, 4,
	  "statistical efficiency", write_efficiency, plx_view_efficiency,
	  NULL },
	{ "SPEEDUP", "speedup", 'x', true, true, 7, 7, 13, 0,
	  "over its fair share", write_speedup, speedup_value, NULL },
	{ "DONE", "done", 'd', false, true, 8, 10, 5, 5,
	  "share of the training", write_done, done_value, NULL },
	{ "LEFT", "left", 'l', true, false, 6, 6, 8, 6,
	  "until it is done", write_left, left_value, NULL },
	{ "CHANGED", "changed", 'c', true, true, 9, 9, 9, 7,
	  "its last change, and when", write_changed, changed_value, NULL },
	{ "WHY", NULL, 0, false, false, 30, 400, 10, -1,
	  NULL, write_why, NULL, NULL },
};
/* clang-format on */
const size_t plx_top_column_count =
	sizeof(plx_top_columns) / sizeof(plx_top_columns[0]);

const struct plx_top_column *plx_top_column_named(const char *name)
{
	for (size_t i = 0; i < plx_top_column_count; i++) {
		if (plx_top_columns[i].name &&
		    !strcasecmp(plx_top_columns[i].name, name))
			return &plx_top_columns[i];
	}
	return NULL;
}

const struct plx_top_column *plx_top_column_keyed(int key)
{
	for (size_t i = 0; i < plx_top_column_count; i++) {
		if (key && plx_top_columns[i].key == key)
			return &plx_top_columns[i];
	}
	return NULL;
}

static int by_number(const struct plx_view_job *a, const struct plx_view_job *b)
{
	return (a->number > b->number) - (a->number < b->number);
}

int plx_top_compare(const struct plx_top_column *column, bool reverse,
		    const struct plx_view_job *a, const struct plx_view_job *b)
{
	int order = 0;

	if (column->value) {
		double x = column->value(a);
		double y = column->value(b);

		/* What is not known comes last, either way. */
		if (isnan(x) || isnan(y))
			order = 2 * (isnan(x) - isnan(y));
		else
			order = (x > y) - (x < y);
	} else if (column->word) {
		order = strcasecmp(column->word(a), column->word(b));
		order = (order > 0) - (order < 0);
	}
	if (order == 0)
		return by_number(a, b);
	if (order == 2 || order == -2)
		return order;
	return column->falling != reverse ? -order : order;
}

void plx_top_text(const struct plx_top_column *column,
		  const struct plx_view *view, const struct plx_view_job *job,
		  char text[PLX_TOP_TEXT_SIZE])
{
	char raw[PLX_TOP_TEXT_SIZE] = "";

	column->write(view, job, raw, sizeof(raw));
	plx_text_clean(raw, text, PLX_TOP_TEXT_SIZE);
	if (!*text && column->plain >= 0)
		snprintf(text, PLX_TOP_TEXT_SIZE, "-");
}

char *plx_top_summary(const struct plx_view *view, char *text, size_t size)
{
	time_t now = (time_t) view->now_s;
	double utility = plx_view_utility(view);
	char when[16] = "";
	struct tm tm;
	int running = 0;
	int waiting = 0;

	for (size_t i = 0; i < view->count; i++) {
		running += view->jobs[i].running;
		waiting += view->jobs[i].waiting;
	}
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%H:%M:%S", &tm);
	snprintf(text, size,
		 "%s  %zu node%s, %d of %d GPUs busy; %d job%s running, "
		 "%d waiting",
		 when, view->node_count, view->node_count == 1 ? "" : "s",
		 view->gpus_busy, view->gpus, running, running == 1 ? "" : "s",
		 waiting);
	if (isfinite(utility))
		snprintf(text + strlen(text), size - strlen(text),
			 "; utility %.2f", utility);
	return text;
}

/* As wide as told; longer texts, but for a user's own, push their line. */
static void print_cell(const struct plx_top_column *column, const char *text,
		       FILE *out)
{
	int width = column->plain;

	if (column->plain < 0)
		fprintf(out, "%s\n", text);
	else
		fprintf(out, "%*s  ", column->right ? width : -width, text);
}

void plx_top_print(const struct plx_view *view, const size_t *order,
		   size_t count, FILE *out)
{
	char text[PLX_TOP_TEXT_SIZE];
	char cut[PLX_TOP_TEXT_SIZE];

	fprintf(out, "%s\n", plx_top_summary(view, text, sizeof(text)));
	for (size_t c = 0; c < plx_top_column_count; c++) {
		if (plx_top_columns[c].plain)
			print_cell(&plx_top_columns[c],
				   plx_top_columns[c].title, out);
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t c = 0; c < plx_top_column_count; c++) {
			const struct plx_top_column *column =
				&plx_top_columns[c];

			if (!column->plain)
				continue;
			plx_top_text(column, view, &view->jobs[order[i]], text);
			plx_text_clean(text, cut,
				       column->word ? (size_t) column->plain + 1
						    : sizeof(cut));
			print_cell(column, cut, out);
		}
	}
}
