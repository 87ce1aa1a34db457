/* SPDX-License-Identifier: MIT */
/* test_interval.c - how long to train between two checkpoints */

#include <math.h>

#include "core/model/interval.h"
#include "unit.h"

#define DAY 86400.0

static void assert_near(double want, double is)
{
	if (!(fabs(want - is) <= 1e-9 * fabs(want)))
		fail_msg("want %.12g, is %.12g", want, is);
}

/* Time lost per second of training, when the interval is t: Daly's (20). */
static double lost(double t, double cost, double mtbf)
{
	return mtbf * (exp((t + cost) / mtbf) - 1) / t;
}

static void it_is_dalys_formula(void **state)
{
	(void) state;
	/* sqrt(2 * 1 * 86400) = 415.6921938; x = 1 / 172800 */
	assert_near(415.692193816530 * (1 + sqrt(1 / 172800.0) / 3 +
					1 / 172800.0 / 9) -
			    1,
		    plx_interval_daly(1, DAY));
	assert_near(100, plx_interval_daly(200, 100));
	assert_near(100, plx_interval_daly(1e9, 100));
}

static void no_other_interval_loses_less(void **state)
{
	static const double costs[] = { 0.01, 0.3, 5, 60, 600 };
	static const double mtbfs[] = { 1800, DAY, 30 * DAY };

	(void) state;
	for (size_t c = 0; c < ARRAY_SIZE(costs); c++) {
		for (size_t m = 0; m < ARRAY_SIZE(mtbfs); m++) {
			double best = plx_interval_daly(costs[c], mtbfs[m]);
			double least = lost(best, costs[c], mtbfs[m]);

			for (double f = 0.5; f < 2; f += 0.01)
				assert_true(lost(f * best, costs[c],
						 mtbfs[m]) >= least * 0.9999);
		}
	}
}

static void more_nodes_fail_more_often(void **state)
{
	struct plx_interval job = { .cost_s = 1, .mtbf_s = DAY, .nodes = 1 };

	(void) state;
	assert_near(plx_interval_daly(1, DAY), plx_interval_best(&job));
	job.nodes = 16;
	assert_near(plx_interval_daly(1, DAY / 16), plx_interval_best(&job));
}

static void it_stays_within_bounds(void **state)
{
	struct plx_interval job = { .mtbf_s = DAY, .nodes = 1 };

	(void) state;
	assert_near(PLX_INTERVAL_MIN_S, plx_interval_best(&job));
	job.cost_s = 1e6;
	assert_near(PLX_INTERVAL_MAX_S, plx_interval_best(&job));
	job.mtbf_s = 0;
	assert_near(PLX_INTERVAL_MAX_S, plx_interval_best(&job));
	job = (struct plx_interval){ .mtbf_s = 1, .nodes = 1000, .cost_s = 1 };
	assert_near(PLX_INTERVAL_MIN_S, plx_interval_best(&job));
}

static void the_disk_is_left_to_others(void **state)
{
	const struct plx_interval job = {
		.cost_s = 0.001,
		.disk_s = 30,
		.mtbf_s = DAY,
		.nodes = 1,
	};

	(void) state;
	assert_near(300, plx_interval_best(&job));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_dalys_formula),
		cmocka_unit_test(no_other_interval_loses_less),
		cmocka_unit_test(more_nodes_fail_more_often),
		cmocka_unit_test(it_stays_within_bounds),
		cmocka_unit_test(the_disk_is_left_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
