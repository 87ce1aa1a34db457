/* SPDX-License-Identifier: MIT */
/* test_backlog.c - which of the jobs that wait are looked at */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve/backlog.h"
#include "unit.h"

#define MOST 100

static const char main_part, long_part;

static void offer(struct plx_backlog *backlog, uint32_t id, uint64_t priority,
		  uint32_t user)
{
	const struct plx_backlog_entry entry = { .id = id,
						 .priority = priority,
						 .user = user,
						 .assoc = user,
						 .partition = &main_part };

	assert_int_equal(0, plx_backlog_offer(backlog, &entry));
}

static int choose(const struct plx_backlog *backlog,
		  struct plx_backlog_bounds bounds,
		  struct plx_backlog_entry *chosen)
{
	struct plx_error err = { .text = "" };
	int count = plx_backlog_choose(backlog, &bounds, chosen, &err);

	if (count < 0)
		fail_msg("%s", err.text);
	return count;
}

static int of_user(const struct plx_backlog_entry *chosen, int count,
		   uint32_t user)
{
	int entries = 0;

	for (int i = 0; i < count; i++)
		entries += chosen[i].user == user;
	return entries;
}

static void the_first_by_priority_are_chosen(void **state)
{
	struct plx_backlog *backlog = plx_backlog_create(3);
	struct plx_backlog_entry chosen[MOST];

	(void) state;
	offer(backlog, 1, 10, 1);
	offer(backlog, 2, 30, 1);
	offer(backlog, 3, 20, 1);
	offer(backlog, 4, 40, 1);
	offer(backlog, 5, 30, 2);
	assert_int_equal(3, choose(backlog, (struct plx_backlog_bounds){ 0 },
				   chosen));
	assert_int_equal(4, chosen[0].id);
	assert_int_equal(2, chosen[1].id); /* the older of two */
	assert_int_equal(5, chosen[2].id);
	plx_backlog_destroy(backlog);
}

/* Her jobs go first; the one of somebody else is looked at all the same. */
static void one_users_jobs_do_not_hide_anothers(void **state)
{
	struct plx_backlog *backlog = plx_backlog_create(MOST);
	struct plx_backlog_entry chosen[MOST];
	struct plx_backlog_bounds bounds = { .fair = 25 };

	(void) state;
	for (uint32_t id = 1; id <= 300; id++)
		offer(backlog, id, 1000, 1);
	offer(backlog, 500, 1, 2);
	assert_int_equal(MOST, choose(backlog, bounds, chosen));
	assert_int_equal(99, of_user(chosen, MOST, 1));
	for (uint32_t i = 0; i < 99; i++)
		assert_int_equal(i + 1, chosen[i].id);
	assert_int_equal(500, chosen[99].id);
	bounds.fair = 0;
	assert_int_equal(MOST, choose(backlog, bounds, chosen));
	assert_int_equal(0, of_user(chosen, MOST, 2));
	plx_backlog_destroy(backlog);
}

static void a_fair_share_is_each_users(void **state)
{
	struct plx_backlog *backlog = plx_backlog_create(MOST);
	struct plx_backlog_entry chosen[MOST];

	(void) state;
	for (uint32_t id = 1; id <= 500; id++)
		offer(backlog, id, 1000 - id % 7, id <= 480 ? id % 4 : 9);
	assert_int_equal(MOST, choose(backlog,
				      (struct plx_backlog_bounds){ .fair = 25 },
				      chosen));
	for (uint32_t user = 0; user < 4; user++)
		assert_true(of_user(chosen, MOST, user) >= 15 &&
			    of_user(chosen, MOST, user) <= 25);
	plx_backlog_destroy(backlog);
}

/* Of three users in two partitions, with two associations each. */
static struct plx_backlog *site(void)
{
	struct plx_backlog *backlog = plx_backlog_create(MOST);

	for (uint32_t id = 1; id <= 240; id++) {
		const struct plx_backlog_entry entry = {
			.id = id,
			.priority = 1000 - id % 13,
			.user = id % 3,
			.assoc = id % 3 * 10 + id / 3 % 2 + 1,
			.partition = id / 6 % 2 ? &main_part : &long_part,
		};

		assert_int_equal(0, plx_backlog_offer(backlog, &entry));
	}
	return backlog;
}

/* The most entries of any that are alike in what a bound is about. */
struct most {
	int user, both, partition, assoc;
};

static int more(int a, int b)
{
	return a > b ? a : b;
}

static struct most most_of(const struct plx_backlog_entry *chosen, int count)
{
	struct most most = { 0 };

	for (int i = 0; i < count; i++) {
		int user = 0, both = 0, partition = 0, assoc = 0;

		for (int k = 0; k < count; k++) {
			bool same = chosen[k].user == chosen[i].user;
			bool there = chosen[k].partition == chosen[i].partition;

			user += same;
			partition += there;
			both += same && there;
			assoc += chosen[k].assoc == chosen[i].assoc;
		}
		most.user = more(most.user, user);
		most.both = more(most.both, both);
		most.partition = more(most.partition, partition);
		most.assoc = more(most.assoc, assoc);
	}
	return most;
}

static void backfills_bounds_hold(void **state)
{
	static const struct {
		struct plx_backlog_bounds bounds;
		int chosen;
	} cases[] = {
		{ { .user = 4 }, 12 },
		{ { .user_partition = 3 }, 18 },
		{ { .partition = 9 }, 18 },
		{ { .assoc = 2 }, 12 },
		{ { .user = 7, .partition = 5 }, 10 },
		{ { .user = 2, .fair = 1 }, 6 },
		{ { .assoc = 5, .user_partition = 50, .fair = 4 }, 30 },
	};
	struct plx_backlog *backlog = site();
	struct plx_backlog_entry chosen[MOST];

	(void) state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct plx_backlog_bounds *bounds = &cases[i].bounds;
		int count = choose(backlog, *bounds, chosen);
		struct most most = most_of(chosen, count);

		assert_int_equal(cases[i].chosen, count);
		assert_true(!bounds->user || most.user <= bounds->user);
		assert_true(!bounds->user_partition ||
			    most.both <= bounds->user_partition);
		assert_true(!bounds->partition ||
			    most.partition <= bounds->partition);
		assert_true(!bounds->assoc || most.assoc <= bounds->assoc);
		for (int k = 1; k < count; k++)
			assert_true(chosen[k - 1].priority >=
				    chosen[k].priority);
	}
	plx_backlog_destroy(backlog);
}

static void who_has_no_association_is_not_bounded_by_it(void **state)
{
	struct plx_backlog *backlog = plx_backlog_create(MOST);
	struct plx_backlog_entry chosen[MOST];

	(void) state;
	for (uint32_t id = 1; id <= 10; id++)
		offer(backlog, id, id, 0);
	assert_int_equal(10, choose(backlog,
				    (struct plx_backlog_bounds){ .assoc = 2 },
				    chosen));
	plx_backlog_destroy(backlog);
}

/* What is forgotten when it is offered would not have been chosen. */
static int by_turn(const void *a, const void *b)
{
	const struct plx_backlog_entry *x = a;
	const struct plx_backlog_entry *y = b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* All users' jobs, by a plain walk that keeps nothing back. */
static int plainly(const struct plx_backlog_entry *all, int count, int user,
		   int most, uint32_t *ids)
{
	int chosen = 0;
	int of[400] = { 0 };

	for (int i = 0; i < count && chosen < most; i++) {
		if (user && of[all[i].user] >= user)
			continue;
		of[all[i].user]++;
		ids[chosen++] = all[i].id;
	}
	return chosen;
}

static void as_if_all_had_been_kept(void **state)
{
	static struct plx_backlog_entry all[3000];
	uint32_t seed = 7;
	int bounded = 0;

	(void) state;
	for (int world = 0; world < 60; world++) {
		uint32_t users = 1 + next(&seed) % 300;
		int count = (int) (next(&seed) % 3000);
		int user = (int) (next(&seed) % 4);
		struct plx_backlog *backlog = plx_backlog_create(MOST);
		struct plx_backlog_entry chosen[MOST];
		uint32_t ids[MOST];
		int want = 0;

		for (int i = 0; i < count; i++) {
			all[i] = (struct plx_backlog_entry){
				.id = (uint32_t) (i + 1),
				.priority = next(&seed) % 50,
				.user = next(&seed) % users,
				.assoc = 1 + next(&seed) % 3,
				.partition = next(&seed) % 2 ? &main_part
							     : &long_part,
			};
			assert_int_equal(0,
					 plx_backlog_offer(backlog, &all[i]));
		}
		qsort(all, (size_t) count, sizeof(all[0]), by_turn);
		want = plainly(all, count, user, MOST, ids);
		assert_int_equal(want, choose(backlog,
					      (struct plx_backlog_bounds){
						      .user = user },
					      chosen));
		for (int i = 0; i < want; i++)
			assert_int_equal(ids[i], chosen[i].id);
		bounded += user && want < count;
		plx_backlog_destroy(backlog);
	}
	assert_true(bounded > 20);
}

static void offer_first(struct plx_backlog *backlog, uint32_t id, uint32_t user)
{
	const struct plx_backlog_entry entry = { .id = id,
						 .priority = 1,
						 .user = user,
						 .assoc = user,
						 .partition = &main_part,
						 .first = true };

	assert_int_equal(0, plx_backlog_offer(backlog, &entry));
}

static int first_of(const struct plx_backlog_entry *chosen, int count)
{
	int first = 0;

	for (int i = 0; i < count; i++)
		first += chosen[i].first;
	return first;
}

/* Her own jobs, too, are more than are looked at. */
static void who_goes_first_is_chosen_behind_many_others(void **state)
{
	struct plx_backlog *backlog = plx_backlog_create(MOST);
	struct plx_backlog_entry chosen[MOST];
	struct plx_backlog_bounds bounds = { .fair = 25, .first = 50 };

	(void) state;
	for (uint32_t id = 1; id <= 300; id++)
		offer(backlog, id, 1000, id % 3 + 1);
	offer_first(backlog, 500, 1);
	assert_int_equal(MOST, choose(backlog, bounds, chosen));
	assert_int_equal(1, first_of(chosen, MOST));
	assert_int_equal(500, chosen[MOST - 1].id); /* by priority */
	plx_backlog_destroy(backlog);
}

static void many_of_them_leave_room_for_others(void **state)
{
	struct plx_backlog *backlog = plx_backlog_create(MOST);
	struct plx_backlog_entry chosen[MOST];
	struct plx_backlog_bounds bounds = { .fair = 25, .first = 50 };

	(void) state;
	for (uint32_t id = 1; id <= 300; id++) {
		offer(backlog, id, 1000, id % 9 + 1);
		offer_first(backlog, 1000 + id, id % 9 + 1);
	}
	assert_int_equal(MOST, choose(backlog, bounds, chosen));
	assert_int_equal(50, first_of(chosen, MOST));
	plx_backlog_destroy(backlog);
}

static void nobody_waits(void **state)
{
	struct plx_backlog *backlog = plx_backlog_create(MOST);
	struct plx_backlog_entry chosen[MOST];

	(void) state;
	assert_int_equal(0, choose(backlog,
				   (struct plx_backlog_bounds){ .fair = 25 },
				   chosen));
	plx_backlog_destroy(backlog);
	plx_backlog_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_by_priority_are_chosen),
		cmocka_unit_test(one_users_jobs_do_not_hide_anothers),
		cmocka_unit_test(a_fair_share_is_each_users),
		cmocka_unit_test(backfills_bounds_hold),
		cmocka_unit_test(who_has_no_association_is_not_bounded_by_it),
		cmocka_unit_test(as_if_all_had_been_kept),
		cmocka_unit_test(who_goes_first_is_chosen_behind_many_others),
		cmocka_unit_test(many_of_them_leave_room_for_others),
		cmocka_unit_test(nobody_waits),
	};

	return cmocka_run_group_tests_name("backlog", tests, NULL, NULL);
}
