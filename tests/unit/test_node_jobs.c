/* SPDX-License-Identifier: MIT */
/*
 * test_node_jobs.c - the jobs on a node are known without a look at all jobs
 *
 * Slurm's jobs, bitmaps and lists are played here.
 */
#include <stdlib.h>
#include <string.h>

#include "sched/pollux/resize/node_jobs.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

enum { JOBS = 20, NODES = 3 };

slurm_conf_t slurm_conf;
int node_record_count;
List job_list;

static struct {
	bitstr_t maps[JOBS][BITSTR_OVERHEAD + 1];
	bitstr_t ending[JOBS][BITSTR_OVERHEAD + 1];
	job_record_t jobs[JOBS];
	node_record_t nodes[NODES];
	int walks;
	int count; /* of the last answer */
} w;

int bit_test(bitstr_t *bits, bitoff_t n)
{
	return bits[BITSTR_OVERHEAD] >> n & 1;
}

bitoff_t bit_size(bitstr_t *bits)
{
	(void) bits;
	return NODES;
}

job_record_t *find_job_record(uint32_t job_id)
{
	job_record_t *job = &w.jobs[job_id - 1];

	return job->job_id ? job : NULL;
}

int list_for_each_ro(List list, ListForF act, void *arg)
{
	(void) list;
	w.walks++;
	for (int j = 0; j < JOBS; j++) {
		if (w.jobs[j].job_id)
			(void) act(&w.jobs[j], arg);
	}
	return 0;
}

/* The job runs on the node, as Slurm counts it. */
static void put(uint32_t id, int n)
{
	job_record_t *job = &w.jobs[id - 1];

	job->job_id = id;
	job->job_state = JOB_RUNNING;
	job->node_bitmap = w.maps[id - 1];
	w.maps[id - 1][BITSTR_OVERHEAD] |= 1 << n;
	w.nodes[n].run_job_cnt++;
}

static void leave(uint32_t id, int n)
{
	w.maps[id - 1][BITSTR_OVERHEAD] &= ~(1 << n);
	w.nodes[n].run_job_cnt--;
}

/* As bits: 2 is the job with number 1. */
static unsigned jobs_on(int n, uint32_t but_for)
{
	uint32_t *ids = pollux_node_jobs(&w.nodes[n], but_for, &w.count);
	unsigned bits = 0;

	for (int i = 0; i < w.count; i++)
		bits |= 1u << ids[i];
	free(ids);
	return bits;
}

static int set_up(void **state)
{
	(void) state;
	memset(&w, 0, sizeof(w));
	node_record_count = NODES;
	for (int n = 0; n < NODES; n++)
		w.nodes[n].index = n;
	put(1, 0);
	put(2, 0);
	put(2, 1);
	put(3, 2);
	assert_int_equal(1 << 1 | 1 << 2, jobs_on(0, 0));
	assert_int_equal(1, w.walks);
	return 0;
}

static int tear_down(void **state)
{
	(void) state;
	pollux_node_jobs_forget();
	return 0;
}

static void one_look_at_all_jobs_tells_of_all_nodes(void **state)
{
	(void) state;
	assert_int_equal(1 << 2, jobs_on(1, 0));
	assert_int_equal(1 << 3, jobs_on(2, 0));
	assert_int_equal(1, w.walks);
}

static void one_job_can_be_left_out(void **state)
{
	(void) state;
	assert_int_equal(1 << 1, jobs_on(0, 2));
	assert_int_equal(1, w.count);
	assert_int_equal(0, jobs_on(2, 3));
	assert_int_equal(0, w.count);
}

static void who_has_left_is_not_told(void **state)
{
	(void) state;
	leave(2, 0);
	assert_int_equal(1 << 1, jobs_on(0, 0));
	assert_int_equal(1, w.walks);
}

static void who_is_not_there_any_more_is_not_told(void **state)
{
	(void) state;
	w.nodes[2].run_job_cnt--;
	w.jobs[2].job_id = 0;
	assert_int_equal(0, jobs_on(2, 0));
	assert_int_equal(1, w.walks);
}

static void a_resize_tells_who_has_come(void **state)
{
	(void) state;
	put(3, 1);
	pollux_node_jobs_add(&w.nodes[1], 3);
	pollux_node_jobs_add(&w.nodes[1], 3);
	assert_int_equal(1 << 2 | 1 << 3, jobs_on(1, 0));
	assert_int_equal(2, w.count);
	assert_int_equal(1, w.walks);
}

static void who_was_started_by_slurm_is_looked_for(void **state)
{
	(void) state;
	put(4, 1);
	assert_int_equal(1 << 2 | 1 << 4, jobs_on(1, 0));
	assert_int_equal(2, w.walks);
	assert_int_equal(1 << 2 | 1 << 4, jobs_on(1, 0));
	assert_int_equal(2, w.walks);
}

static void one_look_finds_all_that_slurm_has_started(void **state)
{
	(void) state;
	put(4, 0);
	put(4, 1);
	put(5, 2);
	assert_int_equal(1 << 1 | 1 << 2 | 1 << 4, jobs_on(0, 0));
	assert_int_equal(1 << 2 | 1 << 4, jobs_on(1, 0));
	assert_int_equal(1 << 3 | 1 << 5, jobs_on(2, 0));
	assert_int_equal(2, w.walks);
}

static void one_for_another_is_looked_for(void **state)
{
	(void) state;
	leave(2, 1);
	put(4, 1);
	assert_int_equal(1 << 4, jobs_on(1, 0));
}

static void who_has_ended_there_does_not_stand_for_another(void **state)
{
	(void) state;
	/* Job 2 completes; on the second node it has. */
	w.jobs[1].job_state = JOB_COMPLETE | JOB_COMPLETING;
	w.jobs[1].node_bitmap_cg = w.ending[1];
	w.ending[1][BITSTR_OVERHEAD] = 1 << 0;
	w.nodes[1].run_job_cnt--;
	put(4, 1);
	assert_int_equal(1 << 2 | 1 << 4, jobs_on(1, 0));
}

static void who_is_suspended_or_completes_is_there(void **state)
{
	(void) state;
	w.jobs[0].job_state = JOB_SUSPENDED;
	w.jobs[1].job_state = JOB_COMPLETE | JOB_COMPLETING;
	w.nodes[0].run_job_cnt = 0;
	w.nodes[0].sus_job_cnt = w.nodes[0].comp_job_cnt = 1;
	assert_int_equal(1 << 1 | 1 << 2, jobs_on(0, 0));
	assert_int_equal(1, w.walks);
}

static void many_jobs_share_a_node(void **state)
{
	(void) state;
	for (uint32_t id = 4; id <= JOBS; id++) {
		put(id, 2);
		pollux_node_jobs_add(&w.nodes[2], id);
	}
	(void) jobs_on(2, 0);
	assert_int_equal(JOBS - 2, w.count);
	assert_int_equal(1, w.walks);
}

static void other_nodes_are_looked_at_anew(void **state)
{
	(void) state;
	node_record_count = NODES - 1;
	pollux_node_jobs_add(&w.nodes[1], 9);
	assert_int_equal(1 << 2, jobs_on(1, 0));
	assert_int_equal(2, w.walks);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_look_at_all_jobs_tells_of_all_nodes),
		TEST(one_job_can_be_left_out),
		TEST(who_has_left_is_not_told),
		TEST(who_is_not_there_any_more_is_not_told),
		TEST(a_resize_tells_who_has_come),
		TEST(who_was_started_by_slurm_is_looked_for),
		TEST(one_look_finds_all_that_slurm_has_started),
		TEST(one_for_another_is_looked_for),
		TEST(who_has_ended_there_does_not_stand_for_another),
		TEST(who_is_suspended_or_completes_is_there),
		TEST(many_jobs_share_a_node),
		TEST(other_nodes_are_looked_at_anew),
	};

	return cmocka_run_group_tests_name("node jobs", tests, NULL, NULL);
}
