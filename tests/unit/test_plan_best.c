/* SPDX-License-Identifier: MIT */
/* test_plan_best.c - plans and bounds, compared with all there is */

#include <string.h>

#include "brute_force.h"
#include "plan_world.h"
#include "random_problem.h"
#include "reached.h"

static const struct random_spec small = { .nodes = 3, .jobs = 3, .gpus = 4 };
static const struct random_spec calm = {
	.nodes = 3, .jobs = 3, .gpus = 4, .calm = true
};
static const struct random_spec rich = {
	.nodes = 3, .jobs = 3, .gpus = 4, .rich = true, .stocked = true
};
static const struct random_spec wired = {
	.nodes = 3, .jobs = 3, .gpus = 4, .wired = true, .stocked = true
};

struct tally {
	int compared;
	int missed;
};

/* Compare so many; the share of plans more than 0.1 % below the best. */
static void compare_many(const struct random_spec *spec, uint64_t seed,
			 int count, struct tally *tally)
{
	for (int i = 0; i < count; i++) {
		struct plx_problem *problem = random_problem(&seed, spec);
		struct plx_plan *plan;
		double best;

		problem->hysteresis = 0;
		best = brute_force(problem);
		plan = searched(problem);
		if (best >= 0) {
			tally->compared++;
			if (plan->fitness < 0.999 * best) {
				print_message("# case %d: %g, best %g\n", i,
					      plan->fitness, best);
				tally->missed++;
			}
			assert_true(plan->fitness <= best * (1 + 1e-9));
			assert_true(plan->bound >= best * (1 - 1e-9));
		}
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
}

static void small_plans_are_the_best_but_for_one_in_a_thousand(void **state)
{
	struct tally tally = { 0 };

	(void) state;
	compare_many(&small, 7, 500, &tally);
	compare_many(&calm, 8, 500, &tally);
	compare_many(&rich, 9, 1000, &tally);
	compare_many(&wired, 10, 1000, &tally);
	assert_true(tally.compared > 2000);
	assert_true(tally.missed * 1000 <= tally.compared);
}

enum { WIDE_GPUS = 48 };

/* Two jobs on one wide node, most of which have too many GPUs some time. */
static struct plx_problem *wide_problem(uint64_t *seed)
{
	struct plx_problem *problem = cluster(1, WIDE_GPUS, 2);

	problem->fairness = chance(seed, 50) ? -1 : 0;
	problem->hysteresis = 0;
	for (int j = 0; j < 2; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->min_gpus = 1;
		job->max_gpus = random_int(seed, 17, WIDE_GPUS);
		job->profiled_gpus = WIDE_GPUS;
		random_goodput(seed, &job->goodput, false);
		job->goodput.limits.min_per_gpu = 1;
	}
	return problem;
}

/* *falls: it has fewer GPUs than there would be. */
static double best_of_wide(struct plx_problem *problem, bool *falls)
{
	double best = 0;
	int gpus[2];

	for (gpus[0] = 0; gpus[0] <= problem->jobs[0].max_gpus; gpus[0]++) {
		for (gpus[1] = 0; gpus[1] <= problem->jobs[1].max_gpus &&
				  gpus[0] + gpus[1] <= WIDE_GPUS;
		     gpus[1]++) {
			double fitness = plx_plan_fitness(problem, gpus);

			if (fitness <= best)
				continue;
			best = fitness;
			*falls = gpus[0] + gpus[1] < WIDE_GPUS &&
				 gpus[0] < problem->jobs[0].max_gpus;
		}
	}
	return best;
}

static void more_gpus_may_be_worth_less(void **state)
{
	struct reached reached[] = { { "a job wants no more", 0 } };
	uint64_t seed = 21;

	(void) state;
	for (int i = 0; i < UNIT_CASES(300); i++) {
		struct plx_problem *problem = wide_problem(&seed);
		struct plx_plan *plan = searched(problem);
		bool falls = false;
		double best = best_of_wide(problem, &falls);

		reached[0].times += falls;
		assert_true(plan->fitness >= 0.999 * best);
		assert_true(plan->bound >= best * (1 - 1e-9));
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	assert_all_reached(reached, ARRAY_SIZE(reached), UNIT_CASES(50));
}

/* The nodes in another order. */
static void reverse_row(int *row, int count)
{
	for (int n = 0; n < count / 2; n++) {
		int gpus = row[n];

		row[n] = row[count - 1 - n];
		row[count - 1 - n] = gpus;
	}
}

static void reverse_nodes(struct plx_problem *problem)
{
	int nodes = problem->node_count;

	reverse_row(problem->gpus, nodes);
	reverse_row(problem->gpus_total, nodes);
	for (int n = 0; problem->consumables && n < nodes / 2; n++) {
		double consumables = problem->consumables[n];

		problem->consumables[n] = problem->consumables[nodes - 1 - n];
		problem->consumables[nodes - 1 - n] = consumables;
	}
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		reverse_row(job->now, nodes);
		if (job->batch_host >= 0)
			job->batch_host = nodes - 1 - job->batch_host;
		for (int n = 0; job->allowed && n < nodes / 2; n++) {
			bool allowed = job->allowed[n];

			job->allowed[n] = job->allowed[nodes - 1 - n];
			job->allowed[nodes - 1 - n] = allowed;
		}
	}
}

static void a_plan_is_as_good_with_nodes_in_another_order(void **state)
{
	struct reached reached[] = { { "the plan changes", 0 },
				     { "GPUs are of several nodes", 0 },
				     { "a consumable is counted", 0 } };
	uint64_t seed = 5;
	int other = 0;

	(void) state;
	for (int i = 0; i < UNIT_CASES(500); i++) {
		struct plx_problem *problem = random_problem(&seed, &rich);
		struct plx_plan *plan = searched(problem);
		struct plx_plan *back;

		reached[0].times += plan->fitness > plan->fitness_now;
		reached[1].times += problem->node_count > 1;
		reached[2].times += problem->consumables != NULL;
		reverse_nodes(problem);
		back = searched(problem);
		other += fabs(plan->fitness - back->fitness) >
			 2 * problem->hysteresis * plan->fitness;
		plx_plan_destroy(back);
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	assert_all_reached(reached, ARRAY_SIZE(reached), UNIT_CASES(50));
	if (other > 5)
		fail_msg("%d of 500 differ", other);
}

/* Twice as many jobs as nodes, of which some need a few GPUs to run. */
static struct plx_problem *needy_problem(uint64_t *seed, double p,
					 bool restricted)
{
	int nodes = random_int(seed, 20, 64);
	int jobs = 2 * nodes;
	struct plx_problem *problem = plx_problem_create(nodes, jobs, NULL);

	assert_non_null(problem);
	problem->fairness = p;
	problem->interference = true;
	for (int n = 0; n < nodes; n++)
		problem->gpus[n] = problem->gpus_total[n] = 8;
	for (int j = 0; j < jobs; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->id = (uint32_t) j + 1;
		job->min_gpus = random_int(seed, 1, 4);
		job->max_gpus = 8 << random_int(seed, 0, 3);
		job->profiled_gpus = 1 << random_int(seed, 0, 5);
		job->may_park = true;
		job->batch_host = -1;
		random_goodput(seed, &job->goodput, false);
		job->profiled = true;
		if (!restricted || !chance(seed, 30))
			continue;
		assert_int_equal(0, plx_problem_restrict(problem, j, NULL));
		for (int n = random_int(seed, 4, nodes - 1); n < nodes; n++)
			job->allowed[n] = false;
	}
	return problem;
}

static void from_nothing_a_plan_comes_close_to_its_bound(void **state)
{
	uint64_t seed = 12;

	(void) state;
	for (int i = 0; i < 24; i++) {
		struct plx_problem *problem =
			needy_problem(&seed, i % 2 ? -1 : 0, i % 4 > 1);
		struct plx_plan *plan = searched(problem);

		assert_true(feasible(problem, plan->choices[0].gpus));
		if (plan->fitness < 0.95 * plan->bound)
			fail_msg("case %d: %g, bound %g", i, plan->fitness,
				 plan->bound);
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
}

/* They differ on several nodes only, where their fair share is not. */
static void jobs_nearly_alike_have_speedups_of_their_own(void **state)
{
	struct plx_problem *problem = cluster(10, 4, 10);
	struct plx_plan *plan;
	bool several = false;

	(void) state;
	for (int j = 0; j < problem->job_count; j++)
		problem->jobs[j].may_park = false;
	for (int j = 0; j < 5; j++)
		problem->jobs[j].min_nodes = 2;
	problem->jobs[1].goodput.model.alpha_n *= 2;
	problem->jobs[2].goodput.model.beta_n *= 1000;
	problem->jobs[3].goodput.model.two_nodes = 1;
	plan = searched(problem);
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_job *job = &problem->jobs[j];
		const struct plx_choice *choice = &plan->choices[j];
		struct plx_yardstick fair = plx_fair_share(problem, job);

		several = several || choice->shape.nodes > 1;
		assert_true(choice->speedup ==
			    plx_speedup(job, &fair, choice->shape));
	}
	assert_true(several);
	done(problem, plan);
}

/* Whoever was the first of them by number is the last one now. */
static void renumber(struct plx_problem *problem)
{
	int jobs = problem->job_count;

	for (int j = 0; j < jobs; j++)
		problem->jobs[j].id = problem->jobs[j].id % (uint32_t) jobs + 1;
}

static int left_out(const struct plx_problem *problem)
{
	struct plx_plan *plan = searched(problem);
	int count = 0;

	for (int j = 0; j < problem->job_count; j++)
		count += plan->choices[j].shape.gpus == 0;
	plx_plan_destroy(plan);
	return count;
}

/*
 * A random world in which all can have what they need, but one of them would
 * have nothing once others have grown.
 */
static void nobody_is_left_out_that_others_may_grow(void **state)
{
	static const struct random_spec narrow = { .nodes = 6,
						   .jobs = 12,
						   .gpus = 4 };
	struct plx_problem *problem = NULL;
	uint64_t seed = 7;

	(void) state;
	for (int i = 0; i <= 481; i++) {
		plx_problem_destroy(problem);
		problem = random_problem(&seed, &narrow);
	}
	assert_int_equal(8, problem->job_count);
	for (int j = 0; j < 8; j++)
		problem->jobs[j].id = (uint32_t) j + 1;
	for (int first = 0; first < 8; first++) {
		assert_int_equal(0, left_out(problem));
		renumber(problem);
	}
	plx_problem_destroy(problem);
}

enum { ROOMY_GPUS = 4 };

/* It may be on that node; of others on all, or on every fifth. */
static void restrict_job(uint64_t *seed, struct plx_problem *problem, int j,
			 int node)
{
	if (chance(seed, 60))
		return;
	assert_int_equal(0, plx_problem_restrict(problem, j, NULL));
	for (int n = 0; n < problem->node_count; n++)
		problem->jobs[j].allowed[n] = n == node || chance(seed, 20);
}

/*
 * Nearly all GPUs of a few nodes are needed for what jobs need at least, and
 * each job has room for that on a node of its own choice.
 */
static struct plx_problem *roomy_problem(uint64_t *seed)
{
	struct plx_problem *problem;
	int nodes = random_int(seed, 3, 12);
	int needed = nodes * ROOMY_GPUS * random_int(seed, 80, 100) / 100;
	int least[12 * ROOMY_GPUS];
	int node[12 * ROOMY_GPUS];
	int used[12] = { 0 };
	int jobs = 0;

	while (needed > 0) {
		int n = random_int(seed, 0, nodes - 1);
		int gpus =
			chance(seed, 60) ? 1 : random_int(seed, 1, ROOMY_GPUS);

		if (gpus > needed || used[n] + gpus > ROOMY_GPUS)
			continue;
		used[n] += gpus;
		needed -= gpus;
		least[jobs] = gpus;
		node[jobs++] = n;
	}
	problem = cluster(nodes, ROOMY_GPUS, jobs);
	problem->fairness = chance(seed, 50) ? -1 : 0;
	for (int j = 0; j < jobs; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->min_gpus = least[j];
		job->max_gpus = random_int(seed, least[j], 12);
		random_goodput(seed, &job->goodput, false);
		job->goodput.limits.min_per_gpu = 1;
		restrict_job(seed, problem, j, node[j]);
	}
	return problem;
}

static void who_has_room_is_hardly_ever_left_out(void **state)
{
	uint64_t seed = 1;
	int count = 0;

	(void) state;
	for (int i = 0; i < UNIT_CASES(6000); i++) {
		struct plx_problem *problem = roomy_problem(&seed);

		/* A world in which it may depend on who is the first. */
		for (int j = 0; i == 2993 && j < problem->job_count; j++) {
			assert_int_equal(0, left_out(problem));
			renumber(problem);
		}
		count += left_out(problem);
		plx_problem_destroy(problem);
	}
	if (count > UNIT_CASES(6000) / 1000)
		fail_msg("%d jobs", count);
}

/* ---- one node, and so many GPUs that not all counts are looked at ---- */

enum { ONE_NODE = 64 };

static double worth(struct plx_problem *problem, int j, int gpus)
{
	return value_of(problem, j, &gpus);
}

/* More GPUs are never worth less to the job. */
static bool grows(struct plx_problem *problem, int j)
{
	double last = 0;

	for (int g = 1; g <= problem->gpus[0]; g++) {
		double value = worth(problem, j, g);

		if (value < last)
			return false;
		last = value;
	}
	return true;
}

static struct plx_problem *one_node(uint64_t *seed)
{
	static const double powers[] = { -3, -1, 0, 0.5, 1 };
	struct plx_problem *problem = cluster(1, random_int(seed, 24, ONE_NODE),
					      random_int(seed, 2, 6));

	problem->fairness = powers[random_int(seed, 0, 4)];
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->min_gpus = random_int(seed, 1, 3);
		job->max_gpus = random_int(seed, 17, ONE_NODE);
		if (chance(seed, 50))
			job->weight = spread(seed, 0.1, 10);
		do
			random_goodput(seed, &job->goodput, false);
		while (!grows(problem, j));
	}
	return problem;
}

/* The best fitness: of all ways to share so many GPUs, job by job. */
static double best_shares(struct plx_problem *problem)
{
	int gpus = problem->gpus[0];
	double p = problem->fairness;
	double best[ONE_NODE + 1] = { 0 };
	double weights = 0;

	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_job *job = &problem->jobs[j];
		double next[ONE_NODE + 1];

		weights += plx_weight(job);
		for (int c = 0; c <= gpus; c++)
			next[c] = -INFINITY;
		for (int g = 0; g <= gpus; g++) {
			double utility = plx_utility(p, worth(problem, j, g));

			if (!row_allowed(problem, job, &g))
				continue;
			for (int c = g; c <= gpus; c++)
				next[c] = fmax(next[c],
					       best[c - g] + plx_weight(job) *
								     utility);
		}
		memcpy(best, next, sizeof(best));
	}
	return p == 0 ? exp(best[gpus] / weights)
		      : pow(fabs(best[gpus]) / weights, 1 / p);
}

static void a_large_node_is_shared_as_well_as_it_can_be(void **state)
{
	uint64_t seed = 77;

	(void) state;
	for (int i = 0; i < UNIT_CASES(1000); i++) {
		struct plx_problem *problem = one_node(&seed);
		struct plx_plan *plan = searched(problem);
		double best = best_shares(problem);

		if (fabs(plan->fitness - best) > 1e-4 * best ||
		    plan->bound < best * (1 - 1e-9))
			fail_msg("case %d: %g of %g, bound %g", i,
				 plan->fitness, best, plan->bound);
		done(problem, plan);
	}
}

/* ---- when the search ends ---- */

static bool count_asks(void *asks)
{
	++*(int *) asks;
	return false;
}

/* It is asked before each shake, and by few jobs hardly ever besides. */
static struct plx_plan *searched_for(struct plx_problem *problem, int *asks)
{
	*asks = 0;
	problem->stop = count_asks;
	problem->stop_context = asks;
	return searched(problem);
}

/* A mean with weights does not depend on the unit of these. */
static void a_plan_is_the_same_with_all_weights_times_a_thousand(void **state)
{
	static const struct random_spec spec = {
		.nodes = 5, .jobs = 8, .gpus = 4, .rich = true
	};
	uint64_t seed = 5;
	int shaken = 0;

	(void) state;
	for (int i = 0; i < UNIT_CASES(600); i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		int asks, again;
		struct plx_plan *plan = searched_for(problem, &asks);
		struct plx_plan *other;

		/* So that the products are exact. */
		for (int j = 0; j < problem->job_count; j++)
			problem->jobs[j].weight =
				1024 * plx_weight(&problem->jobs[j]);
		other = searched_for(problem, &again);
		shaken += asks > 100;
		assert_int_equal(asks, again);
		for (int j = 0; j < problem->job_count; j++)
			assert_true(same_row(problem, plan->choices[j].gpus,
					     other->choices[j].gpus));
		plx_plan_destroy(other);
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	assert_true(shaken > UNIT_CASES(50));
}

/* Nobody looks for the last ten thousandth of the fitness. */
static void a_plan_is_shaken_unless_it_is_close_to_its_bound(void **state)
{
	static const struct random_spec spec = {
		.nodes = 5, .jobs = 8, .gpus = 4, .calm = true
	};
	uint64_t seed = 6;
	int near = 0;
	int near_late = 0; /* after some shakes */
	int far = 0;

	(void) state;
	for (int i = 0; i < UNIT_CASES(3000); i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		struct plx_plan *plan;
		double gap;
		int asks;

		if (isinf(problem->fairness))
			problem->fairness = -3;
		problem->hysteresis = 0;
		plan = searched_for(problem, &asks);
		gap = 1 - plan->fitness / plan->bound;
		if (gap > 1.1e-4) {
			far++;
			assert_true(asks > 100);
		} else if (gap < 0.9e-4) {
			near++;
			near_late += asks > 20;
		}
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	assert_true(far > UNIT_CASES(400) && near > UNIT_CASES(400));
	if (near_late * 100 > near)
		fail_msg("%d of %d are shaken", near_late, near);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_nearly_alike_have_speedups_of_their_own),
		cmocka_unit_test(
			small_plans_are_the_best_but_for_one_in_a_thousand),
		cmocka_unit_test(more_gpus_may_be_worth_less),
		cmocka_unit_test(a_plan_is_as_good_with_nodes_in_another_order),
		cmocka_unit_test(from_nothing_a_plan_comes_close_to_its_bound),
		cmocka_unit_test(nobody_is_left_out_that_others_may_grow),
		cmocka_unit_test(who_has_room_is_hardly_ever_left_out),
		cmocka_unit_test(a_large_node_is_shared_as_well_as_it_can_be),
		cmocka_unit_test(
			a_plan_is_the_same_with_all_weights_times_a_thousand),
		cmocka_unit_test(
			a_plan_is_shaken_unless_it_is_close_to_its_bound),
	};

	return cmocka_run_group_tests_name("best plans", tests, NULL, NULL);
}
