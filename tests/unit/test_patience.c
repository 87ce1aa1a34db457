/* SPDX-License-Identifier: MIT */
/*
 * test_patience.c - for how long room is kept for a job that does not start
 *
 * Backfill alone starts het jobs: they have two of its intervals at least.
 */
#include <math.h>
#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/plan/reservation_timeout.h"
#undef ARRAY_SIZE /* Slurm has one, too */
#include "unit.h"

enum { NODES = 1, PATIENCE_S = 20 };

static int told;

int get_log_level(void)
{
	return LOG_LEVEL_INFO;
}

void log_var(const log_level_t level, const char *format, ...)
{
	(void) level, (void) format;
	told++;
}

struct world {
	struct pollux_node nodes[NODES];
	struct pollux_waiting waiting[2];
	struct pollux_snapshot snapshot;
	struct pollux_params params;
	bool reserved[NODES];
	struct plx_grant grants[2];
};

/* A job whose room is free. */
static void set_up(struct world *w, uint32_t id, uint32_t het)
{
	*w = (struct world){
		.nodes = { { .gpus = 2,
			     .cpus = 8,
			     .left = { .gpus = 2, .cpus = 8 } } },
		.waiting = { { .id = id,
			       .het = het,
			       .nodes = 1,
			       .each.gpus = 1,
			       .each.cpus = 1 } },
		.reserved = { true },
		.grants = { { .granted = true, .gpus = 1 } },
	};
	w->snapshot.node_count = NODES;
	w->snapshot.nodes = w->nodes;
	w->snapshot.waiting_count = 1;
	w->snapshot.waiting = w->waiting;
	w->params.reservation_timeout_s = PATIENCE_S;
	w->params.terms.interval_s = 30;
	w->grants[0].nodes = w->reserved;
}

/* Seconds after which others get its GPUs, by tenths. */
static double kept_for(struct world *w)
{
	const double from_s = 1000;

	pollux_reservation_timeout_note(&w->snapshot, w->grants, &w->params,
					from_s);
	assert_true(pollux_reservation_timeout_next_s() > from_s);
	for (int tenths = 0; tenths < 3000; tenths++) {
		pollux_reservation_timeout_apply(&w->snapshot,
						 from_s + 0.1 * tenths);
		if (w->waiting[0].ignored)
			return 0.1 * tenths;
	}
	return INFINITY;
}

static void a_job_has_as_long_as_is_configured(void **state)
{
	struct world w;

	(void) state;
	set_up(&w, 7, 0);
	assert_float_equal(PATIENCE_S, kept_for(&w), 0.11);
	assert_int_equal(1, told);
}

static void a_het_job_has_two_of_backfills_intervals(void **state)
{
	struct world w;

	(void) state;
	set_up(&w, 8, 8);
	assert_float_equal(60, kept_for(&w), 0.11);
}

static void or_longer_where_that_is_configured(void **state)
{
	struct world w;

	(void) state;
	set_up(&w, 9, 9);
	w.params.reservation_timeout_s = 90;
	assert_float_equal(90, kept_for(&w), 0.11);
}

/* Its room is in the second one, and each cycle finds it there. */
static void a_job_of_two_partitions_has_no_longer(void **state)
{
	struct world w;
	double s = 0;

	(void) state;
	set_up(&w, 10, 0);
	w.snapshot.waiting_count = 2;
	w.waiting[1] = w.waiting[0];
	w.grants[1] = w.grants[0];
	w.grants[0] = (struct plx_grant){ .nodes = NULL };
	while (s < 10 * PATIENCE_S && !w.waiting[0].ignored) {
		pollux_reservation_timeout_note(&w.snapshot, w.grants,
						&w.params, 1000 + s);
		s++;
		pollux_reservation_timeout_apply(&w.snapshot, 1000 + s);
	}
	assert_float_equal(PATIENCE_S, s, 0.1);
	assert_true(w.waiting[1].ignored);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_has_as_long_as_is_configured),
		cmocka_unit_test(a_het_job_has_two_of_backfills_intervals),
		cmocka_unit_test(or_longer_where_that_is_configured),
		cmocka_unit_test(a_job_of_two_partitions_has_no_longer),
	};

	return cmocka_run_group_tests_name("patience", tests, NULL, NULL);
}
