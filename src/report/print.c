/* SPDX-License-Identifier: GPL-2.0-or-later */
/* print.c - see print.h */

#define _GNU_SOURCE

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/print.h"
#include "report/text.h"

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
	char name[CLEAN_SIZE];
	char queued[24];
	char ran[24];
	char pause[48] = "-";

	if (r->pauses > 0)
		snprintf(pause, sizeof(pause), "%.2f/%.2f s", r->pause_s[0],
			 r->pause_s[1]);
	else if (!r->elastic)
		snprintf(pause, sizeof(pause), "rigid");
	fprintf(out, "%*s  %-*.*s  %-*s %7s %7s %11" PRId64 " %7d  %s\n", w->id,
		r->id, w->name, w->name,
		plx_text_clean(r->name, name, sizeof(name)), w->state, r->state,
		plx_text_duration(r->queued_s, queued, sizeof(queued)),
		plx_text_duration(r->ran_s, ran, sizeof(ran)), r->gpu_seconds,
		r->resizes, pause);
}

/* "4@n1 2s", "parked 5s", "8@n[1,3] 6s..." for one that goes on. */
static void shape_text(const struct plx_span *span, bool elastic, char *text,
		       size_t size)
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

static void print_totals(const struct plx_totals *t, FILE *out)
{
	char wall[24];

	fprintf(out,
		"%d job%s (%d elastic), %d completed, in %s: %" PRId64
		" GPU-seconds, %d resize%s",
		t->jobs, t->jobs == 1 ? "" : "s", t->elastic, t->completed,
		plx_text_duration(t->wall_s, wall, sizeof(wall)),
		t->gpu_seconds, t->resizes, t->resizes == 1 ? "" : "s");
	if (t->pauses > 0)
		fprintf(out,
			", pause of a resize %.2f s (median), %.2f s (worst)",
			t->pause_s[0], t->pause_s[1]);
	fputs(".\n", out);
}

void plx_print_table(const struct plx_history *history, FILE *out)
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

static json_t *span_json(const struct plx_span *s)
{
	return json_pack("{s:i, s:o, s:I, s:I, s:I, s:b}", "gpus", s->gpus,
			 "nodes", clean_string(s->nodes), "start",
			 (json_int_t) s->start_s, "end", (json_int_t) s->end_s,
			 "gpu_seconds",
			 (json_int_t) ((s->end_s - s->start_s) * s->gpus),
			 "open", (int) s->open);
}

static json_t *record_json(const struct plx_record *r)
{
	json_t *shapes = json_array();

	for (size_t i = 0; i < r->span_count; i++)
		json_array_append_new(shapes, span_json(&r->spans[i]));
	return json_pack(
		"{s:o, s:o, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:i, s:o, s:o}",
		"job", clean_string(r->id), "name", clean_string(r->name),
		"state", clean_string(r->state), "elastic", (int) r->elastic,
		"submit", (json_int_t) r->submit_s, "end",
		(json_int_t) r->end_s, "queued_s", (json_int_t) r->queued_s,
		"ran_s", (json_int_t) r->ran_s, "gpu_seconds",
		(json_int_t) r->gpu_seconds, "resizes", r->resizes, "pause_s",
		pause_json(r->pauses, r->pause_s), "shapes", shapes);
}

json_t *plx_print_json(const struct plx_history *history)
{
	const struct plx_totals *t = &history->totals;
	json_t *jobs = json_array();

	for (size_t i = 0; i < history->count; i++)
		json_array_append_new(jobs, record_json(&history->records[i]));
	return json_pack("{s:o, s:{s:i, s:i, s:i, s:I, s:I, s:i, s:o}}", "jobs",
			 jobs, "total", "jobs", t->jobs, "elastic", t->elastic,
			 "completed", t->completed, "wall_s",
			 (json_int_t) t->wall_s, "gpu_seconds",
			 (json_int_t) t->gpu_seconds, "resizes", t->resizes,
			 "pause_s", pause_json(t->pauses, t->pause_s));
}
