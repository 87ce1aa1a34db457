/* SPDX-License-Identifier: MIT */
/* test_shape.c - the shape an elastic job starts in */

#include <string.h>

#include "plugins/common/elastic.h"
#include "plugins/common/gpus.h"
#include "plugins/job_submit/pollux/shape.h"
#include "unit.h"

static const struct shape_cluster four_by_four = { .nodes = 4, .gpus = 4 };

static void a_job_starts_small_and_uniform(void **state)
{
	static const struct {
		int min;
		int max;
		struct shape_request asked;
		struct shape got; /* 0 nodes: must be refused */
	} cases[] = {
		/* clang-format off */
		{ 1,  0, { 0 }, { 1, 1 } },
		{ 4,  0, { 0 }, { 1, 4 } },
		{ 5,  0, { 0 }, { 2, 3 } },
		{ 5,  5, { 0 }, { 0, 0 } },	/* 5 x 1 wants 5 nodes */
		{ 3,  3, { 0 }, { 1, 3 } },
		{ 6,  6, { 0 }, { 2, 3 } },
		{ 9,  9, { 0 }, { 3, 3 } },
		{ 16, 0, { 0 }, { 4, 4 } },
		{ 17, 0, { 0 }, { 0, 0 } },
		{ 1,  0, { .min_nodes = 2, .max_nodes = 2 }, { 2, 1 } },
		{ 4,  0, { .min_nodes = 2, .max_nodes = 2 }, { 2, 2 } },
		{ 9,  0, { .min_nodes = 1, .max_nodes = 2 }, { 0, 0 } },
		{ 1,  0, { .min_nodes = 5 }, { 0, 0 } },
		{ 1,  0, { .min_nodes = 2, .max_nodes = 1 }, { 0, 0 } },
		{ 1,  1, { .min_nodes = 2 }, { 0, 0 } },
		{ 1,  0, { .gpus = 3 }, { 1, 3 } },
		{ 1,  0, { .gpus = 6 }, { 2, 3 } },
		{ 1,  0, { .gpus = 5, .min_nodes = 2, .max_nodes = 2 }, { 0, 0 } },
		{ 1,  4, { .gpus = 8 }, { 0, 0 } },
		{ 4,  0, { .gpus = 2 }, { 0, 0 } },
		{ 1,  0, { .gpus_per_node = 2 }, { 1, 2 } },
		{ 4,  0, { .gpus_per_node = 2 }, { 2, 2 } },
		{ 1,  0, { .gpus_per_node = 5 }, { 0, 0 } },
		{ 1,  0, { .gpus_per_node = 2, .gpus = 6 }, { 3, 2 } },
		{ 1,  0, { .gpus_per_node = 2, .gpus = 5 }, { 0, 0 } },
		{ 1,  0, { .gpus_per_node = 4294967295u, .gpus = 4 }, { 0, 0 } },
		{ 1,  0, { .min_nodes = 4294967295u }, { 0, 0 } },
		/* clang-format on */
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct plx_options options = { .min_gpus = cases[i].min,
						     .max_gpus = cases[i].max };
		struct shape got = { 0 };
		struct plx_error err;
		int rc = shape_choose(&options, &cases[i].asked, &four_by_four,
				      &got, &err);

		assert_int_equal(cases[i].got.nodes ? 0 : -1, rc);
		assert_int_equal(cases[i].got.nodes, got.nodes);
		assert_int_equal(cases[i].got.gpus_per_node, got.gpus_per_node);
	}
}

static void a_refusal_says_why(void **state)
{
	const struct shape_cluster none = { 0 };
	const struct shape_request nothing = { 0 };
	const struct shape_request typed = { .type = "a100" };
	const struct shape_request eight = { .gpus = 8 };
	const struct plx_options any = { .min_gpus = 1 };
	const struct plx_options few = { .min_gpus = 1, .max_gpus = 4 };
	const struct plx_options huge = { .min_gpus = 99 };
	struct plx_error err;
	struct shape shape;

	(void) state;
	shape_choose(&any, &nothing, &none, &shape, &err);
	assert_string_equal("no node of this cluster has GPUs", err.text);
	shape_choose(&any, &typed, &none, &shape, &err);
	assert_string_equal("no node of this cluster has GPUs of type a100",
			    err.text);
	shape_choose(&huge, &nothing, &four_by_four, &shape, &err);
	assert_string_equal("min=99: the cluster has 4 nodes of at most 4 GPUs",
			    err.text);
	shape_choose(&few, &eight, &four_by_four, &shape, &err);
	assert_non_null(strstr(err.text, "start with min=1 to max=4 GPUs"));
}

static void gpus_are_read_as_slurm_writes_them(void **state)
{
	static const struct {
		const char *text;
		int gpus; /* -1: must be refused */
		const char *type;
	} cases[] = {
		/* clang-format off */
		{ NULL, 0, "" }, { "", 0, "" },
		{ "gres:gpu", 1, "" }, { "gpu", 1, "" },
		{ "gres:gpu:4", 4, "" }, { "gres/gpu:4", 4, "" },
		{ "gres/gpu=4", 4, "" }, { "gpu:2", 2, "" },
		{ "gres:gpu:a100:2", 2, "a100" },
		{ "gres:gpu:a100_1g.10gb+me:2", 2, "a100_1g.10gb+me" },
		{ "gres/gpu:a100:2", 2, "a100" },
		{ "gpu:a100", 1, "a100" }, { "gpu:a-1_x.y:0", 0, "a-1_x.y" },
		{ "gpu:1080ti:3", 3, "1080ti" },
		{ "gres:gpu:a100:", -1, "" }, { "gres:gpu::2", -1, "" },
		{ "gres:gpu:a100:b:2", -1, "" }, { "gres:gpu:a b:2", -1, "" },
		{ "gres:gpu:", -1, "" }, { "gres:gpu:a100:2k", -1, "" },
		{ "gres:gpu:a:1,gres:gpu:b:1", -1, "" },
		{ "gres:gpu:2,gres:nvme:1", -1, "" }, { "gres:nvme:1", -1, "" },
		{ "gres:gpus:1", -1, "" }, { "gres:", -1, "" },
		{ "gres:gpu:-1", -1, "" }, { "gres:gpu:2k", -1, "" },
		{ "gres:gpu:99999999999999999999", -1, "" },
		{ "gpu:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:1", -1, "" },
		/* clang-format on */
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pollux_gpus gpus = { 77, "old" };
		bool bad = cases[i].gpus < 0;

		assert_int_equal(bad ? -1 : 0, pollux_gpu_request(cases[i].text,
								  &gpus, NULL));
		assert_int_equal(bad ? 77 : cases[i].gpus, gpus.count);
		assert_string_equal(bad ? "old" : cases[i].type, gpus.type);
	}
}

static void each_gpu_brings_what_the_job_asks_for(void **state)
{
	static const struct {
		struct pollux_beside asks;
		struct pollux_needs needs;
	} cases[] = {
		/* clang-format off */
		{ { .cpus_per_tres = NULL }, { 1, 0, 0, 0 } },
		{ { .cpus_per_task = 3 }, { 3, 0, 0, 0 } },
		{ { .cpus_per_tres = "gres:gpu:4", .cpus_per_task = 1 },
		  { 4, 0, 0, 0 } },
		{ { .cpus_per_tres = "gpu:4", .cpus_per_task = 6 },
		  { 6, 0, 0, 0 } },
		{ { .cpus_per_tres = "gres/gpu:2",
		    .mem_per_tres = "gres:gpu:1000" }, { 2, 1000, 0, 0 } },
		{ { .memory = 500 }, { 1, 0, 500, 0 } },
		{ { .memory = 500, .memory_per_cpu = true,
		    .cpus_per_task = 2 }, { 2, 1000, 0, 0 } },
		/* A default a GPU gives way to what the user asked for. */
		{ { .mem_per_tres = "gpu:1000", .memory = 500,
		    .memory_asked = true }, { 1, 0, 500, 0 } },
		{ { .mem_per_tres = "gpu:1000", .memory = 500 },
		  { 1, 1000, 0, 0 } },
		/* MaxMemPerCPU: what it raised is not what was asked for. */
		{ { .memory = 500, .memory_of_cpu = 100, .cpus_per_task = 5,
		    .cpus_asked = 1 }, { 1, 0, 500, 5 } },
		{ { .memory = 501, .memory_of_cpu = 100 }, { 1, 0, 501, 6 } },
		{ { .memory = 50, .memory_per_cpu = true, .memory_of_cpu = 50,
		    .cpus_per_task = 2, .cpus_asked = 1 }, { 2, 100, 0, 0 } },
		{ { .mem_per_tres = "gpu:1000", .memory = 1000,
		    .memory_of_cpu = 100, .cpus_per_task = 2 },
		  { 2, 1000, 0, 0 } },
		{ { .cpus_per_tres = "gres:gpu:99999999999999999999",
		    .mem_per_tres = "gres:craynetwork:5" }, { 1, 0, 0, 0 } },
		/* clang-format on */
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pollux_needs needs = pollux_needs(&cases[i].asks);

		assert_int_equal(cases[i].needs.cpus, needs.cpus);
		assert_int_equal(cases[i].needs.memory, needs.memory);
		assert_int_equal(cases[i].needs.node_memory, needs.node_memory);
		assert_int_equal(cases[i].needs.node_cpus, needs.node_cpus);
	}
}

static void gpus_share_the_cpus_that_go_with_the_memory_of_a_node(void **state)
{
	struct pollux_needs needs = { .cpus = 2, .node_cpus = 8 };

	(void) state;
	assert_int_equal(8, pollux_needs_cpus(&needs, 1));
	assert_int_equal(3, pollux_needs_cpus(&needs, 3));
	assert_int_equal(2, pollux_needs_cpus(&needs, 4));
	assert_int_equal(2, pollux_needs_cpus(&needs, 8));
}

static void a_request_for_gres_is_seen_in_any_form(void **state)
{
	static const struct {
		const char *tres;
		bool asks;
	} cases[] = {
		{ NULL, false },
		{ "", false },
		{ "cpu:4", false },
		{ "gres:gpu", true },
		{ "gres:gpu:10", true },
		{ "gres/gpu=2", true },
		{ "cpu:4,gres:gpu:a100:1", true },
		{ "gres:shard:1", true },
		{ "gres:gpu:0", false },
		{ "gres:gpu:a100:0,cpu:2", false },
		{ "gres:gpu:0,gres:gpu:a100:1", true },
		{ ",,gres", true },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cases[i].asks,
				 pollux_asks_gres(cases[i].tres));
}

static void more_spank_entries_than_a_job_needs_are_refused(void **state)
{
	static char *many[ELASTIC_ENV_ENTRIES + 1];
	static char text[ELASTIC_ENV_BYTES + 2];
	char *large[] = { text };
	struct plx_error err;

	(void) state;
	assert_int_equal(0, elastic_check_env(NULL, 0, &err));
	assert_int_equal(0, elastic_check_env(NULL, 10, &err));
	assert_int_equal(0, elastic_check_env(many, ELASTIC_ENV_ENTRIES, &err));
	assert_int_equal(-1, elastic_check_env(many, ELASTIC_ENV_ENTRIES + 1,
					       &err));
	assert_non_null(strstr(err.text, "257 SPANK"));
	memset(text, 'x', ELASTIC_ENV_BYTES);
	assert_int_equal(0, elastic_check_env(large, 1, &err));
	text[ELASTIC_ENV_BYTES] = 'x';
	assert_int_equal(-1, elastic_check_env(large, 1, &err));
	assert_non_null(strstr(err.text, "65537 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			more_spank_entries_than_a_job_needs_are_refused),
		cmocka_unit_test(a_request_for_gres_is_seen_in_any_form),
		cmocka_unit_test(a_job_starts_small_and_uniform),
		cmocka_unit_test(a_refusal_says_why),
		cmocka_unit_test(gpus_are_read_as_slurm_writes_them),
		cmocka_unit_test(each_gpu_brings_what_the_job_asks_for),
		cmocka_unit_test(
			gpus_share_the_cpus_that_go_with_the_memory_of_a_node),
	};

	return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
