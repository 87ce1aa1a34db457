/* SPDX-License-Identifier: MIT */
/* test_job_efficiency.c - goodput, fixed allocations and fairness, by
 * arithmetic */

#include <math.h>

#include "report/job_efficiency.h"
#include "report_world.h"

#define assert_near(want, got) assert_true(fabs((want) - (got)) < 1e-4)

/* 2 s on four GPUs, 4 s on two: 1600 samples. */
#define TWO_SHAPES(pause, more)                                                \
	"1|RESIZING|1000|1000|1002|gres/gpu=4|n1|u|" TOLD(                     \
		"1", pause,                                                    \
		"") "\n"                                                       \
		    "1|COMPLETED|1002|1000|1006|gres/gpu=2|n1|u|" TOLD(        \
			    "1", pause, more) "\n"

static struct plx_efficiency yield_of(struct world *world, const char *rows,
				      struct plx_efficiency_setting setting)
{
	struct plx_error err;

	world_open(world, rows);
	assert_int_equal(0,
			 plx_efficiency_make(&world->history, &setting, &err));
	return world->history.records[0].yield;
}

static struct plx_efficiency yield(const char *rows,
				   struct plx_efficiency_setting setting)
{
	struct world world;
	struct plx_efficiency made = yield_of(&world, rows, setting);

	world_close(&world);
	return made;
}

static void goodput_is_the_mean_over_time_with_gpus(void **state)
{
	struct plx_efficiency y = yield(TWO_SHAPES("0", ""),
					(struct plx_efficiency_setting){ 0 });

	(void) state;
	assert_near((2 * 400.0 + 4 * 200.0) / 6, y.goodput);
	assert_near(1, y.efficiency);
	assert_near(0, y.lost_s);
}

static void what_was_measured_counts_more_than_the_model(void **state)
{
	struct plx_efficiency y =
		yield(TWO_SHAPES("0", " speed=250 goodput=125"),
		      (struct plx_efficiency_setting){ 0 });

	(void) state;
	assert_near((2 * 400.0 + 4 * 125.0) / 6, y.goodput);
	assert_near((2 * 1.0 + 4 * 0.5) / 6, y.efficiency);
}

static void a_fixed_allocation_takes_the_same_work(void **state)
{
	struct plx_efficiency y =
		yield(TWO_SHAPES("0", ""),
		      (struct plx_efficiency_setting){ .fixed_gpus = 2 });

	(void) state;
	assert_int_equal(2, y.fixed_gpus);
	assert_near(8, y.fixed_s);
	assert_near(8, y.fixed_low_s);
	assert_near(8, y.fixed_high_s);
	assert_false(y.beyond);
}

static void by_default_it_is_what_the_job_held_in_the_mean(void **state)
{
	struct plx_efficiency y = yield(TWO_SHAPES("0", ""),
					(struct plx_efficiency_setting){ 0 });

	(void) state;
	assert_int_equal(3, y.fixed_gpus);
	assert_near(16.0 / 3, y.fixed_s);
}

static void time_lost_to_resizes_is_no_work(void **state)
{
	struct plx_efficiency y =
		yield(TWO_SHAPES("0.6", ""),
		      (struct plx_efficiency_setting){ .fixed_gpus = 2 });

	(void) state;
	assert_near(0.6, y.lost_s);
	assert_near(8 * 0.9, y.fixed_s);
}

static void a_model_that_misses_makes_the_range_wider(void **state)
{
	struct plx_efficiency y =
		yield(TWO_SHAPES("0", " speed=220 goodput=220"),
		      (struct plx_efficiency_setting){ .fixed_gpus = 2 });

	(void) state;
	assert_near(8, y.fixed_s);
	assert_near(8 / 1.1, y.fixed_low_s);
	assert_near(8 * 1.1, y.fixed_high_s);
}

static void far_more_gpus_than_measured_are_told(void **state)
{
	struct plx_efficiency y =
		yield(TWO_SHAPES("0", ""),
		      (struct plx_efficiency_setting){ .fixed_gpus = 9 });

	(void) state;
	assert_true(y.beyond);
}

static void without_a_launcher_nothing_is_known(void **state)
{
	static const char *const rows[] = {
		"1|COMPLETED|1000|1000|1100|gres/gpu=4|n1|u|\n",
		"1|COMPLETED|1000|1000|1100|gres/gpu=4|n1|u|my [pollux]\n",
		"1|COMPLETED|1000|1000|1100|gres/gpu=4|n1|u|[pollux v=1 "
		"launcher=0 ack=0 phase=done]\n",
	};
	double goodput = 0;
	double efficiency = 0;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world world;
		struct plx_efficiency y = yield_of(
			&world, rows[i],
			(struct plx_efficiency_setting){ .cluster_gpus = 4 });

		assert_true(isnan(y.goodput) && isnan(y.efficiency));
		assert_true(isnan(y.fixed_s));
		assert_near(0, y.lost_s);
		assert_near(1, y.rho);
		plx_efficiency_span(&world.history.records[0].spans[0],
				    &goodput, &efficiency);
		assert_true(isnan(goodput) && isnan(efficiency));
		world_close(&world);
	}
}

static void a_resize_that_nobody_timed_is_not_free(void **state)
{
	struct plx_efficiency y =
		yield("1|RESIZING|1000|1000|1002|gres/gpu=4|n1|u|\n"
		      "1|COMPLETED|1002|1000|1006|gres/gpu=2|n1|u|\n",
		      (struct plx_efficiency_setting){ 0 });

	(void) state;
	assert_true(isnan(y.lost_s));
}

static void a_job_that_never_ran_has_no_yield(void **state)
{
	struct plx_efficiency y =
		yield("1|CANCELLED|1000|None|1006||None assigned|u|\n",
		      (struct plx_efficiency_setting){ 0 });

	(void) state;
	assert_true(isnan(y.goodput) && isnan(y.rho));
}

/* Two halves of a cluster, and one job that had to wait for all of it. */
static void fairness_is_time_taken_by_time_on_ones_share(void **state)
{
	static const char rows[] =
		"1|COMPLETED|1000|1000|1100|gres/gpu=4|n1|u|\n"
		"2|COMPLETED|1000|1000|1100|gres/gpu=4|n2|u|\n"
		"3|COMPLETED|2000|2100|2200|gres/gpu=8|n[1-2]|u|\n"
		"4|FAILED|3000|3000|3100|gres/gpu=8|n[1-2]|u|\n";
	struct plx_efficiency_setting setting = { 0 };
	struct plx_error err;
	struct world world;

	(void) state;
	world_open(&world, rows);
	assert_int_equal(0,
			 plx_efficiency_make(&world.history, &setting, &err));
	assert_int_equal(8, setting.cluster_gpus);
	assert_near(1, world.history.records[0].yield.rho);
	assert_near(1, world.history.records[1].yield.rho);
	assert_near(2, world.history.records[2].yield.rho);
	assert_true(isnan(world.history.records[3].yield.rho));
	world_close(&world);
}

/* A GPU for four jobs: each has it for a quarter of the time. */
static void a_share_below_a_gpu_is_a_part_of_its_time(void **state)
{
	static const char rows[] =
		"1|COMPLETED|1000|1000|1100|gres/gpu=1|n1|u|\n"
		"2|COMPLETED|1000|1000|1100|gres/gpu=1|n2|u|\n"
		"3|COMPLETED|1000|1000|1100|gres/gpu=1|n3|u|\n"
		"4|COMPLETED|1000|1000|1100|gres/gpu=1|n4|u|\n";

	(void) state;
	assert_near(0.25,
		    yield(rows,
			  (struct plx_efficiency_setting){ .cluster_gpus = 1 })
			    .rho);
}

static void a_share_is_no_more_than_a_job_can_use(void **state)
{
	/* No batch is allowed on more than two GPUs. */
	struct plx_efficiency y =
		yield("1|COMPLETED|1000|1000|1004|gres/gpu=2|n1|u|[pollux v=1 "
		      "launcher=0 ack=0 phase=done resizes=0 pause=0,0 "
		      "batch=64,128,64,128,0 " MODEL "]\n",
		      (struct plx_efficiency_setting){ .cluster_gpus = 8 });

	(void) state;
	assert_near(1, y.rho);
	assert_near(200, y.goodput);
}

/* First, a middle and the last hint judge; others are not kept. */
static void many_shapes_are_judged_by_three_hints(void **state)
{
	char rows[6000] = "";
	struct plx_efficiency y;

	(void) state;
	for (int i = 0; i < 20; i++)
		snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows),
			 "1|%s|%d|1000|%d|gres/gpu=%d|n1|u|%s\n",
			 i < 19 ? "RESIZING" : "COMPLETED", 1000 + i, 1001 + i,
			 1 + i % 2, TOLD("19", "0", ""));
	y = yield(rows, (struct plx_efficiency_setting){ .fixed_gpus = 1 });
	assert_near(150, y.goodput);
	assert_near(30, y.fixed_s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goodput_is_the_mean_over_time_with_gpus),
		cmocka_unit_test(what_was_measured_counts_more_than_the_model),
		cmocka_unit_test(a_fixed_allocation_takes_the_same_work),
		cmocka_unit_test(
			by_default_it_is_what_the_job_held_in_the_mean),
		cmocka_unit_test(time_lost_to_resizes_is_no_work),
		cmocka_unit_test(a_model_that_misses_makes_the_range_wider),
		cmocka_unit_test(far_more_gpus_than_measured_are_told),
		cmocka_unit_test(without_a_launcher_nothing_is_known),
		cmocka_unit_test(a_resize_that_nobody_timed_is_not_free),
		cmocka_unit_test(a_job_that_never_ran_has_no_yield),
		cmocka_unit_test(fairness_is_time_taken_by_time_on_ones_share),
		cmocka_unit_test(a_share_below_a_gpu_is_a_part_of_its_time),
		cmocka_unit_test(a_share_is_no_more_than_a_job_can_use),
		cmocka_unit_test(many_shapes_are_judged_by_three_hints),
	};

	return cmocka_run_group_tests_name("yield", tests, NULL, NULL);
}
