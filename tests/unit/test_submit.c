/* SPDX-License-Identifier: MIT */
/*
 * test_submit.c - what job_submit looks up of a request that Slurm will refuse
 *
 * slurmctld's partitions, and what is asked of our other files, are played
 * here.
 */
#define _GNU_SOURCE /* vasprintf() */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/elastic.h"
#include "common/loaded.h"
#include "common/node_gpus.h"
#include "common/record_layout.h"
#include "job_submit/pollux/modify.h"
#include "job_submit/pollux/shape.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

/* Slurm's own bound on the list, in bytes (_test_strlen() of job_mgr.c). */
enum { LONGEST = 1024 };

slurm_conf_t slurm_conf;
part_record_t *default_part_loc;

static struct {
	job_desc_msg_t job;
	part_record_t shared; /* all partitions of a name */
	int looked_up;
	char error[256];
} ctld;

extern int job_submit(job_desc_msg_t *job, uint32_t uid, char **err_msg);

/* ---- slurmctld */

part_record_t *find_part_record(char *name)
{
	ctld.looked_up++;
	return name[0] ? &ctld.shared : NULL;
}

int xstrcmp(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

int error(const char *format, ...)
{
	(void) format;
	return SLURM_ERROR;
}

int get_log_level(void)
{
	return 0;
}

void log_var(const log_level_t level, const char *format, ...)
{
	(void) level, (void) format;
}

hostlist_t hostlist_create(const char *names)
{
	(void) names;
	return NULL;
}

int hostlist_count(hostlist_t hosts)
{
	(void) hosts;
	return 0;
}

void hostlist_destroy(hostlist_t hosts)
{
	(void) hosts;
}

/* ---- our other files */

void pollux_loaded_learn(uint32_t *version)
{
	(void) version;
}

bool pollux_loaded_wrong(char *text, size_t size)
{
	(void) text, (void) size;
	return false;
}

const char *pollux_layout_wrong(void)
{
	return NULL;
}

int elastic_check_env(char **env, uint32_t count, struct plx_error *err)
{
	(void) env, (void) count, (void) err;
	return 0;
}

int elastic_options(char **env, uint32_t count, struct plx_options *options,
		    struct plx_error *err)
{
	(void) env, (void) count, (void) err;
	*options = (struct plx_options){ .min_gpus = 1 };
	return 1;
}

const char *elastic_text(char **env, uint32_t count)
{
	(void) env, (void) count;
	return "pollux";
}

const char *elastic_write_nodes(struct elastic_nodes nodes, char *text)
{
	(void) nodes, (void) text;
	return NULL;
}

int modify_nodes(job_desc_msg_t *asked, job_record_t *job, uint32_t uid,
		 struct plx_error *err)
{
	(void) asked, (void) job, (void) uid, (void) err;
	return SLURM_SUCCESS;
}

struct shape_cluster pollux_gpu_cluster(const char *type, bitstr_t *nodes)
{
	(void) type, (void) nodes;
	return (struct shape_cluster){ .nodes = 4, .gpus = 4 };
}

int pollux_gpu_request(const char *tres, struct pollux_gpus *gpus,
		       struct plx_error *err)
{
	(void) tres, (void) err;
	*gpus = (struct pollux_gpus){ 0 };
	return 0;
}

struct pollux_needs pollux_needs(const struct pollux_beside *beside)
{
	(void) beside;
	return (struct pollux_needs){ .cpus = 1 };
}

int shape_choose(const struct plx_options *options,
		 const struct shape_request *request,
		 const struct shape_cluster *cluster, struct shape *shape,
		 struct plx_error *err)
{
	(void) options, (void) request, (void) cluster, (void) err;
	*shape = (struct shape){ .nodes = 2, .gpus_per_node = 3 };
	return 0;
}

/* A batch job that names so many bytes of partitions: "p,p,p". */
static int submit(size_t bytes)
{
	char *text = malloc(bytes + 1);
	char *err_msg = NULL;
	int rc;

	assert_non_null(text);
	for (size_t i = 0; i < bytes; i++)
		text[i] = i % 2 ? ',' : 'p';
	text[bytes] = '\0';
	memset(&ctld, 0, sizeof(ctld));
	ctld.shared.max_share = 1;
	ctld.job.partition = text;
	ctld.job.script = text;
	ctld.job.het_job_offset = NO_VAL;
	ctld.job.shared = NO_VAL16;
	ctld.job.min_nodes = ctld.job.max_nodes = NO_VAL;
	ctld.job.num_tasks = NO_VAL;
	ctld.job.requeue = ctld.job.ntasks_per_node = NO_VAL16;
	ctld.job.ntasks_per_socket = ctld.job.pn_min_cpus = NO_VAL16;
	ctld.job.cpus_per_task = NO_VAL16;
	ctld.job.ntasks_per_tres = NO_VAL16;
	ctld.job.overcommit = NO_VAL8;
	rc = job_submit(&ctld.job, 1000, &err_msg);
	if (err_msg)
		snprintf(ctld.error, sizeof(ctld.error), "%s", err_msg);
	free(err_msg);
	free(ctld.job.tres_per_node);
	free(text);
	return rc;
}

static void as_many_names_as_slurm_takes_are_looked_up(void **state)
{
	(void) state;
	assert_int_equal(SLURM_SUCCESS, submit(LONGEST));
	assert_string_equal("", ctld.error);
	assert_true(ctld.looked_up >= LONGEST / 2);
	assert_int_equal(2, ctld.job.min_nodes);
	assert_int_equal(6, ctld.job.num_tasks);
}

/* Its user is told by Slurm, as anybody without Pollux is. */
static void whoever_names_more_is_left_to_slurm_unread(void **state)
{
	(void) state;
	assert_int_equal(SLURM_SUCCESS, submit(LONGEST + 1));
	assert_int_equal(0, ctld.looked_up);
	assert_int_equal(NO_VAL, ctld.job.min_nodes);
	assert_int_equal(SLURM_SUCCESS, submit(3000000));
	assert_int_equal(0, ctld.looked_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_names_as_slurm_takes_are_looked_up),
		cmocka_unit_test(whoever_names_more_is_left_to_slurm_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
