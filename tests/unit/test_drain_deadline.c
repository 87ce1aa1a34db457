/* SPDX-License-Identifier: MIT */
/*
 * test_drain_deadline.c - when a node is to be left, by the reason of its drain
 */

#include "core/records/drain_deadline.h"
#include "unit.h"

#define SET_S 1767225600.0 /* 2026-01-01T00:00:00 UTC */

struct row {
	const char *reason;
	double offset_s;
	double until_s; /* from SET_S; BAD, LEAVE or NONE */
};
#define NONE  -1e9
#define LEAVE -2e9
#define BAD   -3e9

static const struct row rows[] = {
	{ NULL, 0, NONE },
	{ "", 0, NONE },
	{ "bad disk", 0, NONE },
	{ "leave", 0, LEAVE },
	{ "LEAVE: new kernel", 0, LEAVE },
	{ "leave until=13:00", 0, LEAVE },
	{ "leaves of absence", 0, NONE },
	{ "please leave it alone", 0, NONE },
	{ "until=1767225660", 0, 60 },
	{ "spot notice, until=1767225660, sorry", 0, 60 },
	{ "(until=1767225660)", 0, 60 },
	{ "not-until=1767225660", 0, NONE },
	{ "until=now", 0, 0 },
	{ "until=now+90", 0, 90 },
	{ "until=now+10minutes", 0, 600 },
	{ "until=now+10min", 0, 600 },
	{ "until=now+2hours", 0, 7200 },
	{ "until=now+1day", 0, 86400 },
	{ "until=2026-01-01T12:00:00", 0, 43200 },
	{ "until=2026-01-01T12:00", 3600, 39600 },
	{ "until=2026-01-02", -3600, 90000 },
	{ "until=2024-03-01", 0, -671 * 86400.0 },
	{ "until=2100-03-01T00:00:01", 0, 2340316801.0 },
	{ "until=00:10", 0, 600 },
	{ "until=00:00:00", 0, 86400 },
	{ "until=02:30", 3600, 5400 },
	{ "until=", 0, BAD },
	{ "until=soon", 0, BAD },
	{ "until=now-5", 0, BAD },
	{ "until=now+5parsecs", 0, BAD },
	{ "until=now+99999999999", 0, BAD },
	{ "until=12345", 0, BAD },
	{ "until=17672256601234", 0, BAD },
	{ "until=2026-13-01", 0, BAD },
	{ "until=2026-00-01", 0, BAD },
	{ "until=2026-01-32", 0, BAD },
	{ "until=1969-01-01", 0, BAD },
	{ "until=2026-01-01T24:00", 0, BAD },
	{ "until=12:60", 0, BAD },
	{ "until=12:00:99", 0, BAD },
	{ "until=1e9", 0, BAD },
	{ "until=nan", 0, BAD },
};

static void a_reason_says_when_to_leave(void **state)
{
	(void) state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct plx_error err = { .text = "" };
		struct plx_drain_deadline deadline;
		int rc = plx_drain_deadline_read(
			row->reason, SET_S, row->offset_s, &deadline, &err);

		if (rc != (row->until_s == BAD ? -1 : 0))
			fail_msg("%s: %d", row->reason, rc);
		if (row->until_s == BAD || row->until_s == NONE)
			assert_int_equal(PLX_DRAIN_DEADLINE_NONE,
					 deadline.kind);
		else if (row->until_s == LEAVE)
			assert_int_equal(PLX_DRAIN_DEADLINE_LEAVE,
					 deadline.kind);
		else if (deadline.kind != PLX_DRAIN_DEADLINE_UNTIL ||
			 deadline.until_s != SET_S + row->until_s)
			fail_msg("%s: %.0f s", row->reason,
				 deadline.until_s - SET_S);
	}
}

static void what_is_no_time_is_named(void **state)
{
	struct plx_error err = { .text = "" };
	struct plx_drain_deadline deadline;

	(void) state;
	assert_int_equal(-1,
			 plx_drain_deadline_read("spot until=so\001on", SET_S,
						 0, &deadline, &err));
	assert_string_equal("until=so?on is not a time", err.text);
}

static void whole_jobs_leave_two_minutes_before(void **state)
{
	const struct plx_drain_deadline none = {
		.kind = PLX_DRAIN_DEADLINE_NONE
	};
	const struct plx_drain_deadline leave = {
		.kind = PLX_DRAIN_DEADLINE_LEAVE
	};
	const struct plx_drain_deadline until = {
		.kind = PLX_DRAIN_DEADLINE_UNTIL, .until_s = 1000
	};

	(void) state;
	assert_false(plx_drain_deadline_is_due(&none, 1e12));
	assert_true(plx_drain_deadline_is_due(&leave, 0));
	assert_false(plx_drain_deadline_is_due(&until, 879));
	assert_true(plx_drain_deadline_is_due(&until, 880));
	assert_true(plx_drain_deadline_is_due(&until, 5000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reason_says_when_to_leave),
		cmocka_unit_test(what_is_no_time_is_named),
		cmocka_unit_test(whole_jobs_leave_two_minutes_before),
	};

	return cmocka_run_group_tests_name("drain_deadline", tests, NULL, NULL);
}
