/* SPDX-License-Identifier: MIT */
/* test_app_profile.c - what jobs of a kind have measured is lent to others */

#include <math.h>
#include <string.h>

#include "core/jobs/app_profile.h"
#include "reached.h"
#include "unit.h"

static const struct plx_limits limits = { 128, 4096, 8, 256, true };

/* A job that has measured up to so many GPUs. */
static struct plx_job known(int gpus)
{
	return (struct plx_job){
		.id = 7,
		.profiled = true,
		.profiled_gpus = gpus,
		.goodput = {
			.model = { 0.05, 0.002, 0.1, 0.01, 0.02, 0.001, 1.5 },
			.noise = { 1, 20 },
			.limits = limits,
		},
	};
}

/* One that has not: only its limits are known. */
static struct plx_job unknown(void)
{
	return (struct plx_job){
		.profiled_gpus = 1,
		.goodput = { .limits = limits },
	};
}

static void a_new_job_is_lent_what_its_kind_knows(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job teacher = known(16);
	struct plx_job pupil = unknown();

	(void) state;
	assert_false(plx_app_profile_apply(&profiles, &pupil));
	plx_app_profile_learn(&profiles, &teacher);
	assert_true(plx_app_profile_apply(&profiles, &pupil));
	assert_true(pupil.profiled);
	assert_int_equal(16, pupil.profiled_gpus);
	assert_memory_equal(&teacher.goodput, &pupil.goodput,
			    sizeof(pupil.goodput));
	assert_true(plx_goodput_valid(&pupil.goodput));
}

/* Gradients of its own say more than those of others. */
static void one_that_measured_less_keeps_its_noise(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job teacher = known(16);
	struct plx_job pupil = known(2);

	(void) state;
	pupil.goodput.noise.var = 77;
	pupil.goodput.model.alpha_n = 0;
	plx_app_profile_learn(&profiles, &teacher);
	assert_true(plx_app_profile_apply(&profiles, &pupil));
	assert_true(pupil.goodput.noise.var == 77);
	assert_true(pupil.goodput.model.alpha_n == 0.1);
	assert_int_equal(16, pupil.profiled_gpus);
}

static void nobody_is_lent_less_than_it_knows(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job teacher = known(4);

	(void) state;
	plx_app_profile_learn(&profiles, &teacher);
	for (int gpus = 4; gpus <= 64; gpus *= 2) {
		struct plx_job job = known(gpus);
		struct plx_job before;

		job.goodput.model.alpha_n = 3;
		before = job;
		assert_false(plx_app_profile_apply(&profiles, &job));
		assert_memory_equal(&before, &job, sizeof(job));
	}
}

static void other_limits_are_another_kind(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job teacher = known(16);

	(void) state;
	plx_app_profile_learn(&profiles, &teacher);
	for (int part = 0; part < 5; part++) {
		struct plx_job pupil = unknown();
		struct plx_limits *l = &pupil.goodput.limits;

		l->base_batch += part == 0;
		l->max_batch += part == 1;
		l->min_per_gpu += part == 2;
		l->max_per_gpu += part == 3;
		l->accumulate = part != 4;
		assert_false(plx_app_profile_apply(&profiles, &pupil));
	}
}

/* The same limits, but another program. */
static void slower_passes_are_another_kind(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job teacher = known(16);
	struct plx_job like = known(2);
	struct plx_job unlike = known(2);

	(void) state;
	like.goodput.model.beta_c *= 1.1;
	unlike.goodput.model.beta_c *= 2;
	plx_app_profile_learn(&profiles, &teacher);
	assert_true(plx_app_profile_apply(&profiles, &like));
	assert_false(plx_app_profile_apply(&profiles, &unlike));
	unlike.profiled_gpus = 8;
	plx_app_profile_learn(&profiles, &unlike);
	assert_int_equal(2, profiles.count);
}

static void of_several_the_one_that_went_farthest_counts(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job small = known(2);
	struct plx_job large = known(32);
	struct plx_job pupil = unknown();

	(void) state;
	large.goodput.model.alpha_n = 0.3;
	small.goodput.model.alpha_n = 0.9;
	plx_app_profile_learn(&profiles, &large);
	plx_app_profile_learn(&profiles, &small);
	assert_int_equal(1, profiles.count);
	assert_true(plx_app_profile_apply(&profiles, &pupil));
	assert_true(pupil.goodput.model.alpha_n == 0.3);
	assert_int_equal(32, pupil.profiled_gpus);
}

/* Of equals the one that ran for longest: it has measured most often. */
static void more_service_is_believed_more(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job old = known(8);
	struct plx_job young = known(8);
	struct plx_job pupil = unknown();

	(void) state;
	old.service_s = 1000;
	young.id = 8;
	young.goodput.model.alpha_n = 0.9;
	plx_app_profile_learn(&profiles, &old);
	plx_app_profile_learn(&profiles, &young);
	assert_true(plx_app_profile_apply(&profiles, &pupil));
	assert_true(pupil.goodput.model.alpha_n == 0.1);
}

/* Three of a kind, each with numbers of its own, in this order. */
static void tell(struct plx_app_profiles *profiles, const int order[3])
{
	for (int i = 0; i < 3; i++) {
		struct plx_job job = known(8);

		job.id = 10 + (uint32_t) order[i];
		job.goodput.model.alpha_n = 0.1 * order[i];
		plx_app_profile_learn(profiles, &job);
	}
}

static void of_equals_the_oldest_counts_in_any_order(void **state)
{
	static const int orders[][3] = {
		{ 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 },
		{ 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 }
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct plx_app_profiles profiles = { 0 };
		struct plx_job pupil = unknown();

		tell(&profiles, orders[i]);
		assert_int_equal(1, profiles.count);
		assert_true(plx_app_profile_apply(&profiles, &pupil));
		assert_true(pupil.goodput.model.alpha_n == 0.1);
	}
}

/* What was true of a job that is long gone need not be any more. */
static void who_has_ended_is_followed_by_the_next(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job gone = known(8);
	struct plx_job less = known(4);
	struct plx_job next = known(8);
	struct plx_job pupil = unknown();

	(void) state;
	gone.service_s = 1e6;
	less.id = 8;
	next.id = 9;
	next.goodput.model.alpha_n = 0.9;
	plx_app_profile_learn(&profiles, &gone);
	for (int i = 0; i < 2000; i++)
		plx_app_profile_learn(&profiles, &less);
	assert_true(plx_app_profile_apply(&profiles, &pupil));
	assert_true(pupil.goodput.model.alpha_n == 0.1);
	plx_app_profile_learn(&profiles, &next);
	pupil = unknown();
	assert_true(plx_app_profile_apply(&profiles, &pupil));
	assert_true(pupil.goodput.model.alpha_n == 0.9);
	assert_int_equal(8, pupil.profiled_gpus);
}

/* As long as it is there, others are of no account. */
static void who_still_tells_is_believed(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job there = known(8);
	struct plx_job other = known(8);
	struct plx_job pupil = unknown();

	(void) state;
	there.service_s = 1e6;
	other.id = 9;
	other.goodput.model.alpha_n = 0.9;
	for (int i = 0; i < 5000; i++) {
		plx_app_profile_learn(&profiles, &there);
		plx_app_profile_learn(&profiles, &other);
	}
	assert_true(plx_app_profile_apply(&profiles, &pupil));
	assert_true(pupil.goodput.model.alpha_n == 0.1);
}

/* Its limits alone do not tell whether it is the fast or the slow program. */
static void a_new_job_is_not_taken_for_either_of_two_kinds(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job fast = known(32);
	struct plx_job slow = known(2);
	struct plx_job pupil = unknown();

	(void) state;
	slow.id = 8;
	slow.goodput.model.beta_c *= 3;
	plx_app_profile_learn(&profiles, &fast);
	plx_app_profile_learn(&profiles, &slow);
	assert_false(plx_app_profile_apply(&profiles, &pupil));
	assert_false(pupil.profiled);
	pupil = known(1);
	pupil.goodput.model.beta_c *= 3.1;
	assert_true(plx_app_profile_apply(&profiles, &pupil));
	assert_int_equal(2, pupil.profiled_gpus);
}

/* Of two kinds that are alike, though the other has measured more. */
static void the_nearest_speed_lends(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job fast = known(32);
	struct plx_job slow = known(4);
	struct plx_job pupil = known(1);

	(void) state;
	/* Of nothing but the time a sample takes. */
	fast.goodput.model.alpha_c = 0;
	slow.goodput.model.alpha_c = 0;
	pupil.goodput.model.alpha_c = 0;
	slow.goodput.model.beta_c *= 1.3;
	pupil.goodput.model.beta_c *= 1.2;
	plx_app_profile_learn(&profiles, &fast);
	plx_app_profile_learn(&profiles, &slow);
	assert_int_equal(2, profiles.count);
	assert_true(plx_app_profile_apply(&profiles, &pupil));
	assert_int_equal(4, pupil.profiled_gpus);
}

/* A kind is told from the next by its base batch. */
static struct plx_job of_kind(struct plx_job job, int kind)
{
	job.goodput.limits.base_batch = 128 + kind;
	return job;
}

static void the_kind_not_met_for_longest_is_forgotten(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job job;

	(void) state;
	for (int kind = 0; kind < PLX_APP_PROFILES_MAX; kind++) {
		job = of_kind(known(16), kind);
		plx_app_profile_learn(&profiles, &job);
	}
	job = of_kind(known(1), 0); /* met again */
	plx_app_profile_learn(&profiles, &job);
	job = of_kind(known(16), PLX_APP_PROFILES_MAX);
	plx_app_profile_learn(&profiles, &job);
	assert_int_equal(PLX_APP_PROFILES_MAX, profiles.count);
	for (int kind = 0; kind <= PLX_APP_PROFILES_MAX; kind++) {
		job = of_kind(unknown(), kind);
		assert_int_equal(kind != 1,
				 plx_app_profile_apply(&profiles, &job));
	}
}

static void profiles_of_other_users_are_not_lent(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job teacher = known(16);
	struct plx_job pupil = unknown();

	(void) state;
	teacher.owner = 1000;
	pupil.owner = 1001;
	plx_app_profile_learn(&profiles, &teacher);
	assert_false(plx_app_profile_apply(&profiles, &pupil));
	pupil.owner = 1000;
	assert_true(plx_app_profile_apply(&profiles, &pupil));
}

/* However many kinds somebody makes up, others keep what they know. */
static void who_fills_the_table_loses_his_own(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job mine = known(16);
	struct plx_job pupil = unknown();

	(void) state;
	mine.owner = pupil.owner = 1000;
	plx_app_profile_learn(&profiles, &mine);
	for (int kind = 0; kind < 4 * PLX_APP_PROFILES_MAX; kind++) {
		struct plx_job flood = of_kind(known(16), kind);

		flood.owner = 1001;
		plx_app_profile_learn(&profiles, &flood);
		assert_true(plx_app_profile_apply(&profiles, &pupil));
		pupil = unknown();
		pupil.owner = 1000;
	}
	assert_int_equal(PLX_APP_PROFILES_MAX, profiles.count);
}

/* A pass lasts so many times as long. */
static struct plx_job lasting(struct plx_job job, double times)
{
	job.goodput.model.alpha_c *= times;
	job.goodput.model.beta_c *= times;
	return job;
}

/* Not that which knows more. */
static void of_two_kinds_that_are_alike_the_nearer_counts(void **state)
{
	(void) state;
	for (int order = 0; order < 2; order++) {
		struct plx_app_profiles profiles = { 0 };
		struct plx_job pupil = lasting(known(2), 1.2);

		for (int k = 0; k < 2; k++) {
			struct plx_job teacher =
				k == order ? lasting(known(16), 1)
					   : lasting(known(8), 1.35);

			plx_app_profile_learn(&profiles, &teacher);
		}
		assert_int_equal(2, profiles.count);
		assert_true(plx_app_profile_apply(&profiles, &pupil));
		assert_int_equal(8, pupil.profiled_gpus);
	}
}

/* The first of which is the first of the table, and lately met. */
static void who_has_his_share_of_the_table_loses_his_own(void **state)
{
	struct plx_app_profiles profiles = { 0 };

	(void) state;
	for (int kind = 0; kind < PLX_APP_PROFILES_MAX + PLX_APP_PROFILES_OWN;
	     kind++) {
		struct plx_job job = of_kind(known(16), kind);

		if (kind >= PLX_APP_PROFILES_MAX)
			job = of_kind(known(16), kind - PLX_APP_PROFILES_MAX);
		job.owner = kind < PLX_APP_PROFILES_OWN ||
					    kind >= PLX_APP_PROFILES_MAX
				    ? 1001
				    : 2000;
		plx_app_profile_learn(&profiles, &job);
	}
	for (int more = 0; more < 3; more++) {
		struct plx_job job = of_kind(known(16), 2000 + more);

		job.owner = 1001;
		plx_app_profile_learn(&profiles, &job);
		job.profiled = false;
		assert_true(plx_app_profile_apply(&profiles, &job));
	}
	assert_int_equal(PLX_APP_PROFILES_MAX, profiles.count);
	for (int kind = PLX_APP_PROFILES_OWN; kind < PLX_APP_PROFILES_MAX;
	     kind++) {
		struct plx_job job = of_kind(unknown(), kind);

		job.owner = 2000;
		assert_true(plx_app_profile_apply(&profiles, &job));
	}
}

static void recorded_speedups_are_no_profile(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_table table = { 0 };
	struct plx_job teacher = known(16);
	struct plx_job pupil = unknown();

	(void) state;
	teacher.table = &table;
	plx_app_profile_learn(&profiles, &teacher);
	assert_int_equal(0, profiles.count);
	teacher.table = NULL;
	plx_app_profile_learn(&profiles, &teacher);
	pupil.table = &table;
	assert_false(plx_app_profile_apply(&profiles, &pupil));
}

static double any_number(uint64_t *seed)
{
	static const double numbers[] = { 0, 1e-9, 0.1,	  1,	1e6,
					  7, 1e30, -1e-6, 1e300 };

	switch (unit_random(seed) % 12) {
	case 0:
		return NAN;
	case 1:
		return INFINITY;
	default:
		return numbers[unit_random(seed) % ARRAY_SIZE(numbers)];
	}
}

static struct plx_job any_job(uint64_t *seed)
{
	struct plx_job job = known((int) (unit_random(seed) % 4096) + 1);
	struct plx_model *m = &job.goodput.model;

	job.profiled = unit_random(seed) % 2;
	if (unit_random(seed) % 2)
		m->alpha_c = any_number(seed);
	if (unit_random(seed) % 2)
		m->beta_c = any_number(seed);
	if (unit_random(seed) % 2)
		m->alpha_n = any_number(seed);
	if (unit_random(seed) % 2)
		m->gamma = any_number(seed);
	if (unit_random(seed) % 2)
		job.goodput.noise.sqr = any_number(seed);
	job.goodput.limits.base_batch = (int) (unit_random(seed) % 3) * 64;
	job.service_s = any_number(seed);
	return job;
}

/* What is lent is always something the search can be given. */
static void hostile_numbers_are_not_passed_on(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	enum { ABSURD, ALONE, TOLD, TOLD_MORE, WORLDS };
	struct reached reached[WORLDS] = {
		[ABSURD] = { "a pupil's own numbers are absurd", 0 },
		[ALONE] = { "a pupil is told nothing", 0 },
		[TOLD] = { "a pupil that knew nothing is told", 0 },
		[TOLD_MORE] = { "a pupil that knew less is told", 0 },
	};
	uint64_t seed = 5;

	(void) state;
	for (int i = 0; i < 20000; i++) {
		struct plx_job teacher = any_job(&seed);
		struct plx_job pupil = any_job(&seed);
		int gpus = pupil.profiled ? pupil.profiled_gpus : 0;

		/* In the second half few kinds are known at a time. */
		if (i >= 10000 && i % 4 == 0)
			profiles = (struct plx_app_profiles){ 0 };
		plx_app_profile_learn(&profiles, &teacher);
		assert_true(profiles.count <= PLX_APP_PROFILES_MAX);
		/* Its own numbers were looked at before. */
		if (pupil.profiled && !plx_goodput_valid(&pupil.goodput)) {
			reached[ABSURD].times++;
			continue;
		}
		if (!plx_app_profile_apply(&profiles, &pupil)) {
			reached[ALONE].times++;
			continue;
		}
		assert_true(plx_goodput_valid(&pupil.goodput));
		assert_true(pupil.profiled_gpus > gpus);
		reached[gpus ? TOLD_MORE : TOLD].times++;
	}
	assert_all_reached(reached, WORLDS, 200);
}

/* Its passes may happen to last as long. */
static void another_type_of_gpu_is_another_kind(void **state)
{
	struct plx_app_profiles profiles = { 0 };
	struct plx_job teacher = known(16);
	struct plx_job pupil = known(2);
	struct plx_job fresh = unknown();

	(void) state;
	teacher.gpu_type = 1;
	plx_app_profile_learn(&profiles, &teacher);
	pupil.gpu_type = 2;
	fresh.gpu_type = 2;
	assert_false(plx_app_profile_apply(&profiles, &pupil));
	assert_false(plx_app_profile_apply(&profiles, &fresh));
	fresh.gpu_type = 1;
	assert_true(plx_app_profile_apply(&profiles, &fresh));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_job_is_lent_what_its_kind_knows),
		cmocka_unit_test(one_that_measured_less_keeps_its_noise),
		cmocka_unit_test(nobody_is_lent_less_than_it_knows),
		cmocka_unit_test(other_limits_are_another_kind),
		cmocka_unit_test(slower_passes_are_another_kind),
		cmocka_unit_test(of_several_the_one_that_went_farthest_counts),
		cmocka_unit_test(more_service_is_believed_more),
		cmocka_unit_test(of_equals_the_oldest_counts_in_any_order),
		cmocka_unit_test(who_has_ended_is_followed_by_the_next),
		cmocka_unit_test(who_still_tells_is_believed),
		cmocka_unit_test(
			a_new_job_is_not_taken_for_either_of_two_kinds),
		cmocka_unit_test(the_nearest_speed_lends),
		cmocka_unit_test(the_kind_not_met_for_longest_is_forgotten),
		cmocka_unit_test(profiles_of_other_users_are_not_lent),
		cmocka_unit_test(who_fills_the_table_loses_his_own),
		cmocka_unit_test(recorded_speedups_are_no_profile),
		cmocka_unit_test(hostile_numbers_are_not_passed_on),
		cmocka_unit_test(another_type_of_gpu_is_another_kind),
		cmocka_unit_test(of_two_kinds_that_are_alike_the_nearer_counts),
		cmocka_unit_test(who_has_his_share_of_the_table_loses_his_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
