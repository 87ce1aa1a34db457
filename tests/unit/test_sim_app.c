/* SPDX-License-Identifier: MIT */
/* test_sim_app.c - what lies between the recorded points, and bad traces */

#include <math.h>

#include "sim_world.h"

static char dir[64];

static int begin(void **state)
{
	struct plx_error err;

	sim_write(dir);
	*state = plx_app_load(dir, "toy", &err);
	if (!*state)
		fail_msg("%s", err.text);
	return 0;
}

static int end(void **state)
{
	plx_app_destroy(*state);
	sim_remove(dir);
	return 0;
}

static double step_on(const struct plx_app *app, const int *counts, int nodes,
		      int per_gpu)
{
	return plx_app_step(app, counts, nodes, per_gpu).step;
}

static void a_placement_is_found_in_any_rotation(void **state)
{
	const int one_three[] = { 1, 3 };
	const int three_one[] = { 3, 1 };

	assert_true(step_on(*state, one_three, 2, 10) == 4);
	assert_true(step_on(*state, three_one, 2, 10) == 4);
}

static void time_is_linear_in_the_batch_and_goes_on_so(void **state)
{
	const int counts[] = { 1, 3 };

	assert_true(fabs(step_on(*state, counts, 2, 6) - 2.4) < 1e-12);
	assert_true(step_on(*state, counts, 2, 1) == 2);
	assert_true(step_on(*state, counts, 2, 15) == 6);
}

static void shapes_between_are_interpolated(void **state)
{
	const struct plx_app *app = *state;
	const struct plx_shape ten_on_four = { .nodes = 4, .gpus = 10 };
	const struct plx_shape three_on_three = { .nodes = 3, .gpus = 3 };
	const struct plx_shape many = { .nodes = 9, .gpus = 90 };

	/* Half way from 4 GPUs to 16 on four nodes. */
	assert_true(fabs(plx_app_between(app, ten_on_four, 5).step - 6) <
		    1e-12);
	/* A GPU a node: half way from 11 (2 s) to four nodes (4 s). */
	assert_true(fabs(plx_app_between(app, three_on_three, 5).step - 3) <
		    1e-12);
	/* Nothing beyond what was recorded. */
	assert_true(plx_app_between(app, many, 5).step == 8);
}

static void an_unrecorded_placement_is_a_shape(void **state)
{
	const int counts[] = { 2, 3, 3, 2 };

	assert_true(fabs(step_on(*state, counts, 4, 5) - 6) < 1e-12);
}

static void interpolation_by_others_comes_first(void **state)
{
	const int counts[] = { 2, 3, 3, 2 };
	char path[128];
	struct plx_error err;
	struct plx_app *app;

	(void) state;
	sim_rewrite(dir, "toy/interpolated.csv.gz",
		    "num_nodes,num_replicas,local_bsz,step_time_s,sync_time_s\n"
		    "4,10,5,7,1\n");
	app = plx_app_load(dir, "toy", &err);
	snprintf(path, sizeof(path), "%s/toy/interpolated.csv.gz", dir);
	unlink(path);
	if (!app)
		fail_msg("%s", err.text);
	assert_true(step_on(app, counts, 4, 5) == 7);
	plx_app_destroy(app);
}

static void noise_is_linear_between_recorded_batches(void **state)
{
	assert_true(plx_app_noise(*state, 0, 10).var == 1);
	assert_true(plx_app_noise(*state, 0, 25).var == 2);
	assert_true(plx_app_noise(*state, 0, 40).var == 3);
	assert_true(plx_app_noise(*state, 0, 1000).var == 3);
	assert_true(plx_app_noise(*state, 0, 1).var == 1);
}

static void an_epoch_ends_at_the_least_recorded_progress(void **state)
{
	assert_true(plx_app_boundary(*state, 0) == 100);
	assert_true(plx_app_boundary(*state, 2) == 300);
}

static void iterations_left_are_as_published(void **state)
{
	assert_true(plx_app_iterations_left(*state, 0, 10) == 200);
	assert_true(plx_app_iterations_left(*state, 0, 40) == 60);
	assert_true(plx_app_iterations_left(*state, 0, 25) == 130);
	assert_true(plx_app_iterations_left(*state, 2, 10) == 1);
}

static const struct {
	const char *file;
	const char *text;
	const char *why; /* the end of the sentence */
} bad[] = {
	/* clang-format off */
	{ "limits.csv", "base_batch,max_batch,min_gpu_batch,max_gpu_batch,"
	  "epochs,fixed_batch\n10,5,5,10,3,0\n",
	  "limits.csv:2: the largest batch is below the smallest" },
	{ "limits.csv", "base_batch,max_batch,min_gpu_batch,max_gpu_batch,"
	  "epochs,fixed_batch\n", "limits.csv: 0 rows: want one" },
	{ "placements.csv", "placement,local_bsz,step_time,sync_time\n",
	  "placements.csv:1: nothing but the header" },
	{ "placements.csv", "placement,local_bsz,step_time,sync_time\n"
	  "1,5,1,0\n1a,5,1,0\n", "placements.csv:3: placement \"1a\": want a "
	  "digit from 1 to 9 for each of up to 16 nodes" },
	{ "placements.csv", "placement,local_bsz,step_time,sync_time\n"
	  "1,5,1,2\n", "placements.csv:2: step 1 s with sync 2 s: want more "
	  "than nothing, and sync as a part of it" },
	{ "scalability.csv",
	  "num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,1,5,1,0\n",
	  "scalability.csv:2: 1 GPUs on 2 nodes" },
	{ "validation-10.csv", "progress,iteration,grad_sqr,grad_var\n"
	  "100,1,0,1\n", "validation-10.csv: 1 epochs: want 3" },
	{ "validation-10.csv", "progress,iteration,grad_sqr,grad_var\n"
	  "100,1,0,1\n100,2,0,1\n300,3,0,1\n",
	  "validation-10.csv:3: progress 100, after 100 in the epoch before" },
	{ "validation-10.csv", "progress,iteration,grad_sqr,grad_var\n"
	  "100,1,0,0\n200,2,0,1\n300,3,0,1\n",
	  "validation-10.csv:2: a gradient of nothing" },
	/* clang-format on */
};

static void bad_traces_are_refused_by_file_and_line(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char other[64];
		char file[64];
		struct plx_error err;
		struct plx_app *app;
		size_t length;

		sim_write(other);
		snprintf(file, sizeof(file), "toy/%s", bad[i].file);
		sim_rewrite(other, file, bad[i].text);
		app = plx_app_load(other, "toy", &err);
		sim_remove(other);
		assert_null(app);
		length = strlen(bad[i].why);
		assert_true(strlen(err.text) > length);
		assert_string_equal(err.text + strlen(err.text) - length,
				    bad[i].why);
	}
}

static void an_unknown_application_is_named(void **state)
{
	struct plx_error err;

	(void) state;
	assert_null(plx_app_load(dir, "toi", &err));
	assert_non_null(strstr(err.text, "toi is no published application"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_placement_is_found_in_any_rotation),
		cmocka_unit_test(time_is_linear_in_the_batch_and_goes_on_so),
		cmocka_unit_test(shapes_between_are_interpolated),
		cmocka_unit_test(an_unrecorded_placement_is_a_shape),
		cmocka_unit_test(interpolation_by_others_comes_first),
		cmocka_unit_test(noise_is_linear_between_recorded_batches),
		cmocka_unit_test(an_epoch_ends_at_the_least_recorded_progress),
		cmocka_unit_test(iterations_left_are_as_published),
		cmocka_unit_test(bad_traces_are_refused_by_file_and_line),
		cmocka_unit_test(an_unknown_application_is_named),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
