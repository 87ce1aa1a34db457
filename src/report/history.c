/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history.c - see history.h */

#define _GNU_SOURCE

#include <stdlib.h>
#include <string.h>

#include "core/records/status.h"
#include "report/history.h"

#define NODES_MAX 1000000

int plx_id_compare(const char *a, const char *b)
{
	return strverscmp(a, b);
}

/* A row's shape began when the row was made, which for the first is before. */
static int64_t shape_start(const struct plx_sacct_row *row)
{
	if (row->start == PLX_TIME_NONE)
		return PLX_TIME_NONE;
	return row->submit > row->start ? row->submit : row->start;
}

static int compare_rows(const void *a, const void *b)
{
	const struct plx_sacct_row *x =
		*(const struct plx_sacct_row *const *) a;
	const struct plx_sacct_row *y =
		*(const struct plx_sacct_row *const *) b;
	int order = plx_id_compare(x->id, y->id);

	if (order == 0)
		order = (x->submit > y->submit) - (x->submit < y->submit);
	if (order == 0)
		order = x < y ? -1 : 1; /* as sacct printed them */
	return order;
}

static const struct plx_sacct_row **sorted(const struct plx_rows *rows)
{
	const struct plx_sacct_row **order =
		calloc(rows->count + 1, sizeof(const struct plx_sacct_row *));

	for (size_t i = 0; order && i < rows->count; i++)
		order[i] = &rows->rows[i];
	if (order)
		qsort(order, rows->count, sizeof(*order), compare_rows);
	return order;
}

static bool has_ended(const struct plx_sacct_row *row)
{
	return row->end != PLX_TIME_NONE;
}

static void add_span(struct plx_record *record, const struct plx_sacct_row *row,
		     int64_t now_s)
{
	struct plx_history_span span = {
		.start_s = shape_start(row),
		.end_s = has_ended(row) ? row->end : now_s,
		.gpus = row->gpus,
		.nodes = row->nodes,
		.open = !has_ended(row),
		.comment = row->comment,
		.story = row->story,
	};

	/* A shape left within its second, or a job that never ran. */
	if (span.start_s == PLX_TIME_NONE || span.end_s <= span.start_s)
		return;
	record->ran_s += span.end_s - span.start_s;
	record->gpu_seconds += (span.end_s - span.start_s) * span.gpus;
	record->spans[record->span_count++] = span;
}

static int compare_spans(const void *a, const void *b)
{
	const struct plx_history_span *x = a;
	const struct plx_history_span *y = b;

	if (x->start_s != y->start_s)
		return x->start_s < y->start_s ? -1 : 1;
	return (x->end_s > y->end_s) - (x->end_s < y->end_s);
}

/* Rows that tell of several starts of a job are not in the order of shapes. */
static void sort_spans(struct plx_record *record)
{
	for (size_t i = 1; i < record->span_count; i++) {
		if (record->spans[i].start_s < record->spans[i - 1].start_s) {
			qsort(record->spans, record->span_count,
			      sizeof(*record->spans), compare_spans);
			return;
		}
	}
}

static void read_status(struct plx_record *record, const char *comment)
{
	struct plx_status status;
	int found = plx_status_read(comment, &status, NULL);

	if (found != 0)
		record->elastic = true;
	if (found == 1 && status.resizes > 0) {
		record->pauses = status.resizes;
		memcpy(record->pause_s, status.pause_s,
		       sizeof(record->pause_s));
	}
}

/* First start of any shape; a job that waits or was cancelled has none. */
static int64_t queued(const struct plx_record *record,
		      const struct plx_sacct_row *first)
{
	int64_t until = first->start;

	if (until == PLX_TIME_NONE || first->nodes[0] == '\0' ||
	    !strcmp(first->nodes, "None assigned"))
		until = record->end_s;
	return until > record->submit_s ? until - record->submit_s : 0;
}

static int64_t row_seconds(const struct plx_sacct_row *row)
{
	int64_t start_s = shape_start(row);

	if (start_s == PLX_TIME_NONE || !has_ended(row) || row->end < start_s)
		return 0;
	return row->end - start_s;
}

/*
 * GPU-seconds of a row beyond what the job had before and after it, if that
 * is the shape between: it was left with the acknowledgement that its ranks
 * have handed over, and the one before with the same, while they trained on.
 */
static int64_t held_twice(const struct plx_sacct_row *before,
			  const struct plx_sacct_row *row,
			  const struct plx_sacct_row *after)
{
	int most = before->gpus > after->gpus ? before->gpus : after->gpus;
	struct plx_status first;
	struct plx_status then;

	if (row->gpus <= most || strcmp(row->state, "RESIZING") != 0 ||
	    plx_status_read(before->comment, &first, NULL) != 1 ||
	    plx_status_read(row->comment, &then, NULL) != 1 || !first.live ||
	    then.live || first.ack != then.ack)
		return 0;
	return (row->gpus - most) * row_seconds(row);
}

static int make_record(const struct plx_sacct_row **rows, size_t count,
		       int64_t now_s, struct plx_record *record)
{
	const struct plx_sacct_row *last = rows[count - 1];

	*record = (struct plx_record){
		.id = last->id,
		.number = last->number[0] ? last->number : last->id,
		.name = last->name,
		.state = last->state,
		.user = last->user,
		.account = last->account,
		.partition = last->partition,
		.submit_s = rows[0]->submit,
		.end_s = has_ended(last) ? last->end : now_s,
	};
	record->spans = calloc(count, sizeof(*record->spans));
	if (!record->spans)
		return -1;
	for (size_t i = 0; i < count; i++) {
		add_span(record, rows[i], now_s);
		read_status(record, rows[i]->comment);
		record->resizes += !strcmp(rows[i]->state, "RESIZING");
		if (i > 0 && i + 1 < count)
			record->twice_gpu_seconds +=
				held_twice(rows[i - 1], rows[i], rows[i + 1]);
	}
	sort_spans(record);
	record->queued_s = queued(record, rows[0]);
	return 0;
}

static int compare_medians(const void *a, const void *b)
{
	const struct plx_record *x = *(const struct plx_record *const *) a;
	const struct plx_record *y = *(const struct plx_record *const *) b;

	return (x->pause_s[0] > y->pause_s[0]) -
	       (x->pause_s[0] < y->pause_s[0]);
}

/* Half of all resizes belong to jobs with a median up to this one. */
static int total_pause(const struct plx_history *history,
		       struct plx_totals *totals)
{
	const struct plx_record **order =
		calloc(history->count + 1, sizeof(const struct plx_record *));
	size_t count = 0;
	int seen = 0;

	if (!order)
		return -1;
	for (size_t i = 0; i < history->count; i++) {
		const struct plx_record *r = &history->records[i];

		if (r->pauses == 0)
			continue;
		order[count++] = r;
		totals->pauses += r->pauses;
		if (r->pause_s[1] > totals->pause_s[1])
			totals->pause_s[1] = r->pause_s[1];
	}
	qsort(order, count, sizeof(*order), compare_medians);
	for (size_t i = 0; i < count && 2 * seen < totals->pauses; i++) {
		seen += order[i]->pauses;
		totals->pause_s[0] = order[i]->pause_s[0];
	}
	free(order);
	return 0;
}

static int make_totals(struct plx_history *history)
{
	struct plx_totals *t = &history->totals;
	int64_t first = INT64_MAX;
	int64_t last = 0;

	for (size_t i = 0; i < history->count; i++) {
		const struct plx_record *r = &history->records[i];

		t->jobs++;
		t->elastic += r->elastic;
		t->completed += !strcmp(r->state, "COMPLETED");
		t->gpu_seconds += r->gpu_seconds;
		t->twice_gpu_seconds += r->twice_gpu_seconds;
		t->resizes += r->resizes;
		if (r->submit_s < first)
			first = r->submit_s;
		if (r->end_s > last)
			last = r->end_s;
	}
	t->wall_s = last > first ? last - first : 0;
	return total_pause(history, t);
}

int plx_history_make(const struct plx_rows *rows, int64_t now_s,
		     struct plx_history *history, struct plx_error *err)
{
	struct plx_history made = { .count = 0 };
	const struct plx_sacct_row **order = sorted(rows);
	size_t next;
	int rc = -1;

	made.records = calloc(rows->count + 1, sizeof(*made.records));
	if (!order || !made.records)
		goto done;
	for (size_t i = 0; i < rows->count; i = next) {
		for (next = i + 1; next < rows->count; next++) {
			if (strcmp(order[i]->id, order[next]->id) != 0)
				break;
		}
		if (make_record(order + i, next - i, now_s,
				&made.records[made.count]) < 0)
			goto done;
		made.count++;
	}
	if (make_totals(&made) < 0)
		goto done;
	*history = made;
	made = (struct plx_history){ .count = 0 };
	rc = 0;
done:
	if (rc < 0)
		plx_fail(err, "out of memory");
	plx_history_release(&made);
	free(order);
	return rc;
}

static int compare_id(const void *id, const void *record)
{
	return plx_id_compare(id, ((const struct plx_record *) record)->id);
}

const struct plx_record *plx_history_find(const struct plx_history *history,
					  const char *id)
{
	return history->count ? bsearch(id, history->records, history->count,
					sizeof(*history->records), compare_id)
			      : NULL;
}

/* "1-3": 3; "7": 1. */
static int range_count(const char *text)
{
	char *rest;
	long from = strtol(text, &rest, 10);
	long to = from;

	if (*rest == '-')
		to = strtol(rest + 1, NULL, 10);
	return to >= from && to - from < NODES_MAX ? (int) (to - from + 1) : 1;
}

int plx_nodes_count(const char *nodes)
{
	int count = 0;
	bool inside = false;

	if (!*nodes || !strcmp(nodes, "None assigned"))
		return 0;
	for (const char *p = nodes; *p && count < NODES_MAX; p++) {
		if (*p == '[')
			inside = true;
		else if (*p == ']')
			inside = false;
		if (*p == '[' || (inside && *p == ','))
			count += range_count(p + 1);
		/* A plain name: one without brackets before the comma. */
		if (!inside && (p[1] == ',' || !p[1]) && *p != ']')
			count++;
	}
	return count;
}

void plx_history_release(struct plx_history *history)
{
	for (size_t i = 0; i < history->count; i++)
		free(history->records[i].spans);
	free(history->records);
	*history = (struct plx_history){ .count = 0 };
}
