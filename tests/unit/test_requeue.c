/* SPDX-License-Identifier: MIT */
/*
 * test_requeue.c - a job that was put back into the queue forgets its last run
 *
 * What slurmctld and the rest of the plugin do is played here.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job_submit/pollux/shape.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/job_state.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/extend.h"
#include "sched/pollux/resize/request.h"
#include "sched/pollux/resize/target_shape.h"
#include "sched/pollux/rules/left_nodes.h"
#include "sched/pollux/start/requeue.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

slurm_conf_t slurm_conf;
time_t last_job_update;

static struct {
	job_record_t job;
	job_details_t details;
	bool elastic;
	double left_s; /* for which nodes that it left are closed to it */
	int nodes;     /* of the request that is written */
	int gpus;
} ctld;

/* ---- slurmctld */

int error(const char *format, ...)
{
	(void) format;
	return SLURM_ERROR;
}

job_record_t *find_job_record(uint32_t job_id)
{
	return job_id == ctld.job.job_id ? &ctld.job : NULL;
}

extern int acct_policy_handle_accrue_time(job_record_t *job, bool locked)
{
	(void) job, (void) locked;
	return SLURM_SUCCESS;
}

extern void batch_requeue_fini(job_record_t *job)
{
	(void) job;
	abort();
}

extern void set_job_prio(job_record_t *job)
{
	(void) job;
	abort();
}

/* ---- the plugin */

void pollux_info(const char *format, ...)
{
	(void) format;
}

void pollux_lock(enum pollux_purpose purpose)
{
	(void) purpose;
}

void pollux_lock_yield(enum pollux_purpose purpose)
{
	(void) purpose;
}

void pollux_unlock(enum pollux_purpose purpose)
{
	(void) purpose;
}

bool pollux_is_elastic(const job_record_t *job)
{
	(void) job;
	return ctld.elastic;
}

bool pollux_job_options(const job_record_t *job,
			struct pollux_job_options *asked)
{
	(void) job;
	memset(asked, 0, sizeof(*asked));
	return true;
}

bool pollux_record_is_moldable(const job_record_t *job)
{
	(void) job;
	return false;
}

double pollux_left_s(uint32_t job_id)
{
	(void) job_id;
	return ctld.left_s;
}

void pollux_job_gpu_type(const job_record_t *job,
			 char type[POLLUX_GPU_TYPE_SIZE])
{
	(void) job;
	type[0] = '\0';
}

struct shape_cluster pollux_gpu_cluster(const char *type, bitstr_t *nodes)
{
	(void) type, (void) nodes;
	return (struct shape_cluster){ .nodes = 4, .gpus = 4 };
}

int shape_choose(const struct plx_options *options,
		 const struct shape_request *request,
		 const struct shape_cluster *cluster, struct shape *shape,
		 struct plx_error *err)
{
	(void) options, (void) request, (void) cluster, (void) err;
	*shape = (struct shape){ .nodes = 1, .gpus_per_node = 2 };
	return 0;
}

void pollux_request_save(job_record_t *job, struct pollux_request *saved)
{
	(void) job, (void) saved;
}

void pollux_request_restore(job_record_t *job, struct pollux_request *saved)
{
	(void) job, (void) saved;
	abort();
}

void pollux_request_keep(job_record_t *job, struct pollux_request *saved)
{
	(void) job, (void) saved;
}

int pollux_request_write_counts(job_record_t *job, int node_count, int gpus,
				const struct pollux_request *saved,
				struct plx_error *err)
{
	(void) job, (void) saved, (void) err;
	ctld.nodes = node_count;
	ctld.gpus = gpus;
	return 0;
}

struct pollux_job_state *pollux_job_state_find(uint32_t job_id)
{
	(void) job_id;
	return NULL;
}

void pollux_job_state_close(struct pollux_job_state *state, time_t end)
{
	(void) state, (void) end;
	abort();
}

void pollux_job_state_adopt(uint32_t job_id, const struct plx_target *target)
{
	(void) job_id, (void) target;
	abort();
}

bool pollux_evicts(const struct plx_target *target)
{
	(void) target;
	return false;
}

bool pollux_extend_is_ours(const job_record_t *job,
			   const struct plx_target *target)
{
	(void) job, (void) target;
	return false;
}

uint32_t pollux_given_minutes(int given_s)
{
	return (uint32_t) given_s / 60;
}

/* ---- */

/* It has ended, its end was told once, and now it is in the queue again. */
static void is_requeued(bool elastic)
{
	static const uint32_t id = 5;

	memset(&ctld, 0, sizeof(ctld));
	ctld.elastic = elastic;
	ctld.job = (job_record_t){
		.job_id = id,
		.job_state = JOB_PENDING,
		.priority = 1,
		.restart_cnt = 1,
		.resize_time = 100,
		.kill_on_node_fail = 1,
		.bit_flags = TRES_STR_CALC | GRES_ENFORCE_BIND,
		.details = &ctld.details,
	};
	ctld.job.system_comment =
		strdup("mine [pollux serial=3 state=done nodes=2 gpus=4 "
		       "why=so]");
	pollux_requeue_reset(&id, 1);
	if (elastic)
		assert_string_equal("mine", ctld.job.system_comment);
	free(ctld.job.system_comment);
}

/* Else slurmctld leaves what it has out of what it tells of its end. */
static void tres_of_its_next_run_are_told(void **state)
{
	(void) state;
	is_requeued(true);
	assert_false(ctld.job.bit_flags & TRES_STR_CALC);
	assert_true(ctld.job.bit_flags & GRES_ENFORCE_BIND);
}

static void its_next_run_is_no_resized_one(void **state)
{
	(void) state;
	is_requeued(true);
	assert_int_equal(0, ctld.job.resize_time);
	/* Its row is none of its last run's. */
	assert_int_equal(101, ctld.details.submit_time);
	assert_int_equal(0, ctld.job.kill_on_node_fail);
	assert_int_equal(1, ctld.nodes);
	assert_int_equal(2, ctld.gpus);
}

/* Steps of its last run could still begin on nodes that it left. */
static void it_waits_until_no_credential_is_good(void **state)
{
	time_t now = time(NULL);

	(void) state;
	ctld.job = (job_record_t){ .details = &ctld.details };
	ctld.details.begin_time = 0;
	pollux_requeue_let(&ctld.job);
	assert_int_equal(0, ctld.details.begin_time);
	ctld.left_s = 29.5;
	pollux_requeue_let(&ctld.job);
	assert_in_range(ctld.details.begin_time, now + 30, now + 32);
	ctld.details.begin_time = now + 100;
	pollux_requeue_let(&ctld.job);
	assert_int_equal(now + 100, ctld.details.begin_time);
}

static void a_job_that_is_not_elastic_is_slurms(void **state)
{
	(void) state;
	is_requeued(false);
	assert_true(ctld.job.bit_flags & TRES_STR_CALC);
	assert_int_equal(100, ctld.job.resize_time);
	assert_int_equal(0, ctld.gpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tres_of_its_next_run_are_told),
		cmocka_unit_test(its_next_run_is_no_resized_one),
		cmocka_unit_test(it_waits_until_no_credential_is_good),
		cmocka_unit_test(a_job_that_is_not_elastic_is_slurms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
