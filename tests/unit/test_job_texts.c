/* SPDX-License-Identifier: MIT */
/*
 * test_job_texts.c - texts that are parsed ahead are never believed when old
 *
 * Records and Slurm's memory are played here; the parsers are the real ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/section.h"
#include "sched/pollux/snapshot/comment_cache.h"
#include "sched/pollux/record.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "unit.h"

slurm_conf_t slurm_conf;

static char comment[PLX_COMMENT_MAX];
static char system_comment[PLX_COMMENT_MAX];
static job_record_t record;
static int blocks; /* of memory, in use */

int pollux_record_believe(job_record_t *job, struct plx_status *status,
			  struct plx_error *err)
{
	(void) job, (void) status, (void) err;
	return 0;
}

void *slurm_xcalloc(size_t count, size_t size, bool clear, bool try,
		    const char *file, int line, const char *func)
{
	(void) clear, (void) try, (void) file, (void) line, (void) func;
	blocks++;
	return calloc(count, size);
}

void slurm_xfree(void **item)
{
	blocks -= *item != NULL;
	free(*item);
	*item = NULL;
}

char *xstrdup(const char *text)
{
	blocks += text != NULL;
	return text ? strdup(text) : NULL;
}

/* In the same memory, as an update of the record may do it. */
static void write_status(uint32_t ack)
{
	snprintf(comment, sizeof(comment),
		 "[pollux v=1 launcher=batch phase=training ack=%u "
		 "resizes=0 pause=0,0]",
		 ack);
}

static void write_target(uint32_t serial)
{
	snprintf(system_comment, sizeof(system_comment),
		 "[pollux serial=%u state=asked nodes=1 gpus=2 on=n1 why=so]",
		 serial);
}

static int set_up(void **state)
{
	(void) state;
	memset(&record, 0, sizeof(record));
	record.job_id = 7;
	record.comment = comment;
	record.system_comment = system_comment;
	write_status(1);
	write_target(1);
	return 0;
}

static int tear_down(void **state)
{
	(void) state;
	pollux_comment_cache_forget_all();
	return 0;
}

static void what_was_parsed_ahead_is_what_is_read(void **state)
{
	struct pollux_job job = { 0 };

	(void) state;
	pollux_comment_cache_note(&record);
	pollux_comment_cache_parse();
	assert_true(pollux_comment_cache_read(&record, &job));
	assert_int_equal(1, job.status.ack);
	assert_int_equal(PLX_PHASE_TRAINING, job.status.phase);
}

static void a_status_written_in_between_is_read(void **state)
{
	struct pollux_job job = { 0 };

	(void) state;
	pollux_comment_cache_note(&record);
	pollux_comment_cache_parse();
	write_status(2);
	assert_true(pollux_comment_cache_read(&record, &job));
	assert_int_equal(2, job.status.ack);
}

static void a_target_written_in_between_is_read(void **state)
{
	struct pollux_job before = { 0 };
	struct pollux_job after = { 0 };

	(void) state;
	pollux_comment_cache_note(&record);
	write_target(2);
	(void) pollux_comment_cache_read(&record, &before);
	pollux_comment_cache_parse();
	write_target(3);
	(void) pollux_comment_cache_read(&record, &after);
	assert_int_equal(2, before.target.serial);
	assert_int_equal(3, after.target.serial);
}

static void who_has_no_text_any_more_is_believed_nothing(void **state)
{
	struct pollux_job job = { 0 };

	(void) state;
	pollux_comment_cache_note(&record);
	pollux_comment_cache_parse();
	record.comment = NULL;
	record.system_comment = NULL;
	assert_false(pollux_comment_cache_read(&record, &job));
	assert_int_equal(PLX_WAKE_NONE, job.status.launcher);
	assert_int_equal(0, job.target.serial);
}

/* The same id may be another job's, once ids begin anew. */
static void of_many_jobs_each_has_its_own(void **state)
{
	struct pollux_job job = { 0 };

	(void) state;
	for (uint32_t id = 1; id <= 1000; id++) {
		record.job_id = id;
		write_status(id);
		pollux_comment_cache_note(&record);
	}
	pollux_comment_cache_parse();
	for (uint32_t id = 1; id <= 1000; id += 2) {
		record.job_id = id;
		write_status(id);
		assert_true(pollux_comment_cache_read(&record, &job));
		assert_int_equal(id, job.status.ack);
	}
	pollux_comment_cache_sweep();
	for (uint32_t id = 1; id <= 1000; id++) {
		record.job_id = id;
		write_status(2 * id);
		assert_true(pollux_comment_cache_read(&record, &job));
		assert_int_equal(2 * id, job.status.ack);
	}
}

static void what_is_not_read_any_more_is_forgotten(void **state)
{
	struct pollux_job job = { 0 };
	int one = 0;

	(void) state;
	(void) pollux_comment_cache_read(&record, &job);
	one = blocks;
	for (record.job_id = 100; record.job_id < 140; record.job_id++)
		pollux_comment_cache_note(&record);
	pollux_comment_cache_sweep();
	assert_int_equal(one, blocks);
	pollux_comment_cache_sweep();
	assert_true(blocks < one);
	pollux_comment_cache_forget_all();
	assert_int_equal(0, blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_was_parsed_ahead_is_what_is_read, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_status_written_in_between_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_target_written_in_between_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_has_no_text_any_more_is_believed_nothing, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_not_read_any_more_is_forgotten, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(of_many_jobs_each_has_its_own,
						set_up, tear_down),
	};

	return cmocka_run_group_tests_name("job_texts", tests, NULL, NULL);
}
