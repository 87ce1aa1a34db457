/* SPDX-License-Identifier: MIT */
/*
 * test_untold.c - rows of which slurmdbd was told nothing, or half of it
 *
 * The messages died with slurmctld. slurmdbd is played.
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

static bool has_those_tres(const struct wanted *wanted)
{
	return !xstrcmp(row_of(wanted->submit)->tres_alloc_str, wanted->tres);
}

static bool has_tres(time_t submit, const char *tres)
{
	return becomes(has_those_tres,
		       (struct wanted){ .submit = submit, .tres = tres });
}

/* Put back into the queue then; its nodes have not done with it yet. */
static void is_put_back(time_t end)
{
	ctld.job.job_state = JOB_PENDING | JOB_COMPLETING;
	ctld.job.end_time = end;
}

/* It waits, as if it had never run. */
static void waits_since(time_t submit)
{
	ctld.job.job_state = JOB_PENDING;
	ctld.job.start_time = ctld.job.end_time = 0;
	ctld.details.submit_time = submit;
	is_since(0, 0);
}

/* That the run was over was lost with slurmctld, and its record has it. */
static void a_run_ends_when_it_was_put_back(void **state)
{
	(void) state;
	add(90, 100, 150);
	add(150, 150, 0);
	is_since(150, 2);
	is_put_back(200);
	audit();
	assert_int_equal(150, row_of(90)->end);
	assert_int_equal(200, row_of(150)->end);
}

static void also_if_its_nodes_have_done_before_slurmdbd_is_asked(void **state)
{
	(void) state;
	add(90, 100, 150);
	add(150, 150, 0);
	is_since(150, 2);
	is_put_back(200);
	ctld.away = true;
	pollux_acct_start();
	pollux_acct_audit();
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	pthread_mutex_lock(&ctld.lock);
	waits_since(214);
	ctld.away = false;
	pthread_mutex_unlock(&ctld.lock);
	assert_true(ends_at(150, 200));
	stop();
}

/* A record with a time limit in place of its end. */
static void nothing_ends_at_a_time_that_is_to_come(void **state)
{
	time_t now = time(NULL);
	time_t end = 0;

	(void) state;
	add(90, 100, 150);
	is_put_back(now + 1000);
	ctld.away = true;
	pollux_acct_start();
	pollux_acct_audit();
	pthread_mutex_lock(&ctld.lock);
	add(now, now + 1, 0);
	ctld.job.job_state = JOB_RUNNING;
	ctld.details.submit_time = now;
	ctld.job.start_time = now + 1;
	ctld.away = false;
	pthread_mutex_unlock(&ctld.lock);
	nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
	pthread_mutex_lock(&ctld.lock);
	end = row_of(now)->end;
	pthread_mutex_unlock(&ctld.lock);
	stop();
	assert_int_equal(0, end);
}

/* The row as well. */
static void a_lost_row_of_a_run_that_was_put_back_is_told_again(void **state)
{
	char node[] = "n1";

	(void) state;
	add(90, 100, 150);
	is_since(150, 0);
	is_put_back(200);
	ctld.job.nodes = node;
	ctld.job.tres_alloc_str = two;
	audit();
	assert_non_null(row_of(150));
	assert_int_equal(150, row_of(150)->start);
	assert_int_equal(200, row_of(150)->end);
	assert_string_equal(two, row_of(150)->tres_alloc_str);
	assert_true(row_of(150)->state & JOB_REQUEUE);
}

static void and_shown_though_slurm_forgot_since_when_it_was_eligible(
	void **state)
{
	char node[] = "n1";

	(void) state;
	is_put_back(200);
	ctld.job.nodes = node;
	ctld.details.begin_time = 0;
	audit();
	assert_non_null(row_of(90));
	assert_int_equal(100, row_of(90)->eligible);
}

/* The repair of a slurmctld that was killed before it was taken. */
static void rows_of_the_run_before_are_compared_as_well(void **state)
{
	(void) state;
	add(90, 100, 180);
	add(150, 150, 180);
	add(180, 180, 200);
	waits_since(201);
	slurmctld_config.boot_time = 210;
	pollux_acct_start();
	pollux_acct_audit();
	assert_true(ends_at(90, 150));
	stop();
}

/* Of two GPUs from 100 to 126; Slurm has told of its TRES with its steps. */
static void has_ended(uint64_t number)
{
	static char node[] = "n1";

	ctld.job.job_state = JOB_COMPLETE;
	ctld.job.end_time = 126;
	ctld.job.db_index = number;
	ctld.job.nodes = node;
	ctld.job.tres_alloc_str = two;
	ctld.job.bit_flags = TRES_STR_CALC;
}

static void has_its_row(void)
{
	assert_int_equal(100, row_of(90)->start);
	assert_int_equal(126, row_of(90)->end);
	assert_in_range(row_of(90)->eligible, 90, 100);
	assert_string_equal(two, row_of(90)->tres_alloc_str);
}

/* The message of its start died with slurmctld. */
static void a_row_of_which_only_the_end_was_told_is_shown(void **state)
{
	(void) state;
	has_ended(0);
	jobacct_storage_g_job_complete(NULL, &ctld.job);
	assert_int_equal(0, row_of(90)->eligible);
	audit();
	has_its_row();
}

/* slurmdbd was away for long before slurmctld was killed. */
static void also_of_a_job_that_ended_minutes_ago(void **state)
{
	(void) state;
	has_ended(0);
	jobacct_storage_g_job_complete(NULL, &ctld.job);
	slurmctld_config.boot_time = 126 + 300;
	pollux_acct_start();
	pollux_acct_audit();
	assert_true(has_tres(90, two));
	has_its_row();
	stop();
}

/* Before rows were compared, slurmdbd was back and Slurm counted anew. */
static void is_compared_when_slurm_has_forgotten(void)
{
	static char blank[] = "1=1,5=1";

	ctld.away = true;
	pollux_acct_start();
	pollux_acct_audit();
	pthread_mutex_lock(&ctld.lock);
	jobacct_storage_g_job_complete(NULL, &ctld.job);
	ctld.job.tres_alloc_str = blank;
	ctld.away = false;
	pthread_mutex_unlock(&ctld.lock);
}

static void also_if_slurm_has_forgotten_what_the_job_had(void **state)
{
	(void) state;
	has_ended(0);
	is_compared_when_slurm_has_forgotten();
	assert_true(has_tres(90, two));
	has_its_row();
	stop();
}

static void and_the_job_was_resized(void **state)
{
	(void) state;
	add(90, 100, 113);
	has_ended(0);
	is_since(113, 0);
	is_compared_when_slurm_has_forgotten();
	assert_true(has_tres(113, two));
	assert_int_equal(113, row_of(113)->eligible);
	assert_int_equal(126, row_of(113)->end);
	stop();
}

static void a_row_without_a_start_gets_that_of_the_job(void **state)
{
	(void) state;
	add(90, 0, 0);
	has_ended(1);
	jobacct_storage_g_job_complete(NULL, &ctld.job);
	audit();
	has_its_row();
}

static void unless_the_job_was_cancelled_while_it_waited(void **state)
{
	(void) state;
	add(90, 0, 126);
	has_ended(1);
	ctld.job.start_time = 126;
	audit();
	assert_int_equal(0, ctld.told);
}

static void so_is_one_of_the_run_before(void **state)
{
	(void) state;
	add(90, 100, 126)->eligible = 0;
	waits_since(127);
	audit();
	assert_int_equal(100, row_of(90)->eligible);
	assert_int_equal(100, row_of(90)->start);
	assert_int_equal(126, row_of(90)->end);
}

/* A killed slurmctld has given its number to another. */
static void but_not_one_of_another_user(void **state)
{
	(void) state;
	add(80, 81, 85)->eligible = 0;
	row_of(80)->uid = 1234;
	waits_since(127);
	audit();
	assert_int_equal(0, ctld.told);
}

/* It began right before slurmctld was killed, and ends right after. */
static void a_shape_that_ends_before_rows_are_compared_is_known(void **state)
{
	static char node[] = "n1";

	(void) state;
	add(90, 100, 113);
	is_since(113, 0);
	ctld.job.nodes = node;
	ctld.job.tres_alloc_str = two;
	ctld.away = true;
	pollux_acct_start();
	pollux_acct_audit();
	pthread_mutex_lock(&ctld.lock);
	ctld.job.bit_flags = TRES_STR_CALC;
	tell_end(126, JOB_REQUEUE);
	row_of(113)->end = 126;
	ctld.job.bit_flags = 0;
	ctld.job.nodes = ctld.job.tres_alloc_str = NULL;
	waits_since(127);
	ctld.away = false;
	pthread_mutex_unlock(&ctld.lock);
	assert_true(has_tres(113, two));
	assert_int_equal(113, row_of(113)->eligible);
	assert_int_equal(126, row_of(113)->end);
	stop();
}

/* slurmdbd did not answer when Slurm told of what was left. */
static void a_job_that_lost_a_node_without_slurmdbd_gets_its_number(
	void **state)
{
	(void) state;
	add(90, 100, 150);
	add(150, 150, 0);
	is_since(150, NO_VAL64);
	pollux_acct_start();
	pollux_acct_see(JOB);
	assert_true(has_number(2));
	stop();
}

/* Slurm tells of it without a number, as that of the first one. */
static void a_run_that_was_put_back_gives_its_first_row_back(void **state)
{
	job_record_t copy;

	(void) state;
	add(90, 100, 150)->tres_alloc_str = two;
	is_since(150, 0);
	is_put_back(200);
	ctld.job.tres_alloc_str = one;
	ctld.waits = true;
	pollux_acct_start();
	pollux_acct_audit();
	nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
	pthread_mutex_lock(&ctld.lock);
	copy = ctld.job;
	copy.resize_time = 0;
	jobacct_storage_g_job_start(NULL, &copy);
	waits_since(214);
	all_get_there();
	assert_string_equal(one, row_of(90)->tres_alloc_str);
	pthread_mutex_unlock(&ctld.lock);
	assert_true(has_tres(90, two));
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_run_ends_when_it_was_put_back, set_up),
		cmocka_unit_test_setup(
			also_if_its_nodes_have_done_before_slurmdbd_is_asked,
			set_up),
		cmocka_unit_test_setup(nothing_ends_at_a_time_that_is_to_come,
				       set_up),
		cmocka_unit_test_setup(
			a_lost_row_of_a_run_that_was_put_back_is_told_again,
			set_up),
		cmocka_unit_test_setup(
			and_shown_though_slurm_forgot_since_when_it_was_eligible,
			set_up),
		cmocka_unit_test_setup(
			rows_of_the_run_before_are_compared_as_well, set_up),
		cmocka_unit_test_setup(
			a_row_of_which_only_the_end_was_told_is_shown, set_up),
		cmocka_unit_test_setup(also_of_a_job_that_ended_minutes_ago,
				       set_up),
		cmocka_unit_test_setup(
			also_if_slurm_has_forgotten_what_the_job_had, set_up),
		cmocka_unit_test_setup(and_the_job_was_resized, set_up),
		cmocka_unit_test_setup(
			a_row_without_a_start_gets_that_of_the_job, set_up),
		cmocka_unit_test_setup(
			unless_the_job_was_cancelled_while_it_waited, set_up),
		cmocka_unit_test_setup(so_is_one_of_the_run_before, set_up),
		cmocka_unit_test_setup(but_not_one_of_another_user, set_up),
		cmocka_unit_test_setup(
			a_shape_that_ends_before_rows_are_compared_is_known,
			set_up),
		cmocka_unit_test_setup(
			a_job_that_lost_a_node_without_slurmdbd_gets_its_number,
			set_up),
		cmocka_unit_test_setup(
			a_run_that_was_put_back_gives_its_first_row_back,
			set_up),
	};

	/* Newer releases number rows in slurmctld, and nobody keeps a book. */
	if (!POLLUX_SLURMDBD_NUMBERS)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
