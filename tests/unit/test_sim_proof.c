/* SPDX-License-Identifier: MIT */
/*
 * test_sim_proof.c - the published simulator's completion times, job by job
 *
 * tiresias and optimus decide nothing by chance, so that their recorded
 * times tell whether we simulate the same. Where more than four nodes are
 * interpolated, different code differs a little.
 */

#include <stdio.h>

#include "reference.h"
#include "sim/simulate.h"

#define JOB_TOLERANCE  0.02
#define MEAN_TOLERANCE 0.002

static const struct plx_setting published = {
	.node_count = 16,
	.node_gpus = 4,
	.interval_s = 60,
	.restart_s = 30,
	.fairness = -1,
};

static void compare(const json_t *recorded, const struct plx_story *story)
{
	const json_t *times = json_object_get(recorded, "jct_s");
	double sum = 0;

	assert_int_equal(json_object_size(times), story->workload->count);
	for (int i = 0; i < story->workload->count; i++) {
		const struct plx_fate *fate = &story->fates[i];
		double jct_s = fate->finish_s - fate->entry->submit_s;

		assert_near(jct_s, reference_number(times, fate->entry->name),
			    JOB_TOLERANCE);
		sum += jct_s;
	}
	assert_near(sum / story->workload->count,
		    reference_number(recorded, "avg_jct_s"), MEAN_TOLERANCE);
}

static void prove(struct plx_catalog *catalog, const char *policy,
		  const char *name, const json_t *recorded)
{
	struct plx_workload workload;
	struct plx_story story;
	struct plx_error err;
	char file[128];
	char path[4096];

	snprintf(file, sizeof(file), "../osdi21/workloads/%s.csv", name);
	reference_path(file, path, sizeof(path));
	if (plx_workload_load(path, catalog, &workload, &err) < 0 ||
	    plx_simulate(&published, plx_policy_find(policy), &workload, &story,
			 &err) < 0)
		fail_msg("%s", err.text);
	compare(recorded, &story);
	plx_story_release(&story);
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
	};

	return _cmocka_run_group_tests("tests", tests,
				       reference_runnable(ARRAY_SIZE(tests), 2),
				       NULL, NULL);
}
