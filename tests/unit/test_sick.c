/* SPDX-License-Identifier: MIT */
/* test_sick.c - where ranks failed, as told, and whom nodes are closed to */

#include <stdio.h>
#include <string.h>

#include "core/records/failed.h"
#include "core/base/section.h"
#include "core/jobs/sick.h"
#include "core/records/status.h"
#include "reached.h"
#include "unit.h"

/* ---- failed.h ---- */

struct row {
	const char *text;
	int found;
	uint32_t serial;
	const char *nodes;
};

static const struct row rows[] = {
	{ "ack=3", 0, 0, "" },
	{ "failed=4", 1, 4, "" },
	{ "failed=0:n2", 1, 0, "n2" },
	{ "failed=4:n2,n-3.x_1", 1, 4, "n2,n-3.x_1" },
	{ "failed=4:a,b,c,d", 1, 4, "a,b,c,d" },
	{ "failed=4:a,b,c,d,e", -1, 0, "" },
	{ "failed=", -1, 0, "" },
	{ "failed=n2", -1, 0, "" },
	{ "failed=4:", -1, 0, "" },
	{ "failed=4:,", -1, 0, "" },
	{ "failed=4:n2,", -1, 0, "" },
	{ "failed=4:,n2", -1, 0, "" },
	{ "failed=4:n2;n3", -1, 0, "" },
	{ "failed=4:n(1-3)", -1, 0, "" },
	{ "failed=4:../n2", -1, 0, "" },
	{ "failed=4n2", -1, 0, "" },
	{ "failed=-4:n2", -1, 0, "" },
	{ "failed=2147483648:n2", -1, 0, "" },
	{ "failed=99999999999:n2", -1, 0, "" },
};

static void only_names_of_nodes_are_read(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plx_failed failed;
		struct plx_error err;

		assert_int_equal(rows[i].found,
				 plx_failed_read(rows[i].text, &failed, &err));
		assert_int_equal(rows[i].found > 0, failed.is);
		assert_int_equal(rows[i].serial, failed.serial);
		assert_string_equal(rows[i].nodes, failed.nodes);
	}
}

static void a_list_takes_four_names_and_each_once(void **state)
{
	struct plx_failed failed = { .is = true };
	char longest[PLX_FAILED_SIZE + 1];

	(void) state;
	memset(longest, 'n', PLX_FAILED_SIZE);
	longest[PLX_FAILED_SIZE] = '\0';
	assert_false(plx_failed_add(&failed, longest));
	assert_false(plx_failed_add(&failed, "n1,n2"));
	assert_false(plx_failed_add(&failed, ""));
	assert_false(plx_failed_add(&failed, "a b"));
	assert_true(plx_failed_add(&failed, "n1"));
	assert_true(plx_failed_add(&failed, "n1"));
	assert_true(plx_failed_add(&failed, "n10"));
	assert_true(plx_failed_add(&failed, "n2"));
	assert_true(plx_failed_add(&failed, "n3"));
	assert_false(plx_failed_add(&failed, "n4"));
	assert_string_equal("n1,n10,n2,n3", failed.nodes);
	assert_true(plx_failed_names(&failed, "n10"));
	assert_false(plx_failed_names(&failed, "n"));
	assert_false(plx_failed_names(&failed, "n1,n10"));
}

static void a_status_tells_it_and_comes_back(void **state)
{
	struct plx_status told = { .launcher = PLX_WAKE_BATCH, .ack = 4 };
	struct plx_status read;
	char fields[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX];
	struct plx_error err;

	(void) state;
	told.failed = (struct plx_failed){ .is = true, .serial = 4 };
	assert_true(plx_failed_add(&told.failed, "n2"));
	assert_int_equal(0,
			 plx_status_write(&told, fields, sizeof(fields), &err));
	assert_non_null(strstr(fields, " failed=4:n2"));
	assert_int_equal(0, plx_section_put("mine", fields, comment,
					    sizeof(comment), &err));
	assert_int_equal(1, plx_status_read(comment, &read, &err));
	assert_true(plx_failed_equal(&told.failed, &read.failed));
}

/* As they end up on terminals and in logs. */
static void a_reason_is_cut_and_what_is_not_printable_is_not_shown(void **state)
{
	struct plx_status told = { .launcher = PLX_WAKE_BATCH, .busy = true };
	struct plx_status read;
	char fields[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX];
	char longest[2 * PLX_FAILED_WHY];
	struct plx_error err;

	(void) state;
	told.failed = (struct plx_failed){ .is = true, .serial = 4 };
	plx_failed_say(&told.failed, "Error: caf\xc3\xa9 [x]\033[2J\nmore");
	assert_int_equal(0,
			 plx_status_write(&told, fields, sizeof(fields), &err));
	assert_int_equal(0, plx_section_put("mine", fields, comment,
					    sizeof(comment), &err));
	assert_int_equal(1, plx_status_read(comment, &read, &err));
	assert_string_equal("Error: caf?? (x)?(2J", read.failed.why);
	assert_true(read.busy);
	/* Who writes the comment by hand gains nothing. */
	assert_int_equal(1,
			 plx_status_read("[pollux v=1 launcher=none ack=0 "
					 "phase=training resizes=0 pause=0,0 "
					 "failed=1 why=a\033b\177]",
					 &read, &err));
	assert_string_equal("a?b?", read.failed.why);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	plx_failed_say(&told.failed, longest);
	assert_int_equal(PLX_FAILED_WHY - 1, strlen(told.failed.why));
}

/* ---- sick.h ---- */

#define WAIT_S 100.0
#define NODES  100

static enum plx_closed complain(struct plx_sick *sick, const char *node,
				uint32_t job, uint32_t owner, double now_s)
{
	struct plx_sick_claim claim = {
		.node = node,
		.job = job,
		.owner = owner,
		.sure = true,
		.now_s = now_s,
		.wait_s = WAIT_S,
		.cluster = NODES,
	};
	double until_s = 0;

	return plx_sick_complain(sick, &claim, &until_s);
}

static void one_complaint_closes_the_node_to_the_job_alone(void **state)
{
	struct plx_sick sick = { 0 };

	(void) state;
	assert_int_equal(PLX_CLOSED_JOB, complain(&sick, "n2", 5, 1, 1000));
	assert_int_equal(PLX_CLOSED_JOB,
			 plx_sick_closed(&sick, "n2", 5, 1, 1099));
	assert_int_equal(PLX_CLOSED_NOT,
			 plx_sick_closed(&sick, "n2", 6, 1, 1099));
	assert_int_equal(PLX_CLOSED_NOT,
			 plx_sick_closed(&sick, "n3", 5, 1, 1099));
	assert_int_equal(PLX_CLOSED_NOT,
			 plx_sick_closed(&sick, "n2", 5, 1, 1100));
}

static void each_time_it_is_closed_for_twice_as_long_up_to_32(void **state)
{
	struct plx_sick sick = { 0 };
	double now_s = 1000;
	double wait_s = WAIT_S;

	(void) state;
	for (int i = 0; i < 8; i++) {
		complain(&sick, "n2", 5, 1, now_s);
		assert_int_equal(PLX_CLOSED_JOB,
				 plx_sick_closed(&sick, "n2", 5, 1,
						 now_s + wait_s - 1));
		assert_int_equal(PLX_CLOSED_NOT,
				 plx_sick_closed(&sick, "n2", 5, 1,
						 now_s + wait_s));
		now_s += WAIT_S;
		wait_s = wait_s < 32 * WAIT_S ? 2 * wait_s : wait_s;
	}
}

static void two_jobs_of_an_owner_close_it_to_that_owner(void **state)
{
	struct plx_sick sick = { 0 };

	(void) state;
	complain(&sick, "n2", 5, 1, 1000);
	assert_int_equal(PLX_CLOSED_OWNER, complain(&sick, "n2", 6, 1, 1010));
	assert_int_equal(PLX_CLOSED_OWNER,
			 plx_sick_closed(&sick, "n2", 7, 1, 1050));
	assert_int_equal(PLX_CLOSED_NOT,
			 plx_sick_closed(&sick, "n2", 8, 2, 1050));
	assert_int_equal(0, plx_sick_out_count(&sick, 1050));
}

static void two_owners_close_it_to_all(void **state)
{
	struct plx_sick sick = { 0 };

	(void) state;
	complain(&sick, "n2", 5, 1, 1000);
	assert_int_equal(PLX_CLOSED_ALL, complain(&sick, "n2", 6, 2, 1010));
	assert_int_equal(PLX_CLOSED_ALL,
			 plx_sick_closed(&sick, "n2", 7, 3, 1050));
	assert_true(plx_sick_out_s(&sick, "n2", 1050) == 1110);
	assert_int_equal(1, plx_sick_out_count(&sick, 1050));
	assert_int_equal(0, plx_sick_out_count(&sick, 1110));
	assert_null(plx_sick_opened(&sick, 1109));
	assert_string_equal("n2", plx_sick_opened(&sick, 1110));
	assert_null(plx_sick_opened(&sick, 1111));
	assert_int_equal(PLX_CLOSED_NOT,
			 plx_sick_closed(&sick, "n2", 7, 3, 1111));
	/* And again, after a try that failed: for twice as long. */
	assert_int_equal(PLX_CLOSED_ALL, complain(&sick, "n2", 7, 3, 1120));
	assert_true(plx_sick_out_s(&sick, "n2", 1130) == 1320);
	/* The moment at which it is open again counts. */
	assert_int_equal(PLX_CLOSED_ALL, complain(&sick, "n2", 8, 4, 1320));
}

static void two_jobs_are_named_of_two_owners_if_there_are(void **state)
{
	struct plx_sick sick = { 0 };
	uint32_t jobs[2] = { 9, 9 };

	(void) state;
	plx_sick_jobs(&sick, "n2", jobs);
	assert_int_equal(0, jobs[0] + jobs[1]);
	complain(&sick, "n2", 5, 1, 1000);
	complain(&sick, "n2", 6, 2, 1001);
	complain(&sick, "n2", 7, 2, 1002);
	plx_sick_jobs(&sick, "n2", jobs);
	assert_int_equal(5, jobs[0]);
	assert_int_equal(7, jobs[1]);
}

static void who_is_not_sure_closes_it_to_himself_alone(void **state)
{
	struct plx_sick sick = { 0 };
	struct plx_sick_claim claim = {
		.node = "n2", .now_s = 1000, .wait_s = WAIT_S, .cluster = NODES
	};
	double until_s = 0;

	(void) state;
	for (uint32_t job = 1; job < 6; job++) {
		claim.job = job;
		claim.owner = job;
		assert_int_equal(PLX_CLOSED_JOB,
				 plx_sick_complain(&sick, &claim, &until_s));
	}
}

static void who_trains_there_later_opens_it(void **state)
{
	struct plx_sick sick = { 0 };

	(void) state;
	complain(&sick, "n2", 5, 1, 1000);
	complain(&sick, "n2", 6, 1, 1010);
	/* Ranks that were there before prove nothing. */
	assert_false(plx_sick_well(&sick, "n2", 999));
	assert_true(plx_sick_well(&sick, "n2", 1020));
	assert_false(plx_sick_well(&sick, "n2", 1020));
	assert_int_equal(PLX_CLOSED_NOT,
			 plx_sick_closed(&sick, "n2", 5, 1, 1021));
	assert_int_equal(0, sick.count);
}

/* ---- liars ---- */

static void a_liar_closes_nodes_to_himself_alone(void **state)
{
	struct plx_sick sick = { 0 };
	struct reached reached[] = { { "a node is closed to the liar", 0 },
				     { "a node finds no place", 0 },
				     { "no more nodes are remembered", 0 } };
	uint64_t seed = 7;

	(void) state;
	for (int i = 0; i < 20000; i++) {
		char node[16];
		enum plx_closed closed;

		snprintf(node, sizeof(node), "n%d",
			 (int) (unit_random(&seed) % 200));
		closed = complain(&sick, node,
				  (uint32_t) (unit_random(&seed) % 50), 1,
				  1000 + i);
		assert_int_not_equal(PLX_CLOSED_ALL, closed);
		reached[0].times += closed == PLX_CLOSED_OWNER;
		reached[1].times += closed == PLX_CLOSED_NOT;
		assert_int_equal(PLX_CLOSED_NOT,
				 plx_sick_closed(&sick, node, 99, 2, 1000 + i));
		assert_true(sick.count <= PLX_SICK_NODES);
		reached[2].times += sick.count == PLX_SICK_NODES;
	}
	assert_all_reached(reached, ARRAY_SIZE(reached), 100);
}

static void two_that_complain_of_everything_count_for_nothing(void **state)
{
	struct plx_sick sick = { 0 };
	int out = 0;

	(void) state;
	/* Their program is broken: it fails wherever it grows onto. */
	for (int i = 0; i < 60; i++) {
		char node[16];

		snprintf(node, sizeof(node), "n%d", i % 20);
		complain(&sick, node, 5, 1, 1000 + i);
		complain(&sick, node, 6, 2, 1000 + i);
		out = plx_sick_out_count(&sick, 1000 + i);
		assert_true(out <= PLX_SICK_CREDIBLE);
	}
	assert_true(out <= PLX_SICK_CREDIBLE);
}

static void who_complains_of_everything_lends_nobody_weight(void **state)
{
	struct plx_sick sick = { 0 };

	(void) state;
	for (int i = 0; i <= PLX_SICK_CREDIBLE; i++) {
		char node[16];

		snprintf(node, sizeof(node), "n%d", i);
		complain(&sick, node, 5, 1, 1000);
	}
	/* As the first that was named, or a later one. */
	assert_int_equal(PLX_CLOSED_JOB, complain(&sick, "n0", 6, 2, 1010));
	assert_int_equal(PLX_CLOSED_JOB, complain(&sick, "n3", 6, 2, 1010));
	assert_int_equal(0, plx_sick_out_count(&sick, 1011));
}

static void at_most_a_tenth_of_the_nodes_is_closed_to_all(void **state)
{
	struct plx_sick sick = { 0 };

	(void) state;
	assert_int_equal(1, plx_sick_most(1));
	assert_int_equal(1, plx_sick_most(19));
	assert_int_equal(10, plx_sick_most(NODES));
	/* Any number of accounts, four nodes each. */
	for (int i = 0; i < 40; i++) {
		char node[16];
		uint32_t owner = (uint32_t) (i / 4);

		snprintf(node, sizeof(node), "n%d", i);
		complain(&sick, node, 10 + owner, 10 + owner, 1000);
		complain(&sick, node, 50 + owner, 50 + owner, 1000);
	}
	assert_int_equal(10, plx_sick_out_count(&sick, 1001));
}

static void who_floods_a_node_drives_out_no_other_complaint(void **state)
{
	struct plx_sick sick = { 0 };

	(void) state;
	complain(&sick, "n2", 5, 1, 1000);
	for (uint32_t job = 100; job < 140; job++)
		complain(&sick, "n2", job, 2, 1001);
	assert_int_equal(PLX_CLOSED_JOB,
			 plx_sick_closed(&sick, "n2", 5, 1, 1002));
}

static void what_is_old_is_forgotten(void **state)
{
	struct plx_sick sick = { 0 };
	double late_s = 1001 + PLX_SICK_MEMORY * WAIT_S;

	(void) state;
	complain(&sick, "n2", 5, 1, 1000);
	assert_true(plx_sick_next_s(&sick, 1000) == 1000 + WAIT_S);
	assert_true(plx_sick_next_s(&sick, 1000 + WAIT_S) == 0);
	plx_sick_forget(&sick, late_s, WAIT_S);
	assert_int_equal(0, sick.count);
	assert_int_equal(PLX_CLOSED_JOB, complain(&sick, "n2", 6, 2, late_s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_names_of_nodes_are_read),
		cmocka_unit_test(a_list_takes_four_names_and_each_once),
		cmocka_unit_test(a_status_tells_it_and_comes_back),
		cmocka_unit_test(
			a_reason_is_cut_and_what_is_not_printable_is_not_shown),
		cmocka_unit_test(
			one_complaint_closes_the_node_to_the_job_alone),
		cmocka_unit_test(
			each_time_it_is_closed_for_twice_as_long_up_to_32),
		cmocka_unit_test(two_jobs_of_an_owner_close_it_to_that_owner),
		cmocka_unit_test(two_owners_close_it_to_all),
		cmocka_unit_test(two_jobs_are_named_of_two_owners_if_there_are),
		cmocka_unit_test(who_is_not_sure_closes_it_to_himself_alone),
		cmocka_unit_test(who_trains_there_later_opens_it),
		cmocka_unit_test(a_liar_closes_nodes_to_himself_alone),
		cmocka_unit_test(
			two_that_complain_of_everything_count_for_nothing),
		cmocka_unit_test(at_most_a_tenth_of_the_nodes_is_closed_to_all),
		cmocka_unit_test(
			who_floods_a_node_drives_out_no_other_complaint),
		cmocka_unit_test(what_is_old_is_forgotten),
		cmocka_unit_test(
			who_complains_of_everything_lends_nobody_weight),
	};

	return cmocka_run_group_tests_name("sick", tests, NULL, NULL);
}
