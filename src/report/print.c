/* SPDX-License-Identifier: GPL-2.0-or-later */
/* print.c - see print.h */

#define _GNU_SOURCE

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/records/target.h"
#include "report/columns.h"
#include "report/print.h"
#include "report/text.h"
#include "report/job_efficiency.h"

#define LINE_WIDTH 78 /* columns of a line of shapes */
#define CLEAN_SIZE 256

/* Columns that fit what is in them: names of users have any length. */
struct widths {
	int id;
	int name;
	int state;
};

static int at_least(int width, const char *text)
{
	char clean[CLEAN_SIZE];
	int length = (int) strlen(plx_text_clean(text, clean, sizeof(clean)));

	return length > width ? length : width;
}

static struct widths measure(const struct plx_history *history)
{
	struct widths w = { 3, 4, 9 };

	for (size_t i = 0; i < history->count; i++) {
		const struct plx_record *r = &history->records[i];

		w.id = at_least(w.id, r->id);
		w.name = at_least(w.name, r->name);
		w.state = at_least(w.state, r->state);
	}
	if (w.name > 24)
		w.name = 24;
	return w;
}

static void print_job(const struct plx_record *r, const struct widths *w,
		      FILE *out)
{
	char id[CLEAN_SIZE];
	char name[CLEAN_SIZE];
	char state[CLEAN_SIZE];
	char queued[24];
	char ran[24];
	char pause[48] = "-";

	if (r->pauses > 0)
		snprintf(pause, sizeof(pause), "%.2f/%.2f s", r->pause_s[0],
			 r->pause_s[1]);
	else if (!r->elastic)
		snprintf(pause, sizeof(pause), "rigid");
	fprintf(out, "%*s  %-*s  %-*s %7s %7s %11" PRId64 " %7d  %s\n", w->id,
		plx_text_clean(r->id, id, sizeof(id)), w->name,
		plx_text_clean(r->name, name, (size_t) w->name + 1), w->state,
		plx_text_clean(r->state, state, sizeof(state)),
		plx_text_duration(r->queued_s, queued, sizeof(queued)),
		plx_text_duration(r->ran_s, ran, sizeof(ran)), r->gpu_seconds,
		r->resizes, pause);
}

/* "4@n1 2s", "parked 5s", "8@n[1,3] 6s..." for one that goes on. */
static void shape_text(const struct plx_history_span *span, bool elastic,
		       char *text, size_t size)
{
	char duration[24];
	char nodes[CLEAN_SIZE];

	plx_text_duration(span->end_s - span->start_s, duration,
			  sizeof(duration));
	plx_text_clean(span->nodes, nodes, sizeof(nodes));
	if (span->gpus == 0 && elastic)
		snprintf(text, size, "parked %s%s", duration,
			 span->open ? "..." : "");
	else
		snprintf(text, size, "%d@%s %s%s", span->gpus, nodes, duration,
			 span->open ? "..." : "");
}

static void print_shapes(const struct plx_record *r, int indent, FILE *out)
{
	char text[CLEAN_SIZE + 64];
	int column = 0;
	int length;

	for (size_t i = 0; i < r->span_count; i++) {
		shape_text(&r->spans[i], r->elastic, text, sizeof(text));
		length = (int) strlen(text);
		if (column > indent && column + 2 + length > LINE_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		column += fprintf(out, "%*s%s", column ? 2 : indent, "", text);
	}
	if (column)
		fputc('\n', out);
}

void plx_print_why(const struct plx_history_span *span, char *text, size_t size)
{
	struct plx_target target;

	text[0] = '\0';
	if (span->open)
		return;
	if (span->why)
		plx_text_clean(span->why, text, size);
	else if (plx_target_read(span->story, &target, NULL) == 1 &&
		 target.state == PLX_TARGET_REQUESTED)
		plx_text_clean(target.why, text, size);
}

/* "16:39:36  4@n[1-2] 4s  then: grows 4 -> 8 GPUs". */
void plx_print_run_result(const struct plx_record *r, int indent, FILE *out)
{
	char text[CLEAN_SIZE + 64];
	char why[PLX_WHY_SIZE];
	char when[16];
	struct tm tm;

	for (size_t i = 0; i < r->span_count; i++) {
		const struct plx_history_span *span = &r->spans[i];
		time_t at = (time_t) span->start_s;

		when[0] = '\0';
		if (localtime_r(&at, &tm))
			strftime(when, sizeof(when), "%H:%M:%S", &tm);
		shape_text(span, r->elastic, text, sizeof(text));
		plx_print_why(span, why, sizeof(why));
		fprintf(out, "%*s%s  %s%s%s\n", indent, "", when, text,
			*why ? "  then: " : "", why);
	}
}

static void print_totals(const struct plx_totals *t, FILE *out)
{
	char twice[64] = "";
	char wall[24];

	if (t->twice_gpu_seconds > 0)
		snprintf(twice, sizeof(twice),
			 " (%" PRId64 " of them twice, for handovers)",
			 t->twice_gpu_seconds);

	fprintf(out,
		"%d job%s (%d elastic), %d completed, in %s: %" PRId64
		" GPU-seconds%s, %d resize%s",
		t->jobs, t->jobs == 1 ? "" : "s", t->elastic, t->completed,
		plx_text_duration(t->wall_s, wall, sizeof(wall)),
		t->gpu_seconds, twice, t->resizes, t->resizes == 1 ? "" : "s");
	if (t->pauses > 0)
		fprintf(out,
			", pause of a resize %.2f s (median), %.2f s (worst)",
			t->pause_s[0], t->pause_s[1]);
	fputs(".\n", out);
}

void plx_print_table(const struct plx_history *history, bool whys, FILE *out)
{
	struct widths w = measure(history);

	if (history->count == 0) {
		fputs("No jobs.\n", out);
		return;
	}
	fprintf(out, "%*s  %-*s  %-*s %7s %7s %11s %7s  %s\n", w.id, "JOB",
		w.name, "NAME", w.state, "STATE", "QUEUED", "RAN",
		"GPU-SECONDS", "RESIZES", "PAUSE (median/worst)");
	for (size_t i = 0; i < history->count; i++) {
		print_job(&history->records[i], &w, out);
		if (whys)
			plx_print_run_result(&history->records[i], w.id + 2,
					     out);
		else
			print_shapes(&history->records[i], w.id + 2, out);
	}
	print_totals(&history->totals, out);
}

static json_t *clean_string(const char *text)
{
	char clean[CLEAN_SIZE];

	return json_string(plx_text_clean(text, clean, sizeof(clean)));
}

static json_t *pause_json(int pauses, const double pause_s[2])
{
	if (pauses == 0)
		return json_null();
	return json_pack("{s:f, s:f}", "median", pause_s[0], "worst",
			 pause_s[1]);
}

static json_t *real_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *span_json(const struct plx_history_span *s)
{
	char why[PLX_WHY_SIZE];
	double goodput;
	double efficiency;

	plx_print_why(s, why, sizeof(why));
	plx_efficiency_span(s, &goodput, &efficiency);
	return json_pack("{s:i, s:o, s:I, s:I, s:I, s:b, s:o, s:o, s:s}",
			 "gpus", s->gpus, "nodes", clean_string(s->nodes),
			 "start", (json_int_t) s->start_s, "end",
			 (json_int_t) s->end_s, "gpu_seconds",
			 (json_int_t) ((s->end_s - s->start_s) * s->gpus),
			 "open", (int) s->open, "goodput", real_json(goodput),
			 "efficiency", real_json(efficiency), "why", why);
}

static json_t *fixed_json(const struct plx_efficiency *y)
{
	if (!isfinite(y->fixed_s))
		return json_null();
	return json_pack("{s:i, s:o, s:o, s:o, s:b}", "gpus", y->fixed_gpus,
			 "s", real_json(y->fixed_s), "low_s",
			 real_json(y->fixed_low_s), "high_s",
			 real_json(y->fixed_high_s), "beyond", (int) y->beyond);
}

static json_t *efficiency_json(const struct plx_record *r)
{
	const struct plx_efficiency *y = &r->yield;

	return json_pack("{s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}",
			 "user", clean_string(r->user), "account",
			 clean_string(r->account), "partition",
			 clean_string(r->partition), "finish_s",
			 (json_int_t) (r->end_s - r->submit_s), "goodput",
			 real_json(y->goodput), "efficiency",
			 real_json(y->efficiency), "lost_s",
			 real_json(y->lost_s), "fixed", fixed_json(y), "rho",
			 real_json(y->rho));
}

static json_t *record_json(const struct plx_record *r)
{
	json_t *shapes = json_array();
	json_t *job;

	for (size_t i = 0; i < r->span_count; i++)
		json_array_append_new(shapes, span_json(&r->spans[i]));
	job = json_pack(
		"{s:o, s:o, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:o, "
		"s:o}",
		"job", clean_string(r->id), "name", clean_string(r->name),
		"state", clean_string(r->state), "elastic", (int) r->elastic,
		"submit", (json_int_t) r->submit_s, "end",
		(json_int_t) r->end_s, "queued_s", (json_int_t) r->queued_s,
		"ran_s", (json_int_t) r->ran_s, "gpu_seconds",
		(json_int_t) r->gpu_seconds, "twice_gpu_seconds",
		(json_int_t) r->twice_gpu_seconds, "resizes", r->resizes,
		"pause_s", pause_json(r->pauses, r->pause_s), "shapes", shapes);
	if (job)
		json_object_update_new(job, efficiency_json(r));
	return job;
}

static json_t *total_json(const struct plx_totals *t)
{
	return json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:i, s:o}", "jobs",
			 t->jobs, "elastic", t->elastic, "completed",
			 t->completed, "wall_s", (json_int_t) t->wall_s,
			 "gpu_seconds", (json_int_t) t->gpu_seconds,
			 "twice_gpu_seconds", (json_int_t) t->twice_gpu_seconds,
			 "resizes", t->resizes, "pause_s",
			 pause_json(t->pauses, t->pause_s));
}

/* Write one value and forget it. */
static int dump(json_t *value, FILE *out)
{
	int rc = value ? json_dumpf(value, out, JSON_COMPACT) : -1;

	json_decref(value);
	return rc;
}

int plx_print_json(const struct plx_history *history, json_t *extra, FILE *out,
		   struct plx_error *err)
{
	int rc = 0;

	fputs("{\"jobs\": [\n", out);
	for (size_t i = 0; i < history->count && rc == 0; i++) {
		rc = dump(record_json(&history->records[i]), out);
		fputs(i + 1 < history->count ? ",\n" : "\n", out);
	}
	fputs("],\n\"total\": ", out);
	if (rc == 0)
		rc = dump(total_json(&history->totals), out);
	if (extra && rc == 0) {
		fputs(",\n\"log\": ", out);
		rc = json_dumpf(extra, out, JSON_COMPACT);
	}
	fputs("}\n", out);
	return rc < 0 ? plx_fail(err, "cannot write JSON") : 0;
}

int plx_print_groups_json(const struct plx_groups *groups, const char *by,
			  FILE *out, struct plx_error *err)
{
	int rc = 0;

	fprintf(out, "{\"by\": \"%s\", \"groups\": [\n", by);
	for (size_t i = 0; i < groups->count && rc == 0; i++) {
		rc = dump(plx_columns_json(plx_fields_group,
					   &groups->groups[i]),
			  out);
		fputs(i + 1 < groups->count ? ",\n" : "\n", out);
	}
	fputs("]}\n", out);
	return rc < 0 ? plx_fail(err, "cannot write JSON") : 0;
}
