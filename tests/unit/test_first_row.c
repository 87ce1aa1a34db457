/* SPDX-License-Identifier: MIT */
/*
 * test_first_row.c - what a job had first is told again at its end
 *
 * What slurmctld does is played here.
 */
#include <stdlib.h>
#include <string.h>

#include "sched/pollux/acct/acct_messages.h"
#include "sched/pollux/acct/first_row.h"
#include "sched/pollux/locks.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

enum { JOBS = 200 };

static struct {
	job_record_t jobs[JOBS];
	int count; /* that slurmctld knows */
	int locked;
	int told;
	uint64_t number;
	time_t end;
	char tres[64];
} ctld;

void pollux_lock(enum pollux_purpose purpose)
{
	assert_int_equal(purpose, POLLUX_JUDGE);
	ctld.locked++;
}

void pollux_unlock(enum pollux_purpose purpose)
{
	assert_int_equal(purpose, POLLUX_JUDGE);
	assert_int_equal(ctld.locked, 1);
	ctld.locked--;
}

job_record_t *find_job_record(uint32_t job_id)
{
	assert_int_equal(ctld.locked, 1);
	return (int) job_id < ctld.count ? &ctld.jobs[job_id] : NULL;
}

void pollux_report_end(const job_record_t *job, uint64_t number, time_t end,
		       const char *tres_alloc)
{
	assert_int_equal(ctld.locked, 1);
	assert_ptr_equal(job, &ctld.jobs[job->job_id]);
	ctld.told++;
	ctld.number = number;
	ctld.end = end;
	snprintf(ctld.tres, sizeof(ctld.tres), "%s", tres_alloc);
}

int list_count(List list)
{
	return *(int *) (void *) list;
}

static job_record_t *begin(int job_id, const char *tres, uint64_t number)
{
	job_record_t *job = &ctld.jobs[job_id];

	*job = (job_record_t){
		.job_id = (uint32_t) job_id,
		.job_state = JOB_RUNNING,
		.resize_time = 1000 + job_id,
		.tres_alloc_str = (char *) tres,
	};
	pollux_first_row_keep(job, number);
	return job;
}

static void end(int job_id)
{
	pollux_first_row_ended((uint32_t) job_id);
	pollux_first_row_mend();
}

static int up(void **state)
{
	(void) state;
	memset(&ctld, 0, sizeof(ctld));
	ctld.count = JOBS;
	return 0;
}

static int down(void **state)
{
	(void) state;
	pollux_first_row_free();
	return 0;
}

static void it_is_told_once_when_the_job_has_ended(void **state)
{
	job_record_t *job = begin(5, "1=1,1001=1", 77);

	(void) state;
	job->tres_alloc_str = (char *) "1=16,1001=16";
	job->resize_time = 2000;
	pollux_first_row_mend();
	job->job_state = JOB_SUSPENDED;
	pollux_first_row_mend();
	assert_int_equal(ctld.told, 0);
	job->job_state = JOB_COMPLETE;
	pollux_first_row_mend();
	assert_int_equal(ctld.told, 0);
	end(5);
	end(5);
	assert_int_equal(ctld.told, 1);
	assert_int_equal(ctld.number, 77);
	assert_int_equal(ctld.end, 1005);
	assert_string_equal(ctld.tres, "1=1,1001=1");
}

static void not_before_the_last_step_has_ended(void **state)
{
	int steps = 1;
	job_record_t *job = begin(5, "1=1", 77);

	(void) state;
	job->step_list = (void *) &steps;
	job->job_state = JOB_COMPLETE | JOB_COMPLETING;
	end(5);
	job->job_state = JOB_COMPLETE;
	pollux_first_row_mend();
	assert_int_equal(ctld.told, 0);
	steps = 0;
	pollux_first_row_mend();
	assert_int_equal(ctld.told, 1);
}

static void a_requeued_job_has_ended_as_well(void **state)
{
	job_record_t *job = begin(5, "1=1", 77);

	(void) state;
	job->job_state = JOB_PENDING | JOB_COMPLETING;
	end(5);
	assert_int_equal(ctld.told, 0);
	job->job_state = JOB_PENDING;
	pollux_first_row_mend();
	assert_int_equal(ctld.told, 1);
}

static void nothing_is_kept_where_slurm_leaves_it_alone(void **state)
{
	(void) state;
	begin(5, "1=1", 0)->job_state = JOB_COMPLETE;
	begin(6, NULL, 77)->job_state = JOB_COMPLETE;
	end(5);
	end(6);
	assert_int_equal(ctld.told, 0);
}

static void a_job_that_slurm_has_forgotten_is_forgotten(void **state)
{
	(void) state;
	begin(5, "1=1", 77)->job_state = JOB_COMPLETE;
	ctld.count = 0;
	end(5);
	ctld.count = JOBS;
	pollux_first_row_mend();
	assert_int_equal(ctld.told, 0);
}

static void many_are_kept(void **state)
{
	(void) state;
	for (int i = 0; i < JOBS; i++)
		(void) begin(i, "1=1", 1 + (uint64_t) i);
	for (int i = 0; i < JOBS; i += 2)
		ctld.jobs[i].job_state = JOB_CANCELLED;
	for (int i = 0; i < JOBS; i++)
		end(i);
	assert_int_equal(ctld.told, JOBS / 2);
	for (int i = 1; i < JOBS; i += 2)
		ctld.jobs[i].job_state = JOB_CANCELLED;
	pollux_first_row_mend();
	assert_int_equal(ctld.told, JOBS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			it_is_told_once_when_the_job_has_ended, up, down),
		cmocka_unit_test_setup_teardown(
			not_before_the_last_step_has_ended, up, down),
		cmocka_unit_test_setup_teardown(
			a_requeued_job_has_ended_as_well, up, down),
		cmocka_unit_test_setup_teardown(
			nothing_is_kept_where_slurm_leaves_it_alone, up, down),
		cmocka_unit_test_setup_teardown(
			a_job_that_slurm_has_forgotten_is_forgotten, up, down),
		cmocka_unit_test_setup_teardown(many_are_kept, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
