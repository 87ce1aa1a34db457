/* SPDX-License-Identifier: MIT */
/* test_shape_log.c - reasons and shapes in slurmctld's log */

#include <stdlib.h>

#include "core/records/target.h"
#include "report/shape_log.h"
#include "report_world.h"

#define AT "[2026-11-21T11:36:16.123] "
#define ASKED(job, gpus, why)                                                  \
	AT "sched/pollux: JobId=" job " asked for " gpus                       \
	   " on n1, serial 2: " why "\n"
#define HELD(job, gpus, times)                                                 \
	AT "sched/pollux: JobId=" job " held " gpus " on n1 " times            \
	   " GPU-seconds\n"

#define REQUEUED(job)                                                          \
	AT "sched/pollux: JobId=" job " was requeued and will start on 1 "     \
	   "GPUs\n"

static struct plx_shape_log read_log(const char *log)
{
	FILE *file = fmemopen((void *) (uintptr_t) log, strlen(log), "r");
	struct plx_shape_log shapes;

	assert_non_null(file);
	assert_int_equal(0, plx_shape_log_read(file, &shapes, NULL));
	fclose(file);
	return shapes;
}

/* How many entries a log has. */
static size_t entries(const char *log)
{
	struct plx_shape_log shapes = read_log(log);
	size_t count = shapes.count;

	plx_shape_log_release(&shapes);
	return count;
}

static void a_shape_is_left_for_what_was_asked_last(void **state)
{
	struct plx_shape_log shapes = read_log(
		ASKED("7", "4 GPUs", "grows 2 -> 4") ASKED(
			"7", "1 GPUs", "gives up 1") ASKED("8", "2 GPUs", "x")
			HELD("7", "2 GPUs", "from 10 to 20: 20")
				HELD("7", "1 GPUs", "from 20 to 25: 5"));

	(void) state;
	assert_int_equal(2, shapes.count);
	assert_string_equal("gives up 1", shapes.entries[0].why);
	assert_int_equal(2, shapes.entries[0].gpus);
	assert_int_equal(10, shapes.entries[0].start_s);
	assert_int_equal(20, shapes.entries[0].end_s);
	assert_int_equal(20, shapes.entries[0].gpu_seconds);
	assert_string_equal("n1", shapes.entries[0].nodes);
	/* It ended without being asked. */
	assert_null(shapes.entries[1].why);
	assert_int_equal(1, shapes.entries[1].gpus);
	plx_shape_log_release(&shapes);
}

static void a_whole_job_is_asked_with_more_words(void **state)
{
	static const char *const serials[] = { "2", "2, to be moved",
					       "2, to wait in the queue" };
	char log[512];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(serials); i++) {
		struct plx_shape_log shapes;

		snprintf(log, sizeof(log),
			 AT "sched/pollux: JobId=7 asked for 4 GPUs on n1, "
			    "serial %s: to n2: n1 is drained\n%s",
			 serials[i], HELD("7", "2 GPUs", "from 1 to 2: 2"));
		shapes = read_log(log);
		assert_int_equal(1, shapes.count);
		assert_string_equal("to n2: n1 is drained",
				    shapes.entries[0].why);
		plx_shape_log_release(&shapes);
	}
}

static void entries_come_by_job_and_time(void **state)
{
	static const int starts[] = { 5, 10, 20, 20, 7 };
	struct plx_shape_log shapes = read_log(
		HELD("12", "1 GPUs", "from 7 to 8: 1") HELD("3", "1 GPUs",
							    "from 20 to 30: 10")
			HELD("3", "1 GPUs", "from 20 to 20: 0")
				HELD("3", "1 GPUs", "from 10 to 20: 10")
					HELD("3", "1 GPUs", "from 5 to 10: 5"));

	(void) state;
	assert_int_equal(ARRAY_SIZE(starts), shapes.count);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		assert_int_equal(starts[i], shapes.entries[i].start_s);
	assert_int_equal(20, shapes.entries[2].end_s);
	assert_string_equal("12", shapes.entries[4].id);
	plx_shape_log_release(&shapes);
}

static void other_lines_are_not_ours(void **state)
{
	static const char *const logs[] = {
		"\n",
		"[\n",
		"[2026] \n",
		AT "JobId=7 held 2 GPUs on n1 from 1 to 2: 2 GPU-seconds\n",
		AT "job sched/pollux: JobId=7 held 2 GPUs on n1 from 1 to 2: "
		   "2 GPU-seconds\n",
		AT "sched/pollux: JobId=7 held many GPUs on n1 from 1 to 2: "
		   "2 GPU-seconds\n",
		AT "sched/pollux: JobId=7 held 2 GPUs on n1 from 1 to 2\n",
		AT "sched/pollux: JobId=7 held\n",
		AT "sched/pollux: JobId=\n",
		AT "sched/pollux: JobId=7 has 2 GPUs on n1\n",
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++)
		assert_int_equal(0, entries(logs[i]));
	assert_int_equal(1, entries(HELD("7", "2 GPUs", "from 1 to 2: 2")));
	/* As slurmctld -D prints it. */
	assert_int_equal(1, entries("sched/pollux: JobId=7 held 2 GPUs on n1 "
				    "from 1 to 2: 2 GPU-seconds\n"));
}

static void a_request_that_says_nothing_is_none(void **state)
{
	static const char *const asked[] = {
		AT "sched/pollux: JobId=7 asked for 4 GPUs on n1: why\n",
		AT "sched/pollux: JobId=7 asked for GPUs on n1, serial 2: y\n",
		AT "sched/pollux: JobId=7 asked\n",
		AT "sched/pollux: JobId=7 asked for 4 GPUs on n1, serial 2\n",
		AT "sched/pollux: JobId=7 asked for 4 GPUs on n1, serial 2x: "
		   "y\n",
		AT "JobId=7 asked for 4 GPUs on n1, serial 2: why\n",
	};
	char log[512];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct plx_shape_log shapes;

		snprintf(log, sizeof(log), "%s%s", asked[i],
			 HELD("7", "2 GPUs", "from 1 to 2: 2"));
		shapes = read_log(log);
		assert_int_equal(1, shapes.count);
		assert_null(shapes.entries[0].why);
		plx_shape_log_release(&shapes);
	}
}

/* The rest of a line that is longer than any of ours does not pose as one. */
static void a_line_without_end_is_one_line(void **state)
{
	static const char held[] = HELD("7", "2 GPUs", "from 1 to 2: 2");
	char *log = malloc(10000);

	(void) state;
	assert_non_null(log);
	for (size_t length = 4090; length < 4100; length++) {
		memset(log, 'x', length);
		snprintf(log + length, 10000 - length, "%s%s", held, held);
		assert_int_equal(1, entries(log));
	}
	free(log);
}

static void a_long_reason_is_cut(void **state)
{
	char log[2000];
	char why[1001];
	struct plx_shape_log shapes;

	(void) state;
	memset(why, 'y', 1000);
	why[1000] = '\0';
	snprintf(log, sizeof(log),
		 AT "sched/pollux: JobId=7 asked for 4 GPUs on n1, serial 2: "
		    "%s\n%s",
		 why, HELD("7", "2 GPUs", "from 1 to 2: 2"));
	shapes = read_log(log);
	assert_int_equal(1, shapes.count);
	assert_int_equal(PLX_WHY_SIZE - 1, strlen(shapes.entries[0].why));
	plx_shape_log_release(&shapes);
}

/* So many that some requests are forgotten, in the order they came. */
static void requests_of_many_jobs_are_remembered(void **state)
{
	enum { JOBS = 600 };
	struct plx_shape_log shapes;
	char *log = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&log, &size);
	int whys = 0;

	(void) state;
	for (int i = 0; i < JOBS; i++)
		fprintf(out,
			AT "sched/pollux: JobId=%d asked for 4 GPUs on n1, "
			   "serial 2: why %d\n",
			1000 + i, i);
	for (int i = 0; i < JOBS; i++)
		fprintf(out,
			AT "sched/pollux: JobId=%d held 2 GPUs on n1 from 1 to "
			   "2: 2 GPU-seconds\n",
			1000 + i);
	fclose(out);
	shapes = read_log(log);
	assert_int_equal(JOBS, shapes.count);
	for (int i = 0; i < JOBS; i++)
		whys += shapes.entries[i].why != NULL;
	assert_int_equal(512, whys);
	assert_null(shapes.entries[0].why);
	assert_string_equal("why 599", shapes.entries[JOBS - 1].why);
	plx_shape_log_release(&shapes);
	free(log);
}

/* One job of two shapes, another one of one. */
static const char rows[] = "7|RESIZING|1000|1000|1010|gres/gpu=2|n1|u|\n"
			   "7|COMPLETED|1010|1000|1020|gres/gpu=4|n1|u|\n"
			   "9|COMPLETED|1000|1000|1020|gres/gpu=1|n1|u|\n";

static void each_shape_is_told_why_it_was_left(void **state)
{
	struct plx_shape_log shapes = read_log(
		ASKED("7", "3 GPUs", "for a moment") HELD(
			"7", "1 GPUs", "from 1000 to 1000: 0")
			ASKED("7", "4 GPUs", "grows 2 -> 4") HELD(
				"7", "2 GPUs", "from 1000 to 1010: 20")
				HELD("7", "4 GPUs", "from 1010 to 1020: 40"));
	struct world world;

	(void) state;
	world_open(&world, rows);
	plx_shape_log_explain(&shapes, &world.history);
	assert_string_equal("grows 2 -> 4",
			    world.history.records[0].spans[0].why);
	assert_null(world.history.records[0].spans[1].why);
	assert_null(world.history.records[1].spans[0].why);
	plx_shape_log_release(&shapes);
	world_close(&world);
}

struct told {
	char last[512];
	int count;
};

static void keep(const char *sentence, void *arg)
{
	struct told *told = arg;

	snprintf(told->last, sizeof(told->last), "%s", sentence);
	told->count++;
}

/* Differences of a log and the rows above; *agreed: shapes that agree. */
static struct told differences(const char *log, bool only_these, int *agreed)
{
	struct plx_shape_log shapes = read_log(log);
	struct told told = { .count = 0 };
	struct world world;
	int count = 0;

	world_open(&world, rows);
	*agreed = plx_shape_log_check(&shapes, &world.history, only_these, keep,
				      &told, &count);
	assert_int_equal(count, told.count);
	plx_shape_log_release(&shapes);
	world_close(&world);
	return told;
}

static void jobs_that_sacct_was_not_asked_for_are_left_out(void **state)
{
	static const char log[] = HELD("7", "2 GPUs", "from 1000 to 1010: 20")
		HELD("7", "4 GPUs", "from 1010 to 1020: 40")
			HELD("8", "4 GPUs", "from 1 to 2: 4");
	int agreed;

	(void) state;
	assert_int_equal(0, differences(log, true, &agreed).count);
	assert_int_equal(2, agreed);
	assert_string_equal("job 8: sacct has no 4 GPUs on n1 from 1 to 2, the "
			    "log has",
			    differences(log, false, &agreed).last);
	assert_int_equal(2, agreed);
}

/* slurmctld's log has their own numbers; sacct prints both. */
static void tasks_of_arrays_are_known_by_their_numbers(void **state)
{
	static const char text[] =
		"JobID|JobIDRaw|State|Submit|Start|End|AllocTRES|NodeList\n"
		"6_1|7|COMPLETED|1000|1000|1010|gres/gpu=2|n1\n"
		"6_2|6|COMPLETED|1000|1000|1020|gres/gpu=1|n1\n";
	struct plx_shape_log shapes = read_log(
		ASKED("7", "4 GPUs", "why")
			HELD("7", "2 GPUs", "from 1000 to 1010: 20")
				HELD("6", "1 GPUs", "from 1000 to 1030: 30"));
	struct told told = { .count = 0 };
	struct plx_history history;
	struct plx_rows made;
	int count = 0;

	(void) state;
	assert_int_equal(0,
			 plx_rows_parse(text, sizeof(text) - 1, &made, NULL));
	assert_int_equal(0, plx_history_make(&made, 0, &history, NULL));
	plx_shape_log_explain(&shapes, &history);
	assert_string_equal("why", history.records[0].spans[0].why);
	assert_int_equal(1, plx_shape_log_check(&shapes, &history, false, keep,
						&told, &count));
	assert_int_equal(1, told.count);
	assert_memory_equal("job 6_2 from 1000: ", told.last, 19);
	plx_shape_log_release(&shapes);
	plx_history_release(&history);
	plx_rows_release(&made);
}

#define FIRST HELD("7", "2 GPUs", "from 1000 to 1010: 20")

/* Slurm forgets when a job ended that it puts back into the queue. */
static void who_was_requeued_may_end_a_second_later_in_the_log(void **state)
{
	static const struct {
		const char *log;
		int count;
	} logs[] = {
		{ FIRST REQUEUED("7")
			  HELD("7", "4 GPUs", "from 1010 to 1021: 44"),
		  0 },
		{ FIRST HELD("7", "4 GPUs", "from 1010 to 1021: 44"), 1 },
		{ FIRST REQUEUED("7")
			  HELD("7", "4 GPUs", "from 1010 to 1022: 48"),
		  1 },
		{ FIRST REQUEUED("7")
			  HELD("7", "4 GPUs", "from 1010 to 1019: 36"),
		  1 },
		/* The next run, of less than a second. */
		{ FIRST REQUEUED("7") HELD(
			  "7", "4 GPUs", "from 1010 to 1020: 40") REQUEUED("7")
			  HELD("7", "1 GPUs", "from 1030 to 1031: 1"),
		  0 },
		{ FIRST REQUEUED("7")
			  HELD("7", "4 GPUs", "from 1010 to 1020: 40")
				  HELD("7", "1 GPUs", "from 1030 to 1031: 1"),
		  1 },
	};
	int agreed;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++)
		assert_int_equal(logs[i].count,
				 differences(logs[i].log, true, &agreed).count);
}

static void a_difference_cannot_steer_a_terminal(void **state)
{
	int agreed;

	(void) state;
	assert_string_equal(
		"job 8: sacct has no 4 GPUs on n?[2J from 1 to 2, the log has",
		differences(AT "sched/pollux: JobId=8 held 4 GPUs on n\033[2J "
			       "from 1 to 2: 4 GPU-seconds\n",
			    false, &agreed)
			.last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shape_is_left_for_what_was_asked_last),
		cmocka_unit_test(a_whole_job_is_asked_with_more_words),
		cmocka_unit_test(entries_come_by_job_and_time),
		cmocka_unit_test(other_lines_are_not_ours),
		cmocka_unit_test(a_request_that_says_nothing_is_none),
		cmocka_unit_test(a_line_without_end_is_one_line),
		cmocka_unit_test(a_long_reason_is_cut),
		cmocka_unit_test(requests_of_many_jobs_are_remembered),
		cmocka_unit_test(each_shape_is_told_why_it_was_left),
		cmocka_unit_test(
			jobs_that_sacct_was_not_asked_for_are_left_out),
		cmocka_unit_test(tasks_of_arrays_are_known_by_their_numbers),
		cmocka_unit_test(
			who_was_requeued_may_end_a_second_later_in_the_log),
		cmocka_unit_test(a_difference_cannot_steer_a_terminal),
	};

	return cmocka_run_group_tests_name("shape_log", tests, NULL, NULL);
}
