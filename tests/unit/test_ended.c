/* SPDX-License-Identifier: MIT */
/*
 * test_ended.c - steps that nobody saw end are ended, few in one hold
 *
 * Slurm's steps, lists and bitmaps are played here.
 */
#include <string.h>

#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/rules/slurmds.h"
#include "sched/pollux/snapshot/steps.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

enum { STEPS = 3000 };

slurm_conf_t slurm_conf;
slurmctld_config_t slurmctld_config;
int node_record_count = 1;
node_record_t **node_record_table_ptr;

static struct {
	bitstr_t nodes[BITSTR_OVERHEAD + 1]; /* of the job and all steps */
	node_record_t node;
	node_record_t *table[1];
	slurm_step_layout_t layout;
	job_resources_t resources;
	job_record_t job;
	step_record_t steps[STEPS];
	int ended[STEPS]; /* times */
	int next;	  /* of the walk */
	bool registered;
	int held; /* steps ended since the lock was taken */
} w;

int bit_test(bitstr_t *bits, bitoff_t n)
{
	return bits[BITSTR_OVERHEAD] >> n & 1;
}

bitoff_t bit_size(bitstr_t *bits)
{
	(void) bits;
	return 1;
}

int32_t bit_set_count(bitstr_t *bits)
{
	return (int32_t) bits[BITSTR_OVERHEAD];
}

ListIterator list_iterator_create(List list)
{
	w.next = 0;
	return (ListIterator) list;
}

void list_iterator_destroy(ListIterator iter)
{
	(void) iter;
}

/* Those that were ended are off the list. */
void *list_next(ListIterator iter)
{
	(void) iter;
	while (w.next < STEPS && w.ended[w.next])
		w.next++;
	return w.next < STEPS ? &w.steps[w.next++] : NULL;
}

int step_partial_comp(step_complete_msg_t *message, uid_t uid, bool finish,
		      int *rest, uint32_t *code)
{
	(void) uid, (void) finish, (void) rest, (void) code;
	w.ended[message->step_id.step_id]++;
	w.held++;
	return SLURM_SUCCESS;
}

bool pollux_slurmds_registered(const node_record_t *node)
{
	return node == &w.node && w.registered;
}

void pollux_record_each(void (*act)(job_record_t *job))
{
	act(&w.job);
}

void pollux_info(const char *format, ...)
{
	(void) format;
}

/* slurmctld comes back and takes all steps to be running. */
static int set_up(void **state)
{
	(void) state;
	memset(&w, 0, sizeof(w));
	w.table[0] = &w.node;
	node_record_table_ptr = w.table;
	slurmctld_config.boot_time = 1000;
	w.nodes[BITSTR_OVERHEAD] = 1;
	w.job.job_id = 7;
	w.job.job_state = JOB_RUNNING;
	w.job.job_resrcs = &w.resources;
	w.job.node_bitmap = w.nodes;
	w.job.step_list = (List) &w;
	for (int i = 0; i < STEPS; i++) {
		w.steps[i].step_id.job_id = 7;
		w.steps[i].step_id.step_id = (uint32_t) i;
		w.steps[i].state = JOB_RUNNING;
		w.steps[i].step_layout = &w.layout;
		w.steps[i].step_node_bitmap = w.nodes;
	}
	pollux_steps_started();
	w.registered = true;
	return 0;
}

static void all_end_each_once_and_few_while_the_lock_is_held(void **state)
{
	int holds = 0;

	(void) state;
	while (pollux_steps_due(&w.job)) {
		w.held = 0;
		pollux_steps_mend(&w.job);
		assert_in_range(w.held, 1, 300);
		holds++;
	}
	for (int i = 0; i < STEPS; i++)
		assert_int_equal(1, w.ended[i]);
	assert_in_range(holds, 1, STEPS / 200);
}

static void so_do_those_whose_nodes_have_all_told_their_end(void **state)
{
	(void) state;
	for (int i = 0; i < STEPS; i++) {
		w.steps[i].time_last_active = 0;
		w.steps[i].exit_node_bitmap = w.nodes;
	}
	pollux_steps_mend(&w.job);
	assert_in_range(w.held, 1, 300);
	assert_true(pollux_steps_due(&w.job));
}

/* What nodes tell of, or may tell of yet, is none of these. */
static void those_that_run_stand_in_the_way_of_none_behind_them(void **state)
{
	(void) state;
	for (int i = 0; i < STEPS - 1; i++)
		w.steps[i].time_last_active = slurmctld_config.boot_time + 1;
	w.registered = false;
	pollux_steps_mend(&w.job);
	assert_int_equal(0, w.held);
	w.registered = true;
	pollux_steps_mend(&w.job);
	assert_int_equal(1, w.held);
	assert_int_equal(1, w.ended[STEPS - 1]);
	assert_false(pollux_steps_due(&w.job));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_end_each_once_and_few_while_the_lock_is_held),
		TEST(so_do_those_whose_nodes_have_all_told_their_end),
		TEST(those_that_run_stand_in_the_way_of_none_behind_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
