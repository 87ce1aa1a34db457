/* SPDX-License-Identifier: MIT */
/*
 * test_sim_proof.c - the published simulator's completion times, job by job
 *
 * tiresias and optimus decide nothing by chance, so that their recorded
 * times tell whether we simulate the same. Where more than four nodes are
 * interpolated, different code differs a little.
 */

#include <math.h>
#include <stdio.h>

#include "reference.h"
#include "sim/simulate.h"
#include "sim/summary.h"

#define JOB_TOLERANCE  0.02
#define MEAN_TOLERANCE 0.002

static const struct plx_setting published = {
	.node_count = 16,
	.node_gpus = 4,
	.interval_s = 60,
	.restart_s = 30,
	.fairness = NAN,
};

static void compare(const json_t *recorded,
		    const struct plx_run_result *run_result)
{
	const json_t *times = json_object_get(recorded, "jct_s");
	double sum = 0;

	assert_int_equal(json_object_size(times), run_result->workload->count);
	for (int i = 0; i < run_result->workload->count; i++) {
		const struct plx_job_result *job_result =
			&run_result->job_results[i];
		double jct_s =
			job_result->finish_s - job_result->entry->submit_s;

		assert_near(jct_s,
			    reference_number(times, job_result->entry->name),
			    JOB_TOLERANCE);
		sum += jct_s;
	}
	assert_near(sum / run_result->workload->count,
		    reference_number(recorded, "avg_jct_s"), MEAN_TOLERANCE);
}

static void prove(struct plx_catalog *catalog, const char *policy,
		  const char *name, const json_t *recorded)
{
	struct plx_workload workload;
	struct plx_run_result run_result;
	struct plx_error err;
	char file[128];
	char path[4096];

	snprintf(file, sizeof(file), "../osdi21/workloads/%s.csv", name);
	reference_path(file, path, sizeof(path));
	if (plx_workload_load(path, catalog, &workload, &err) < 0 ||
	    plx_simulate(&published, plx_policy_find(policy), &workload,
			 &run_result, &err) < 0)
		fail_msg("%s", err.text);
	compare(recorded, &run_result);
	plx_run_result_release(&run_result);
	plx_workload_release(&workload);
}

static void prove_all(const char *policy)
{
	json_t *root = reference_load("../osdi21/results.json");
	json_t *recorded = json_object_get(root, policy);
	char traces[4096];
	struct plx_catalog catalog = { .dir = traces };
	const char *name;
	json_t *value;
	int proven = 0;

	reference_path("../osdi21/traces", traces, sizeof(traces));
	json_object_foreach(recorded, name, value)
	{
		if (!json_object_get(value, "jct_s"))
			continue;
		prove(&catalog, policy, name, value);
		proven++;
	}
	assert_true(proven >= 4);
	plx_catalog_release(&catalog);
	json_decref(root);
}

static void tiresias_ends_every_job_when_recorded(void **state)
{
	(void) state;
	prove_all("tiresias");
}

static void optimus_ends_every_job_when_recorded(void **state)
{
	(void) state;
	prove_all("optimus");
}

/* Published with the traces: mean completion time of a workload's jobs, s. */
static const struct {
	const char *path;
	double mean_s;
} means[] = {
	{ "../osdi21/workloads/workload-1.csv", 2089 },
	{ "../osdi21/workloads/workload-2.csv", 3323 },
	{ "../osdi21/workloads/workload-3.csv", 2188 },
	{ "../osdi21/workloads/workload-6.csv", 2446 },
};

static double mean_of_pollux(struct plx_catalog *catalog, const char *name,
			     const struct plx_setting *setting)
{
	struct plx_workload workload;
	struct plx_summary summary;
	struct plx_run_result run_result;
	char path[4096];

	reference_path(name, path, sizeof(path));
	assert_int_equal(0, plx_workload_load(path, catalog, &workload, NULL));
	assert_int_equal(0, plx_simulate(setting, plx_policy_find("pollux"),
					 &workload, &run_result, NULL));
	assert_int_equal(0, plx_summarize(&run_result, &summary, NULL));
	plx_run_result_release(&run_result);
	plx_workload_release(&workload);
	return summary.avg_jct_s;
}

/* The mean over all, relative to the published; none far above its own. */
static double relative_to_published(bool remaining)
{
	struct plx_setting setting = published;
	char traces[4096];
	struct plx_catalog catalog = { .dir = traces };
	double ours = 0;
	double theirs = 0;

	setting.remaining = remaining;
	reference_path("../osdi21/traces", traces, sizeof(traces));
	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		double mean_s =
			mean_of_pollux(&catalog, means[i].path, &setting);

		assert_true(mean_s < 1.02 * means[i].mean_s);
		ours += mean_s;
		theirs += means[i].mean_s;
	}
	plx_catalog_release(&catalog);
	return ours / theirs;
}

static void pollux_is_faster_than_what_was_published(void **state)
{
	(void) state;
	assert_true(relative_to_published(false) < 0.93);
}

static void it_is_still_faster_when_jobs_tell_what_is_left(void **state)
{
	(void) state;
	assert_true(relative_to_published(true) < 0.85);
}

static void all_policies_have_a_name_and_are_found_by_it(void **state)
{
	(void) state;
	for (int i = 0; plx_policies[i]; i++)
		assert_ptr_equal(plx_policy_find(plx_policies[i]->name),
				 plx_policies[i]);
	assert_null(plx_policy_find("pollu"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_policies_have_a_name_and_are_found_by_it),
		cmocka_unit_test(tiresias_ends_every_job_when_recorded),
		cmocka_unit_test(optimus_ends_every_job_when_recorded),
		cmocka_unit_test(pollux_is_faster_than_what_was_published),
		cmocka_unit_test(
			it_is_still_faster_when_jobs_tell_what_is_left),
	};

	return _cmocka_run_group_tests("tests", tests,
				       reference_runnable(ARRAY_SIZE(tests), 4),
				       NULL, NULL);
}
