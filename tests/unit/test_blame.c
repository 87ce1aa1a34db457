/* SPDX-License-Identifier: MIT */
/* test_blame.c - ranks failed: on which node? */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "launcher/loop/blame.h"
#include "unit.h"

/* "n1:2 n2:1" */
static void fill(struct plx_layout *layout, const char *text)
{
	struct plx_layout_node node = { .ranks = 0 };
	struct plx_error err;
	int used = 0;

	*layout = (struct plx_layout){ .gpus = true };
	while (sscanf(text, " %15[^:]:%d%n", node.name, &node.ranks, &used) ==
	       2) {
		assert_int_equal(0, plx_layout_add(layout, &node, &err));
		text += used;
	}
}

struct row {
	const char *what;
	const char *shape;
	const char *good;
	const char *here; /* a sign for each node: + or -; "": none can tell */
	const char *node; /* of the rank that failed; "": no word */
	int signal;
	const char *want;
};

/* clang-format off */
static const struct row rows[] = {
	{ "no rank came up", "n1:2 n2:2", "n1:2", "+-", "", 0, "n2" },
	{ "the others were killed for it", "n1:2 n2:2", "n1:2", "+-", "n1",
	  SIGKILL, "n2" },
	{ "or asked to go", "n1:2 n2:2", "n1:2", "+-", "n1", SIGTERM, "n2" },
	{ "a rank failed first, and ended the start", "n1:2 n2:2", "n1:2",
	  "+-", "n1", 0, "" },
	{ "slurmstepd was killed", "n1:2 n2:2", "n1:2", "+-", "n1", SIGHUP,
	  "n2" },
	{ "a rank failed there", "n1:2 n2:2", "n1:2", "++", "n2", 0, "n2" },
	{ "it crashed there", "n1:2 n2:2", "n1:2", "++", "n2", SIGSEGV, "n2" },
	{ "where as many ranks have trained", "n1:2 n2:2", "n1:2", "++", "n1",
	  0, "" },
	{ "where fewer have", "n1:4 n2:2", "n1:2", "++", "n1", 0, "n1" },
	{ "nobody reported: the folder is away", "n1:2 n2:2", "n1:2", "--", "",
	  0, "" },
	{ "two of four", "n1:2 n2:2 n3:2 n4:2", "n1:2", "+-+-", "", 0,
	  "n2,n4" },
	{ "nothing is known", "n1:2 n2:2", "n1:2", "", "", 0, "" },
	{ "nothing trained before", "n1:2 n2:2", "", "++", "n1", 0, "n1" },
	{ "a node that it is not on", "n1:2 n2:2", "n1:2", "++", "n9", 0, "" },
	{ "one that trained, and lost its disk", "n1:2 n2:2", "n1:2 n2:2",
	  "+-", "", 0, "n2" },
};
/* clang-format on */

static void the_node_is_named_where_it_is_known(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct plx_failed failed = { .is = true };
		struct plx_exit how = { .signal = row->signal };
		struct plx_layout shape;
		struct plx_layout good;
		bool here[8] = { false };

		fill(&shape, row->shape);
		fill(&good, row->good);
		snprintf(how.node, sizeof(how.node), "%s", row->node);
		for (int n = 0; row->here[n]; n++)
			here[n] = row->here[n] == '+';
		plx_blame(
			&(struct plx_evidence){
				.shape = &shape,
				.good = &good,
				.here = row->here[0] ? here : NULL,
				.how = row->node[0] ? &how : NULL,
			},
			&failed);
		if (strcmp(row->want, failed.nodes) != 0)
			fail_msg("%s: %s, not %s", row->what, failed.nodes,
				 row->want);
		plx_layout_release(&shape);
		plx_layout_release(&good);
	}
}

static void a_broken_gpu_is_told_from_a_broken_program(void **state)
{
	(void) state;
	assert_true(plx_blame_gpu(
		"RuntimeError: CUDA error: uncorrectable ECC error "
		"encountered\n"));
	assert_true(plx_blame_gpu("x\nNVRM: Xid (PCI:0000:3b:00): 79\n"));
	assert_true(plx_blame_gpu("RuntimeError: No CUDA GPUs, no "
				  "CUDA-capable device is detected"));
	assert_false(plx_blame_gpu("CUDA out of memory\n"));
	assert_false(plx_blame_gpu("CUDA error: an illegal memory access was "
				   "encountered\n"));
	assert_false(plx_blame_gpu("IndexError\n"));
	assert_false(plx_blame_gpu(""));
}

/* One generation after the other may do. */
static void some_last_words_tell_of_a_crowd(void **state)
{
	(void) state;
	assert_true(plx_blame_crowd("RuntimeError: CUDA out of memory. T"));
	assert_true(plx_blame_crowd("OSError: [Errno 98] Address already in "
				    "use"));
	assert_false(plx_blame_crowd("SyntaxError: invalid syntax"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_last_words_tell_of_a_crowd),
		cmocka_unit_test(the_node_is_named_where_it_is_known),
		cmocka_unit_test(a_broken_gpu_is_told_from_a_broken_program),
	};

	return cmocka_run_group_tests_name("blame", tests, NULL, NULL);
}
