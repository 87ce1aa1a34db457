/* SPDX-License-Identifier: MIT */
/*
 * test_rows.c - rows of a job in accounting follow one another
 *
 * slurmdbd is played.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sched/pollux/acct/acct.h"
#include "sched/pollux/acct/row_queue.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "rows_world.h"
#include "unit.h"

static void an_open_row_ends_when_the_next_one_begins(void **state)
{
	(void) state;
	add(90, 100, 0);
	add(150, 150, 160);
	add(160, 160, 0);
	is_since(160, 3);
	audit();
	assert_int_equal(150, row_of(90)->end);
	assert_int_equal(160, row_of(150)->end);
	assert_int_equal(0, row_of(160)->end);
}

/* A killed slurmctld has given the number to another job. */
static void a_row_of_a_job_that_was_forgotten_ends_by_the_first_start(
	void **state)
{
	(void) state;
	add(90, 100, 103);
	add(95, 95, 0);
	add(160, 160, 0);
	is_since(160, 3);
	audit();
	assert_int_equal(103, row_of(90)->end);
	assert_int_equal(100, row_of(95)->end);
	assert_int_equal(0, row_of(160)->end);
}

static void so_it_does_when_the_job_waits(void **state)
{
	(void) state;
	add(90, 100, 0);
	add(124, 125, 142);
	add(143, 0, 0);
	ctld.details.submit_time = 143;
	ctld.job.start_time = 0;
	ctld.job.job_state = JOB_PENDING;
	audit();
	assert_int_equal(124, row_of(90)->end);
	assert_int_equal(142, row_of(124)->end);
	assert_int_equal(0, row_of(143)->end);
}

/* An older record of a killed slurmctld, whose job has lost a node since. */
static void a_row_that_was_ended_again_ends_when_the_next_one_begins(
	void **state)
{
	(void) state;
	add(90, 100, 180);
	add(150, 150, 0);
	add(180, 180, 0);
	is_since(180, 3);
	audit();
	assert_int_equal(150, row_of(90)->end);
	assert_int_equal(180, row_of(150)->end);
	assert_int_equal(0, row_of(180)->end);
}

/* By an update, and slurmctld was killed. */
static void a_row_that_was_moved_to_the_start_begins_when_it_did(void **state)
{
	(void) state;
	add(90, 100, 140);
	add(140, 100, 150);
	add(150, 150, 0);
	is_since(150, 3);
	audit();
	assert_int_equal(100, row_of(90)->start);
	assert_int_equal(140, row_of(140)->start);
	assert_int_equal(150, row_of(140)->end);
}

static void the_end_of_a_job_is_that_of_its_last_row(void **state)
{
	(void) state;
	add(90, 100, 140);
	add(140, 140, 200);
	add(150, 150, 0);
	is_since(140, 2);
	ctld.job.job_state = JOB_COMPLETE;
	ctld.job.end_time = 200;
	audit();
	assert_int_equal(150, row_of(140)->end);
	assert_int_equal(200, row_of(150)->end);
	assert_int_equal(JOB_COMPLETE, row_of(150)->state);
}

static void a_run_without_a_start_is_not_forgotten_again(void **state)
{
	(void) state;
	add(90, NO_VAL, 95);
	ctld.job.job_state = JOB_PENDING;
	ctld.job.start_time = 0;
	audit();
	assert_int_equal(0, ctld.told);
}

/* The run that was lost had been resized; the next one has its first row. */
static void rows_of_a_lost_run_end_no_later_one(void **state)
{
	(void) state;
	add(90, 104, 108);
	add(95, 95, 97);
	add(108, 108, 0);
	ctld.job.start_time = 104;
	is_since(108, 3);
	audit();
	assert_int_equal(0, ctld.told);
}

static void nor_does_it_begin_again(void **state)
{
	(void) state;
	add(90, 104, 0);
	add(95, 95, 97);
	ctld.job.start_time = 104;
	ctld.job.db_index = 1;
	audit();
	assert_int_equal(0, ctld.told);
	assert_int_equal(0, ctld.job.resize_time);
}

static void what_is_right_is_left_alone(void **state)
{
	(void) state;
	add(90, 100, 150);
	add(150, 150, 170);
	add(180, 180, 0);
	is_since(180, 3);
	audit();
	assert_int_equal(0, ctld.told);
}

/* The plugin gives it another shape then. */
static void resize(time_t now)
{
	pthread_mutex_lock(&ctld.lock);
	pollux_acct_note(&ctld.job);
	pollux_acct_end_shape(&ctld.job);
	ctld.job.resize_time = now;
	pollux_acct_begin_shape(&ctld.job);
	pthread_mutex_unlock(&ctld.lock);
}

/* Rows from 100 to 150, and from then on. */
static void begin_in_two_shapes(void)
{
	add(90, 100, 150);
	ctld.job.db_index = 1;
	pollux_acct_start();
	resize(150);
}

/*
 * A node was lost while Slurm asked for the number of the first row: the end of
 * that one has hit the next, as both were without a number, and the job has the
 * number of the first.
 */
static void loses_a_node_without_a_number(void)
{
	add(90, 100, 0)->tres_alloc_str = two;
	add(150, 150, 150)->tres_alloc_str = two;
	row_of(150)->state = JOB_RESIZING;
	is_since(150, 1);
	ctld.job.tres_alloc_str = one;
}

static void ends_that_hit_each_others_rows_are_exchanged(void **state)
{
	(void) state;
	loses_a_node_without_a_number();
	ctld.job.job_state = JOB_TIMEOUT;
	ctld.job.end_time = 200;
	ctld.job.exit_code = 3;
	jobacct_storage_g_job_complete(NULL, &ctld.job);
	assert_int_equal(200, row_of(90)->end);
	audit();
	assert_int_equal(150, row_of(90)->end);
	assert_string_equal(two, row_of(90)->tres_alloc_str);
	assert_int_equal(JOB_RESIZING, row_of(90)->state);
	assert_int_equal(200, row_of(150)->end);
	assert_string_equal(one, row_of(150)->tres_alloc_str);
	assert_int_equal(JOB_TIMEOUT, row_of(150)->state);
	assert_int_equal(3, row_of(150)->exitcode);
}

/* The next run's first row, with the time of its submission. */
static void nor_do_they_reach_into_the_next_run(void **state)
{
	(void) state;
	loses_a_node_without_a_number();
	row_of(90)->end = 200;
	add(190, 0, 0);
	ctld.details.submit_time = 190;
	is_since(0, 0);
	ctld.job.start_time = 0;
	ctld.job.job_state = JOB_PENDING;
	audit();
	assert_int_equal(150, row_of(90)->end);
	assert_int_equal(190, row_of(150)->end);
}

/* A run of no time, and the one before has ended too late by another cause. */
static void a_row_that_another_end_made_empty_stays_so(void **state)
{
	(void) state;
	add(90, 100, 160);
	add(150, 150, 150)->state = JOB_NODE_FAIL;
	add(160, 160, 0);
	is_since(160, 3);
	audit();
	assert_int_equal(150, row_of(90)->end);
	assert_int_equal(150, row_of(150)->end);
}

static void the_number_of_another_row_is_not_kept(void **state)
{
	(void) state;
	loses_a_node_without_a_number();
	audit();
	assert_int_equal(2, ctld.job.db_index);
}

static void nor_while_the_job_runs(void **state)
{
	(void) state;
	loses_a_node_without_a_number();
	pollux_acct_start();
	pollux_acct_see(JOB);
	assert_true(has_number(2));
	assert_true(ends_at(90, 150));
	pthread_mutex_lock(&ctld.lock);
	assert_string_equal(one, row_of(150)->tres_alloc_str);
	pthread_mutex_unlock(&ctld.lock);
	pollux_acct_stop();
}

static void and_it_is_not_resized_before(void **state)
{
	(void) state;
	loses_a_node_without_a_number();
	ctld.away = true;
	pollux_acct_start();
	pthread_mutex_lock(&ctld.lock);
	assert_false(pollux_acct_ready(&ctld.job));
	ctld.away = false;
	pthread_mutex_unlock(&ctld.lock);
	assert_true(has_number(2));
	pthread_mutex_lock(&ctld.lock);
	assert_true(pollux_acct_ready(&ctld.job));
	pthread_mutex_unlock(&ctld.lock);
	pollux_acct_stop();
}

static void a_row_that_was_left_without_a_number_ends(void **state)
{
	(void) state;
	ctld.away = true;
	begin_in_two_shapes();
	/* Slurm takes a node from it, and gets a number by waiting for it. */
	pthread_mutex_lock(&ctld.lock);
	add(160, 160, 170);
	is_since(160, (uint64_t) ctld.count);
	pthread_mutex_unlock(&ctld.lock);
	resize(170);
	ctld.away = false;
	assert_true(ends_at(150, 160));
	stop();
}

static void rows_of_a_life_are_looked_at_when_it_is_over(void **state)
{
	(void) state;
	begin_in_two_shapes();
	assert_true(ends_at(90, 150));
	/* Its end has hit the row before. */
	pthread_mutex_lock(&ctld.lock);
	row_of(90)->end = 200;
	ctld.job.end_time = 200;
	ctld.job.job_state = JOB_COMPLETE;
	pthread_mutex_unlock(&ctld.lock);
	assert_true(ends_at(90, 150));
	assert_true(ends_at(150, 200));
	stop();
}

static void but_not_before_slurmdbd_has_all_messages(void **state)
{
	(void) state;
	ctld.full = true;
	begin_in_two_shapes();
	pthread_mutex_lock(&ctld.lock);
	ctld.job.end_time = 200;
	ctld.job.job_state = JOB_COMPLETE;
	pthread_mutex_unlock(&ctld.lock);
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	pthread_mutex_lock(&ctld.lock);
	assert_int_equal(0, row_of(150)->end);
	/* One that was on its way. */
	row_of(90)->end = 200;
	ctld.full = false;
	pthread_mutex_unlock(&ctld.lock);
	assert_true(ends_at(90, 150));
	assert_true(ends_at(150, 200));
	stop();
}

/* Its last row began then, so it has that row's key now. */
static void is_requeued_in_the_second_of_its_last_row(time_t now)
{
	pthread_mutex_lock(&ctld.lock);
	tell_end(now, JOB_REQUEUE);
	ctld.details.submit_time = now;
	is_since(0, 0);
	ctld.job.start_time = 0;
	ctld.job.job_state = JOB_PENDING;
	pthread_mutex_unlock(&ctld.lock);
}

static void wait_with_the_key_of_the_last_row(void)
{
	begin_in_two_shapes();
	is_requeued_in_the_second_of_its_last_row(150);
	nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
}

static void cancel(time_t now)
{
	pthread_mutex_lock(&ctld.lock);
	ctld.job.start_time = ctld.job.end_time = now;
	ctld.job.job_state = JOB_CANCELLED;
	tell_end(now, JOB_CANCELLED);
	pthread_mutex_unlock(&ctld.lock);
}

static void a_job_that_waits_does_not_make_its_last_row_longer(void **state)
{
	(void) state;
	wait_with_the_key_of_the_last_row();
	cancel(153);
	assert_true(ends_at(150, 150));
	assert_int_equal(JOB_CANCELLED, row_of(150)->state);
	stop();
}

static void unless_it_has_begun_again(void **state)
{
	(void) state;
	wait_with_the_key_of_the_last_row();
	pthread_mutex_lock(&ctld.lock);
	ctld.job.start_time = 151;
	ctld.job.job_state = JOB_RUNNING;
	jobacct_storage_g_job_start(NULL, &ctld.job);
	ctld.job.job_state = JOB_CANCELLED;
	ctld.job.end_time = 153;
	tell_end(153, JOB_CANCELLED);
	pthread_mutex_unlock(&ctld.lock);
	nanosleep(&(struct timespec){ .tv_sec = 6 }, NULL);
	assert_true(ends_at(150, 153));
	stop();
}

static bool is_told_no_more(const struct wanted *unused)
{
	(void) unused;
	return ctld.job.bit_flags & TRES_STR_CALC;
}

/*
 * A slurmctld that was started while slurmdbd was away counts anew what jobs
 * have when it is back, and the next one tells that of those that have ended.
 */
static void what_an_ended_job_had_is_told_once(void **state)
{
	(void) state;
	add(90, 100, 150);
	ctld.job.db_index = 1;
	ctld.job.end_time = 150;
	ctld.job.job_state = JOB_COMPLETE;
	pollux_acct_start();
	assert_true(becomes(is_told_no_more, (struct wanted){ 0 }));
	stop();
}

static void but_not_before_it_has_a_row(void **state)
{
	(void) state;
	ctld.job.end_time = 150;
	ctld.job.job_state = JOB_COMPLETE;
	pollux_acct_start();
	nanosleep(&(struct timespec){ .tv_sec = 6 }, NULL);
	assert_false(ctld.job.bit_flags & TRES_STR_CALC);
	stop();
}

static void nor_while_it_runs_or_completes(void **state)
{
	(void) state;
	add(90, 100, 0);
	ctld.job.db_index = 1;
	pollux_acct_start();
	nanosleep(&(struct timespec){ .tv_sec = 6 }, NULL);
	pthread_mutex_lock(&ctld.lock);
	assert_false(ctld.job.bit_flags & TRES_STR_CALC);
	ctld.job.end_time = 150;
	ctld.job.job_state = JOB_COMPLETE | JOB_COMPLETING;
	pthread_mutex_unlock(&ctld.lock);
	nanosleep(&(struct timespec){ .tv_sec = 6 }, NULL);
	assert_false(ctld.job.bit_flags & TRES_STR_CALC);
	stop();
}

static void what_a_job_has_given_back_is_not_what_it_had(void **state)
{
	char all[] = "1=2,2=64,4=1,5=2,1001=2";
	char blank[] = "1=2,2=64,5=2";
	struct pollux_row row;

	(void) state;
	ctld.job.tres_alloc_str = all;
	ctld.job.job_state = JOB_COMPLETE;
	pollux_row_read(&ctld.job, &row);
	assert_string_equal(all, row.tres_alloc);
	pollux_row_free(&row);
	ctld.job.tres_alloc_str = blank;
	pollux_row_read(&ctld.job, &row);
	assert_null(row.tres_alloc);
	pollux_row_free(&row);
}

/* Slurm's queue tries again up to ten seconds later. */
static void nor_as_soon_as_it_is_back(void **state)
{
	(void) state;
	ctld.away = ctld.full = ctld.waits = true;
	add(90, 100, 0);
	ctld.job.db_index = 1;
	pollux_acct_start();
	pthread_mutex_lock(&ctld.lock);
	tell_end(150, JOB_RUNNING | JOB_RESIZING);
	pthread_mutex_unlock(&ctld.lock);
	resize(150);
	pthread_mutex_lock(&ctld.lock);
	tell_end(200, JOB_REQUEUE);
	ctld.details.submit_time = 200;
	is_since(0, 0);
	ctld.job.start_time = 0;
	ctld.job.job_state = JOB_PENDING;
	pthread_mutex_unlock(&ctld.lock);
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	ctld.later_s += 30;
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	ctld.away = false;
	nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
	pthread_mutex_lock(&ctld.lock);
	all_get_there();
	pthread_mutex_unlock(&ctld.lock);
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	assert_true(ends_at(150, 200));
	assert_true(ends_at(90, 150));
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			an_open_row_ends_when_the_next_one_begins, set_up),
		cmocka_unit_test_setup(
			a_row_of_a_job_that_was_forgotten_ends_by_the_first_start,
			set_up),
		cmocka_unit_test_setup(so_it_does_when_the_job_waits, set_up),
		cmocka_unit_test_setup(
			a_row_that_was_ended_again_ends_when_the_next_one_begins,
			set_up),
		cmocka_unit_test_setup(
			a_row_that_was_moved_to_the_start_begins_when_it_did,
			set_up),
		cmocka_unit_test_setup(the_end_of_a_job_is_that_of_its_last_row,
				       set_up),
		cmocka_unit_test_setup(
			a_run_without_a_start_is_not_forgotten_again, set_up),
		cmocka_unit_test_setup(rows_of_a_lost_run_end_no_later_one,
				       set_up),
		cmocka_unit_test_setup(nor_does_it_begin_again, set_up),
		cmocka_unit_test_setup(what_is_right_is_left_alone, set_up),
		cmocka_unit_test_setup(
			a_row_that_was_left_without_a_number_ends, set_up),
		cmocka_unit_test_setup(
			rows_of_a_life_are_looked_at_when_it_is_over, set_up),
		cmocka_unit_test_setup(
			ends_that_hit_each_others_rows_are_exchanged, set_up),
		cmocka_unit_test_setup(nor_do_they_reach_into_the_next_run,
				       set_up),
		cmocka_unit_test_setup(
			a_row_that_another_end_made_empty_stays_so, set_up),
		cmocka_unit_test_setup(the_number_of_another_row_is_not_kept,
				       set_up),
		cmocka_unit_test_setup(nor_while_the_job_runs, set_up),
		cmocka_unit_test_setup(and_it_is_not_resized_before, set_up),
		cmocka_unit_test_setup(but_not_before_slurmdbd_has_all_messages,
				       set_up),
		cmocka_unit_test_setup(nor_as_soon_as_it_is_back, set_up),
		cmocka_unit_test_setup(
			a_job_that_waits_does_not_make_its_last_row_longer,
			set_up),
		cmocka_unit_test_setup(unless_it_has_begun_again, set_up),
		cmocka_unit_test_setup(what_an_ended_job_had_is_told_once,
				       set_up),
		cmocka_unit_test_setup(but_not_before_it_has_a_row, set_up),
		cmocka_unit_test_setup(nor_while_it_runs_or_completes, set_up),
		cmocka_unit_test_setup(
			what_a_job_has_given_back_is_not_what_it_had, set_up),
	};

	/* Newer releases number rows in slurmctld, and nobody keeps a book. */
	if (!POLLUX_SLURMDBD_NUMBERS)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
