/* SPDX-License-Identifier: MIT */
/* fuzz_report.c - what operators' tools read: sacct, logs, numbers, comments */

#include <jansson.h>

#include "fuzz.h"
#include "report/columns.h"
#include "report/events_read.h"
#include "report/group.h"
#include "report/shape_log.h"
#include "report/page.h"
#include "report/print.h"
#include "report/stat.h"
#include "report/top.h"
#include "report/job_efficiency.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW_S	 1795305600

/* What was printed; the caller's to free. */
struct sheet {
	char *text;
	size_t size;
	FILE *out;
};

static void sheet_open(struct sheet *sheet)
{
	*sheet = (struct sheet){ .text = NULL };
	sheet->out = open_memstream(&sheet->text, &sheet->size);
	MUST(sheet->out);
}

/* Lines that a terminal can bear: no control character, no stray byte. */
static void sheet_is_clean(struct sheet *sheet)
{
	json_t *string;

	fclose(sheet->out);
	for (const char *p = sheet->text; *p; p++)
		MUST((unsigned char) *p >= ' ' || *p == '\n');
	MUST(strlen(sheet->text) == sheet->size);
	string = json_string(sheet->text); /* NULL: not UTF-8 */
	MUST(string);
	json_decref(string);
	free(sheet->text);
}

static void sheet_is_json(struct sheet *sheet)
{
	json_t *read;

	fclose(sheet->out);
	read = json_loadb(sheet->text, sheet->size, 0, NULL);
	MUST(read);
	json_decref(read);
	free(sheet->text);
}

/* As many columns as the head has, whatever is in them. */
static void print_columns(const struct plx_history *history)
{
	struct plx_columns columns;
	struct plx_error err;
	struct sheet sheet;
	int bars = 0;

	MUST(!plx_columns_read(plx_fields_job, "all", &columns, &err));
	sheet_open(&sheet);
	for (size_t i = 0; i < history->count; i++)
		plx_columns_row(&columns, PLX_STYLE_PARSABLE,
				&history->records[i], sheet.out);
	for (size_t i = 0; i < history->count; i++)
		plx_columns_row(&columns, PLX_STYLE_TABLE, &history->records[i],
				sheet.out);
	fflush(sheet.out);
	for (const char *p = sheet.text; *p; p++)
		bars += *p == '|';
	MUST(bars >= columns.count * (int) history->count);
	sheet_is_clean(&sheet);
}

/* Every job is in one group. Centuries have many hours: left out. */
static void sum_up(const struct plx_history *history)
{
	static const char *const ways[] = { "user", "state", "hour", "week" };
	struct plx_groups groups;
	struct plx_error err;

	for (size_t i = 0; i < COUNT(ways); i++) {
		int jobs = 0;

		if (i > 1 && history->totals.wall_s > 100 * 86400)
			break;
		MUST(!plx_group_make(history, ways[i], &groups, &err));
		for (size_t g = 0; g < groups.count; g++)
			jobs += groups.groups[g].jobs;
		MUST(jobs == (int) history->count);
		plx_group_release(&groups);
	}
}

static void print_all(const struct plx_history *history, int cluster_gpus)
{
	struct plx_error err;
	struct sheet sheet;
	size_t rects = 0;
	size_t spans = 0;

	print_columns(history);
	sheet_open(&sheet);
	plx_print_table(history, true, sheet.out);
	plx_print_table(history, false, sheet.out);
	sheet_is_clean(&sheet);
	sheet_open(&sheet);
	MUST(!plx_print_json(history, NULL, sheet.out, &err));
	sheet_is_json(&sheet);
	sheet_open(&sheet);
	MUST(!plx_page_print(history, cluster_gpus, sheet.out, &err));
	fflush(sheet.out);
	/* No user's text makes or ends an element. */
	for (const char *p = sheet.text; (p = strstr(p, "<rect")); p++)
		rects++;
	for (size_t i = 0; i < history->count; i++)
		spans += history->records[i].span_count;
	MUST(rects == spans);
	MUST(strstr(strstr(sheet.text, "<script>") + 1, "<script") == NULL);
	sheet_is_clean(&sheet);
}

static void check_record(const struct plx_record *r)
{
	int64_t last_s = INT64_MIN;

	MUST(r->queued_s >= 0 && r->ran_s >= 0 && r->gpu_seconds >= 0);
	for (size_t i = 0; i < r->span_count; i++) {
		MUST(r->spans[i].end_s > r->spans[i].start_s);
		MUST(r->spans[i].start_s >= last_s);
		last_s = r->spans[i].start_s;
	}
}

int fuzz_rows(const uint8_t *data, size_t size)
{
	struct plx_efficiency_setting setting = { 0 };
	struct plx_history history;
	struct plx_error err;
	struct plx_rows rows;

	if (plx_rows_believable((const char *) data, size, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	if (plx_rows_parse((const char *) data, size, &rows, &err) < 0) {
		fuzz_is_a_line(err.text, sizeof(err.text));
		return 0;
	}
	MUST(!plx_history_make(&rows, NOW_S, &history, &err));
	MUST(history.count <= rows.count);
	MUST(!plx_efficiency_make(&history, &setting, &err));
	for (size_t i = 0; i < history.count; i++) {
		MUST(plx_history_find(&history, history.records[i].id));
		check_record(&history.records[i]);
	}
	sum_up(&history);
	print_all(&history, setting.cluster_gpus);
	plx_history_release(&history);
	plx_rows_keep(&rows, "5,7_1", NULL, "", "gpu");
	plx_rows_release(&rows);
	return 0;
}

static void tell(const char *sentence, void *arg)
{
	fuzz_is_a_line(sentence, 512);
	++*(int *) arg;
}

int fuzz_ledger(const uint8_t *data, size_t size)
{
	static const char sacct[] =
		"JobID|State|Submit|Start|End|AllocTRES|NodeList|Comment\n"
		"5|RESIZING|100|110|120|gres/gpu=2|n[1-2]|\n"
		"5|COMPLETED|120|110|190|gres/gpu=4|n[1-2]|\n";
	struct plx_history history;
	struct plx_shape_log ledger;
	struct plx_error err;
	struct plx_rows rows;
	int differences = 0;
	int told = 0;
	FILE *log = size ? fmemopen((void *) (uintptr_t) data, size, "r") : 0;

	if (!log)
		return 0;
	MUST(!plx_shape_log_read(log, &ledger, &err));
	fclose(log);
	MUST(!plx_rows_parse(sacct, strlen(sacct), &rows, &err));
	MUST(!plx_history_make(&rows, NOW_S, &history, &err));
	for (size_t i = 0; i < ledger.count; i++) {
		const struct plx_shape_log_entry *entry = &ledger.entries[i];

		MUST(entry->id && entry->nodes);
		MUST(!entry->why || strlen(entry->why) < PLX_WHY_SIZE);
		MUST(i == 0 || plx_id_compare(entry[-1].id, entry->id) <= 0);
	}
	plx_shape_log_explain(&ledger, &history);
	plx_shape_log_check(&ledger, &history, size & 1, tell, &told,
			    &differences);
	MUST(told == differences);
	if (size % 4 == 0)
		print_all(&history, 4);
	plx_shape_log_release(&ledger);
	plx_history_release(&history);
	plx_rows_release(&rows);
	return 0;
}

/* Of a job's folder, in which its owner writes what they like. */
int fuzz_events(const uint8_t *data, size_t size)
{
	static const char sacct[] =
		"JobID|State|Submit|Start|End|AllocTRES|NodeList|Comment\n"
		"5|RESIZING|100|110|120|gres/gpu=2|n[1-2]|\n"
		"5|COMPLETED|120|110|190|gres/gpu=4|n[1-2]|\n";
	struct plx_changes changes = { .count = 0 };
	struct plx_history history;
	struct plx_error err;
	struct plx_rows rows;
	FILE *file = size ? fmemopen((void *) (uintptr_t) data, size, "r") : 0;

	if (!file)
		return 0;
	if (plx_events_read(file, &changes, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	fclose(file);
	MUST(!plx_rows_parse(sacct, strlen(sacct), &rows, &err));
	MUST(!plx_history_make(&rows, NOW_S, &history, &err));
	for (size_t i = 0; i < changes.count; i++)
		MUST(changes.changes[i].id && changes.changes[i].why);
	plx_events_explain(&changes, &history);
	if (history.records[0].spans[0].why)
		print_all(&history, 4);
	plx_events_release(&changes);
	plx_history_release(&history);
	plx_rows_release(&rows);
	return 0;
}

int fuzz_stat(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	struct plx_error err;
	struct plx_stat stat;
	struct sheet sheet;
	json_t *json;

	if (plx_stat_read(fuzz_text(data, size, text), &stat, &err) < 0) {
		fuzz_is_a_line(err.text, sizeof(err.text));
		return 0;
	}
	MUST(stat.count > 0);
	sheet_open(&sheet);
	plx_stat_print(&stat, NOW_S, sheet.out);
	sheet_is_clean(&sheet);
	sheet_open(&sheet);
	json = plx_stat_json(&stat);
	MUST(json && json_dumpf(json, sheet.out, 0) == 0);
	json_decref(json);
	sheet_is_json(&sheet);
	plx_stat_release(&stat);
	return 0;
}

/* One node and one job, called and commented by others. */
static struct plx_view look_at(const char *text, size_t size)
{
	static const char *const states[] = { "RUNNING", "PENDING", "FAILED" };
	struct plx_view view = { .now_s = NOW_S, .gpus = 4, .gpus_busy = 2 };
	struct plx_view_job *job = calloc(1, sizeof(*job));
	struct plx_view_node *node = calloc(1, sizeof(*node));

	MUST(job && node);
	*job = (struct plx_view_job){ .number = 7,
				      .id = "7",
				      .state = states[size % 3],
				      .running = size % 3 == 0,
				      .waiting = size % 3 == 1,
				      .gpus = (int) (size % 5),
				      .nodes = size % 5 > 0,
				      .start_s = NOW_S - 9,
				      .ran_s = (int64_t) (size % 4),
				      .was_gpus = -1 };
	*node = (struct plx_view_node){ .state = "up", .gpus = 4, .busy = 2 };
	snprintf(node->name, sizeof(node->name), "%s", text);
	snprintf(job->name, sizeof(job->name), "%s", text);
	snprintf(job->user, sizeof(job->user), "%s", text);
	snprintf(job->reason, sizeof(job->reason), "%s", text);
	view.nodes = node;
	view.node_count = 1;
	view.jobs = job;
	view.count = 1;
	plx_view_sort_nodes(&view);
	plx_view_read(job, text, text);
	plx_placement_add(job->placement, "n1", plx_gres_gpus(text));
	plx_view_hold(&view, 0, node->name, text);
	plx_view_unknown(&view, node->name, text);
	return view;
}

/* The job's story, as accounting tells it; the table; or the nodes. */
static void draw(struct plx_top *top, const char *text, size_t size)
{
	static const enum plx_top_mode modes[] = { PLX_TOP_STORY, PLX_TOP_TABLE,
						   PLX_TOP_NODES };
	struct plx_screen screen;
	struct sheet sheet;
	char *accounts = strdup(text);

	MUST(accounts);
	top->at = 7;
	plx_top_notify(top, 7, accounts, false);
	top->mode = modes[size % COUNT(modes)];
	MUST(!plx_screen_init(&screen, 80, 24, true));
	plx_top_draw(top, &screen, NOW_S + 5);
	sheet_open(&sheet);
	for (int y = 0; y < screen.height; y++)
		plx_screen_row(&screen, y, sheet.out);
	sheet_is_clean(&sheet);
	plx_screen_release(&screen);
}

/* Comments are the job's, names its user's, GPUs the nodes'. */
int fuzz_view(const uint8_t *data, size_t size)
{
	static const size_t order[] = { 0 };
	char text[TEXT_MAX];
	struct plx_view view;
	struct sheet sheet;
	struct plx_top top;
	json_t *json;

	view = look_at(fuzz_text(data, size, text), size);
	MUST(plx_gres_gpus(text) >= 0);
	MUST(plx_view_batch(view.jobs) >= 0);
	MUST(plx_view_left_s(view.jobs) >= -1);
	MUST(!(plx_view_promised(view.jobs, 4, 2) < 0));
	sheet_open(&sheet);
	plx_stat_jobs(&view, sheet.out);
	sheet_is_clean(&sheet);
	sheet_open(&sheet);
	json = plx_view_json(&view, order, 1);
	MUST(json && json_dumpf(json, sheet.out, 0) == 0);
	json_decref(json);
	sheet_is_json(&sheet);
	json = plx_stat_jobs_json(&view);
	MUST(json && json_array_size(json) <= 1);
	json_decref(json);
	plx_top_init(&top, NULL);
	plx_top_take(&top, &view);
	draw(&top, text, size / 3);
	plx_top_release(&top);
	return 0;
}
