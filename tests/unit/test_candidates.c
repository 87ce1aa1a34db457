/* SPDX-License-Identifier: MIT */
/*
 * test_candidates.c - who was chosen ahead of a look is looked at if it waits
 *
 * Slurm's jobs and lists are played here.
 */
#include <string.h>

#include "sched/pollux/snapshot/candidates.h"
#include "sched/pollux/snapshot/moldable_jobs.h"
#include "sched/pollux/snapshot/queue_reason.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "unit.h"

enum { JOBS = 4 };

slurm_conf_t slurm_conf;

static struct {
	bitstr_t nodes;
	part_record_t part;
	part_record_t other;
	job_record_t jobs[JOBS];
	job_record_t again; /* the second's record, made anew */
	bool waits[JOBS];
	bool gone;
	struct plx_backlog_entry chosen[JOBS];
} w;

job_record_t *find_job_record(uint32_t job_id)
{
	if (job_id == 2 && w.gone)
		return NULL;
	if (job_id == 2 && w.again.job_id)
		return &w.again;
	return &w.jobs[job_id - 1];
}

bool pollux_waits_for_nodes(const job_record_t *job, time_t now)
{
	(void) now;
	return w.waits[job->job_id - 1];
}

bool pollux_waits_for_limit(const job_record_t *job, time_t now)
{
	(void) job, (void) now;
	return false;
}

bool pollux_moldable_waits(const job_record_t *job, time_t now)
{
	(void) job, (void) now;
	return false;
}

/* Of any job with a list: its partitions are both. */
void *list_find_first(List list, ListFindF find, void *key)
{
	(void) list;
	if (find(&w.part, key))
		return &w.part;
	return find(&w.other, key) ? &w.other : NULL;
}

static int set_up(void **state)
{
	(void) state;
	memset(&w, 0, sizeof(w));
	w.part.node_bitmap = w.other.node_bitmap = &w.nodes;
	w.part.state_up = w.other.state_up = PARTITION_UP;
	for (int i = 0; i < JOBS; i++) {
		w.jobs[i].job_id = (uint32_t) i + 1;
		w.jobs[i].job_state = JOB_PENDING;
		w.jobs[i].part_ptr = &w.part;
		w.jobs[i].priority = 100;
		w.waits[i] = true;
		w.chosen[i] = (struct plx_backlog_entry){
			.id = (uint32_t) i + 1,
			.partition = &w.part,
			.job = &w.jobs[i],
			.priority = 100,
		};
	}
	return 0;
}

/* All but the second are left, in their order. */
static void assert_without_the_second(void)
{
	assert_int_equal(JOBS - 1, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_int_equal(1, w.chosen[0].id);
	assert_int_equal(3, w.chosen[1].id);
	assert_int_equal(4, w.chosen[2].id);
}

static void all_that_wait_are_kept(void **state)
{
	(void) state;
	assert_int_equal(JOBS, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_int_equal(0, pollux_candidates_keep(w.chosen, -1, 0));
}

static void a_job_that_started_is_left_out(void **state)
{
	(void) state;
	w.jobs[1].job_state = JOB_RUNNING;
	assert_without_the_second();
}

static void a_job_that_is_gone_is_left_out(void **state)
{
	(void) state;
	w.gone = true;
	assert_without_the_second();
}

static void a_job_that_was_held_is_left_out(void **state)
{
	(void) state;
	w.waits[1] = false;
	assert_without_the_second();
}

static void a_job_moved_to_another_partition_is_left_out(void **state)
{
	(void) state;
	w.jobs[1].part_ptr = &w.other;
	assert_without_the_second();
}

static void a_job_of_a_partition_that_was_closed_is_left_out(void **state)
{
	(void) state;
	w.other.state_up = PARTITION_DOWN;
	w.jobs[1].part_ptr = &w.other;
	w.chosen[1].partition = &w.other;
	assert_without_the_second();
}

static void a_job_is_kept_in_the_partition_it_was_chosen_for(void **state)
{
	(void) state;
	w.jobs[1].part_ptr_list = (List) &w;
	w.chosen[1].partition = &w.other;
	assert_int_equal(JOBS, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_ptr_equal(&w.other, w.chosen[1].partition);
}

static void the_record_of_now_is_looked_at(void **state)
{
	(void) state;
	w.again = w.jobs[1];
	assert_int_equal(JOBS, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_ptr_equal(&w.again, w.chosen[1].job);
}

static void assert_order(const uint32_t *ids)
{
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(ids[i], w.chosen[i].id);
}

static void the_priority_of_now_counts(void **state)
{
	(void) state;
	w.jobs[2].priority = 200;
	w.jobs[0].priority = 50;
	assert_int_equal(JOBS, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_order((const uint32_t[]){ 3, 2, 4, 1 });
	assert_int_equal(200, w.chosen[0].priority);
	assert_int_equal(50, w.chosen[3].priority);
}

static void of_equals_the_lowest_id_goes_first(void **state)
{
	(void) state;
	w.chosen[0].id = 4;
	w.chosen[3].id = 1;
	assert_int_equal(JOBS, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_order((const uint32_t[]){ 1, 2, 3, 4 });
}

static void a_tier_goes_before_a_priority(void **state)
{
	(void) state;
	w.other.priority_tier = 1;
	w.jobs[1].part_ptr_list = (List) &w;
	w.chosen[1].partition = &w.other;
	w.jobs[1].priority = 1;
	assert_int_equal(JOBS, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_order((const uint32_t[]){ 2, 1, 3, 4 });
}

static void user_and_association_are_those_of_now(void **state)
{
	(void) state;
	w.jobs[1].user_id = 7;
	w.jobs[1].assoc_id = 8;
	assert_int_equal(JOBS, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_int_equal(7, w.chosen[1].user);
	assert_int_equal(8, w.chosen[1].assoc);
}

/* As the id of an array of jobs may be, of which one is split off. */
static void a_job_that_was_met_twice_is_kept_once(void **state)
{
	(void) state;
	w.chosen[3] = w.chosen[1];
	assert_int_equal(JOBS - 1, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_int_equal(2, w.chosen[1].id);
	assert_int_equal(3, w.chosen[2].id);
}

static void a_job_is_kept_in_each_of_its_partitions(void **state)
{
	(void) state;
	w.jobs[1].part_ptr_list = (List) &w;
	w.chosen[2] = w.chosen[1];
	w.chosen[2].partition = &w.other;
	assert_int_equal(JOBS, pollux_candidates_keep(w.chosen, JOBS, 0));
	assert_ptr_equal(&w.part, w.chosen[1].partition);
	assert_ptr_equal(&w.other, w.chosen[2].partition);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_that_wait_are_kept, set_up),
		cmocka_unit_test_setup(a_job_that_started_is_left_out, set_up),
		cmocka_unit_test_setup(a_job_that_is_gone_is_left_out, set_up),
		cmocka_unit_test_setup(a_job_that_was_held_is_left_out, set_up),
		cmocka_unit_test_setup(
			a_job_moved_to_another_partition_is_left_out, set_up),
		cmocka_unit_test_setup(
			a_job_of_a_partition_that_was_closed_is_left_out,
			set_up),
		cmocka_unit_test_setup(
			a_job_is_kept_in_the_partition_it_was_chosen_for,
			set_up),
		cmocka_unit_test_setup(the_record_of_now_is_looked_at, set_up),
		cmocka_unit_test_setup(the_priority_of_now_counts, set_up),
		cmocka_unit_test_setup(of_equals_the_lowest_id_goes_first,
				       set_up),
		cmocka_unit_test_setup(a_tier_goes_before_a_priority, set_up),
		cmocka_unit_test_setup(user_and_association_are_those_of_now,
				       set_up),
		cmocka_unit_test_setup(a_job_that_was_met_twice_is_kept_once,
				       set_up),
		cmocka_unit_test_setup(a_job_is_kept_in_each_of_its_partitions,
				       set_up),
	};

	return cmocka_run_group_tests_name("candidates", tests, NULL, NULL);
}
