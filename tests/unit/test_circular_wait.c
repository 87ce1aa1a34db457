/* SPDX-License-Identifier: MIT */
/* test_circular_wait.c - jobs of a plan that wait for each other */

#include <stdlib.h>
#include <string.h>

#include "core/reserve/circular_wait.h"
#include "plan_rules.h"
#include "random_problem.h"
#include "reached.h"
#include "unit.h"

#define NODES 3
#define JOBS  2

/* Two jobs, with their batch host on the first and the second node. */
struct world {
	int now[JOBS][NODES], gpus[JOBS][NODES];
	struct plx_job jobs[JOBS];
	struct plx_choice choices[JOBS];
	struct plx_problem problem;
	struct plx_plan plan;
	bool acts[JOBS];
	int idle[NODES];
};

static const struct world crossed = {
	.now = { { 4, 0, 0 }, { 0, 4, 0 } },
	.gpus = { { 3, 1, 2 }, { 1, 3, 2 } },
	.acts = { true, true },
	.idle = { 0, 0, 4 },
};

static int end_circle(struct world *world, int *gpus, uint32_t *other)
{
	for (int j = 0; j < JOBS; j++) {
		world->jobs[j].id = 10 + (uint32_t) j;
		world->jobs[j].batch_host = j;
		world->jobs[j].now = world->now[j];
		world->jobs[j].min_gpus =
			world->jobs[j].min_gpus ? world->jobs[j].min_gpus : 1;
		world->choices[j].gpus = world->gpus[j];
	}
	world->problem.node_count = world->plan.node_count = NODES;
	world->problem.job_count = world->plan.job_count = JOBS;
	world->problem.jobs = world->jobs;
	world->plan.choices = world->choices;
	return plx_circular_wait(&world->problem, &world->plan, world->acts,
				 world->idle, gpus, other);
}

static void who_waits_for_each_other_is_found(void **state)
{
	struct world world = crossed;
	int gpus[NODES];
	uint32_t other = 0;

	(void) state;
	assert_int_equal(0, end_circle(&world, gpus, &other));
	assert_int_equal(11, other);
	assert_int_equal(3, gpus[0]);
	assert_int_equal(0, gpus[1]);
	assert_int_equal(0, gpus[2]);
}

static void a_chain_needs_nobody_to_shrink_first(void **state)
{
	struct world world = crossed;
	int gpus[NODES];
	uint32_t other = 0;

	(void) state;
	memcpy(world.gpus[0], (int[]){ 2, 0, 0 }, sizeof(world.gpus[0]));
	memcpy(world.gpus[1], (int[]){ 2, 4, 0 }, sizeof(world.gpus[1]));
	assert_int_equal(-1, end_circle(&world, gpus, &other));
}

static void nobody_shrinks_for_what_does_not_come(void **state)
{
	struct world world = crossed;
	int gpus[NODES];
	uint32_t other = 0;

	(void) state;
	world.acts[1] = false; /* it keeps what it has */
	assert_int_equal(-1, end_circle(&world, gpus, &other));
}

static void rules_of_a_job_hold_meanwhile(void **state)
{
	struct world world = crossed;
	int gpus[NODES];
	uint32_t other = 0;

	(void) state;
	world.jobs[0].min_gpus = 4;
	assert_int_equal(1, end_circle(&world, gpus, &other));
	assert_int_equal(10, other);
	world.jobs[1].min_gpus = 4;
	assert_int_equal(-1, end_circle(&world, gpus, &other));

	world = crossed;
	world.jobs[0].min_nodes = 2;
	assert_int_equal(1, end_circle(&world, gpus, &other));

	world = crossed;
	world.jobs[0].sizes = (int[]){ 1, 2, 4, 6 };
	world.jobs[0].size_count = 4;
	assert_int_equal(1, end_circle(&world, gpus, &other));
}

static void shapes_stay_even_where_that_is_the_rule(void **state)
{
	struct world world = {
		.now = { { 2, 0, 2 }, { 0, 4, 0 } },
		.gpus = { { 1, 1, 1 }, { 2, 2, 2 } },
		.acts = { true, true },
		.idle = { 0, 0, 0 },
		.problem = { .uniform = true },
	};
	int gpus[NODES];
	uint32_t other = 0;

	(void) state;
	assert_int_equal(0, end_circle(&world, gpus, &other));
	assert_int_equal(1, gpus[0]);
	assert_int_equal(0, gpus[1]);
	assert_int_equal(1, gpus[2]);
}

/* What its shapes share is too little for it. */
static void who_retreats_goes_to_the_batch_host_or_the_smallest_node(
	void **state)
{
	static const struct world first = {
		.now = { { 1, 0, 1 }, { 2, 2, 0 } },
		.gpus = { { 2, 0, 0 }, { 0, 1, 1 } },
		.jobs = { { .min_gpus = 2 }, { .min_gpus = 2 } },
		.acts = { true, true },
	};

	(void) state;
	for (int roams = 0; roams < 2; roams++) {
		struct world world = first;
		int gpus[NODES];
		uint32_t other = 0;

		world.jobs[1].roams = roams;
		world.now[1][0] += roams; /* or both would be as small */
		assert_int_equal(1, end_circle(&world, gpus, &other));
		assert_int_equal(10, other);
		assert_int_equal(0, gpus[0]);
		assert_int_equal(2, gpus[1]);
		assert_int_equal(0, gpus[2]);
	}
}

/* Each wants the other's node, and has no more than its least. */
static void who_swaps_and_can_give_no_part_is_parked(void **state)
{
	static const struct world swap = {
		.now = { { 2, 0, 0 }, { 0, 2, 0 } },
		.gpus = { { 0, 2, 0 }, { 2, 0, 0 } },
		.jobs = { { .min_gpus = 2, .roams = true, .may_park = true },
			  { .min_gpus = 2, .roams = true, .may_park = true } },
		.acts = { true, true },
	};
	struct world world = swap;
	int gpus[NODES] = { 9, 9, 9 };
	uint32_t other = 0;

	(void) state;
	assert_int_equal(0, end_circle(&world, gpus, &other));
	assert_int_equal(11, other);
	for (int n = 0; n < NODES; n++)
		assert_int_equal(0, gpus[n]);

	world = swap;
	world.jobs[0].may_park = false;
	assert_int_equal(1, end_circle(&world, gpus, &other));
	assert_int_equal(10, other);
	world = swap;
	world.jobs[0].whole = world.jobs[1].whole = true;
	assert_int_equal(-1, end_circle(&world, gpus, &other));

	/* Not while one can go on with less. */
	world = swap;
	world.now[1][1] = 3;
	assert_int_equal(1, end_circle(&world, gpus, &other));
	assert_int_equal(2, gpus[1]);
}

/* By what random plans are carried out. */
enum { FITS, SHARES, RETREATS, PARKS, WAYS };
static struct reached ways[WAYS] = {
	[FITS] = { "a job fits as it is", 0 },
	[SHARES] = { "a job keeps what its two shapes share", 0 },
	[RETREATS] = { "a job keeps its least GPUs, on one of its nodes", 0 },
	[PARKS] = { "a job with its least GPUs is parked", 0 },
};

/*
 * It shrinks to what its shapes share, else to its least, on one node. Only who
 * has no more than its least, and goes elsewhere, is parked.
 */
static void check_shrunk(const struct plx_problem *problem,
			 const struct plx_job *job, const int *next,
			 const int *gpus)
{
	int nodes = problem->node_count;
	bool shares = true;
	int count = 0;
	int used = 0;

	for (int n = 0; n < nodes; n++) {
		assert_true(gpus[n] >= 0 && gpus[n] <= job->now[n]);
		shares = shares && gpus[n] <= next[n];
		count += gpus[n];
		used += gpus[n] > 0;
	}
	if (!count) {
		assert_true(job->roams);
		assert_int_equal(job->min_gpus,
				 shape_of(problem, job->now).gpus);
		ways[PARKS].times++;
		return;
	}
	assert_true(count >= job->min_gpus);
	assert_true(job->roams || gpus[job->batch_host] > 0);
	if (!shares) {
		assert_int_equal(1, used);
		assert_int_equal(job->min_gpus, count);
	}
	ways[shares ? SHARES : RETREATS].times++;
}

/*
 * As cycles do: what fits, then what makes room for others. True when a job was
 * parked for that, which has to be planned anew.
 */
static bool carry_out(const struct plx_problem *problem,
		      const struct plx_plan *plan, bool *acts, int *idle)
{
	int nodes = problem->node_count;
	int *gpus = calloc((size_t) nodes, sizeof(int));
	bool moved = true;
	bool parked = false;

	while (moved && !parked) {
		uint32_t other = 0;
		int tied = -1;

		moved = false;
		for (int j = 0; j < problem->job_count; j++) {
			int *now = problem->jobs[j].now;
			const int *next = plan->choices[j].gpus;
			bool fits = acts[j];

			for (int n = 0; n < nodes && fits; n++)
				fits = next[n] <= now[n] ||
				       next[n] - now[n] <= idle[n];
			for (int n = 0; n < nodes && fits; n++) {
				idle[n] -= next[n] - now[n];
				now[n] = next[n];
			}
			acts[j] = acts[j] && !fits;
			ways[FITS].times += fits;
			moved = moved || fits;
		}
		tied = plx_circular_wait(problem, plan, acts, idle, gpus,
					 &other);
		if (tied >= 0)
			check_shrunk(problem, &problem->jobs[tied],
				     plan->choices[tied].gpus, gpus);
		for (int n = 0; n < nodes && tied >= 0; n++) {
			int *now = problem->jobs[tied].now;

			idle[n] += now[n] - gpus[n];
			now[n] = gpus[n];
		}
		moved = moved || tied >= 0;
		parked = tied >= 0 &&
			 !shape_of(problem, problem->jobs[tied].now).gpus;
	}
	free(gpus);
	return parked;
}

/* Its batch host is where it has its first GPU, and with that content; some may
 * leave it. */
static void settle(uint64_t *seed, struct plx_problem *problem)
{
	problem->uniform = false;
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->min_gpus = 1;
		job->may_park = true;
		job->batch_host = -1;
		for (int n = problem->node_count - 1; n >= 0; n--)
			job->batch_host = job->now[n] > 0 ? n : job->batch_host;
		job->roams = job->batch_host >= 0 && chance(seed, 50);
	}
}

/* Was a job parked, or all of the plan carried out? */
static bool parks(struct plx_problem *problem)
{
	struct plx_plan *plan = searched(problem);
	bool *acts = calloc((size_t) problem->job_count, sizeof(bool));
	int *idle = calloc((size_t) problem->node_count, sizeof(int));
	bool parked;

	assert_true(acts && idle);
	for (int n = 0; n < problem->node_count; n++) {
		idle[n] = problem->gpus[n];
		for (int j = 0; j < problem->job_count; j++)
			idle[n] -= problem->jobs[j].now[n];
	}
	for (int j = 0; j < problem->job_count; j++)
		acts[j] = plan->choices[j].changed;
	parked = carry_out(problem, plan, acts, idle);
	for (int j = 0; j < problem->job_count && !parked; j++)
		assert_false(acts[j]);
	for (int n = 0; n < problem->node_count; n++)
		assert_true(idle[n] >= 0);
	free(idle);
	free(acts);
	plx_plan_destroy(plan);
	return parked;
}

static void all_plans_can_be_carried_out(void **state)
{
	struct random_spec spec = {
		.nodes = 6, .jobs = 8, .gpus = 4, .calm = true
	};
	uint64_t seed = 1;

	(void) state;
	for (int i = 0; i < 10000; i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);

		settle(&seed, problem);
		/* Nobody is parked for the next plan again. */
		if (parks(problem))
			assert_false(parks(problem));
		plx_problem_destroy(problem);
	}
	for (int i = 0; i < WAYS; i++)
		print_message("# %s: %d\n", ways[i].what, ways[i].times);
	assert_all_reached(ways, WAYS, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_each_other_is_found),
		cmocka_unit_test(a_chain_needs_nobody_to_shrink_first),
		cmocka_unit_test(nobody_shrinks_for_what_does_not_come),
		cmocka_unit_test(rules_of_a_job_hold_meanwhile),
		cmocka_unit_test(shapes_stay_even_where_that_is_the_rule),
		cmocka_unit_test(who_swaps_and_can_give_no_part_is_parked),
		cmocka_unit_test(all_plans_can_be_carried_out),
		cmocka_unit_test(
			who_retreats_goes_to_the_batch_host_or_the_smallest_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
