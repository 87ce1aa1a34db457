/* SPDX-License-Identifier: MIT */
/* test_snapshot_cases.c - snapshots from elsewhere: recorded, wrong, short */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy/osdi21.h"
#include "reference.h"
#include "sim/alloc.h"

#define RECORDED 2 /* tests that need the reference cases */
#define CASES	 "allocation_fitness_osdi.json"

static struct plx_snapshot *parsed(const char *text)
{
	struct plx_snapshot *snapshot = NULL;
	struct plx_error err = { .text = "" };

	if (plx_snapshot_parse(text, strlen(text), "a.json", NULL, &snapshot,
			       &err) < 0)
		fail_msg("%s", err.text);
	return snapshot;
}

/* A job and a node; %s: more of the job, of the problem. */
#define SMALL                                                                  \
	"{\n\"nodes\":[{\"key\":\"a\",\"resources\":{\"gpu\":4}}],\n"          \
	"\"jobs\":[\n{\"key\":\"x\",\"max_replicas\":2,\"speedup\":"           \
	"\"linear\"%s}]\n%s}"

static void what_is_left_out_has_its_default(void **state)
{
	char text[512];
	struct plx_snapshot *snapshot;
	const struct plx_problem *problem;

	(void) state;
	snprintf(text, sizeof(text), SMALL, "",
		 ",\"base_allocations\":{\"x\":[\"a\",\"a\"]}");
	snapshot = parsed(text);
	problem = snapshot->problem;
	assert_true(problem->fairness == -1);
	assert_false(problem->uniform);
	assert_true(problem->interference);
	assert_int_equal(0, problem->seed);
	assert_int_equal(4, problem->gpus[0]);
	assert_int_equal(1, problem->jobs[0].min_gpus);
	assert_int_equal(2, problem->jobs[0].profiled_gpus);
	assert_true(problem->jobs[0].may_park);
	assert_false(problem->jobs[0].fixed);
	assert_true(problem->jobs[0].age_s == 3600);
	assert_true(problem->jobs[0].restart_s == 30);
	assert_int_equal(-1, problem->jobs[0].batch_host);
	assert_int_equal(2, problem->jobs[0].now[0]);
	assert_string_equal("x", snapshot->jobs[0]);
	assert_string_equal("a", snapshot->nodes[0]);
	plx_snapshot_destroy(snapshot);
}

static void who_may_not_be_preempted_may_start(void **state)
{
	static const char *const bases[] = { "", ",\"base_state\":[[0,0,1]]" };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		struct plx_snapshot *snapshot = NULL;
		struct plx_error err = { .text = "" };
		char text[512];
		int length = snprintf(text, sizeof(text), SMALL,
				      ",\"preemptible\":false", bases[i]);

		assert_int_equal(0, plx_snapshot_parse(text, (size_t) length,
						       "a.json", NULL,
						       &snapshot, &err));
		assert_int_equal(i, snapshot->problem->jobs[0].fixed);
		plx_snapshot_destroy(snapshot);
	}
}

static const struct {
	const char *job, *problem;
	const char *why;
} refusals[] = {
	/* clang-format off */
	{ ",\"age\":-1", "",
	  "a.json:4: jobs[0].age: want a number from 0 to 9.9e+14" },
	{ ",\"age\":1e999", "", "a.json:4: column 57: real number overflow" },
	{ ",\"age\":NaN", "",
	  "a.json:4: column 52: invalid token" },
	{ ",\"age\":1,\"age\":2", "",
	  "a.json:4: column 64: duplicate object key" },
	{ ",\"min_replicas\":3", "",
	  "a.json:4: jobs[0]: max_replicas 2 is below min_replicas 3" },
	{ ",\"max_replicas2\":3,\"min_replicas\":1.5", "",
	  "a.json:4: jobs[0].min_replicas: want a whole number from 0 to "
	  "2147483647" },
	{ ",\"preemptible\":1", "",
	  "a.json:4: jobs[0].preemptible: want true or false" },
	{ ",\"home\":1", "",
	  "a.json:4: jobs[0].home: want a whole number from 0 to 0" },
	{ ",\"sizes\":[2,2]", "",
	  "a.json:4: jobs[0].sizes[1]: want a whole number from 3 to "
	  "2147483647" },
	{ ",\"allowed\":[[0,1]]", "",
	  "a.json:4: jobs[0].allowed[0][1]: want a whole number from 0 to 0" },
	{ ",\"resources\":{\"gpu\":2}", "",
	  "a.json:4: jobs[0].resources.gpu: want a whole number from 1 to 1" },
	{ ",\"resources\":{\"gpu\":1,\"fpga\":1}", "",
	  "a.json:4: jobs[0]: needs \"fpga\", which no node has" },
	{ ",\"table\":{\"nodes\":1,\"gpus\":2,\"kept\":1,\"speedup\":[1]}", "",
	  "a.json:4: jobs[0].table.speedup: 1 numbers for 1 x 2 shapes" },
	{ "", ",\"base_allocations\":{\"y\":[\"a\"]}",
	  "a.json:5: base_allocations.y: \"y\" is unknown" },
	{ "", ",\"base_allocations\":{\"x\":[\"b\\u001b[2J\\n\"]}",
	  "a.json:5: base_allocations.x[0]: \"b?[2J?\" is unknown" },
	{ "", ",\"base_allocations\":{\"x\":[\"b\"]}",
	  "a.json:5: base_allocations.x[0]: \"b\" is unknown" },
	{ "", ",\"base_state\":[[0,0,5]]",
	  "a.json:1: node 0: jobs have 5 of its 4 GPUs" },
	{ "", ",\n\"base_state\":[\n[0,0,1],[0,0,1]]",
	  "a.json:7: base_state[1]: this job and node were there before" },
	{ "", ",\"fairness\":11",
	  "a.json:5: fairness: want a number from -inf to 10" },
	{ "", ",\"seed\":\"7x\"",
	  "a.json:5: seed: want a whole number, in quotes when it is large" },
	{ "", ",\"format\":2",
	  "a.json:5: format: want a whole number from 1 to 1" },
	{ "", ",\"cases\":[{},{}]",
	  "a.json:5: cases: there are 2, one has to be chosen by its name" },
	{ "", ",\"cases\":[{}]", "a.json:5: cases[0].nodes: want a list of 1 "
	  "to 65536" },
	{ "", "}", "a.json:5: column 2: end of file expected near '}'" },
	/* clang-format on */
};

static void a_refusal_names_file_line_and_place(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct plx_snapshot *snapshot = NULL;
		struct plx_error err = { .text = "" };
		char text[512];
		int length = snprintf(text, sizeof(text), SMALL,
				      refusals[i].job, refusals[i].problem);

		assert_int_equal(-1, plx_snapshot_parse(text, (size_t) length,
							"a.json", NULL,
							&snapshot, &err));
		/* Jansson's sentences vary from version to version. */
		if (strstr(refusals[i].why, ": column "))
			assert_non_null(strstr(err.text, ": column "));
		else
			assert_string_equal(refusals[i].why, err.text);
		assert_null(snapshot);
	}
}

static void a_model_must_make_sense_as_a_whole(void **state)
{
	static const char text[] =
		"{\"nodes\":[{\"key\":\"a\",\"resources\":{\"gpu\":4}}],"
		"\"jobs\":[{\"key\":\"x\",\"max_replicas\":2,"
		"\"init_batch_size\":8,\"max_batch_size\":4,"
		"\"perf_params\":{\"alpha_c\":1,\"beta_c\":1,\"alpha_n\":1,"
		"\"beta_n\":1,\"alpha_r\":1,\"beta_r\":1,\"gamma\":1},"
		"\"grad_params\":{\"sqr\":1,\"var\":1}}]}";
	struct plx_snapshot *snapshot = NULL;
	struct plx_error err = { .text = "" };

	(void) state;
	assert_int_equal(-1, plx_snapshot_parse(text, strlen(text), "a.json",
						NULL, &snapshot, &err));
	assert_string_equal("a.json:1: jobs[0]: want alpha_c + beta_c and "
			    "sqr + var above 0, init_batch_size and the least "
			    "of atomic_bsz_range up to max_batch_size",
			    err.text);
}

static void files_that_are_none_are_refused(void **state)
{
	struct plx_snapshot *snapshot = NULL;
	struct plx_error err = { .text = "" };

	(void) state;
	assert_int_equal(-1, plx_snapshot_load("/does/not/exist", NULL,
					       &snapshot, &err));
	assert_string_equal("/does/not/exist: No such file or directory",
			    err.text);
	assert_int_equal(-1, plx_snapshot_load("/", NULL, &snapshot, &err));
	assert_string_equal("/: Is a directory", err.text);
	assert_int_equal(-1,
			 plx_snapshot_load("/dev/zero", NULL, &snapshot, &err));
	assert_string_equal("/dev/zero: it is too large", err.text);
	assert_null(snapshot);
}

static struct plx_snapshot *recorded(const json_t *problem)
{
	struct plx_snapshot *snapshot = NULL;
	struct plx_error err = { .text = "" };
	char path[512];

	reference_path(CASES, path, sizeof(path));
	if (plx_snapshot_load(path, reference_text(problem, "name"), &snapshot,
			      &err) < 0)
		fail_msg("%s", err.text);
	return snapshot;
}

static double fitness_of(const struct plx_problem *problem, const json_t *alloc)
{
	size_t nodes = (size_t) problem->node_count;
	int *gpus = calloc((size_t) problem->job_count * nodes, sizeof(*gpus));
	double fitness;
	size_t i;
	json_t *part;

	assert_non_null(gpus);
	json_array_foreach(alloc, i, part)
	{
		size_t j = json_integer_value(json_array_get(part, 0));
		size_t n = json_integer_value(json_array_get(part, 1));

		gpus[j * nodes + n] =
			(int) json_integer_value(json_array_get(part, 2));
	}
	fitness = plx_plan_fitness(problem, gpus);
	free(gpus);
	return fitness;
}

static void compare_states(const struct plx_problem *problem,
			   const json_t *list)
{
	size_t i;
	json_t *one;

	json_array_foreach(list, i, one)
	{
		double want = -reference_at(one, "objectives", 0);

		assert_near(want,
			    fitness_of(problem, json_object_get(one, "alloc")),
			    1e-9);
	}
}

static void recorded_allocations_have_the_recorded_fitness(void **state)
{
	json_t *root = reference_load(CASES);
	size_t i;
	json_t *one;

	(void) state;
	json_array_foreach(json_object_get(root, "cases"), i, one)
	{
		struct plx_snapshot *snapshot = recorded(one);
		json_t *best = json_object_get(one, "best_known");

		assert_int_equal(0, plx_osdi21_tables(snapshot->problem,
						      snapshot->shares, NULL));
		compare_states(snapshot->problem,
			       json_object_get(one, "states"));
		compare_states(snapshot->problem,
			       json_object_get(one, "ga_results"));
		if (best)
			assert_near(-reference_at(best, "objectives", 0),
				    fitness_of(snapshot->problem,
					       json_object_get(best, "alloc")),
				    1e-9);
		plx_snapshot_destroy(snapshot);
	}
	json_decref(root);
}

/* Replicas of p11 take CPUs, too. */
static void no_node_gives_more_than_it_has(void **state)
{
	json_t *root = reference_load(CASES);
	size_t i;
	json_t *one;

	(void) state;
	json_array_foreach(json_object_get(root, "cases"), i, one)
	{
		struct plx_snapshot *snapshot = recorded(one);
		struct plx_plan *plan = NULL;
		json_t *jobs = json_object_get(one, "jobs");
		json_t *nodes = json_object_get(one, "nodes");

		assert_int_equal(0, plx_alloc_plan(snapshot, &plx_policy_pollux,
						   &plan, NULL));
		for (int n = 0; n < plan->node_count; n++) {
			json_t *has = json_object_get(
				json_array_get(nodes, (size_t) n), "resources");
			double cpus = 0;

			if (!json_object_get(has, "cpu"))
				continue;
			for (int j = 0; j < plan->job_count; j++)
				cpus += plan->choices[j].gpus[n] *
					reference_number(
						json_object_get(
							json_array_get(
								jobs,
								(size_t) j),
							"resources"),
						"cpu");
			assert_true(cpus <= reference_number(has, "cpu"));
		}
		plx_plan_destroy(plan);
		plx_snapshot_destroy(snapshot);
	}
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_out_has_its_default),
		cmocka_unit_test(who_may_not_be_preempted_may_start),
		cmocka_unit_test(a_refusal_names_file_line_and_place),
		cmocka_unit_test(a_model_must_make_sense_as_a_whole),
		cmocka_unit_test(files_that_are_none_are_refused),
		cmocka_unit_test(
			recorded_allocations_have_the_recorded_fitness),
		cmocka_unit_test(no_node_gives_more_than_it_has),
	};

	return _cmocka_run_group_tests(
		"snapshot cases", tests,
		reference_runnable(ARRAY_SIZE(tests), RECORDED), NULL, NULL);
}
