/* SPDX-License-Identifier: MIT */
/*
 * test_slurmds.c - nodes whose slurmd is older, or not heard yet
 *
 * Slurm's nodes and bitmaps are played here.
 */
#include <string.h>
#include <time.h>

#include "sched/pollux/rules/slurmds.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "unit.h"

enum { NODES = 4, OLD = 41, NEW = 43 };

slurm_conf_t slurm_conf;
int node_record_count = NODES;
node_record_t **node_record_table_ptr;
bitstr_t *avail_node_bitmap, *power_node_bitmap, *booting_node_bitmap;

static char script_host[] = "n0";

static struct {
	bitstr_t maps[5][BITSTR_OVERHEAD + 1];
	node_record_t nodes[NODES];
	node_record_t *table[NODES];
	job_record_t job;
} w;

int bit_test(bitstr_t *bits, bitoff_t n)
{
	return bits[BITSTR_OVERHEAD] >> n & 1;
}

void bit_clear(bitstr_t *bits, bitoff_t n)
{
	bits[BITSTR_OVERHEAD] &= ~(1L << n);
}

bitoff_t bit_size(bitstr_t *bits)
{
	(void) bits;
	return NODES;
}

node_record_t *find_node_record(char *name)
{
	return name[0] == 'n' ? &w.nodes[name[1] - '0'] : NULL;
}

static void put(int map, long nodes)
{
	w.maps[map][BITSTR_OVERHEAD] = nodes;
}

/* The job is on all nodes, its script on the first; all are new. */
static int set_up(void **state)
{
	(void) state;
	memset(&w, 0, sizeof(w));
	for (int n = 0; n < NODES; n++) {
		w.table[n] = &w.nodes[n];
		w.nodes[n].protocol_version = NEW;
	}
	node_record_table_ptr = w.table;
	avail_node_bitmap = w.maps[0];
	power_node_bitmap = w.maps[1];
	booting_node_bitmap = w.maps[2];
	w.job.node_bitmap = w.maps[3];
	w.job.job_state = JOB_RUNNING;
	w.job.batch_host = script_host;
	put(0, 0xf);
	put(3, 0xf);
	return 0;
}

/* Of all nodes, those that it may gain. */
static long left(void)
{
	put(4, 0xf);
	pollux_slurmds_filter(&w.job, w.maps[4]);
	return w.maps[4][BITSTR_OVERHEAD];
}

static void all_alike_are_no_upgrade(void **state)
{
	(void) state;
	assert_false(pollux_slurmds_differ());
	assert_false(pollux_slurmds_older(&w.job));
	assert_int_equal(0xf, left());
}

static void no_job_gains_what_its_srun_cannot_reach(void **state)
{
	(void) state;
	w.nodes[2].protocol_version = OLD;
	assert_true(pollux_slurmds_differ());
	assert_true(pollux_slurmds_older(&w.job));
	assert_int_equal(0xb, left());
	put(3, 0xb);
	assert_false(pollux_slurmds_older(&w.job));
}

static void an_older_srun_reaches_newer_ones(void **state)
{
	(void) state;
	w.nodes[0].protocol_version = OLD;
	assert_true(pollux_slurmds_differ());
	assert_false(pollux_slurmds_older(&w.job));
	assert_int_equal(0xf, left());
	assert_int_equal(OLD, pollux_slurmds_spoken(&w.job));
}

/* What was heard of them last is of another time. */
static void who_is_away_asleep_or_boots_is_not_compared(void **state)
{
	(void) state;
	for (int map = 0; map < 3; map++) {
		(void) set_up(NULL);
		w.nodes[2].protocol_version = OLD;
		put(map, map == 0 ? 0xb : 0x4);
		assert_false(pollux_slurmds_differ());
		assert_false(pollux_slurmds_older(&w.job));
		assert_int_equal(0xf, left());
	}
}

static void of_who_waits_nothing_is_known(void **state)
{
	(void) state;
	w.nodes[2].protocol_version = OLD;
	w.job.job_state = JOB_PENDING;
	assert_int_equal(0, pollux_slurmds_spoken(&w.job));
	assert_int_equal(0xf, left());
	w.job.job_state = JOB_RUNNING;
	w.job.batch_host = NULL;
	assert_int_equal(0, pollux_slurmds_spoken(&w.job));
}

static void all_are_asked_as_the_oldest_can_answer(void **state)
{
	(void) state;
	assert_int_equal(NEW, pollux_slurmds_protocol(w.maps[3], NEW + 1));
	assert_int_equal(OLD - 1, pollux_slurmds_protocol(w.maps[3], OLD - 1));
	w.nodes[3].protocol_version = OLD;
	assert_int_equal(OLD, pollux_slurmds_protocol(w.maps[3], NEW));
	put(3, 0x7);
	assert_int_equal(NEW, pollux_slurmds_protocol(w.maps[3], NEW));
}

/* Time is what is played here; slurmctld's own clock is the machine's. */
static time_t later_s;

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec + later_s;
	return now.tv_sec + later_s;
}

static void a_node_is_awaited_until_it_registers(void **state)
{
	(void) state;
	pollux_slurmds_begin();
	/* As Slurm calls one with jobs, and one without. */
	w.nodes[0].node_state = NODE_STATE_MIXED;
	w.nodes[1].node_state = NODE_STATE_UNKNOWN;
	assert_true(pollux_slurmds_awaited(&w.nodes[0]));
	assert_true(pollux_slurmds_awaited(&w.nodes[1]));
	assert_false(pollux_slurmds_unheard(&w.nodes[0]));
	assert_true(pollux_slurmds_unheard(&w.nodes[1]));
	w.nodes[2].node_state = NODE_STATE_DOWN;
	assert_false(pollux_slurmds_awaited(&w.nodes[2]));
	w.nodes[0].slurmd_start_time = w.nodes[1].slurmd_start_time = 100;
	w.nodes[1].node_state = NODE_STATE_IDLE;
	assert_false(pollux_slurmds_awaited(&w.nodes[0]));
	assert_false(pollux_slurmds_awaited(&w.nodes[1]));
	/* It was there, and is not any more: nobody waits for it. */
	w.nodes[1].node_state |= NODE_STATE_NO_RESPOND;
	assert_true(pollux_slurmds_unheard(&w.nodes[1]));
	assert_false(pollux_slurmds_awaited(&w.nodes[1]));
}

static void nor_for_ever(void **state)
{
	(void) state;
	pollux_slurmds_begin();
	w.nodes[1].node_state = NODE_STATE_UNKNOWN;
	later_s = 118;
	assert_true(pollux_slurmds_awaited(&w.nodes[1]));
	later_s = 121;
	assert_false(pollux_slurmds_awaited(&w.nodes[1]));
	later_s = 0;
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_alike_are_no_upgrade),
		TEST(no_job_gains_what_its_srun_cannot_reach),
		TEST(an_older_srun_reaches_newer_ones),
		TEST(who_is_away_asleep_or_boots_is_not_compared),
		TEST(of_who_waits_nothing_is_known),
		TEST(all_are_asked_as_the_oldest_can_answer),
		TEST(a_node_is_awaited_until_it_registers),
		TEST(nor_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
