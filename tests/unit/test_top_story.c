/* SPDX-License-Identifier: MIT */
/* test_top_story.c - pollux-top's stories of one job, without a terminal */

#define _GNU_SOURCE

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "top_world.h"

static void a_job_is_opened_by_its_number(void **state)
{
	struct plx_top top = usual_top();

	(void) state;
	press(&top, "77");
	assert_draws(&top, 80, 24, "job 77");
	assert_int_equal(PLX_TOP_WAIT, press(&top, "\r"));
	assert_draws(&top, 80, 24, "no job 77 here");
	press(&top, "9");
	plx_top_key(&top, PLX_KEY_BACKSPACE);
	assert_int_equal(PLX_TOP_ASK, press(&top, "5\r"));
	assert_int_equal(5, top.at);
	assert_int_equal(PLX_TOP_STORY, top.mode);
	assert_draws(&top, 80, 30, "job 5  speech");
	/* Esc leads back, and leaves nothing typed; q then leaves. */
	plx_top_key(&top, PLX_KEY_ESCAPE);
	assert_int_equal(PLX_TOP_TABLE, top.mode);
	press(&top, "1");
	plx_top_key(&top, PLX_KEY_ESCAPE);
	assert_string_equal("", top.typed);
	assert_int_equal(PLX_TOP_WAIT, press(&top, "hq"));
	assert_int_equal(PLX_TOP_LEAVE, press(&top, "q"));
	plx_top_release(&top);
}

static void a_story_tells_of_training_shapes_and_changes(void **state)
{
	struct plx_top top = usual_top();
	struct given grown[] = { usual[0], usual[1] };

	(void) state;
	press(&top, "\r");
	assert_draws(&top, 80, 40,
		     "batch        64 samples: 16 on each GPU, "
		     "2 passes; tuned for 64\n");
	assert_draws(&top, 80, 40,
		     "goodput      120 useful samples/s, "
		     "efficiency 100 %, ");
	assert_draws(&top, 80, 40, "done         25.0 %, 6s left");
	assert_draws(&top, 80, 40, "why          grows 1 -> 2 GPUs\n");
	assert_draws(&top, 80, 40, "Accounting is being asked");
	plx_top_notify(&top, 3, strdup("  2@n1 5s\n"), false);
	assert_draws(&top, 80, 40, "from accounting:\n  2@n1 5s\n");
	plx_top_notify(&top, 3, strdup("sacct failed"), true);
	assert_draws(&top, 80, 40, "Accounting: sacct failed\n");
	grown[0].placement = "n1:4";
	take(&top, grown, 2);
	assert_draws(&top, 80, 40, " 2 > 4 GPUs on n1:4: grows 1 -> 2 GPUs");
	assert_int_equal(2, plx_top_job(&top)->was_gpus);
	take(&top, grown + 1, 1);
	assert_draws(&top, 80, 40, "does not know this job any more");
	press(&top, "q");
	assert_draws(&top, 80, 40, " 5 speech");
	plx_top_release(&top);
}

/* The first of the usual jobs, opened, with this model. */
static void assert_story_of(double per_switch, int further, const char *said)
{
	struct plx_top top;
	struct plx_view view = look(usual, 1);
	struct plx_model *model = &view.jobs[0].status.hint.job.model;

	model->per_switch = per_switch;
	model->further = further;
	plx_top_init(&top, NULL);
	plx_top_take(&top, &view);
	press(&top, "\r");
	if (said)
		assert_draws(&top, 80, 40, said);
	else
		assert_draws_not(&top, 80, 40, "switches");
	plx_top_release(&top);
}

static void a_story_tells_what_a_switch_costs(void **state)
{
	(void) state;
	assert_story_of(0.4, 0,
			"switches     each further one makes its all-reduce "
			"40 % longer\n");
	assert_story_of(0, 1,
			"switches     measured on 2, and not on fewer: what "
			"one costs is not known\n");
	assert_story_of(0, 0, NULL);
}

static void a_story_longer_than_the_window_scrolls_to_its_end(void **state)
{
	struct plx_top top = usual_top();

	(void) state;
	press(&top, "\r");
	assert_draws(&top, 60, 10, "job 3  vision");
	plx_top_key(&top, PLX_KEY_END);
	assert_draws_not(&top, 60, 10, "job 3  vision");
	assert_draws(&top, 60, 10, "    16 ");
	plx_top_key(&top, PLX_KEY_FIRST);
	assert_draws(&top, 60, 10, "job 3  vision");
	plx_top_release(&top);
}

static void old_changes_make_room_for_new_ones(void **state)
{
	static const char *const placement[] = { "n1:1", "n1:2" };
	struct given job = usual[0];
	const struct plx_top_memory *memory;
	struct plx_top top;

	(void) state;
	plx_top_init(&top, NULL);
	for (int i = 0; i <= 2 * PLX_TOP_CHANGES; i++) {
		job.placement = placement[i % 2];
		take(&top, &job, 1);
	}
	memory = plx_top_recall(&top, job.number);
	assert_int_equal(PLX_TOP_CHANGES, memory->change_count);
	for (int i = 0; i < PLX_TOP_CHANGES; i++)
		assert_int_equal(1 + i % 2, memory->changes[i].from);
	plx_top_release(&top);
}

static void what_is_lent_for_a_handover_is_no_change(void **state)
{
	struct given job = usual[0];
	const struct plx_top_memory *memory;
	struct plx_view view;
	struct plx_top top;

	(void) state;
	plx_top_init(&top, NULL);
	take(&top, &job, 1);
	job.placement = "n1:3";
	view = look(&job, 1);
	view.jobs[0].target.state = PLX_TARGET_LENT;
	plx_top_take(&top, &view);
	memory = plx_top_recall(&top, job.number);
	assert_int_equal(0, memory->change_count);
	job.placement = "n1:1";
	take(&top, &job, 1);
	memory = plx_top_recall(&top, job.number);
	assert_int_equal(1, memory->change_count);
	assert_int_equal(2, memory->changes[0].from);
	assert_int_equal(1, memory->changes[0].to);
	plx_top_release(&top);
}

static void names_of_jobs_cannot_pose_as_something_else(void **state)
{
	static const struct given hostile = {
		3, "a\033[2J\nwhy b", "r\troot", "RUNNING", 0.5, 1, "n1:1"
	};
	struct plx_top top;
	char *text;

	(void) state;
	plx_top_init(&top, NULL);
	take(&top, &hostile, 1);
	assert_draws(&top, 120, 20, "a?[2J?why b");
	press(&top, "\r");
	text = draw(&top, 120, 40);
	assert_non_null(strstr(text, "job 3  a?[2J?why b\n"));
	assert_null(strchr(text, '\033'));
	free(text);
	plx_top_release(&top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_opened_by_its_number),
		cmocka_unit_test(a_story_tells_of_training_shapes_and_changes),
		cmocka_unit_test(a_story_tells_what_a_switch_costs),
		cmocka_unit_test(
			a_story_longer_than_the_window_scrolls_to_its_end),
		cmocka_unit_test(old_changes_make_room_for_new_ones),
		cmocka_unit_test(what_is_lent_for_a_handover_is_no_change),
		cmocka_unit_test(names_of_jobs_cannot_pose_as_something_else),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		puts("1..0 # SKIP no locale with UTF-8 here");
		return 0;
	}
	return cmocka_run_group_tests_name("top_story", tests, NULL, NULL);
}
