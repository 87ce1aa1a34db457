/* SPDX-License-Identifier: MIT */
/*
 * test_lost.c - a job that Slurm did not take back does not run on
 *
 * What slurmctld does is played here: each function notes that it was called.
 */
#define _GNU_SOURCE /* vasprintf() */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/pollux/resize/lost.h"
#include "sched/pollux/record.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

slurm_conf_t slurm_conf;
slurmctld_config_t slurmctld_config;

static struct {
	job_record_t job;
	bool may_requeue;
	int requeue_rc;
	int requeued;
	char drained[64];
	char reason[128];
	char error[256];
} ctld;

bool pollux_record_may_requeue(const job_record_t *job)
{
	return job == &ctld.job && ctld.may_requeue;
}

static int requeue(uint32_t job_id)
{
	if (ctld.requeue_rc == SLURM_SUCCESS) {
		ctld.requeued += job_id == ctld.job.job_id;
		ctld.job.job_state = JOB_PENDING | JOB_COMPLETING;
	}
	return ctld.requeue_rc;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
int job_requeue_external(uid_t uid, slurm_step_id_t *step_id, bool preempt,
			 uint32_t flags)
{
	(void) uid, (void) preempt, (void) flags;
	return requeue(step_id->job_id);
}
#else
int job_requeue(uid_t uid, uint32_t job_id, slurm_msg_t *msg, bool preempt,
		uint32_t flags)
{
	(void) uid, (void) msg, (void) preempt, (void) flags;
	return requeue(job_id);
}
#endif

int drain_nodes(char *nodes, char *reason, uint32_t uid)
{
	(void) uid;
	snprintf(ctld.drained, sizeof(ctld.drained), "%s", nodes);
	snprintf(ctld.reason, sizeof(ctld.reason), "%s", reason);
	return SLURM_SUCCESS;
}

job_record_t *find_job_record(uint32_t job_id)
{
	return job_id == ctld.job.job_id ? &ctld.job : NULL;
}

int error(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(ctld.error, sizeof(ctld.error), format, list);
	va_end(list);
	return SLURM_ERROR;
}

static void is_lost(bool may_requeue)
{
	struct plx_error err;

	memset(&ctld, 0, sizeof(ctld));
	ctld.job.job_id = 5;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	ctld.job.step_id.job_id = 5;
#endif
	ctld.job.job_state = JOB_RUNNING;
	ctld.job.nodes = (char *) "n[1-2]";
	ctld.may_requeue = may_requeue;
	plx_fail(&err, "Slurm does not take back what it had");
	pollux_lost_note(&ctld.job, &err);
}

static void it_is_requeued(void **state)
{
	(void) state;
	is_lost(true);
	pollux_lost_end();
	assert_int_equal(1, ctld.requeued);
	assert_string_equal("", ctld.drained);
	assert_string_equal("sched/pollux: JobId=5: Slurm does not take back "
			    "what it had: its GPUs look free, so it is "
			    "requeued, and leaves n[1-2]",
			    ctld.error);
}

static void nothing_is_done_before_the_lock_is_given_up(void **state)
{
	(void) state;
	is_lost(true);
	assert_int_equal(0, ctld.requeued);
	pollux_lost_end();
}

static void its_nodes_are_drained_where_it_may_not_be(void **state)
{
	(void) state;
	is_lost(false);
	pollux_lost_end();
	assert_int_equal(0, ctld.requeued);
	assert_string_equal("n[1-2]", ctld.drained);
	assert_string_equal("sched/pollux: GPUs of JobId=5 look free",
			    ctld.reason);
	assert_string_equal("sched/pollux: JobId=5: Slurm does not take back "
			    "what it had: its GPUs look free, so nobody else "
			    "starts on n[1-2]",
			    ctld.error);
}

static void and_where_slurm_refuses_to(void **state)
{
	(void) state;
	is_lost(true);
	ctld.requeue_rc = ESLURM_DISABLED;
	pollux_lost_end();
	assert_string_equal("n[1-2]", ctld.drained);
}

static void it_is_ended_once(void **state)
{
	struct plx_error err;

	(void) state;
	is_lost(true);
	plx_fail(&err, "once more");
	pollux_lost_note(&ctld.job, &err);
	pollux_lost_end();
	pollux_lost_end();
	assert_int_equal(1, ctld.requeued);
}

static void a_job_that_has_ended_is_left_alone(void **state)
{
	(void) state;
	is_lost(true);
	ctld.job.job_state = JOB_COMPLETE;
	pollux_lost_end();
	assert_int_equal(0, ctld.requeued);
	assert_string_equal("", ctld.error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_requeued),
		cmocka_unit_test(nothing_is_done_before_the_lock_is_given_up),
		cmocka_unit_test(its_nodes_are_drained_where_it_may_not_be),
		cmocka_unit_test(and_where_slurm_refuses_to),
		cmocka_unit_test(it_is_ended_once),
		cmocka_unit_test(a_job_that_has_ended_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
