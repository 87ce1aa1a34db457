/* SPDX-License-Identifier: MIT */
/* test_node_devices.c - which GPUs of a node a job gets */

#include <string.h>

#include "core/problem/devices.h"
#include "unit.h"

#define SIZE_MAX_HERE 8

/*
 * A node as a text, a letter for each device: u its steps use it, h it holds
 * it, f it is free, x another's; of two sockets the first has the first half.
 * capacity: of each socket, a digit; NULL: any. The answer has a 1 for each
 * that is chosen; NULL: there are not as many.
 */
struct node_case {
	const char *node;
	const char *capacity;
	const int *links;
	bool only_near;
	int count;
	const char *want;
};

/* Linked are 0 and 2, 1 and 3; twice 0 and 3. */
static const int pairs[16] = {
	-1, 0,	4,  8,	/* 0 */
	0,  -1, 0,  4,	/* 1 */
	4,  0,	-1, 0,	/* 2 */
	8,  4,	0,  -1, /* 3 */
};

/* 0 and 1, 2 and 3 are two islands. */
static const int islands[16] = {
	0, 4, 0, 0, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 4, 0
};

static void read_node(const char *text, struct plx_device *at)
{
	for (int i = 0; text[i]; i++)
		at[i] = (struct plx_device){
			.barred = text[i] == 'x',
			.held = text[i] == 'u' || text[i] == 'h',
			.used = text[i] == 'u',
			.socket = i >= (int) strlen(text) / 2,
		};
}

static void expect(const struct node_case *c)
{
	struct plx_device at[SIZE_MAX_HERE];
	bool chosen[SIZE_MAX_HERE];
	char got[SIZE_MAX_HERE + 1] = "";
	int capacity[2] = { 0, 0 };
	struct plx_devices devices = {
		.size = (int) strlen(c->node),
		.at = at,
		.links = c->links,
		.capacity = c->capacity ? capacity : NULL,
		.only_near = c->only_near,
	};

	read_node(c->node, at);
	for (int s = 0; c->capacity && s < 2; s++)
		capacity[s] = c->capacity[s] - '0';
	assert_int_equal(c->want != NULL,
			 plx_devices_choose(&devices, c->count, chosen));
	if (!c->want)
		return;
	for (int i = 0; i < devices.size; i++)
		strcat(got, chosen[i] ? "1" : "0");
	assert_string_equal(c->want, got);
}

static void expect_all(const struct node_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		expect(&cases[i]);
}

static void what_its_steps_use_is_kept_first(void **state)
{
	static const struct node_case cases[] = {
		{ "hhuu", NULL, NULL, false, 2, "0011" },
		{ "hhuu", NULL, NULL, false, 3, "1011" },
		{ "fhfu", "99", NULL, false, 1, "0001" },
		{ "fhfu", "99", NULL, false, 2, "0101" },
		{ "fhfu", "00", NULL, true, 2, "0101" },
		{ "hhhh", "02", pairs, false, 2, "0011" },
		{ "uhhh", "02", pairs, false, 2, "1001" },
		{ "ffff", NULL, NULL, false, 0, "0000" },
	};

	(void) state;
	expect_all(cases, ARRAY_SIZE(cases));
}

static void free_ones_are_taken_near_its_cores(void **state)
{
	static const struct node_case cases[] = {
		{ "fffu", "09", NULL, false, 2, "0011" },
		{ "ffxu", "09", NULL, false, 2, "1001" },
		{ "ffff", "09", NULL, false, 3, "1011" },
		{ "fffu", NULL, NULL, false, 2, "1001" },
		{ "ffxu", "09", NULL, true, 2, NULL },
		{ "fffu", "09", NULL, true, 2, "0011" },
		{ "xxfu", "99", NULL, false, 3, NULL },
	};

	(void) state;
	expect_all(cases, ARRAY_SIZE(cases));
}

/* A core a GPU: where its cores are used up, the next is another socket's. */
static void each_has_cores_of_its_own(void **state)
{
	static const struct node_case cases[] = {
		{ "ufff", "11", NULL, true, 2, "1010" },
		{ "ufff", "12", NULL, true, 3, "1011" },
		{ "ufff", "12", NULL, true, 4, NULL },
		{ "ufff", "12", NULL, false, 4, "1111" },
		{ "ffff", "11", NULL, true, 2, "1010" },
	};

	(void) state;
	expect_all(cases, ARRAY_SIZE(cases));
}

static void among_equals_the_best_linked_is_taken(void **state)
{
	static const struct node_case cases[] = {
		{ "ufff", NULL, pairs, false, 2, "1001" },
		{ "uffx", NULL, pairs, false, 2, "1010" },
		{ "fuff", NULL, pairs, false, 2, "0101" },
		{ "fuff", NULL, pairs, false, 3, "1101" },
		/* Nearness comes first, as with Slurm. */
		{ "ufff", "90", pairs, false, 2, "1100" },
	};

	(void) state;
	expect_all(cases, ARRAY_SIZE(cases));
}

static void a_first_one_has_others_to_join(void **state)
{
	static const struct node_case cases[] = {
		{ "xfff", NULL, islands, false, 2, "0011" },
		{ "xfff", NULL, islands, false, 3, "0111" },
		/* One alone takes nobody's partner. */
		{ "xfff", NULL, islands, false, 1, "0100" },
		{ "ffff", NULL, islands, false, 2, "1100" },
	};

	(void) state;
	expect_all(cases, ARRAY_SIZE(cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_its_steps_use_is_kept_first),
		cmocka_unit_test(free_ones_are_taken_near_its_cores),
		cmocka_unit_test(each_has_cores_of_its_own),
		cmocka_unit_test(among_equals_the_best_linked_is_taken),
		cmocka_unit_test(a_first_one_has_others_to_join),
	};

	return cmocka_run_group_tests_name("node devices", tests, NULL, NULL);
}
