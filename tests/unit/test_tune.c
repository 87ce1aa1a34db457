/* SPDX-License-Identifier: MIT */
/* test_tune.c - when the batch is changed, and when it is left alone */

#include <math.h>

#include "agent/run/tune.h"
#include "agent/state/agent.h"
#include "unit.h"

enum { LOOKS = 400 };

/* Passes of 10 ms and 0.1 ms a sample on one GPU. */
static struct pollux *measured(void)
{
	struct pollux_config config;
	struct pollux *p;

	pollux_config_init(&config);
	config.samples = 1 << 20;
	config.batch = 64;
	config.max_batch = 4096;
	config.accumulate = false;
	config.collectives = "self";
	config.quiet = true;
	p = pollux_create(&config);
	assert_int_equal(0, pollux_start(p));
	for (int m = 32; m <= 1024; m *= 2) {
		struct plx_profile_row *row =
			plx_profile_row(&p->profile, p->shape, m, 1);

		for (int n = 0; n < 8; n++) {
			plx_row_add_pass(row, 0.010 + 1e-4 * m);
			plx_row_add_step(row, 0.010 + 1e-4 * m);
		}
	}
	assert_int_equal(0, plx_profile_fit(&p->profile, PLX_BY_GPU, NULL));
	return p;
}

/* The estimate is that the noise scale is so many base batches. */
static void estimate(struct pollux *p, double batches)
{
	p->profile.noise.of[0] = (struct plx_noise_tracker){
		.sqr_biased = 1,
		.sqr_weight = 1,
		.var_biased = batches,
		.var_weight = 1,
		.updates = 1000,
	};
}

/* As the loop does it, with a look after each step. */
static bool look(struct pollux *p, double now_s)
{
	struct plx_batch before = p->batch;

	plx_tune(p, now_s);
	p->cursor.step++;
	if (p->wanted.per_gpu == before.per_gpu)
		return false;
	p->meter.changed = p->cursor.step;
	p->meter.grew = p->wanted.per_gpu > before.per_gpu;
	p->batch = p->wanted;
	return true;
}

/* By a factor of four up and down, from one look to the next. */
static void estimates_that_wander_do_not_change_the_batch_again_and_again(
	void **state)
{
	struct pollux *p = measured();
	struct plx_batch hasty = p->batch; /* changed for each 5 per cent */
	uint64_t seed = 1;
	int changes = 0;
	int hasty_changes = 0;

	(void) state;
	for (int i = 0; i < LOOKS; i++) {
		struct plx_batch best;

		estimate(p, 3 * exp(unit_uniform(&seed, -1.4, 1.4)));
		best = plx_profile_advise(&p->profile, &p->limits, p->shape,
					  hasty, PLX_CHANGE_GAIN);
		hasty_changes += best.per_gpu != hasty.per_gpu;
		hasty = best;
		changes += look(p, 10.0 * i);
	}
	print_message("# %d changes in %d looks, %d without holding back\n",
		      changes, LOOKS, hasty_changes);
	assert_in_range(changes, 1, LOOKS / 10);
	assert_true(hasty_changes > 5 * changes);
	pollux_destroy(p);
}

static void a_change_that_is_real_is_followed(void **state)
{
	struct pollux *p = measured();
	int small;

	(void) state;
	estimate(p, 1);
	look(p, 10);
	small = p->batch.per_gpu;
	estimate(p, 40);
	assert_true(look(p, 20));
	assert_true(p->batch.per_gpu > 2 * small);
	/* And back at once, for it is worth it. */
	estimate(p, 0.5);
	assert_true(look(p, 30));
	assert_true(p->batch.per_gpu < 2 * small);
	pollux_destroy(p);
}

static void it_is_not_looked_at_all_the_time(void **state)
{
	struct pollux *p = measured();

	(void) state;
	estimate(p, 1);
	look(p, 10);
	estimate(p, 40);
	assert_false(look(p, 10.5));
	assert_true(look(p, 13));
	pollux_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			estimates_that_wander_do_not_change_the_batch_again_and_again),
		cmocka_unit_test(a_change_that_is_real_is_followed),
		cmocka_unit_test(it_is_not_looked_at_all_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
