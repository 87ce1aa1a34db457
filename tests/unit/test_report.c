/* SPDX-License-Identifier: MIT */
/* test_report.c - sacct's rows, the shapes made of them, and the log */

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "report/history.h"
#include "report/shape_log.h"
#include "report/rows.h"
#include "report/text.h"
#include "unit.h"

#define HEAD "JobID|JobName|State|Submit|Start|End|AllocTRES|NodeList|Comment\n"
#define HEAD_P                                                                 \
	"JobID<7>JobName<7>State<7>Submit<7>Start<7>End<7>AllocTRES<7>"        \
	"NodeList<7>Comment<7>\n"
#define STATUS(resizes, pause)                                                 \
	"[pollux v=1 launcher=batch ack=3 phase=done resizes=" resizes         \
	" pause=" pause "]"

/*
 * Recorded with Slurm 22.05.8 (sacct -D -X -P): an array, a job shrunk with
 * scontrol, one that failed; names and comments that hold a delimiter.
 */
static const char recorded[] = HEAD
	"1|rigid-a|RESIZING|2026-11-21T11:36:16|2026-11-21T11:36:17|"
	"2026-11-21T11:36:21|billing=2,cpu=2,gres/gpu=4,node=2|n[1-2]|my|note\n"
	"2|fails|FAILED|2026-11-21T11:36:16|2026-11-21T11:36:17|"
	"2026-11-21T11:36:19|billing=1,cpu=1,gres/gpu=4,node=1|n3|\n"
	"5|long|RUNNING|2026-11-21T11:36:16|2026-11-21T11:36:17|Unknown|"
	"billing=1,cpu=1,gres/gpu=1,node=1|n4|\n"
	"3_1|arr|COMPLETED|2026-11-21T11:36:16|2026-11-21T11:36:17|"
	"2026-11-21T11:36:21|billing=1,cpu=1,gres/gpu=1,node=1|n4|\n"
	"1|rigid-a|COMPLETED|2026-11-21T11:36:21|2026-11-21T11:36:17|"
	"2026-11-21T11:36:24|billing=1,cpu=1,gres/gpu=2,node=1|n1|my|note\n";

/* As pollux-report asks for it: any name or comment, times as numbers. */
static const char elastic[] = HEAD_P
	"7<7>two\nlines|<7>RESIZING<7>100<7>103<7>106<7>gres/"
	"gpu=1<7>n1<7>" STATUS(
		"4",
		"0.25,0.5") "<7>\n"
			    "7<7>two\nlines|<7>RESIZING<7>106<7>103<7>106<7>"
			    "gres/gpu=2<7>n1<7>" STATUS(
				    "4",
				    "0.25,0.5") "<7>\n"
						"7<7>two\nlines|<7>RESIZING<7>"
						"106<7>103<7>110<7>"
						"gres/gpu=8,gres/"
						"gpu:t4=8<7>n[1-2]<7>" STATUS(
							"4",
							"0.25,0.5") "<7>\n"
								    "7<7>"
								    "two\nlines"
								    "|<7>"
								    "RESIZING<"
								    "7>110<7>"
								    "103<7>111<"
								    "7>cpu=1<7>"
								    "n1<"
								    "7>" STATUS(
									    "4",
									    "0."
									    "25"
									    ",0"
									    "."
									    "5") "<7>\n"
										 "7<7>two\nlines|<7>COMPLETED<7>111<7>103<7>120<7>gres/gpu=4<7>n1<7>"
										 "mine\nand\n" STATUS(
											 "4",
											 "0.25,0.5") "<7>\n"
												     "12<7>rigid<7>COMPLETED<7>101<7>102<7>104<7>gres/gpu=2<7>n3<7><7>\n"
												     "13<7>gone<7>CANCELLED by 0<7>101<7>None<7>105<7><7>None assigned<7>"
												     "<7>\n";

static const char agreeing[] =
	"[2026-11-21T11:36:16.123] sched/pollux: JobId=7 held 1 GPUs on n1 "
	"from 103 to 106: 3 GPU-seconds\n"
	"[2026-11-21T11:36:16.123] sched/pollux: JobId=7 held 2 GPUs on n1 "
	"from 106 to 106: 0 GPU-seconds\n"
	"[2026-11-21T11:36:16.123] sched/pollux: JobId=7 held 8 GPUs on "
	"n[1-2] from 106 to 110: 32 GPU-seconds\n"
	"[2026-11-21T11:36:16.123] debug:  somebody held 2 GPUs on n1\n"
	"[2026-11-21T11:36:16.123] sched/pollux: JobId=7 held 0 GPUs on n1 "
	"from 110 to 111: 0 GPU-seconds\n"
	"[2026-11-21T11:36:16.123] sched/pollux: JobId=7 held 4 GPUs on n1 "
	"from 111 to 120: 36 GPU-seconds\n";

struct fixture {
	struct plx_rows rows;
	struct plx_history history;
};

static void open_history(struct fixture *f, const char *text, int64_t now_s)
{
	struct plx_error err = { .text = "" };

	if (plx_rows_parse(text, strlen(text), &f->rows, &err) < 0 ||
	    plx_history_make(&f->rows, now_s, &f->history, &err) < 0)
		fail_msg("%s", err.text);
}

static void close_history(struct fixture *f)
{
	plx_history_release(&f->history);
	plx_rows_release(&f->rows);
}

static void a_shape_begins_when_its_row_was_made(void **state)
{
	struct fixture f;
	const struct plx_record *job;

	(void) state;
	open_history(&f, recorded, 0);
	job = plx_history_find(&f.history, "1");
	assert_non_null(job);
	assert_int_equal(2, job->span_count);
	assert_int_equal(4, job->spans[0].end_s - job->spans[0].start_s);
	assert_int_equal(3, job->spans[1].end_s - job->spans[1].start_s);
	assert_int_equal(job->spans[0].end_s, job->spans[1].start_s);
	assert_int_equal(4 * 4 + 3 * 2, job->gpu_seconds);
	assert_int_equal(1, job->queued_s);
	assert_int_equal(1, job->resizes);
	assert_string_equal("COMPLETED", job->state);
	assert_false(job->elastic);
	close_history(&f);
}

static void jobs_come_by_number_and_arrays_by_task(void **state)
{
	static const char *const order[] = { "1", "2", "3_1", "5" };
	struct fixture f;

	(void) state;
	open_history(&f, recorded, 0);
	assert_int_equal(ARRAY_SIZE(order), f.history.count);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		assert_string_equal(order[i], f.history.records[i].id);
	assert_true(plx_id_compare("3_2", "3_10") < 0);
	assert_true(plx_id_compare("12", "3_10") > 0);
	close_history(&f);
}

static void a_running_job_has_its_shape_until_now(void **state)
{
	struct fixture f;
	const struct plx_record *job;
	int64_t start_s;

	(void) state;
	open_history(&f, recorded, 0);
	start_s = plx_history_find(&f.history, "2")->spans[0].start_s;
	close_history(&f);
	open_history(&f, recorded, start_s + 30);
	job = plx_history_find(&f.history, "5");
	assert_int_equal(1, job->span_count);
	assert_true(job->spans[0].open);
	assert_int_equal(30, job->gpu_seconds);
	close_history(&f);
}

static void names_and_comments_may_hold_anything(void **state)
{
	struct fixture f;
	const struct plx_record *job;

	(void) state;
	open_history(&f, elastic, 0);
	job = plx_history_find(&f.history, "7");
	assert_non_null(job);
	assert_string_equal("two\nlines|", job->name);
	assert_true(job->elastic);
	assert_int_equal(3, f.history.count);
	close_history(&f);
}

static void a_shape_left_within_its_second_counts_as_a_resize(void **state)
{
	struct fixture f;
	const struct plx_record *job;

	(void) state;
	open_history(&f, elastic, 0);
	job = plx_history_find(&f.history, "7");
	assert_int_equal(4, job->resizes);
	assert_int_equal(4, job->span_count);
	assert_int_equal(0, job->spans[2].gpus);
	assert_int_equal(3 + 32 + 0 + 36, job->gpu_seconds);
	assert_int_equal(4, job->pauses);
	close_history(&f);
}

static void a_job_that_never_ran_was_only_queued(void **state)
{
	struct fixture f;
	const struct plx_record *job;

	(void) state;
	open_history(&f, elastic, 0);
	job = plx_history_find(&f.history, "13");
	assert_int_equal(0, job->span_count);
	assert_int_equal(4, job->queued_s);
	assert_string_equal("CANCELLED", job->state);
	close_history(&f);
}

static void totals_add_up(void **state)
{
	struct fixture f;

	(void) state;
	open_history(&f, elastic, 0);
	assert_int_equal(3, f.history.totals.jobs);
	assert_int_equal(1, f.history.totals.elastic);
	assert_int_equal(2, f.history.totals.completed);
	assert_int_equal(20, f.history.totals.wall_s);
	assert_int_equal(71 + 4, f.history.totals.gpu_seconds);
	assert_int_equal(4, f.history.totals.resizes);
	assert_true(f.history.totals.pause_s[0] == 0.25);
	assert_true(f.history.totals.pause_s[1] == 0.5);
	close_history(&f);
}

static void bad_text_is_answered_with_its_line(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} cases[] = {
		/* clang-format off */
		{ "", "line 1: want the column names of sacct, JobID first" },
		{ "hello\n",
		  "line 1: want the column names of sacct, JobID first" },
		{ "JobID\n", "line 1: no delimiter after JobID" },
		{ "JobID|State|Submit|Start|End\n",
		  "line 1: no column AllocTRES" },
		{ HEAD "1|a\n", "line 2: want 9 fields, as line 1" },
		{ HEAD "x|a|RUNNING|1|2|3|||\n",
		  "line 2: want a job id first" },
		{ HEAD "1|a|RUNNING|1|2|soon|||\n",
		  "line 2: End is not a time" },
		{ HEAD "\n1|a|RUNNING|1|2|3|gres/gpu=99999999999||\n",
		  "line 3: more GPUs than can be" },
		/* clang-format on */
	};
	struct plx_rows rows;
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(-1, plx_rows_parse(cases[i].text,
						    strlen(cases[i].text),
						    &rows, &err));
		assert_string_equal(cases[i].why, err.text);
	}
}

/* From Unicode's own tables (15.0), not from text.c. */
static const struct {
	wint_t first;
	wint_t last;
} unseen[] = {
	/* clang-format off */
	/* Cf, format */
	{ 0xad, 0xad }, { 0x600, 0x605 }, { 0x61c, 0x61c }, { 0x6dd, 0x6dd },
	{ 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 },
	{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x202a, 0x202e },
	{ 0x2060, 0x2064 }, { 0x2066, 0x206f }, { 0xfeff, 0xfeff },
	{ 0xfff9, 0xfffb }, { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd },
	{ 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0001, 0xe0001 }, { 0xe0020, 0xe007f },
	/* Zs, Zl, Zp: separators, but for the space */
	{ 0xa0, 0xa0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200a },
	{ 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f },
	{ 0x3000, 0x3000 },
	/* Default_Ignorable_Code_Point, beyond those */
	{ 0x34f, 0x34f }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f }, { 0x2065, 0x2065 }, { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 },
	{ 0xe0000, 0xe0fff },
	/* Co, private use; noncharacters; a blank that is a symbol */
	{ 0xe000, 0xf8ff }, { 0xf0000, 0x10ffff }, { 0xfdd0, 0xfdef },
	{ 0xfffe, 0xffff }, { 0x1fffe, 0x1ffff }, { 0x2800, 0x2800 },
	/* clang-format on */
};

static bool is_unseen(wint_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(unseen); i++) {
		if (code >= unseen[i].first && code <= unseen[i].last)
			return true;
	}
	return false;
}

static void what_cannot_be_seen_is_not_printed(void **state)
{
	int letters = 0;
	char clean[32];

	(void) state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (wint_t code = 0x80; code <= 0x10ffff; code++) {
		char text[16] = "";
		int length = wctomb(text, (wchar_t) code);

		if (length < 0)
			continue; /* half of a pair */
		plx_text_clean(text, clean, sizeof(clean));
		if (is_unseen(code) && (int) strspn(clean, "?") != length)
			fail_msg("U+%04X is printed", code);
		if (is_unseen(code) || !iswalnum(code))
			continue;
		letters++;
		if (strcmp(text, clean) != 0)
			fail_msg("the letter U+%04X is not printed", code);
	}
	assert_true(letters > 100000);
	assert_string_equal("caf\u00e9 \U0001f600",
			    plx_text_clean("caf\u00e9 \U0001f600", clean,
					   sizeof(clean)));
}

static void rows_that_a_name_can_forge_are_not_believed(void **state)
{
	static const struct {
		const char *text;
		bool believed;
	} cases[] = {
		/* clang-format off */
		{ "JobID|State|Submit|Start|End|AllocTRES\n", true },
		{ "JobID|JobName|State|Submit|Start|End|AllocTRES\n", false },
		{ "JobID|State|Submit|Start|End|AllocTRES|Comment\n", false },
		{ "JobID|State|Submit|Start|End|AllocTRES|WorkDir\n", false },
		{ "JobID<12345678>State<12345678>Submit<12345678>Start"
		  "<12345678>End<12345678>AllocTRES<12345678>JobName\n",
		  true },
		{ "JobID<1>State<1>Submit<1>Start<1>End<1>AllocTRES<1>"
		  "JobName\n", false },
		/* clang-format on */
	};
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(cases[i].believed ? 0 : -1,
				 plx_rows_believable(cases[i].text,
						     strlen(cases[i].text),
						     &err));
	}
}

static void steps_are_not_jobs(void **state)
{
	struct fixture f;

	(void) state;
	open_history(&f,
		     HEAD "1|a|COMPLETED|1|2|4|gres/gpu=1|n1|\n"
			  "1.0|a|COMPLETED|1|2|4|gres/gpu=1|n1|\n",
		     0);
	assert_int_equal(1, f.history.count);
	assert_int_equal(2, f.history.totals.gpu_seconds);
	close_history(&f);
}

static void keep_last(const char *sentence, void *arg)
{
	snprintf(arg, 512, "%s", sentence);
}

/* Check the elastic history against log; the number of differences. */
static int differences(const char *log, int *agreed, char last[512])
{
	struct plx_shape_log shapes;
	struct fixture f;
	FILE *file = fmemopen((void *) (uintptr_t) log, strlen(log), "r");
	int count = -1;

	assert_non_null(file);
	assert_int_equal(0, plx_shape_log_read(file, &shapes, NULL));
	fclose(file);
	open_history(&f, elastic, 0);
	last[0] = '\0';
	*agreed = plx_shape_log_check(&shapes, &f.history, false, keep_last,
				      last, &count);
	close_history(&f);
	plx_shape_log_release(&shapes);
	return count;
}

static void log_and_sacct_agree_shape_by_shape(void **state)
{
	char last[512];
	int agreed;

	(void) state;
	assert_int_equal(0, differences(agreeing, &agreed, last));
	assert_int_equal(4, agreed);
}

static void a_difference_is_told(void **state)
{
	static const struct {
		const char *from;
		const char *to;
		const char *told;
	} cases[] = {
		/* clang-format off */
		{ "36 GPU-s", "37 GPU-s", "job 7 from 111: sacct says 4 GPUs "
		  "on n1 to 120, 36 GPU-seconds; the log 4 GPUs on n1 to 120, "
		  "37 GPU-seconds" },
		{ "on n[1-2]", "on n[1-3]", "job 7 from 106: sacct says 8 GPUs "
		  "on n[1-2] to 110, 32 GPU-seconds; the log 8 GPUs on n[1-3] "
		  "to 110, 32 GPU-seconds" },
		{ "JobId=7 held 4", "JobId=9 held 4",
		  "job 9: sacct has no 4 GPUs on n1 from 111 to 120, the log "
		  "has" },
		{ "] sched/pollux: JobId=7 held 1", "] x sched/pollux: "
		  "JobId=7 held 1", "job 7: the log has no 1 GPUs on n1 from "
		  "103 to 106, sacct has" },
		/* clang-format on */
	};
	char log[sizeof(agreeing) + 64];
	char last[512];
	const char *at;
	int agreed;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		at = strstr(agreeing, cases[i].from);
		assert_non_null(at);
		snprintf(log, sizeof(log), "%.*s%s%s", (int) (at - agreeing),
			 agreeing, cases[i].to, at + strlen(cases[i].from));
		assert_true(differences(log, &agreed, last) > 0);
		assert_string_equal(cases[i].told, last);
		assert_int_equal(3, agreed);
	}
}

static void users_text_cannot_steer_a_terminal(void **state)
{
	static const struct {
		const char *from;
		const char *to;
	} cases[] = {
		{ "plain", "plain" },	       { "a\033[2Jb", "a?[2Jb" },
		{ "two\nlines", "two?lines" }, { "gr\xc3\xbcn", "gr\xc3\xbcn" },
		{ "\xff\xc3", "??" },	       { "\xc2\x9b", "??" },
	};
	char text[32];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(cases[i].to,
				    plx_text_clean(cases[i].from, text,
						   sizeof(text)));
	assert_string_equal("abc", plx_text_clean("abcdef", text, 4));
}

static void durations_are_short(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {
		{ 0, "0s" },	   { 59, "59s" },	{ 116, "1m56s" },
		{ 7380, "2h03m" }, { 273600, "3d04h" },
	};
	char text[24];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(cases[i].text,
				    plx_text_duration(cases[i].seconds, text,
						      sizeof(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shape_begins_when_its_row_was_made),
		cmocka_unit_test(jobs_come_by_number_and_arrays_by_task),
		cmocka_unit_test(a_running_job_has_its_shape_until_now),
		cmocka_unit_test(names_and_comments_may_hold_anything),
		cmocka_unit_test(
			a_shape_left_within_its_second_counts_as_a_resize),
		cmocka_unit_test(a_job_that_never_ran_was_only_queued),
		cmocka_unit_test(totals_add_up),
		cmocka_unit_test(bad_text_is_answered_with_its_line),
		cmocka_unit_test(what_cannot_be_seen_is_not_printed),
		cmocka_unit_test(rows_that_a_name_can_forge_are_not_believed),
		cmocka_unit_test(steps_are_not_jobs),
		cmocka_unit_test(log_and_sacct_agree_shape_by_shape),
		cmocka_unit_test(a_difference_is_told),
		cmocka_unit_test(users_text_cannot_steer_a_terminal),
		cmocka_unit_test(durations_are_short),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
