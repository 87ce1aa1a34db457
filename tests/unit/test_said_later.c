/* SPDX-License-Identifier: MIT */
/*
 * test_said_later.c - what is said under a lock waits until it is given up
 *
 * Slurm's locks and log are played here.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/pollux/locks.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

enum { MANY = 1000 };

static struct {
	bool locked;
	int said;	/* lines so far */
	int under_lock; /* of them */
	int out_of_order;
	int acted_after; /* lines that were said before it was done */
} w;

void lock_slurmctld(slurmctld_lock_t lock)
{
	(void) lock;
	w.locked = true;
}

void unlock_slurmctld(slurmctld_lock_t lock)
{
	(void) lock;
	w.locked = false;
}

int get_log_level(void)
{
	return LOG_LEVEL_INFO;
}

/* Each line is its number, counted from 0. */
void log_var(const log_level_t level, const char *format, ...)
{
	va_list args;
	char text[32];

	(void) level;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	w.out_of_order += atoi(text) != w.said;
	w.said++;
	w.under_lock += w.locked;
}

void schedule_job_save(void)
{
}

void agent_queue_request(agent_arg_t *message)
{
	(void) message;
}

static int set_up(void **state)
{
	(void) state;
	memset(&w, 0, sizeof(w));
	return 0;
}

static void without_a_lock_it_is_said_at_once(void **state)
{
	(void) state;
	pollux_info("%d", 0);
	assert_int_equal(1, w.said);
}

static void nothing_is_said_under_a_lock_however_much_it_is(void **state)
{
	(void) state;
	pollux_lock(POLLUX_REPORTING);
	for (int i = 0; i < MANY; i++)
		pollux_info("%d", i);
	assert_int_equal(0, w.said);
	pollux_unlock(POLLUX_REPORTING);
	assert_int_equal(MANY, w.said);
	assert_int_equal(0, w.under_lock);
	assert_int_equal(0, w.out_of_order);
}

static void _act(void *unused)
{
	(void) unused;
	w.acted_after = w.said;
	pollux_info("%d", 1);
}

static void what_is_said_by_what_is_done_later_comes_last(void **state)
{
	(void) state;
	pollux_lock(POLLUX_TOUCH);
	pollux_after_unlock(_act, NULL);
	pollux_info("%d", 0);
	pollux_unlock(POLLUX_TOUCH);
	assert_int_equal(0, w.acted_after);
	assert_int_equal(2, w.said);
	assert_int_equal(0, w.out_of_order);
}

static void what_is_below_the_level_is_not_kept(void **state)
{
	(void) state;
	pollux_lock(POLLUX_TOUCH);
	pollux_verbose("%d", 7);
	pollux_unlock(POLLUX_TOUCH);
	assert_int_equal(0, w.said);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_lock_it_is_said_at_once),
		TEST(nothing_is_said_under_a_lock_however_much_it_is),
		TEST(what_is_said_by_what_is_done_later_comes_last),
		TEST(what_is_below_the_level_is_not_kept),
	};

	return cmocka_run_group_tests_name("said later", tests, NULL, NULL);
}
