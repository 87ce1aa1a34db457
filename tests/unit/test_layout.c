/* SPDX-License-Identifier: MIT */
/* test_layout.c - where the ranks run */

#include <stdlib.h>
#include <string.h>

#include "launcher/rules/gres_types.h"
#include "launcher/rules/layout.h"
#include "unit.h"

/* "n1:2 n2:1": nodes with that many ranks, 4 CPUs each. */
static struct plx_layout layout_of(const char *text)
{
	struct plx_layout layout = { .gpus = true };
	char copy[128];

	strcpy(copy, text);
	for (char *at = strtok(copy, " "); at; at = strtok(NULL, " ")) {
		struct plx_layout_node node = { .cpus = 4 };
		char *colon = strchr(at, ':');

		*colon = '\0';
		strcpy(node.name, at);
		node.ranks = atoi(colon + 1);
		snprintf(node.gres, sizeof(node.gres), "gpu:%d(IDX:0)",
			 node.ranks);
		assert_int_equal(0, plx_layout_add(&layout, &node, NULL));
	}
	return layout;
}

static void hosts_are(const struct plx_layout *layout, const char *want)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	plx_layout_write_hosts(layout, out);
	fclose(out);
	assert_string_equal(want, text);
	free(text);
}

static void slurms_words_for_gpus_are_counted(void **state)
{
	static const struct {
		const char *gres;
		int gpus;
	} cases[] = {
		/* clang-format off */
		{ "gpu:2(IDX:0-1)",				2 },
		{ "gpu:tesla:2(IDX:0,2)",			2 },
		{ "gpu:a100:2(IDX:0,3),gpu:t4:1(IDX:1)",	3 },
		{ "gpu:16",					16 },
		{ "gpu:0",					0 },
		{ "license:3,gpu:1(IDX:7)",			1 },
		{ "gpus:4(IDX:0-3)",				0 },
		{ "gpu:many",					0 },
		{ "gpu:99999999999999999999",			0 },
		{ "gpu:2(IDX:",					2 },
		{ ",,",						0 },
		{ "",						0 },
		{ NULL,						0 },
		/* clang-format on */
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cases[i].gpus, plx_gres_gpus(cases[i].gres));
}

static void the_types_of_a_jobs_gpus_are_found(void **state)
{
	static const struct {
		const char *job, *node, *used, *types;
	} cases[] = {
		/* clang-format off */
		{ "gpu:a100:2(IDX:0-1)", "", "",		"a100" },
		{ "gpu:t4:1(IDX:1),gpu:a100:2(IDX:0,3)", "", "",	"a100,t4" },
		{ "gpu:2(IDX:0-1)", "gpu:a100:4(S:0-1)", "",	"a100" },
		{ "gpu:2(IDX:0-1)", "gpu:4", "",		"-" },
		{ "gpu:2(IDX:0-1)", "license:1,gpu:t4:4", "",	"t4" },
		{ "gpu:2(IDX:2-3)", "gpu:a100:2,gpu:t4:2",
		  "gpu:a100:2(IDX:0-1),gpu:t4:2(IDX:2-3)",	"t4" },
		{ "gpu:3(IDX:0,2-3)", "gpu:a100:2,gpu:t4:2",
		  "gpu:t4:2(IDX:2-3),gpu:a100:1(IDX:0)",	"a100,t4" },
		{ "gpu:1(IDX:0)", "gpu:a100:2,gpu:t4:2",
		  "gpu:a100:1(IDX:0),gpu:t4:0(IDX:N/A)",	"a100" },
		{ "gpu:1(IDX:0)", "gpu:a100:2,gpu:t4:2", "gpu:4", "" },
		{ "gpu:1", "gpu:a100:2,gpu:t4:2",
		  "gpu:a100:1(IDX:0)",				"" },
		{ "gpu:2(IDX:0-1)", "", "",			"" },
		{ "gpu:a\"b:2(IDX:0-1)", "", "",		"" },
		{ "gpu:99999999999999999999", "gpu:a:9,gpu:b:9", "x", "" },
		{ "license:3", "gpu:a100:4", "",		"" },
		{ "", "", "",					"" },
		{ "gpu:1(IDX:0-99999999999999999999", "gpu:a:1,gpu:b:1",
		  "gpu:a:1(IDX:0", 				"a" },
		/* clang-format on */
	};
	char types[PLX_TYPES_SIZE];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		plx_gres_types(cases[i].job, cases[i].node, cases[i].used,
			       types);
		assert_string_equal(cases[i].types, types);
	}
	assert_true(plx_gres_named("gpu:a100:2(IDX:0-1)"));
	assert_false(plx_gres_named("gpu:a100:2(IDX:0-1),gpu:2(IDX:3-4)"));
}

static void every_gpu_gets_a_rank_node_by_node(void **state)
{
	struct plx_layout layout = layout_of("n1:2 n3:1");

	(void) state;
	assert_int_equal(3, layout.ranks);
	hosts_are(&layout, "n1\nn1\nn3\n");
	plx_layout_release(&layout);
}

static void our_own_node_comes_first(void **state)
{
	struct plx_layout layout = layout_of("n1:2 n2:1 n3:1");

	(void) state;
	plx_layout_lead(&layout, "n3");
	hosts_are(&layout, "n3\nn1\nn1\nn2\n");
	plx_layout_lead(&layout, "n3");
	plx_layout_lead(&layout, "n9");
	hosts_are(&layout, "n3\nn1\nn1\nn2\n");
	plx_layout_release(&layout);
}

static void order_does_not_make_a_difference_devices_do(void **state)
{
	static const struct {
		const char *other;
		const char *gres; /* of its first node; NULL: as it is */
		bool equal;
	} cases[] = {
		{ "n2:1 n1:2", NULL, true },
		{ "n1:2 n3:1", NULL, false },
		{ "n1:2", NULL, false },
		{ "n2:1 n1:2", "gpu:1(IDX:3)", false },
	};
	struct plx_layout layout = layout_of("n1:2 n2:1");

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_layout other = layout_of(cases[i].other);

		if (cases[i].gres)
			strcpy(other.nodes[0].gres, cases[i].gres);
		assert_int_equal(cases[i].equal,
				 plx_layout_equal(&layout, &other));
		plx_layout_release(&other);
	}
	plx_layout_release(&layout);
}

static void without_gpus_tasks_are_spread(void **state)
{
	struct plx_layout layout = layout_of("n1:0 n2:0 n3:0");

	(void) state;
	plx_layout_spread(&layout, 5);
	hosts_are(&layout, "n1\nn1\nn2\nn2\nn3\n");
	assert_int_equal(5, layout.ranks);
	plx_layout_spread(&layout, 2);
	hosts_are(&layout, "n1\nn2\n");
	plx_layout_release(&layout);
}

static void a_rank_gets_the_cpus_that_every_node_can_give(void **state)
{
	static const struct {
		const char *layout;
		int cpus;
	} cases[] = { { "n1:1 n2:2", 2 }, { "n1:9", 1 }, { "", 1 } };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_layout layout = layout_of(cases[i].layout);

		assert_int_equal(cases[i].cpus,
				 plx_layout_cpus_per_rank(&layout));
		plx_layout_release(&layout);
	}
}

static void what_is_kept_of_a_node_is_its_share(void **state)
{
	struct plx_layout_node node = { .ranks = 4,
					.cpus = 8,
					.gres = "gpu:4(IDX:0-3)" };
	struct plx_layout_node same = node;

	(void) state;
	plx_layout_keep(&same, 4, 1);
	assert_string_equal("gpu:4(IDX:0-3)", same.gres);
	assert_int_equal(8, same.cpus);
	plx_layout_keep(&node, 2, 0);
	assert_int_equal(2, node.ranks);
	assert_int_equal(4, node.cpus);
	assert_string_equal("", node.gres);
	/* Ranks get the CPUs they asked for, where the node has them. */
	node = (struct plx_layout_node){ .ranks = 4, .cpus = 8 };
	plx_layout_keep(&node, 2, 3);
	assert_int_equal(6, node.cpus);
}

static void devices_not_known_are_learnt_where_ranks_are_as_many(void **state)
{
	struct plx_layout whole = layout_of("n1:4 n2:2");
	struct plx_layout part = layout_of("n1:2 n2:2");

	(void) state;
	part.nodes[0].gres[0] = '\0';
	part.nodes[1].gres[0] = '\0';
	assert_true(plx_layout_within(&part, &whole));
	assert_false(plx_layout_within(&whole, &part));
	plx_layout_learn(&part, &whole);
	assert_string_equal("", part.nodes[0].gres);
	assert_string_equal("gpu:2(IDX:0)", part.nodes[1].gres);
	plx_layout_release(&whole);
	whole = layout_of("n2:2 n1:2");
	assert_true(plx_layout_equal(&part, &whole));
	strcpy(whole.nodes[0].gres, "gpu:2(IDX:2-3)");
	assert_false(plx_layout_equal(&part, &whole));
	plx_layout_release(&whole);
	plx_layout_release(&part);
}

static void a_copy_is_its_own(void **state)
{
	struct plx_layout layout = layout_of("n1:2 n2:1");
	struct plx_layout copy = { 0 };

	(void) state;
	assert_int_equal(0, plx_layout_copy(&copy, &layout, NULL));
	plx_layout_lead(&layout, "n2");
	hosts_are(&copy, "n1\nn1\nn2\n");
	assert_true(plx_layout_equal(&copy, &layout));
	plx_layout_release(&layout);
	plx_layout_release(&copy);
}

static void ranks_are_trimmed_from_the_last_node_on(void **state)
{
	struct plx_layout layout = layout_of("n1:2 n2:2 n3:1");

	(void) state;
	plx_layout_trim(&layout, 5);
	assert_int_equal(5, layout.ranks);
	plx_layout_trim(&layout, 3);
	assert_int_equal(3, layout.ranks);
	hosts_are(&layout, "n1\nn1\nn2\n");
	assert_string_equal("", layout.nodes[1].gres);
	plx_layout_trim(&layout, 0);
	assert_int_equal(0, layout.ranks);
	assert_int_equal(0, layout.count);
	plx_layout_release(&layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_are_trimmed_from_the_last_node_on),
		cmocka_unit_test(slurms_words_for_gpus_are_counted),
		cmocka_unit_test(the_types_of_a_jobs_gpus_are_found),
		cmocka_unit_test(every_gpu_gets_a_rank_node_by_node),
		cmocka_unit_test(our_own_node_comes_first),
		cmocka_unit_test(order_does_not_make_a_difference_devices_do),
		cmocka_unit_test(without_gpus_tasks_are_spread),
		cmocka_unit_test(a_rank_gets_the_cpus_that_every_node_can_give),
		cmocka_unit_test(what_is_kept_of_a_node_is_its_share),
		cmocka_unit_test(
			devices_not_known_are_learnt_where_ranks_are_as_many),
		cmocka_unit_test(a_copy_is_its_own),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
