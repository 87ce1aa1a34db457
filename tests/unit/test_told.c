/* SPDX-License-Identifier: MIT */
/*
 * test_told.c - what a job is told is no change of the job
 *
 * Slurm's backfill, without bf_continue, gives up its pass at a yield when
 * last_job_update has moved. slurmctld is played here.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sched/pollux/job_options.h"
#include "sched/pollux/kept_types.h"
#include "sched/pollux/record.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

time_t last_job_update;
int node_record_count;
List job_list;

static int errors;

int error(const char *format, ...)
{
	(void) format;
	return ++errors;
}

/* Not asked for what is written. */
bitoff_t bit_ffs(bitstr_t *bits)
{
	(void) bits;
	abort();
}

int bit_test(bitstr_t *bits, bitoff_t bit)
{
	(void) bits, (void) bit;
	abort();
}

void pollux_kept_types(const job_record_t *job, char types[PLX_TYPES_SIZE])
{
	(void) job, (void) types;
	abort();
}

node_record_t *find_node_record(char *name)
{
	(void) name;
	abort();
}

step_record_t *find_step_record(job_record_t *job, slurm_step_id_t *id)
{
	(void) job, (void) id;
	abort();
}

ListIterator list_iterator_create(List list)
{
	(void) list;
	abort();
}

void *list_next(ListIterator iter)
{
	(void) iter;
	abort();
}

void list_iterator_destroy(ListIterator iter)
{
	(void) iter;
	abort();
}

bool pollux_job_options(const job_record_t *job,
			struct pollux_job_options *asked)
{
	(void) job, (void) asked;
	abort();
}

bool pollux_asks_gres(const char *tres)
{
	(void) tres;
	abort();
}

uint32_t pollux_gpu_id(void)
{
	abort();
}

static void a_sentence_is_no_change_of_the_job(void **state)
{
	job_record_t job = { .system_comment = strdup("kept") };
	struct plx_target target = { .serial = 4, .state = PLX_TARGET_DONE };

	(void) state;
	last_job_update = 7;
	snprintf(target.why, sizeof(target.why), "stays: 4 GPUs");
	pollux_record_publish(&job, &target);
	assert_int_equal(0, errors);
	assert_non_null(strstr(job.system_comment, "kept [pollux serial=4"));
	assert_non_null(strstr(job.system_comment, "stays: 4 GPUs"));
	assert_int_equal(7, last_job_update);
	free(job.system_comment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sentence_is_no_change_of_the_job),
	};

	return cmocka_run_group_tests_name("told", tests, NULL, NULL);
}
