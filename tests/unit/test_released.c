/* SPDX-License-Identifier: MIT */
/*
 * test_released.c - texts on the job record that earlier releases wrote
 *
 * Launchers and slurmctld are upgraded at different times (see
 * docs/compatibility.md). A text stays here as it was written then.
 */
#include <stdio.h>
#include <string.h>

#include "core/records/hint.h"
#include "core/records/options.h"
#include "core/records/status.h"
#include "core/records/target.h"
#include "unit.h"

static void a_status_of_0_1_is_read(void **state)
{
	struct plx_status is;
	struct plx_error err;

	(void) state;
	assert_int_equal(
		1,
		plx_status_read("night run [pollux v=1 launcher=3 ack=7 "
				"live=1 busy=1 phase=training want=4 "
				"lead=90 resizes=5 pause=0.25,1.5 failed=6:n2 "
				"batch=128,8192,1,256,1 model=0.02,0.002,0.01,"
				"0.0005,0.005,0.0002,1.5 noise=0.25,4.5 "
				"profiled=2,4 now=64,1 progress=0.5 left=1000 "
				"restart=9 lr=0.1 speed=2000 goodput=1500 "
				"loss=0.75]",
				&is, &err));
	assert_true(is.launcher == 3 && is.ack == 7 && is.live && is.busy);
	assert_int_equal(PLX_PHASE_TRAINING, is.phase);
	assert_true(is.want == 4 && is.lead_s == 90 && is.resizes == 5);
	assert_true(is.pause_s[0] == 0.25 && is.pause_s[1] == 1.5);
	assert_true(is.failed.is && is.failed.serial == 6);
	assert_string_equal("n2", is.failed.nodes);
	assert_true(is.has_hint && is.hint.profiled.gpus == 4 &&
		    is.hint.profiled.nodes == 2);
	assert_true(is.hint.progress == 0.5 && is.hint.samples_left == 1000);
	assert_true(is.hint.restart_s == 9 && is.hint.lr == 0.1);
	assert_true(is.hint.speed == 2000 && is.hint.goodput == 1500 &&
		    is.hint.loss == 0.75);
}

/* A field that a later release adds is passed over. */
static void a_status_of_a_later_release_is_read(void **state)
{
	struct plx_status is;
	struct plx_error err;

	(void) state;
	assert_int_equal(1, plx_status_read("[pollux v=1 launcher=batch ack=0 "
					    "phase=starting resizes=0 "
					    "pause=0,0 mood=good]",
					    &is, &err));
	assert_true(is.launcher == PLX_WAKE_BATCH && !is.has_hint);
}

static void a_target_of_0_1_is_read(void **state)
{
	struct plx_target is;
	struct plx_error err;

	(void) state;
	assert_int_equal(
		1,
		plx_target_read("[pollux serial=4 state=asked nodes=2 gpus=1 "
				"each=1,2 on=n(3-4) speedup=1.5 why=grows 1 "
				"-> 3 GPUs on 2 nodes]",
				&is, &err));
	assert_true(is.serial == 4 && is.state == PLX_TARGET_REQUESTED);
	assert_true(is.nodes == 2 && plx_target_gpus(&is) == 3);
	assert_string_equal("n[3-4]", is.on);
	assert_true(is.speedup == 1.5);
	assert_string_equal("grows 1 -> 3 GPUs on 2 nodes", is.why);
}

static void a_target_of_a_later_release_is_read(void **state)
{
	struct plx_target is;
	struct plx_error err;

	(void) state;
	assert_int_equal(
		1, plx_target_read("[pollux serial=1 state=done nodes=1 gpus=2 "
				   "colour=red on=n3 why=gets 2 GPUs]",
				   &is, &err));
	assert_int_equal(2, plx_target_gpus(&is));
	assert_string_equal("n3", is.on);
}

static void a_status_in_another_form_is_none(void **state)
{
	struct plx_status is;
	struct plx_error err;

	(void) state;
	assert_int_equal(-1, plx_status_read("[pollux v=2 launcher=batch ack=0 "
					     "phase=starting resizes=0 "
					     "pause=0,0]",
					     &is, &err));
	assert_string_equal("v: version 2, this is 1", err.text);
}

static void options_of_0_1_are_understood(void **state)
{
	struct plx_options is;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_options_parse(
				    "pollux,min=2,max=8,batch=64,max-batch=512,"
				    "min-gpu-batch=4,max-gpu-batch=64",
				    &is, &err));
	assert_true(is.min_gpus == 2 && is.max_gpus == 8);
	assert_true(is.base_batch == 64 && is.max_batch == 512);
	assert_true(is.min_gpu_batch == 4 && is.max_gpu_batch == 64);
	assert_int_equal(0, plx_options_parse("pollux,sizes=1,2,4", &is, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_of_0_1_is_read),
		cmocka_unit_test(a_status_of_a_later_release_is_read),
		cmocka_unit_test(a_status_in_another_form_is_none),
		cmocka_unit_test(a_target_of_0_1_is_read),
		cmocka_unit_test(a_target_of_a_later_release_is_read),
		cmocka_unit_test(options_of_0_1_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
