/* SPDX-License-Identifier: MIT */
/*
 * test_preempts.c - which waiting jobs may preempt which elastic ones
 *
 * Slurm's rule is played here, and counts what it is asked under the read lock.
 */
#include <stdlib.h>
#include <string.h>

#include "src/common/assoc_mgr.h"

#include "sched/pollux/snapshot/preempts.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "unit.h"

enum { VICTIMS = 2000, WAITING = 100, EXEMPT = 7 };
enum { NORMAL, LOW, URGENT, QOS_COUNT };

slurm_conf_t slurm_conf;

static struct {
	slurmdb_qos_rec_t qos[QOS_COUNT];
	part_record_t part;
	job_record_t victims[VICTIMS];
	job_record_t waiting[WAITING];
	struct pollux_job jobs[VICTIMS];
	struct pollux_waiting asked[WAITING];
	struct plx_backlog_entry entries[WAITING];
	struct pollux_snapshot snapshot;
	bitstr_t nodes;
	long questions;
} w;

job_record_t *find_job_record(uint32_t job_id)
{
	return &w.victims[job_id];
}

time_t acct_policy_get_preemptable_time(job_record_t *job)
{
	return job == &w.victims[EXEMPT] ? w.snapshot.now + 60 : 0;
}

void assoc_mgr_lock(assoc_mgr_lock_t *locks)
{
	assert_int_equal(READ_LOCK, locks->qos);
}

void assoc_mgr_unlock(assoc_mgr_lock_t *locks)
{
	(void) locks;
}

int bit_overlap_any(bitstr_t *a, bitstr_t *b)
{
	return a == b;
}

void *slurm_xcalloc(size_t count, size_t size, bool clear, bool try,
		    const char *file, int line, const char *func)
{
	(void) clear, (void) try, (void) file, (void) line, (void) func;
	return calloc(count, size);
}

void *slurm_xrecalloc(void **item, size_t count, size_t size, bool clear,
		      bool try, const char *file, int line, const char *func)
{
	(void) clear, (void) try, (void) file, (void) line, (void) func;
	*item = realloc(*item, count * size);
	memset((char *) *item + (count - 1) * size, 0, size);
	return *item;
}

void slurm_xfree(void **item)
{
	free(*item);
	*item = NULL;
}

/* As preempt/qos: URGENT preempts LOW, and a QOS itself by priority. */
static bool may(job_record_t *victim, job_record_t *preemptor)
{
	w.questions++;
	if (victim->qos_ptr == preemptor->qos_ptr)
		return preemptor->qos_ptr->preempt_mode & PREEMPT_MODE_WITHIN &&
		       preemptor->priority > victim->priority;
	return preemptor->qos_ptr == &w.qos[URGENT] &&
	       victim->qos_ptr == &w.qos[LOW];
}

static uint16_t mode(job_record_t *victim)
{
	(void) victim;
	return PREEMPT_MODE_REQUEUE;
}

static const struct pollux_preempt_rule rule = { .may = may, .mode = mode };

/* Every second elastic job is of LOW; who waits is of this QOS. */
static struct pollux_preempts *set_up(int qos, uint32_t priority)
{
	memset(&w, 0, sizeof(w));
	w.part.node_bitmap = &w.nodes;
	for (int j = 0; j < VICTIMS; j++) {
		w.victims[j].job_id = w.jobs[j].id = (uint32_t) j;
		w.victims[j].qos_ptr = &w.qos[j % 2 ? LOW : NORMAL];
		w.victims[j].part_ptr = &w.part;
		w.victims[j].node_bitmap = &w.nodes;
		w.victims[j].priority = (uint32_t) (1000 + j);
	}
	for (int i = 0; i < WAITING; i++) {
		w.waiting[i].qos_ptr = &w.qos[qos];
		w.waiting[i].part_ptr = &w.part;
		w.waiting[i].priority = priority;
		w.entries[i].job = &w.waiting[i];
		w.entries[i].partition = &w.part;
	}
	w.snapshot.jobs = w.jobs;
	w.snapshot.job_count = VICTIMS;
	w.snapshot.waiting = w.asked;
	w.snapshot.waiting_count = WAITING;
	pollux_preempts_by(&rule);
	return pollux_preempts_create(&w.snapshot);
}

static void tear_down(struct pollux_preempts *preempts)
{
	pollux_preempts_destroy(preempts);
	for (int i = 0; i < WAITING; i++)
		free(w.asked[i].preempts);
	pollux_preempts_by(NULL);
}

static void who_preempts_is_told_of_each_pair(void **state)
{
	struct pollux_preempts *preempts = set_up(URGENT, 1);

	(void) state;
	assert_true(pollux_preempts_any(preempts, &w.entries[0]));
	pollux_preempts_fill(preempts, w.entries, &w.snapshot);
	for (int i = 0; i < WAITING; i++) {
		assert_non_null(w.asked[i].preempts);
		for (int j = 0; j < VICTIMS; j++)
			assert_true(w.asked[i].preempts[j] ==
				    (j % 2 && j != EXEMPT));
	}
	assert_true(w.jobs[EXEMPT].exempt_s == 60);
	tear_down(preempts);
}

static void the_rule_is_asked_about_what_jobs_have_in_common(void **state)
{
	struct pollux_preempts *preempts = set_up(URGENT, 1);

	(void) state;
	for (int i = 0; i < WAITING; i++)
		assert_true(pollux_preempts_any(preempts, &w.entries[i]));
	pollux_preempts_fill(preempts, w.entries, &w.snapshot);
	assert_true(w.questions <= 2);
	tear_down(preempts);
}

static void who_preempts_nobody_costs_as_little(void **state)
{
	struct pollux_preempts *preempts = set_up(NORMAL, 5000);

	(void) state;
	for (int i = 0; i < WAITING; i++)
		assert_false(pollux_preempts_any(preempts, &w.entries[i]));
	pollux_preempts_fill(preempts, w.entries, &w.snapshot);
	for (int i = 0; i < WAITING; i++)
		assert_null(w.asked[i].preempts);
	assert_true(w.questions <= 2);
	tear_down(preempts);
}

/* PreemptMode=WITHIN: those of its own QOS that have less. */
static void where_priority_counts_each_job_has_its_own(void **state)
{
	struct pollux_preempts *preempts = set_up(NORMAL, 1100);

	(void) state;
	w.qos[NORMAL].preempt_mode = PREEMPT_MODE_WITHIN;
	w.waiting[1].priority = 500;
	assert_true(pollux_preempts_any(preempts, &w.entries[0]));
	assert_false(pollux_preempts_any(preempts, &w.entries[1]));
	pollux_preempts_fill(preempts, w.entries, &w.snapshot);
	assert_null(w.asked[1].preempts);
	for (int j = 0; j < VICTIMS; j++)
		assert_true(w.asked[0].preempts[j] == (j % 2 == 0 && j < 100));
	tear_down(preempts);
}

static void part_of_a_het_job_preempts_nobody_here(void **state)
{
	struct pollux_preempts *preempts = set_up(URGENT, 1);

	(void) state;
	w.waiting[0].het_job_id = 9;
	assert_false(pollux_preempts_any(preempts, &w.entries[0]));
	pollux_preempts_fill(preempts, w.entries, &w.snapshot);
	assert_null(w.asked[0].preempts);
	assert_non_null(w.asked[1].preempts);
	tear_down(preempts);
}

static void without_a_rule_nobody_does(void **state)
{
	(void) state;
	tear_down(set_up(URGENT, 1));
	assert_null(pollux_preempts_create(&w.snapshot));
	assert_false(pollux_preempts_any(NULL, &w.entries[0]));
	pollux_preempts_fill(NULL, w.entries, &w.snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_preempts_is_told_of_each_pair),
		cmocka_unit_test(
			the_rule_is_asked_about_what_jobs_have_in_common),
		cmocka_unit_test(who_preempts_nobody_costs_as_little),
		cmocka_unit_test(where_priority_counts_each_job_has_its_own),
		cmocka_unit_test(part_of_a_het_job_preempts_nobody_here),
		cmocka_unit_test(without_a_rule_nobody_does),
	};

	return cmocka_run_group_tests_name("preempts", tests, NULL, NULL);
}
