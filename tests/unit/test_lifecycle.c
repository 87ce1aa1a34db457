/* SPDX-License-Identifier: MIT */
/* test_lifecycle.c - what the launcher does next */

#include "launcher/rules/lifecycle.h"
#include "unit.h"

/* Follow events from a stage; the actions taken end up in did. */
static enum plx_stage follow(enum plx_stage stage, const enum plx_event *events,
			     int count, enum plx_action *did)
{
	for (int i = 0; i < count; i++) {
		struct plx_step_to next = plx_lifecycle_next(stage, events[i]);

		stage = next.stage;
		did[i] = next.action;
	}
	return stage;
}

static void a_resize_saves_before_it_acknowledges(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_REQUESTED, PLX_EVENT_SAVED,
					  PLX_EVENT_ANSWERED, PLX_EVENT_BEGAN };
	enum plx_action did[4];

	(void) state;
	assert_int_equal(PLX_STAGE_TRAINING,
			 follow(PLX_STAGE_TRAINING, events, 4, did));
	assert_int_equal(PLX_ACTION_STOP, did[0]);
	assert_int_equal(PLX_ACTION_ACK, did[1]);
	assert_int_equal(PLX_ACTION_START, did[2]);
	assert_int_equal(PLX_ACTION_PUBLISH, did[3]);
}

/* Nothing was stopped for it. */
static void a_program_that_was_edited_is_tried_first(void **state)
{
	const enum plx_event broken[] = { PLX_EVENT_UNTRIED, PLX_EVENT_AGAIN,
					  PLX_EVENT_SICK, PLX_EVENT_KEPT };
	const enum plx_event fit[] = { PLX_EVENT_UNTRIED, PLX_EVENT_READY,
				       PLX_EVENT_SAVED };
	enum plx_action did[4];

	(void) state;
	assert_int_equal(PLX_STAGE_TRAINING,
			 follow(PLX_STAGE_TRAINING, broken, 4, did));
	assert_int_equal(PLX_ACTION_TRY, did[0]);
	assert_int_equal(PLX_ACTION_TRY, did[1]);
	assert_int_equal(PLX_ACTION_RETURN, did[2]);
	assert_int_equal(PLX_ACTION_RETAIN, did[3]);
	assert_int_equal(PLX_STAGE_AGREED,
			 follow(PLX_STAGE_TRAINING, fit, 3, did));
	assert_int_equal(PLX_ACTION_STOP, did[1]);
	assert_int_equal(PLX_ACTION_ACK, did[2]);
}

static void a_parked_job_waits_and_comes_back(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_REQUESTED, PLX_EVENT_SAVED,
					  PLX_EVENT_PARKED, PLX_EVENT_REQUESTED,
					  PLX_EVENT_ANSWERED };
	enum plx_action did[5];

	(void) state;
	assert_int_equal(PLX_STAGE_STARTING,
			 follow(PLX_STAGE_TRAINING, events, 5, did));
	assert_int_equal(PLX_ACTION_PARK, did[2]);
	assert_int_equal(PLX_ACTION_ACK, did[3]);
	assert_int_equal(PLX_ACTION_START, did[4]);
}

static void a_second_target_while_saving_asks_nobody_twice(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_REQUESTED,
					  PLX_EVENT_REQUESTED,
					  PLX_EVENT_SAVED };
	enum plx_action did[3];

	(void) state;
	assert_int_equal(PLX_STAGE_AGREED,
			 follow(PLX_STAGE_TRAINING, events, 3, did));
	assert_int_equal(PLX_ACTION_NONE, did[1]);
	assert_int_equal(PLX_ACTION_ACK, did[2]);
}

static void ranks_that_do_not_leave_are_killed_then_acknowledged(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_REQUESTED, PLX_EVENT_LATE,
					  PLX_EVENT_LATE, PLX_EVENT_FAILED };
	enum plx_action did[4];

	(void) state;
	assert_int_equal(PLX_STAGE_AGREED,
			 follow(PLX_STAGE_TRAINING, events, 4, did));
	assert_int_equal(PLX_ACTION_KILL, did[1]);
	assert_int_equal(PLX_ACTION_KILL, did[2]);
	assert_int_equal(PLX_ACTION_ACK, did[3]);
}

static void a_shape_changed_by_slurm_restarts_without_a_word(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_SHAPE, PLX_EVENT_SAVED,
					  PLX_EVENT_GPUS };
	enum plx_action did[3];

	(void) state;
	assert_int_equal(PLX_STAGE_STARTING,
			 follow(PLX_STAGE_TRAINING, events, 3, did));
	assert_int_equal(PLX_ACTION_STOP, did[0]);
	assert_int_equal(PLX_ACTION_PUBLISH, did[1]);
	assert_int_equal(PLX_ACTION_START, did[2]);
}

static void lost_ranks_are_started_again(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_FAILED, PLX_EVENT_GPUS };
	enum plx_action did[2];

	(void) state;
	assert_int_equal(PLX_STAGE_STARTING,
			 follow(PLX_STAGE_TRAINING, events, 2, did));
	assert_int_equal(PLX_ACTION_RETRY, did[0]);
	assert_int_equal(PLX_ACTION_START, did[1]);
}

static void a_second_signal_kills(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_STOP, PLX_EVENT_STOP,
					  PLX_EVENT_FAILED };
	enum plx_action did[3];

	(void) state;
	assert_int_equal(PLX_STAGE_DONE,
			 follow(PLX_STAGE_TRAINING, events, 3, did));
	assert_int_equal(PLX_ACTION_STOP, did[0]);
	assert_int_equal(PLX_ACTION_KILL, did[1]);
	assert_int_equal(PLX_ACTION_FINISH, did[2]);
}

static void a_handover_stops_nobody_before_the_next_are_ready(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_OFFERED, PLX_EVENT_ANSWERED,
					  PLX_EVENT_READY, PLX_EVENT_HELD,
					  PLX_EVENT_BEGAN };
	const enum plx_action wanted[] = { PLX_ACTION_OVERLAP, PLX_ACTION_WARM,
					   PLX_ACTION_HAND, PLX_ACTION_GO,
					   PLX_ACTION_PROMOTE };
	enum plx_action did[5];

	(void) state;
	assert_int_equal(PLX_STAGE_TRAINING,
			 follow(PLX_STAGE_TRAINING, events, 5, did));
	for (int i = 0; i < 5; i++)
		assert_int_equal(wanted[i], did[i]);
}

static void ranks_that_hold_train_on_when_the_next_are_lost(void **state)
{
	static const enum plx_event lost[] = { PLX_EVENT_NO_NEXT,
					       PLX_EVENT_LATE };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
		const enum plx_event events[] = { lost[i], PLX_EVENT_RESUMED,
						  PLX_EVENT_SAVED,
						  PLX_EVENT_ANSWERED };
		enum plx_action did[4];

		assert_int_equal(PLX_STAGE_STARTING,
				 follow(PLX_STAGE_TAKING, events, 4, did));
		assert_int_equal(PLX_ACTION_RESUME, did[0]);
		assert_int_equal(PLX_ACTION_STOP, did[1]);
		assert_int_equal(PLX_ACTION_ACK, did[2]);
		assert_int_equal(PLX_ACTION_START, did[3]);
	}
}

/* The node is new to the job: its ranks need not stop for that. */
static void ranks_train_on_when_the_next_fail_on_a_new_node(void **state)
{
	const enum plx_event warming[] = { PLX_EVENT_SICK, PLX_EVENT_KEPT };
	const enum plx_event taking[] = { PLX_EVENT_SICK, PLX_EVENT_SICK,
					  PLX_EVENT_KEPT };
	enum plx_action did[3];

	(void) state;
	assert_int_equal(PLX_STAGE_TRAINING,
			 follow(PLX_STAGE_WARMING, warming, 2, did));
	assert_int_equal(PLX_ACTION_RETURN, did[0]);
	assert_int_equal(PLX_ACTION_RETAIN, did[1]);
	assert_int_equal(PLX_STAGE_TRAINING,
			 follow(PLX_STAGE_TAKING, taking, 3, did));
	assert_int_equal(PLX_ACTION_RESUME, did[0]);
	assert_int_equal(PLX_ACTION_RETURN, did[1]);
	assert_int_equal(PLX_ACTION_RETAIN, did[2]);
}

/* Their program is broken: it need not end where it still trains. */
static void next_ranks_that_fail_are_tried_twice(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_AGAIN, PLX_EVENT_SICK,
					  PLX_EVENT_KEPT };
	enum plx_action did[3];

	(void) state;
	assert_int_equal(PLX_STAGE_TRAINING,
			 follow(PLX_STAGE_WARMING, events, 3, did));
	assert_int_equal(PLX_ACTION_WARM, did[0]);
	assert_int_equal(PLX_ACTION_RETURN, did[1]);
	assert_int_equal(PLX_ACTION_RETAIN, did[2]);
}

/* A scheduler that does not know how to take it back: as ever. */
static void nobody_waits_for_ever_for_the_former_shape(void **state)
{
	struct plx_step_to next =
		plx_lifecycle_next(PLX_STAGE_RETURNING, PLX_EVENT_LATE);

	(void) state;
	assert_int_equal(PLX_STAGE_SAVING, next.stage);
	assert_int_equal(PLX_ACTION_GIVE_UP, next.action);
}

static void the_next_take_over_from_ranks_that_are_lost(void **state)
{
	static const struct {
		enum plx_stage now;
		enum plx_action action;
	} cases[] = {
		{ PLX_STAGE_WARMING, PLX_ACTION_ADOPT },
		{ PLX_STAGE_HANDING, PLX_ACTION_ADOPT },
		{ PLX_STAGE_TAKING, PLX_ACTION_FOLLOW },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_step_to next =
			plx_lifecycle_next(cases[i].now, PLX_EVENT_FAILED);

		assert_int_equal(PLX_STAGE_STARTING, next.stage);
		assert_int_equal(cases[i].action, next.action);
	}
}

static void what_is_not_to_be_had_beside_is_had_cold(void **state)
{
	const enum plx_event events[] = { PLX_EVENT_OFFERED,
					  PLX_EVENT_REQUESTED, PLX_EVENT_SAVED,
					  PLX_EVENT_ANSWERED };
	enum plx_action did[4];

	(void) state;
	assert_int_equal(PLX_STAGE_STARTING,
			 follow(PLX_STAGE_TRAINING, events, 4, did));
	assert_int_equal(PLX_ACTION_STOP, did[1]);
	assert_int_equal(PLX_ACTION_ACK, did[2]);
}

/* What must hold of every row, whoever adds one. */
static void no_handover_waits_for_ever(void **state)
{
	(void) state;
	for (int s = PLX_STAGE_WARMING; s <= PLX_STAGE_RESUMING; s++) {
		struct plx_step_to next = plx_lifecycle_next(s, PLX_EVENT_LATE);

		assert_true(plx_stage_hands_over(s));
		assert_true((int) next.stage > s);
		assert_int_not_equal(PLX_ACTION_NONE, next.action);
	}
}

static void every_stage_can_end(void **state)
{
	(void) state;
	for (int s = PLX_STAGE_IDLE; s < PLX_STAGE_DONE; s++) {
		struct plx_step_to next = plx_lifecycle_next(s, PLX_EVENT_STOP);

		if (s == PLX_STAGE_ENDING)
			continue;
		assert_int_equal(plx_stage_has_ranks(s) ? PLX_STAGE_ENDING
							: PLX_STAGE_DONE,
				 next.stage);
	}
}

static void no_stage_with_ranks_outlives_them(void **state)
{
	static const enum plx_event gone[] = { PLX_EVENT_SAVED,
					       PLX_EVENT_FAILED,
					       PLX_EVENT_FINISHED };

	(void) state;
	for (int s = PLX_STAGE_IDLE; s < PLX_STAGE_DONE; s++) {
		for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
			struct plx_step_to next =
				plx_lifecycle_next(s, gone[i]);

			if (next.action != PLX_ACTION_ADOPT &&
			    next.action != PLX_ACTION_FOLLOW &&
			    plx_stage_has_ranks(s))
				assert_false(plx_stage_has_ranks(next.stage));
		}
	}
}

static void only_stages_without_ranks_start_or_acknowledge(void **state)
{
	(void) state;
	for (int s = PLX_STAGE_IDLE; s <= PLX_STAGE_DONE; s++) {
		for (int e = PLX_EVENT_REQUESTED; e <= PLX_EVENT_STOP; e++) {
			struct plx_step_to next = plx_lifecycle_next(s, e);

			if (next.action == PLX_ACTION_START)
				assert_false(plx_stage_has_ranks(s));
			if (next.action == PLX_ACTION_ACK)
				assert_false(plx_stage_has_ranks(next.stage));
		}
	}
}

static void nothing_happens_after_the_end(void **state)
{
	(void) state;
	for (int e = PLX_EVENT_REQUESTED; e <= PLX_EVENT_STOP; e++) {
		struct plx_step_to next = plx_lifecycle_next(PLX_STAGE_DONE, e);

		assert_int_equal(PLX_STAGE_DONE, next.stage);
		assert_int_equal(PLX_ACTION_NONE, next.action);
	}
}

static void each_stage_tells_its_phase(void **state)
{
	(void) state;
	assert_int_equal(PLX_PHASE_TRAINING,
			 plx_stage_phase(PLX_STAGE_TRAINING));
	assert_int_equal(PLX_PHASE_SAVING, plx_stage_phase(PLX_STAGE_YIELDING));
	assert_int_equal(PLX_PHASE_WAITING, plx_stage_phase(PLX_STAGE_AGREED));
	assert_int_equal(PLX_PHASE_DONE, plx_stage_phase(PLX_STAGE_DONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_resize_saves_before_it_acknowledges),
		cmocka_unit_test(a_program_that_was_edited_is_tried_first),
		cmocka_unit_test(a_parked_job_waits_and_comes_back),
		cmocka_unit_test(
			a_second_target_while_saving_asks_nobody_twice),
		cmocka_unit_test(
			ranks_that_do_not_leave_are_killed_then_acknowledged),
		cmocka_unit_test(
			a_shape_changed_by_slurm_restarts_without_a_word),
		cmocka_unit_test(lost_ranks_are_started_again),
		cmocka_unit_test(a_second_signal_kills),
		cmocka_unit_test(
			a_handover_stops_nobody_before_the_next_are_ready),
		cmocka_unit_test(
			ranks_that_hold_train_on_when_the_next_are_lost),
		cmocka_unit_test(
			ranks_train_on_when_the_next_fail_on_a_new_node),
		cmocka_unit_test(next_ranks_that_fail_are_tried_twice),
		cmocka_unit_test(nobody_waits_for_ever_for_the_former_shape),
		cmocka_unit_test(the_next_take_over_from_ranks_that_are_lost),
		cmocka_unit_test(what_is_not_to_be_had_beside_is_had_cold),
		cmocka_unit_test(no_handover_waits_for_ever),
		cmocka_unit_test(every_stage_can_end),
		cmocka_unit_test(no_stage_with_ranks_outlives_them),
		cmocka_unit_test(
			only_stages_without_ranks_start_or_acknowledge),
		cmocka_unit_test(nothing_happens_after_the_end),
		cmocka_unit_test(each_stage_tells_its_phase),
	};

	return cmocka_run_group_tests_name("lifecycle", tests, NULL, NULL);
}
