/* SPDX-License-Identifier: MIT */
/*
 * test_noted.c - where the next run of a job could not begin steps for a while
 *
 * Slurm's nodes and bitmaps are played here.
 */
#include <string.h>

#include "sched/pollux/resize/noted.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

enum { NODES = 4, EXPIRE_S = 120, NOW_S = 1000 };

slurm_conf_t slurm_conf;

static char script_host[] = "n0";

static struct {
	int size; /* of bitmaps */
	int bitmaps;
	node_record_t nodes[NODES];
	job_record_t job;
	struct pollux_job_state state;
} w;

static bitstr_t *make(long nodes)
{
	bitstr_t *bits = calloc(BITSTR_OVERHEAD + 2, sizeof(*bits));

	bits[BITSTR_OVERHEAD] = nodes;
	bits[BITSTR_OVERHEAD + 1] = w.size;
	w.bitmaps++;
	return bits;
}

bitstr_t *bit_copy(bitstr_t *bits)
{
	bitstr_t *copy = make(bits[BITSTR_OVERHEAD]);

	copy[BITSTR_OVERHEAD + 1] = bits[BITSTR_OVERHEAD + 1];
	return copy;
}

void slurm_bit_free(bitstr_t **bits)
{
	w.bitmaps--;
	free(*bits);
	*bits = NULL;
}

void bit_clear(bitstr_t *bits, bitoff_t n)
{
	bits[BITSTR_OVERHEAD] &= ~(1L << n);
}

bitoff_t bit_ffs(bitstr_t *bits)
{
	return bits[BITSTR_OVERHEAD] ? 0 : -1;
}

bitoff_t bit_size(bitstr_t *bits)
{
	return bits[BITSTR_OVERHEAD + 1];
}

void bit_or(bitstr_t *bits, bitstr_t *others)
{
	bits[BITSTR_OVERHEAD] |= others[BITSTR_OVERHEAD];
}

int bit_overlap_any(bitstr_t *bits, bitstr_t *others)
{
	return (bits[BITSTR_OVERHEAD] & others[BITSTR_OVERHEAD]) != 0;
}

node_record_t *find_node_record(char *name)
{
	return &w.nodes[name[1] - '0'];
}

/* The job's script is on the first of four nodes. */
static int set_up(void **state)
{
	(void) state;
	memset(&w, 0, sizeof(w));
	w.size = NODES;
	for (int n = 0; n < NODES; n++)
		w.nodes[n].index = n;
	w.job.batch_flag = 1;
	w.job.batch_host = script_host;
	return 0;
}

static int tear_down(void **state)
{
	(void) state;
	FREE_NULL_BITMAP(w.state.noted);
	return w.bitmaps;
}

static void add(long nodes, double now_s)
{
	bitstr_t *bits = make(nodes);

	pollux_noted_add(&w.job, &w.state, bits, now_s);
	bit_free(bits);
}

static bool bars(long nodes, double now_s)
{
	bitstr_t *bits = make(nodes);
	bool is = pollux_noted_bars(&w.state, bits, now_s);

	bit_free(bits);
	return is;
}

static void who_gave_nothing_up_may_begin_anywhere(void **state)
{
	(void) state;
	assert_false(bars(0xf, NOW_S));
	assert_false(pollux_noted_bars(&w.state, NULL, NOW_S));
}

static void nodes_are_barred_as_long_as_credentials_are_good(void **state)
{
	(void) state;
	add(0x6, NOW_S);
	assert_true(bars(0x2, NOW_S));
	assert_true(bars(0xc, NOW_S + EXPIRE_S));
	assert_false(bars(0x9, NOW_S));
	assert_false(bars(0x6, NOW_S + EXPIRE_S + 1));
	/* Anywhere. */
	assert_true(pollux_noted_bars(&w.state, NULL, NOW_S));
	assert_false(pollux_noted_bars(&w.state, NULL, NOW_S + EXPIRE_S + 1));
}

static void not_where_a_group_stays(void **state)
{
	(void) state;
	add(0x1, NOW_S);
	assert_false(bars(0xf, NOW_S));
	add(0x3, NOW_S);
	assert_false(bars(0x1, NOW_S));
	assert_true(bars(0x2, NOW_S));
}

static void without_a_script_all_nodes_count(void **state)
{
	(void) state;
	w.job.batch_flag = 0;
	add(0x1, NOW_S);
	assert_true(bars(0x1, NOW_S));
}

static void nodes_come_together(void **state)
{
	(void) state;
	add(0x2, NOW_S);
	add(0x4, NOW_S + 60);
	assert_true(bars(0x2, NOW_S + 60));
	assert_true(bars(0x4, NOW_S + 60));
	/* The first is over. */
	add(0x8, NOW_S + 1000);
	assert_false(bars(0x6, NOW_S + 1000));
	assert_true(bars(0x8, NOW_S + 1000));
}

static void with_other_nodes_none_is_known(void **state)
{
	(void) state;
	add(0x2, NOW_S);
	w.size = NODES + 1;
	assert_true(bars(0x8, NOW_S));
	add(0x4, NOW_S);
	assert_false(bars(0x8, NOW_S));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_gave_nothing_up_may_begin_anywhere),
		TEST(nodes_are_barred_as_long_as_credentials_are_good),
		TEST(not_where_a_group_stays),
		TEST(without_a_script_all_nodes_count),
		TEST(nodes_come_together),
		TEST(with_other_nodes_none_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
