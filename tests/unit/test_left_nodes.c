/* SPDX-License-Identifier: MIT */
/*
 * test_left_nodes.c - what a job may have on nodes that it left
 *
 * Slurm's nodes and bitmaps, the clock, and what is remembered of jobs are
 * played here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/node_gpus.h"
#include "sched/pollux/job_state.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/rules/left_nodes.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "slurm_memory.h"
#include "unit.h"

enum { NODES = 4, GPUS = 4, GOOD_S = 120 };

int node_record_count = NODES;
node_record_t **node_record_table_ptr;
slurm_conf_t slurm_conf;

/* One word of bits, behind what Slurm keeps before them. */
struct map {
	bitstr_t words[BITSTR_OVERHEAD + 1];
};

static struct {
	struct pollux_job_state state;
	node_record_t nodes[NODES];
	node_record_t *table[NODES];
	char names[NODES][4];
	gres_node_state_t gpus[NODES];
	struct map taken[NODES];
	struct map had[NODES];
	bitstr_t *held[NODES];
	struct map on;
	struct map now;
	struct map allowed;
	job_record_t job;
	job_resources_t resources;
	double now_s;
} w;

/* ---- Slurm */

int xstrcmp(const char *one, const char *other)
{
	return strcmp(one, other);
}

int bit_test(bitstr_t *bits, bitoff_t n)
{
	return bits[BITSTR_OVERHEAD] >> n & 1;
}

void bit_set(bitstr_t *bits, bitoff_t n)
{
	bits[BITSTR_OVERHEAD] |= 1L << n;
}

void bit_clear(bitstr_t *bits, bitoff_t n)
{
	bits[BITSTR_OVERHEAD] &= ~(1L << n);
}

bitoff_t bit_size(bitstr_t *bits)
{
	(void) bits;
	return GPUS;
}

bitoff_t bit_ffs(bitstr_t *bits)
{
	return ffsl(bits[BITSTR_OVERHEAD]) - 1;
}

int32_t bit_set_count(bitstr_t *bits)
{
	return __builtin_popcountl((unsigned long) bits[BITSTR_OVERHEAD]);
}

int bit_super_set(bitstr_t *one, bitstr_t *other)
{
	return !(one[BITSTR_OVERHEAD] & ~other[BITSTR_OVERHEAD]);
}

int bit_overlap_any(bitstr_t *one, bitstr_t *other)
{
	return (one[BITSTR_OVERHEAD] & other[BITSTR_OVERHEAD]) != 0;
}

void bit_or(bitstr_t *one, bitstr_t *other)
{
	one[BITSTR_OVERHEAD] |= other[BITSTR_OVERHEAD];
}

bitstr_t *bit_alloc(bitoff_t size)
{
	(void) size;
	return calloc(1, sizeof(struct map));
}

bitstr_t *bit_copy(bitstr_t *bits)
{
	bitstr_t *copy = bit_alloc(0);

	copy[BITSTR_OVERHEAD] = bits[BITSTR_OVERHEAD];
	return copy;
}

void slurm_bit_free(bitstr_t **bits)
{
	free(*bits);
	*bits = NULL;
}

node_record_t *find_node_record(char *name)
{
	return name[0] == 'n' ? &w.nodes[name[1] - '0'] : NULL;
}

/* ---- the plugin */

double pollux_now_s(void)
{
	return w.now_s;
}

struct pollux_job_state *pollux_job_state_find(uint32_t job_id)
{
	return job_id == w.state.job_id ? &w.state : NULL;
}

struct pollux_job_state *pollux_job_state_get(uint32_t job_id)
{
	return pollux_job_state_find(job_id);
}

void pollux_left_node_free(struct pollux_left_node *left)
{
	free(left->name);
	free(left->devices);
	free(left);
}

const gres_node_state_t *pollux_node_gpus(const node_record_t *node)
{
	return &w.gpus[node->index];
}

bool pollux_node_device_shared(const gres_node_state_t *gpus, int i)
{
	(void) gpus, (void) i;
	return false;
}

void pollux_node_hide(const node_record_t *node, bitstr_t *devices)
{
	bit_or(w.gpus[node->index].gres_bit_alloc, devices);
}

int pollux_shape_on(const struct pollux_shape *shape, int n)
{
	return bit_test(shape->nodes, n) ? shape->gpus : 0;
}

/* ---- */

static long bits(bitstr_t *of)
{
	return of[BITSTR_OVERHEAD];
}

static void put(struct map *map, long to)
{
	map->words[BITSTR_OVERHEAD] = to;
}

/* The job had devices 0 and 1 of n1, and left it for n0. */
static int set_up(void **state)
{
	(void) state;
	memset(&w, 0, sizeof(w));
	for (int n = 0; n < NODES; n++) {
		snprintf(w.names[n], sizeof(w.names[n]), "n%d", n);
		w.nodes[n].name = w.names[n];
		w.nodes[n].index = n;
		w.table[n] = &w.nodes[n];
		w.gpus[n].gres_bit_alloc = w.taken[n].words;
	}
	node_record_table_ptr = w.table;
	w.state.job_id = w.job.job_id = 7;
	w.job.node_bitmap = w.on.words;
	w.job.job_resrcs = &w.resources;
	w.resources.node_bitmap = w.now.words;
	put(&w.on, 1);
	put(&w.now, 1);
	put(&w.had[1], 3);
	w.held[1] = w.had[1].words;
	w.now_s = 1000;
	pollux_left_note(7, w.held, w.on.words);
	return 0;
}

static int tear_down(void **state)
{
	(void) state;
	while (w.state.left_nodes) {
		struct pollux_left_node *left = w.state.left_nodes;

		w.state.left_nodes = left->next;
		pollux_left_node_free(left);
	}
	return 0;
}

static long may(void)
{
	put(&w.allowed, 0xf);
	pollux_left_filter(&w.job, w.allowed.words);
	return bits(w.allowed.words);
}

static void a_node_is_closed_while_others_have_what_it_had(void **state)
{
	(void) state;
	assert_int_equal(0xf, may());
	put(&w.taken[1], 0xc);
	assert_int_equal(0xf, may());
	put(&w.taken[1], 2);
	assert_int_equal(0xd, may());
	assert_true(pollux_left_s(7) > GOOD_S);
	w.now_s += GOOD_S + 3;
	assert_int_equal(0xf, may());
	assert_null(w.state.left_nodes);
	assert_true(pollux_left_s(7) == 0);
}

static void of_a_job_that_is_there_it_is_not(void **state)
{
	(void) state;
	put(&w.taken[1], 3);
	put(&w.on, 3);
	assert_int_equal(0xf, may());
}

static void nor_is_one_that_it_keeps(void **state)
{
	(void) state;
	put(&w.had[2], 1);
	w.held[2] = w.had[2].words;
	put(&w.on, 4);
	pollux_left_note(7, w.held, w.on.words);
	put(&w.on, 1);
	put(&w.taken[2], 1);
	assert_int_equal(0xf, may());
}

/* Does it get these devices of n1? */
static int gets(long devices)
{
	struct map map = { { 0 } };
	bitstr_t *has[NODES] = { NULL, map.words };
	struct plx_error err;

	put(&map, devices);
	put(&w.now, 3);
	return pollux_left_test(&w.job, has, &err);
}

static void it_comes_back_to_all_that_it_had(void **state)
{
	(void) state;
	assert_int_equal(0, gets(3));
	assert_int_equal(0, gets(7));
	assert_int_equal(-1, gets(1));
	assert_int_equal(-1, gets(0xc));
	w.now_s += GOOD_S + 3;
	assert_int_equal(0, gets(0xc));
}

static void what_it_had_before_that_counts_as_well(void **state)
{
	(void) state;
	put(&w.had[1], 4);
	w.now_s += 100;
	pollux_left_note(7, w.held, w.on.words);
	assert_int_equal(-1, gets(4));
	assert_int_equal(0, gets(7));
	/* The last leaving is what time is counted from. */
	w.now_s += 100;
	assert_int_equal(-1, gets(4));
}

/* Hidden of n1 where it is to start with so many there; -1: it cannot. */
static long hides(int count)
{
	struct pollux_shape shape = { .nodes = w.now.words, .gpus = count };
	bitstr_t **hidden = NULL;
	struct plx_error err;
	long all = 0;
	int rc = 0;

	put(&w.now, 3);
	rc = pollux_left_hide(&w.job, &shape, &hidden, &err);
	if (hidden && hidden[1]) {
		all = bits(hidden[1]);
		w.taken[1].words[BITSTR_OVERHEAD] &= ~all;
		free(hidden[1]);
	}
	free(hidden);
	return rc < 0 ? -1 : all;
}

static void a_job_that_starts_gets_them_first(void **state)
{
	(void) state;
	assert_int_equal(0xc, hides(2));
	assert_int_equal(8, hides(3));
	assert_int_equal(0, hides(4));
	put(&w.taken[1], 4);
	assert_int_equal(8, hides(2));
	assert_int_equal(0, hides(3));
}

static void or_does_not_start(void **state)
{
	(void) state;
	assert_int_equal(-1, hides(1));
	put(&w.taken[1], 1);
	assert_int_equal(-1, hides(2));
	w.now_s += GOOD_S + 3;
	assert_int_equal(0, hides(2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_node_is_closed_while_others_have_what_it_had),
		TEST(of_a_job_that_is_there_it_is_not),
		TEST(nor_is_one_that_it_keeps),
		TEST(it_comes_back_to_all_that_it_had),
		TEST(what_it_had_before_that_counts_as_well),
		TEST(a_job_that_starts_gets_them_first),
		TEST(or_does_not_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
