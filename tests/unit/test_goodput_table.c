/* SPDX-License-Identifier: MIT */
/* test_goodput_table.c - the best goodput on every shape at once */

#include "core/model/goodput.h"
#include "reference.h"

enum { NODES = 64, NODE_GPUS = 8, GPUS = NODES * NODE_GPUS };

static const struct plx_goodput paper = {
	.model = { 0.1, 0.01, 0.2, 0.01, 0.05, 0.002, 1.5, 0, PLX_BY_GPU },
	.noise = { 1, 10 },
	.limits = { 128, 1000, 8, 256, true }, /* 125 GPUs at most */
};

static void compare(const struct plx_goodput *job)
{
	struct plx_goodput_row rows[GPUS];

	plx_goodput_table(job, GPUS, rows);
	for (int nodes = 1; nodes <= NODES; nodes++) {
		for (int gpus = nodes; gpus <= nodes * NODE_GPUS; gpus++) {
			struct plx_shape shape = { nodes, gpus, 0 };
			double want = 0;

			plx_batch_best(job, shape, NULL, &want);
			assert_true((want > 0) == (gpus <= 125));
			if (nodes == 1)
				assert_near(want, rows[gpus - 1].in_node, 1e-4);
			else if (nodes == 2)
				assert_near(want, rows[gpus - 1].over_two,
					    1e-4);
			else
				assert_near(want, rows[gpus - 1].over_more,
					    1e-4);
		}
	}
	assert_true(rows[0].over_two == 0); /* one GPU is on one node */
	assert_true(rows[1].over_more == 0);
}

static void a_table_holds_every_shape(void **state)
{
	struct plx_goodput ours = paper;

	(void) state;
	compare(&paper);
	ours.model.two_nodes = 0.6;
	ours.model.growth = PLX_BY_DOUBLING;
	compare(&ours);
	ours.limits.accumulate = false;
	compare(&ours);
	ours.model.gamma = 9;
	compare(&ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_holds_every_shape),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
