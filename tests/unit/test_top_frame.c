/* SPDX-License-Identifier: MIT */
/* test_top_frame.c - pollux-top's table and picture, without a terminal */

#define _GNU_SOURCE

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "top_world.h"

/* The numbers of the jobs shown, in their order: "3 5 9". */
static void assert_order(const struct plx_top *top, const char *want)
{
	char text[128] = "";

	for (size_t i = 0; i < top->shown; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s%u", i ? " " : "",
			 top->view.jobs[top->order[i]].number);
	assert_string_equal(want, text);
}

static void each_key_sorts_by_its_column_and_again_turns_it(void **state)
{
	static const struct {
		const char *key;
		const char *order;
		const char *reversed; /* what is not known stays last */
	} cases[] = {
		{ "j", "3 5 8 9 12", "12 9 8 5 3" },
		{ "n", "12 9 5 3 8", "8 3 5 9 12" },
		{ "u", "3 8 12 5 9", "9 5 3 8 12" },
		{ "g", "5 3 9 8 12", "9 3 5 8 12" },
		{ "b", "5 3 8 9 12", "3 5 8 9 12" },
		{ "p", "5 3 8 9 12", "3 5 8 9 12" },
		{ "d", "5 3 8 9 12", "3 5 8 9 12" },
		{ "l", "5 3 8 9 12", "3 5 8 9 12" },
		{ "s", "3 5 9 8 12", "12 8 3 5 9" },
	};
	struct plx_top top = usual_top();

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		press(&top, cases[i].key);
		assert_order(&top, cases[i].order);
		press(&top, i % 2 ? cases[i].key : "r");
		assert_order(&top, cases[i].reversed);
	}
	plx_top_release(&top);
}

static void every_column_that_sorts_has_a_key_and_a_name_of_its_own(
	void **state)
{
	(void) state;
	for (size_t i = 0; i < plx_top_column_count; i++) {
		const struct plx_top_column *column = &plx_top_columns[i];

		assert_true(!column->name == !column->key);
		if (!column->name)
			continue;
		assert_true(column->value || column->word);
		assert_ptr_equal(column, plx_top_column_named(column->name));
		assert_ptr_equal(column, plx_top_column_keyed(column->key));
		/* These mean something else. */
		assert_null(strchr("qrfamh?", column->key));
	}
	assert_null(plx_top_column_named("why"));
}

static void a_row_that_is_pointed_to_moves_with_its_job(void **state)
{
	struct plx_top top = usual_top();

	(void) state;
	plx_top_key(&top, PLX_KEY_DOWN);
	assert_int_equal(5, plx_top_job(&top)->number);
	press(&top, "g");
	assert_int_equal(0, top.row);
	plx_top_key(&top, PLX_KEY_END);
	assert_int_equal(12, plx_top_job(&top)->number);
	take(&top, usual, 3); /* it is gone */
	assert_int_equal(8, plx_top_job(&top)->number);
	plx_top_key(&top, PLX_KEY_PAGE_UP);
	plx_top_key(&top, PLX_KEY_UP);
	assert_int_equal(5, plx_top_job(&top)->number);
	take(&top, usual, 0);
	assert_null(plx_top_job(&top));
	plx_top_key(&top, PLX_KEY_DOWN);
	press(&top, "\r");
	assert_int_equal(PLX_TOP_TABLE, top.mode);
	plx_top_release(&top);
}

static void users_and_ended_jobs_are_left_out_when_asked(void **state)
{
	struct plx_top top = usual_top();

	(void) state;
	press(&top, "f");
	assert_order(&top, "3 5 9 8");
	top.me = "ada";
	press(&top, "m");
	assert_order(&top, "3 8");
	press(&top, "fm");
	assert_order(&top, "3 5 9 8 12");
	plx_top_release(&top);
}

static void the_picture_has_a_letter_for_each_job_and_keeps_it(void **state)
{
	struct plx_top top = usual_top();
	struct given later[] = { usual[1],
				 usual[3],
				 { 20, "new", "ada", "RUNNING", 0, 1,
				   "n1:1" } };

	(void) state;
	assert_draws(&top, 80, 24, "n1  AA..  n2  BBBB  n3  ----  n10 C...");
	take(&top, later, 2);
	assert_draws(&top, 80, 24, "n1  ....  n2  BBBB  n3  ----  n10 C...");
	take(&top, later, 3);
	assert_draws(&top, 80, 24, "n1  A...  n2  BBBB  n3  ----  n10 C...");
	assert_draws(&top, 80, 24, "\nA    20 new");
	plx_top_release(&top);
}

static void nodes_that_have_no_room_are_counted(void **state)
{
	struct plx_top top = usual_top();

	(void) state;
	/* One line of three cells, and the words need four. */
	assert_draws(&top, 38, 9, "n1  AA..  n2  BBBB  n3  ----  n10 C...");
	assert_draws(&top, 37, 9, "\n+4 nodes, 16 GPUs, 5 idle\n");
	press(&top, "a");
	assert_draws(&top, 37, 9, "n1  AA..  n2  BBBB  n3  ----\nn10 C...");
	plx_top_release(&top);
}

static void wide_windows_show_more_columns_than_narrow_ones(void **state)
{
	struct plx_top top = usual_top();

	(void) state;
	assert_draws(&top, 12, 10, "JOB GPUS\n");
	assert_draws(&top, 80, 24,
		     "JOB NAME     STATE     GPUS  BATCH  GOODPUT  EFF DONE ");
	assert_draws(&top, 80, 24, "CHANGED\n");
	assert_draws_not(&top, 80, 24, "WHY");
	assert_draws(&top, 120, 24, "WHY");
	assert_draws(&top, 120, 24, "grows 1 -> 2 GPUs");
	/* On a narrow one the foot says why, of the job pointed to. */
	assert_draws(&top, 80, 24, "\n3: grows 1 -> 2 GPUs\n");
	plx_top_release(&top);
}

static void a_row_tells_what_training_a_job_does(void **state)
{
	struct plx_top top = usual_top();

	(void) state;
	assert_draws(
		&top, 80, 24,
		"A     3 vision   RUNNING      2     64    120/s 100% "
		"\xe2\x96\x88\xe2\x96\x8e\xe2\x96\x91\xe2\x96\x91\xe2\x96\x91"
		"  25%     6s");
	assert_draws(&top, 80, 24,
		     "4 nodes, 7 of 16 GPUs busy; 3 jobs "
		     "running, 1 waiting; utility 0.");
	plx_top_release(&top);
}

static void no_size_of_the_window_is_too_small(void **state)
{
	struct plx_top top = usual_top();
	static const char *const modes[] = { "", "\r", "qh", "qa" };

	(void) state;
	top.me = "ada";
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		press(&top, modes[m]);
		for (int width = 1; width < 140; width += 1 + width / 20) {
			for (int height = 1; height < 40; height++)
				free(draw(&top, width, height));
		}
	}
	plx_top_release(&top);
}

static void a_long_table_scrolls_to_the_row_pointed_to(void **state)
{
	struct given many[40];
	struct plx_top top;

	(void) state;
	for (uint32_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct given){ 100 + i, "j", "ada", "PENDING",
					  -1,	   0,	"" };
	plx_top_init(&top, NULL);
	take(&top, many, ARRAY_SIZE(many));
	assert_draws(&top, 80, 12, " 100 j");
	plx_top_key(&top, PLX_KEY_END);
	assert_draws(&top, 80, 12, " 139 j");
	assert_draws_not(&top, 80, 12, " 100 j");
	plx_top_key(&top, PLX_KEY_FIRST);
	assert_draws(&top, 80, 12, " 100 j");
	assert_draws_not(&top, 80, 12, " 139 j");
	plx_top_release(&top);
}

static void without_slurmctld_the_last_look_stays(void **state)
{
	struct plx_top top;

	(void) state;
	plx_top_init(&top, NULL);
	assert_draws(&top, 80, 24, "asking slurmctld");
	plx_top_fail(&top, "slurmctld does not answer");
	assert_draws(&top, 80, 24, "slurmctld does not answer\n");
	take(&top, usual, 2);
	assert_draws_not(&top, 80, 24, "does not answer");
	plx_top_fail(&top, "slurmctld does not answer");
	assert_draws(&top, 80, 24, "5s ago: slurmctld does not answer\n");
	assert_draws(&top, 80, 24, "3 vision");
	plx_top_release(&top);
}

static void help_tells_of_each_key(void **state)
{
	struct plx_top top = usual_top();

	(void) state;
	press(&top, "?");
	for (size_t i = 0; i < plx_top_column_count; i++) {
		char want[32];

		if (!plx_top_columns[i].key)
			continue;
		snprintf(want, sizeof(want), "\n  %c   %s",
			 plx_top_columns[i].key, plx_top_columns[i].title);
		assert_draws(&top, 80, 30, want);
	}
	plx_top_release(&top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			each_key_sorts_by_its_column_and_again_turns_it),
		cmocka_unit_test(
			every_column_that_sorts_has_a_key_and_a_name_of_its_own),
		cmocka_unit_test(a_row_that_is_pointed_to_moves_with_its_job),
		cmocka_unit_test(users_and_ended_jobs_are_left_out_when_asked),
		cmocka_unit_test(
			the_picture_has_a_letter_for_each_job_and_keeps_it),
		cmocka_unit_test(nodes_that_have_no_room_are_counted),
		cmocka_unit_test(
			wide_windows_show_more_columns_than_narrow_ones),
		cmocka_unit_test(a_row_tells_what_training_a_job_does),
		cmocka_unit_test(no_size_of_the_window_is_too_small),
		cmocka_unit_test(a_long_table_scrolls_to_the_row_pointed_to),
		cmocka_unit_test(without_slurmctld_the_last_look_stays),
		cmocka_unit_test(help_tells_of_each_key),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		puts("1..0 # SKIP no locale with UTF-8 here");
		return 0;
	}
	return cmocka_run_group_tests_name("top_frame", tests, NULL, NULL);
}
