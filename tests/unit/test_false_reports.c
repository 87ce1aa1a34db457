/* SPDX-License-Identifier: MIT */
/*
 * test_false_reports.c - what a job gains by lying, beside honest jobs of its
 * kind
 *
 * Six equal jobs share 32 GPUs for six hours, looked at once a minute, with
 * the same validation, weights and search as in slurmctld. Then the last one
 * does it again, and lies. Its gain is the GPU time that it gets, over what it
 * got when it was honest. docs/security.md quotes the bounds.
 */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/jobs/lease.h"
#include "core/search/plan.h"
#include "core/jobs/report_validation.h"
#include "core/jobs/prepare.h"
#include "unit.h"

enum { NODES = 8, NODE_GPUS = 4, JOBS = 6, LIAR = JOBS - 1 };

#define STEP_S	60.0
#define HOURS_S (6 * 3600.0)
#define LEASE_S 300.0 /* pollux_lease */

static const struct plx_goodput truth = {
	.model = { 0.05, 0.002, 0.1, 0.01, 0.05, 0.004, 1.5 },
	.noise = { 1, 20 },
	.limits = { 128, 4096, 8, 256, true },
};

/* What a job says besides its hint. */
struct words {
	bool silent; /* nothing that can be believed */
	enum plx_phase phase;
	struct plx_hint hint;
};

/* A lie, and when; all else that the job says is true. */
typedef void (*story)(struct words *words, double t);

struct job {
	int gpus[NODES];
	int most_gpus;
	double service_s; /* GPU-seconds */
	double left;	  /* samples */
	double shaped_s;  /* since when it has its GPUs */
	struct plx_validation validation;
	struct plx_lease lease;
};

struct world {
	struct job jobs[JOBS];
	struct plx_app_profiles profiles;
	bool by_left; /* pollux_weigh=left */
	bool wired;   /* half of the nodes on a switch each */
	story lie;    /* NULL: all are honest */
};

static struct plx_shape shape_of(const struct job *job)
{
	struct plx_shape shape = { 0 };

	for (int n = 0; n < NODES; n++) {
		shape.nodes += job->gpus[n] > 0;
		shape.gpus += job->gpus[n];
	}
	return shape;
}

static struct words words_of(const struct world *w, int j, double t)
{
	const struct job *job = &w->jobs[j];
	struct plx_shape shape = shape_of(job);
	struct words words = {
		.phase = shape.gpus ? PLX_PHASE_TRAINING : PLX_PHASE_WAITING,
		.hint = {
			.job = truth,
			.profiled = { 1, job->most_gpus ? job->most_gpus : 1 },
			.now = { 32, 0 },
			.samples_left = job->left,
			.restart_s = 30,
		},
	};
	struct plx_hint *hint = &words.hint;
	double goodput = 0;

	if (shape.gpus)
		plx_batch_best(&hint->job, shape, &hint->now, &goodput);
	if (j == LIAR && w->lie)
		w->lie(&words, t);
	if (shape.gpus)
		hint->speed =
			plx_throughput(&hint->job.model, shape, hint->now);
	return words;
}

/* As in slurmctld: who does not train keeps its GPUs for a while. */
static void hold_lease(struct job *job, const struct words *words, double t)
{
	struct plx_status status = { .phase = words->phase };
	bool idle = plx_lease_why(words->silent ? NULL : &status) != NULL;
	const struct plx_least least = { .gpus = job->gpus,
					 .node_count = NODES,
					 .min_gpus = 1 };
	int keep[NODES];

	if (shape_of(job).gpus <= 1) {
		plx_lease_reset(&job->lease);
		return;
	}
	if (!plx_lease_look(&job->lease, t + 1, idle, LEASE_S))
		return;
	plx_validation_strike(&job->validation, t + 1, "it holds GPUs");
	assert_int_equal(1, plx_lease_least(&least, keep));
	memcpy(job->gpus, keep, sizeof(keep));
	job->shaped_s = t;
}

static void hear(struct job *job, const struct words *words, double t)
{
	const struct plx_claim claim = {
		.now_s = t + 1,
		.shape = shape_of(job),
		.shape_s = t - job->shaped_s,
		.runs = !words->silent,
		.training = words->phase == PLX_PHASE_TRAINING,
		.hint = &words->hint,
	};

	if (!words->silent)
		plx_validation_check(&job->validation, &claim);
}

static void fill(struct world *w, int j, double t, struct plx_job *out)
{
	struct job *job = &w->jobs[j];
	struct words words = words_of(w, j, t);
	const struct plx_hint *hint = &words.hint;

	hear(job, &words, t);
	hold_lease(job, &words, t);
	out->id = (uint32_t) j + 1;
	out->min_gpus = 1;
	out->max_gpus = NODES * NODE_GPUS;
	out->profiled = !words.silent;
	out->goodput = hint->job;
	out->profiled_gpus = hint->profiled.gpus;
	out->restart_s = hint->restart_s;
	out->samples_left =
		w->by_left && !words.silent ? hint->samples_left : 0;
	out->service_s = job->service_s;
	out->may_park = true;
	out->fixed = words.silent || words.phase == PLX_PHASE_DONE;
	memcpy(out->now, job->gpus, sizeof(job->gpus));
	plx_validation_apply(&job->validation, job->most_gpus, out);
}

static void prepare(struct world *w, struct plx_problem *problem)
{
	struct plx_prepare_job jobs[JOBS] = { 0 };
	const struct plx_prepare how = {
		.profiles = &w->profiles,
		.jobs = jobs,
		.weights = PLX_WEIGHTS_LEFT,
	};
	struct plx_error err;

	for (int j = 0; j < JOBS; j++) {
		enum plx_strikes strikes = w->jobs[j].validation.strikes;

		jobs[j].teaches = strikes == PLX_STRIKES_NONE;
		jobs[j].learns = strikes != PLX_STRIKES_TWO;
	}
	assert_int_equal(0, plx_prepare(problem, &how, &err));
}

static struct plx_plan *decide(struct world *w, double t)
{
	struct plx_error err;
	struct plx_problem *problem = plx_problem_create(NODES, JOBS, &err);
	struct plx_plan *plan = NULL;

	plx_prepare_defaults(problem);
	for (int n = 0; n < NODES; n++)
		problem->gpus[n] = problem->gpus_total[n] = NODE_GPUS;
	if (w->wired)
		assert_int_equal(0, plx_problem_add_switches(problem, &err));
	for (int n = 0; w->wired && n < NODES; n++)
		problem->switches[n] = 2 * n / NODES;
	for (int j = 0; j < JOBS; j++)
		fill(w, j, t, &problem->jobs[j]);
	prepare(w, problem);
	assert_int_equal(0, plx_plan_search(problem, &plan, &err));
	plx_problem_destroy(problem);
	return plan;
}

static void step(struct world *w, double t)
{
	struct plx_plan *plan = decide(w, t);

	for (int j = 0; j < JOBS; j++) {
		struct job *job = &w->jobs[j];
		struct plx_shape shape;
		double goodput = 0;

		if (plan->choices[j].changed)
			job->shaped_s = t;
		memcpy(job->gpus, plan->choices[j].gpus, sizeof(job->gpus));
		shape = shape_of(job);
		if (shape.gpus)
			plx_batch_best(&truth, shape, NULL, &goodput);
		job->most_gpus = shape.gpus > job->most_gpus ? shape.gpus
							     : job->most_gpus;
		job->service_s += shape.gpus * STEP_S;
		job->left -= goodput * STEP_S;
	}
	plx_plan_destroy(plan);
}

/* GPU-seconds of the last job. */
static double got_in(struct world w)
{
	for (int j = 0; j < JOBS; j++)
		w.jobs[j].left = 1e8 * (j + 1);
	for (double t = 0; t < HOURS_S; t += STEP_S)
		step(&w, t);
	return w.jobs[LIAR].service_s;
}

static double got(bool by_left, story lie)
{
	return got_in((struct world){ .by_left = by_left, .lie = lie });
}

static void nearly_done(struct words *words, double t)
{
	(void) t;
	words->hint.samples_left = 1000;
}

/* A new end whenever the last one is reached. */
static void done_soon_again_and_again(struct words *words, double t)
{
	words->hint.samples_left = 1e6 - 3000 * fmod(t, 290);
}

/* No lie: it is then ranked by what it has had. */
static void does_not_tell(struct words *words, double t)
{
	(void) t;
	words->hint.samples_left = 0;
}

static void lies_now_and_then(struct words *words, double t)
{
	if (fmod(t, 3900) < 290)
		words->hint.samples_left = 1e6 - 3000 * fmod(t, 3900);
}

static void scales_without_end(struct words *words, double t)
{
	(void) t;
	words->hint.job.model = (struct plx_model){ .alpha_c = 1, .gamma = 1 };
	words->hint.job.noise = (struct plx_noise){ .var = 1e20 };
	words->hint.samples_left = 0;
}

/* Nothing goes with fewer than all GPUs. */
static void needs_all(struct words *words, double t)
{
	(void) t;
	words->hint.job.limits =
		(struct plx_limits){ 4096, 4096, 256, 256, false };
	words->hint.samples_left = 0;
}

static void has_measured_all(struct words *words, double t)
{
	(void) t;
	words->hint.profiled = (struct plx_shape){ 1, 4096, 0 };
}

static void cannot_be_moved(struct words *words, double t)
{
	(void) t;
	words->hint.restart_s = 3600;
}

static void noise_that_comes_and_goes(struct words *words, double t)
{
	words->hint.job.noise.var = fmod(t, 2 * STEP_S) < STEP_S ? 1e9 : 1e-9;
}

static void switches_cost_it_all(struct words *words, double t)
{
	(void) t;
	words->hint.job.model.per_switch = PLX_PER_SWITCH_MAX;
}

static void switches_cost_it_nothing(struct words *words, double t)
{
	(void) t;
	words->hint.job.model.per_switch = 1e-8;
	words->hint.job.model.further = PLX_FURTHER_MAX;
}

/* With a phase that would excuse it. */
static void nearly_done_and_saves(struct words *words, double t)
{
	nearly_done(words, t);
	words->phase = PLX_PHASE_SAVING;
}

static void nearly_done_and_starts(struct words *words, double t)
{
	nearly_done(words, t);
	words->phase = PLX_PHASE_STARTING;
}

static void nearly_done_and_flaps(struct words *words, double t)
{
	nearly_done(words, t);
	if (fmod(t, 2 * STEP_S) < STEP_S)
		words->phase = PLX_PHASE_SAVING;
}

/* Once it has grown. */
static void scales_and_goes_silent(struct words *words, double t)
{
	scales_without_end(words, t);
	words->silent = t > 600;
}

static void scales_and_is_done(struct words *words, double t)
{
	scales_without_end(words, t);
	if (t > 600)
		words->phase = PLX_PHASE_DONE;
}

static void scales_and_is_silent_mostly(struct words *words, double t)
{
	scales_without_end(words, t);
	words->silent = fmod(t, 900) >= 300;
}

static void goes_backwards(struct words *words, double t)
{
	words->hint.samples_left = 1e6 + 3000 * fmod(t, 3600);
}

static const struct {
	const char *name;
	story lie;
	bool by_left;
	double most; /* gain */
} liars[] = {
	{ "nearly done", nearly_done, true, 1.10 },
	{ "done soon, again and again", done_soon_again_and_again, true, 1.25 },
	{ "lies now and then", lies_now_and_then, true, 1.25 },
	{ "nearly done, saves", nearly_done_and_saves, true, 1.10 },
	{ "nearly done, starts", nearly_done_and_starts, true, 1.20 },
	{ "nearly done, flaps", nearly_done_and_flaps, true, 1.20 },
	{ "goes backwards", goes_backwards, true, 1.25 },
	{ "scales, goes silent", scales_and_goes_silent, false, 1.0 },
	{ "scales, is done", scales_and_is_done, false, 1.0 },
	{ "scales, is silent mostly", scales_and_is_silent_mostly, false, 1.0 },
	{ "does not tell what is left", does_not_tell, true, 9 },
	{ "scales without end", scales_without_end, false, 2.0 },
	{ "needs all GPUs", needs_all, false, 2.0 },
	{ "has measured all", has_measured_all, false, 1.05 },
	{ "cannot be moved", cannot_be_moved, false, 1.10 },
	{ "noise comes and goes", noise_that_comes_and_goes, false, 1.0 },
};

static void no_liar_gains_more_than_is_documented(void **state)
{
	double honest[2] = { got(false, NULL), got(true, NULL) };
	bool bad = false;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(liars); i++) {
		bool by_left = liars[i].by_left;
		double gain = got(by_left, liars[i].lie) / honest[by_left];

		print_message("# %s: gains %.2f, at most %.2f\n", liars[i].name,
			      gain, liars[i].most);
		bad |= gain > liars[i].most;
	}
	assert_false(bad);
}

static void lying_about_switches_gains_little(void **state)
{
	const story lies[] = { switches_cost_it_all, switches_cost_it_nothing };
	double honest = got_in((struct world){ .wired = true });

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct world w = { .wired = true, .lie = lies[i] };
		double gain = got_in(w) / honest;

		print_message("# switches cost it %s: gains %.2f\n",
			      i ? "nothing" : "all", gain);
		assert_true(gain <= 1.05);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_liar_gains_more_than_is_documented),
		cmocka_unit_test(lying_about_switches_gains_little),
	};

	return cmocka_run_group_tests_name("false_reports", tests, NULL, NULL);
}
