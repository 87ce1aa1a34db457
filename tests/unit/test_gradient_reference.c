/* SPDX-License-Identifier: MIT */
/*
 * test_gradient_reference.c - recorded trainings, replayed by the agent
 *
 * Ranks are given the recorded gradients and call the library as a training
 * program would; its estimates must be those recorded, step by step.
 */

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"
#include "reference.h"

enum { NUMBERS = 16, GROUPS = 2 };

/* The published code's, as recorded: relative. */
#define NEAR 1e-6

struct training {
	const json_t *record;
	size_t steps;
	int groups;
	bool adam;
	/* Rank 0's, by step. */
	struct plx_noise noise[NUMBERS];
	double factor[NUMBERS][GROUPS];
	double gain[NUMBERS];
	double progress[NUMBERS];
	bool differenced[NUMBERS];
};

/* Adam's second moment, kept by the program. */
struct moment {
	double v[GROUPS][NUMBERS];
	float divisor[GROUPS][NUMBERS];
	int steps;
};

/*
 * The published code divides by the root of Adam's second moment, but not in
 * the first five steps; it corrects for the moment's start in single
 * precision.
 */
static void step_moment(struct moment *m, const struct training *t,
			float gradient[GROUPS][NUMBERS])
{
	double start;

	m->steps++;
	start = (double) (1.0f - powf(0.999f, (float) m->steps));
	for (int g = 0; g < t->groups; g++) {
		for (int i = 0; i < NUMBERS; i++) {
			double x = gradient[g][i];
			double *v = &m->v[g][i];

			*v = 0.999 * *v + (1 - 0.999) * x * x;
			if (m->steps >= 5)
				m->divisor[g][i] =
					(float) (sqrt(*v / start) + 1e-8);
		}
	}
}

static const json_t *gradient_of(const struct training *t, size_t step,
				 int rank, int pass, int group)
{
	const json_t *s =
		json_array_get(json_object_get(t->record, "steps"), step);
	const json_t *all = json_object_get(s, "gradients");

	return json_array_get(json_array_get(json_array_get(all, (size_t) rank),
					     (size_t) pass),
			      (size_t) group);
}

static int give_pass(struct crew_rank *rank, const struct pollux_pass *pass,
		     float gradient[GROUPS][NUMBERS])
{
	struct training *t = rank->user;

	for (int g = 0; g < t->groups; g++) {
		const json_t *numbers =
			gradient_of(t, pass->step, rank->rank, pass->index, g);

		for (size_t i = 0; i < json_array_size(numbers); i++)
			gradient[g][i] = (float) json_number_value(
				json_array_get(numbers, i));
		if (pollux_gradient(rank->p, g, gradient[g]) < 0)
			return -1;
	}
	return pollux_sync(rank->p, 1);
}

static void note(struct crew_rank *rank, uint64_t step)
{
	struct training *t = rank->user;
	struct plx_noise sum = { 0 };

	for (int g = 0; g < t->groups; g++) {
		struct plx_noise one =
			plx_noise_or_first(&rank->p->profile.noise.of[g]);

		sum.sqr += one.sqr;
		sum.var += one.var;
		t->factor[step][g] = pollux_lr_factor(rank->p, g);
	}
	t->noise[step] = sum;
	t->gain[step] = rank->p->step.gain;
	t->progress[step] = pollux_progress(rank->p);
}

static int start(struct crew_rank *rank, struct moment *moment)
{
	struct training *t = rank->user;
	const json_t *sizes = json_object_get(t->record, "groups");

	for (int g = 0; g < t->groups; g++) {
		const struct pollux_bucket bucket = {
			.count = (size_t) json_integer_value(
				json_array_get(sizes, (size_t) g)),
			.group = g,
			.precondition = t->adam ? moment->divisor[g] : NULL,
		};

		for (int i = 0; i < NUMBERS; i++)
			moment->divisor[g][i] = 1;
		if (pollux_bucket(rank->p, &bucket) != g)
			return -1;
	}
	if (pollux_start(rank->p) < 0)
		return -1;
	/* The recorded number of passes, whatever we would choose. */
	rank->p->batch.per_gpu = 1;
	rank->p->batch.accum = (int) json_integer_value(
		json_object_get(t->record, "accum_steps"));
	rank->p->wanted = rank->p->batch;
	rank->p->meter.advised_s = INFINITY;
	rank->p->meter.settling = NUMBERS;
	return 0;
}

static int replay(struct crew_rank *rank)
{
	struct training *t = rank->user;
	float gradient[GROUPS][NUMBERS] = { 0 };
	struct moment moment = { 0 };
	struct pollux_pass pass;

	if (start(rank, &moment) < 0)
		return -1;
	while (rank->p->cursor.step < t->steps) {
		if (pollux_next(rank->p, &pass) <= 0 || pass.count != 1 ||
		    give_pass(rank, &pass, gradient) < 0)
			return -1;
		if (!pass.sync)
			continue;
		if (rank->rank == 0)
			note(rank, pass.step);
		step_moment(&moment, t, gradient);
		if (pollux_skipped(rank->p) || pollux_commit(rank->p) < 0)
			return -1;
	}
	return 0;
}

static void check(const struct training *t, double *worst)
{
	size_t i;
	json_t *step;

	json_array_foreach(json_object_get(t->record, "steps"), i, step)
	{
		const double pairs[][2] = {
			{ reference_number(step, "sqr"), t->noise[i].sqr },
			{ reference_number(step, "var"), t->noise[i].var },
			{ reference_number(step, "gain"), t->gain[i] },
			{ reference_number(step, "progress"), t->progress[i] },
			{ reference_at(step, "lr_factor", 0), t->factor[i][0] },
			{ reference_at(step, "lr_factor",
				       (size_t) t->groups - 1),
			  t->factor[i][t->groups - 1] },
		};

		for (size_t k = 0; k < ARRAY_SIZE(pairs); k++) {
			double off = fabs(pairs[k][1] / pairs[k][0] - 1);

			*worst = fmax(*worst, off);
			if (!(off <= NEAR))
				fail_msg("step %zu, figure %zu: %.12g, "
					 "recorded %.12g",
					 i, k, pairs[k][1], pairs[k][0]);
		}
	}
}

static void replay_case(const json_t *record, bool begins, double *worst)
{
	struct crew crew = { .begins = begins };
	struct training t = {
		.record = record,
		.steps = json_array_size(json_object_get(record, "steps")),
		.groups = (int) json_array_size(
			json_object_get(record, "groups")),
		.adam = !strcmp(reference_text(record, "optimizer"), "adam"),
	};
	struct pollux_config config;

	crew.ranks = (int) reference_number(record, "num_replicas");
	pollux_config_init(&config);
	config.samples = 1000000;
	config.batch = 1;
	config.max_batch = 64;
	config.max_gpu_batch = 1;
	config.lr_scaling = t.adam ? "adamscale" : "adascale";
	config.quiet = true;
	assert_true(t.steps <= NUMBERS && t.groups <= GROUPS);
	assert_int_equal(0, crew_run(&crew, &config, replay, &t));
	check(&t, worst);
}

static void estimates_are_the_published_ones(void **state)
{
	json_t *root = reference_load("gns_master.json");
	double worst = 0;
	size_t i;
	json_t *c;

	(void) state;
	json_array_foreach(json_object_get(root, "cases"), i, c)
	{
		replay_case(c, false, &worst);
		replay_case(c, true, &worst);
	}
	print_message("# %zu trainings replayed, off by %.2g at most\n", i,
		      worst);
	assert_true(i > 0);
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_are_the_published_ones),
	};

	alarm(60);
	return _cmocka_run_group_tests("gradient_reference", tests,
				       reference_runnable(ARRAY_SIZE(tests), 1),
				       NULL, NULL);
}
