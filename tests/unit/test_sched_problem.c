/* SPDX-License-Identifier: MIT */
/* test_sched_problem.c - what slurmctld's plugin makes of the jobs it sees */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/search/plan.h"
#include "core/problem/objective.h"
#include "sched/pollux/plan/promises.h"
#include "sched_world.h"

/* The job has told that it measured so many GPUs. */
static void measured(struct world *w, int j, int gpus, int base_batch)
{
	w->jobs[j].status.has_hint = true;
	w->jobs[j].status.hint = (struct plx_hint){
		.job = {
			.model = { 0.05, 0.002, 0.1, 0.01, 0.02, 0.001, 1.5 },
			.noise = { 1, 20 },
			.limits = { base_batch, 4096, 8, 256, true },
		},
		.profiled = { 1, gpus },
		.restart_s = 2,
	};
	w->inputs[j].most_gpus = gpus;
}

static void moves_must_be_worth_it(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	problem = problem_of(&w);
	assert_true(problem->hysteresis == PLX_HYSTERESIS);
	assert_false(problem->jobs[0].profiled);
	assert_int_equal(1, problem->jobs[0].profiled_gpus);
	plx_problem_destroy(problem);
}

static void a_job_is_lent_what_another_measured(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	measured(&w, 0, 16, 100);
	measured(&w, 1, 1, 100);
	problem = problem_of(&w);
	assert_int_equal(16, problem->jobs[0].profiled_gpus);
	assert_int_equal(16, problem->jobs[1].profiled_gpus);
	assert_int_equal(1, pollux_problem_measured(&w.jobs[1]));
	plx_problem_destroy(problem);
}

/* That it is there no more makes no difference. */
static void what_was_measured_outlives_the_job(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	measured(&w, 0, 12, 200);
	plx_problem_destroy(problem_of(&w));
	set_up(&w);
	w.snapshot.job_count = 1;
	w.jobs[0].id = 77;
	measured(&w, 0, 2, 200);
	problem = problem_of(&w);
	assert_int_equal(12, problem->jobs[0].profiled_gpus);
	plx_problem_destroy(problem);
}

static void nodes_closed_to_a_job_are_closed_to_it_alone(void **state)
{
	bool shunned[NODES] = { false, true };
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	w.jobs[0].shunned = shunned;
	problem = problem_of(&w);
	assert_true(problem->jobs[0].allowed[0]);
	assert_false(problem->jobs[0].allowed[1]);
	assert_true(!problem->jobs[1].allowed || problem->jobs[1].allowed[1]);
	plx_problem_destroy(problem);
}

static void switches_reach_the_search(void **state)
{
	int switches[NODES] = { 1, 0 };
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	w.params.switch_cost = 25;
	measured(&w, 0, 1, 700);
	problem = problem_of(&w);
	assert_null(problem->switches);
	plx_problem_destroy(problem);
	w.snapshot.switches = switches;
	problem = problem_of(&w);
	assert_memory_equal(switches, problem->switches, sizeof(switches));
	assert_true(problem->switch_cost == 0.25);
	assert_true(problem->jobs[0].goodput.model.per_switch == 0.25);
	assert_int_equal(0, problem->jobs[0].max_switches);
	plx_problem_destroy(problem);
}

/* Nor does it get back onto fewer by force, if Slurm started it on more. */
static void a_job_keeps_to_the_switches_that_its_user_wants(void **state)
{
	int switches[NODES] = { 0, 1 };
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	w.snapshot.switches = switches;
	for (int j = 0; j < JOBS; j++) {
		w.jobs[j].max_switches = 1;
		w.jobs[j].roams = true;
	}
	w.gpus[1][1] = w.cpus[1][1] = 1;
	w.nodes[1].left.gpus--;
	w.nodes[1].left.cpus--;
	problem = problem_of(&w);
	assert_int_equal(1, problem->jobs[0].max_switches);
	assert_int_equal(2, problem->jobs[1].max_switches);
	/* Its script's node counts. */
	assert_false(problem->jobs[0].roams);
	plx_problem_destroy(problem);
}

/* Nobody saw it hold so many. */
static void boasting_does_not_move_others(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	measured(&w, 0, 4096, 300);
	w.inputs[0].most_gpus = 4;
	measured(&w, 1, 1, 300);
	problem = problem_of(&w);
	assert_int_equal(4, problem->jobs[0].profiled_gpus);
	assert_int_equal(4, problem->jobs[1].profiled_gpus);
	plx_problem_destroy(problem);
}

/* Before its first hint, its options tell of which kind it is. */
static void a_job_that_said_nothing_is_known_by_its_options(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	measured(&w, 0, 8, 400);
	w.jobs[1].options = (struct plx_options){
		.min_gpus = 1,
		.base_batch = 400,
		.max_batch = 4096,
		.min_gpu_batch = 8,
		.max_gpu_batch = 256,
	};
	problem = problem_of(&w);
	assert_true(problem->jobs[1].profiled);
	assert_int_equal(8, problem->jobs[1].profiled_gpus);
	plx_problem_destroy(problem);

	w.jobs[1].options.max_batch = 0; /* the program's own: not known */
	problem = problem_of(&w);
	assert_false(problem->jobs[1].profiled);
	assert_int_equal(1, problem->jobs[1].profiled_gpus);
	plx_problem_destroy(problem);
}

/* Of the first job: so many samples a second there. */
static double goodput_on(const struct world *w, struct plx_shape shape)
{
	double goodput = 0;

	assert_true(plx_batch_best(&w->jobs[0].status.hint.job, shape, NULL,
				   &goodput));
	return goodput;
}

static double least_of(struct world *w)
{
	struct plx_problem *problem = problem_of(w);
	double least = problem->jobs[0].least_goodput;

	plx_problem_destroy(problem);
	return least;
}

static void a_job_that_keeps_its_limit_is_to_keep_it(void **state)
{
	struct world w;
	double goodput;

	(void) state;
	set_up(&w);
	measured(&w, 0, 1, 500);
	goodput = goodput_on(&w, (struct plx_shape){ 1, 1, 0 });
	w.jobs[0].limit_s = 3600;
	w.jobs[0].ends_s = 1000;
	w.jobs[0].status.hint.samples_left = 900 * goodput;
	assert_float_equal(0.9 * goodput, least_of(&w), 1e-6 * goodput);
	/* Without a limit, or in the queue after it, there is none to miss. */
	w.jobs[0].limit_s = INFINITY;
	assert_float_equal(0, least_of(&w), 0);
	w.jobs[0].limit_s = 3600;
	w.jobs[0].options.at_limit = PLX_LIMIT_REQUEUE;
	assert_float_equal(0, least_of(&w), 0);
	w.jobs[0].options.at_limit = PLX_LIMIT_END;
	/* One that misses it anyway is not given more for that. */
	w.jobs[0].status.hint.samples_left = 1100 * goodput;
	assert_float_equal(0, least_of(&w), 0);
}

/* Were it on one switch it would end in time. */
static void whether_it_keeps_its_limit_is_seen_where_it_is(void **state)
{
	int switches[NODES] = { 0, 1 };
	double goodput;
	struct world w;

	(void) state;
	set_up(&w);
	w.snapshot.switches = switches;
	w.gpus[0][1] = w.cpus[0][1] = 1;
	measured(&w, 0, 2, 600);
	w.jobs[0].status.hint.job.model.per_switch = 9;
	goodput = goodput_on(&w, (struct plx_shape){ 2, 2, 1 });
	w.jobs[0].limit_s = 3600;
	w.jobs[0].ends_s = 1000;
	w.jobs[0].status.hint.samples_left = 900 * goodput;
	assert_float_equal(0.9 * goodput, least_of(&w), 1e-6 * goodput);
	w.jobs[0].status.hint.samples_left = 1100 * goodput;
	assert_float_equal(0, least_of(&w), 0);
	switches[1] = 0;
	assert_float_equal(1.1 * goodput, least_of(&w), 1e-6 * goodput);
}

static void weights_are_what_the_administrator_wants(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	measured(&w, 0, 1, 500);
	measured(&w, 1, 1, 500);
	w.inputs[0].service_s = 1e6;
	w.jobs[0].status.hint.samples_left = 1e3;
	w.jobs[1].status.hint.samples_left = 1e9;

	problem = problem_of(&w);
	assert_true(problem->jobs[0].service_s == 1e6);
	assert_true(problem->jobs[0].weight < problem->jobs[1].weight);
	plx_problem_destroy(problem);

	w.params.weights = POLLUX_WEIGHTS_LEFT;
	problem = problem_of(&w);
	assert_true(problem->jobs[0].weight > problem->jobs[1].weight);
	plx_problem_destroy(problem);

	w.params.weights = POLLUX_WEIGHTS_NO;
	problem = problem_of(&w);
	assert_true(plx_weight(&problem->jobs[0]) == 1);
	assert_true(plx_weight(&problem->jobs[1]) == 1);
	plx_problem_destroy(problem);
}

/* Slurm may start a job on what another one was asked to have. */
static void what_was_promised_and_is_gone_is_taken_from_nobody(void **state)
{
	static const struct {
		int free;
		int has[JOBS];
		int asked[JOBS]; /* -1: it is not */
		int want[JOBS];
	} cases[] = {
		{ 2, { 5, 1 }, { -1, 4 }, { 5, 3 } },
		{ 1, { 7, 0 }, { -1, 4 }, { 7, 1 } },
		{ 0, { 8, 0 }, { -1, 1 }, { 8, 0 } },
		{ 2, { 1, 5 }, { 4, -1 }, { 3, 5 } },
		{ 6, { 1, 1 }, { 6, 6 }, { 6, 2 } },
		{ 0, { 6, 2 }, { 2, 6 }, { 2, 6 } },
		{ 0, { 6, 2 }, { 3, 7 }, { 3, 5 } },
		{ 1, { 4, 3 }, { 5, -1 }, { 5, 3 } },
		/* Rigid jobs have the others. */
		{ 0, { 2, 1 }, { -1, 4 }, { 2, 1 } },
		{ 1, { 2, 1 }, { 3, 4 }, { 3, 1 } },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int targets[JOBS][NODES] = { { 0 } };
		struct plx_problem *problem;
		struct plx_plan *plan = NULL;
		struct world w;

		set_up(&w);
		w.nodes[1].usable = false;
		w.nodes[0].left.gpus = cases[i].free;
		for (int j = 0; j < JOBS; j++) {
			w.gpus[j][0] = cases[i].has[j];
			targets[j][0] = cases[i].asked[j];
			w.inputs[j].busy = cases[i].asked[j] >= 0;
			w.inputs[j].target = targets[j];
		}
		pollux_promises_keep(&w.snapshot, w.inputs);
		problem = problem_of(&w);
		assert_int_equal(0, plx_plan_search(problem, &plan, NULL));
		for (int j = 0; j < JOBS; j++) {
			assert_int_equal(cases[i].want[j],
					 problem->jobs[j].now[0]);
			assert_int_equal(cases[i].want[j],
					 plan->choices[j].gpus[0]);
		}
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
}

static void only_what_may_run_out_is_counted(void **state)
{
	int free_of_kind[NODES] = { 1, 0 };
	int all_of_kind[NODES] = { 2, 0 };
	struct pollux_kind kind = { .type = "a100",
				    .free = free_of_kind,
				    .all = all_of_kind };
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	problem = problem_of(&w);
	assert_int_equal(0, problem->consumable_kinds);
	plx_problem_destroy(problem);

	/* Three CPUs a GPU: 8 free and 2 held there, 10 on the other. */
	w.jobs[0].per_gpu.cpus = 3;
	problem = problem_of(&w);
	assert_int_equal(1, problem->consumable_kinds);
	assert_true(problem->consumables[0] == 10 &&
		    problem->consumables[1] == 10);
	assert_true(problem->jobs[0].demand[0] == 3);
	assert_true(problem->jobs[1].demand[0] == 1);
	assert_true(problem->jobs[0].batch_host_demand[0] == 1);
	plx_problem_destroy(problem);

	/* Memory, and a type that half a node has. */
	w.jobs[0].per_gpu.cpus = 1;
	w.snapshot.counts_memory = true;
	w.snapshot.kind_count = 1;
	w.snapshot.kinds = &kind;
	w.jobs[1].kind = 0;
	w.memory[0][0] = 500;
	w.memory[1][0] = 100;
	w.nodes[0].left.memory = 1100;
	w.nodes[1].left.memory = 400;
	w.jobs[0].per_gpu.memory = w.jobs[0].script.memory = 500;
	w.jobs[1].script.memory = 600;
	problem = problem_of(&w);
	assert_int_equal(2, problem->consumable_kinds);
	assert_true(problem->consumables[0] == 1700 &&
		    problem->consumables[2] == 400);
	assert_true(problem->consumables[1] == 2 &&
		    problem->consumables[3] == 0);
	assert_true(problem->jobs[0].demand[0] == 500);
	assert_true(problem->jobs[1].demand[1] == 1);
	assert_true(problem->jobs[1].allowed[0]);
	assert_false(problem->jobs[1].allowed[1]);
	plx_problem_destroy(problem);
}

/* Of a node of one type the number of GPUs says it; one has none of it. */
/* One that was measured on an a100 is on some other type now. */
static void a_model_of_another_type_is_not_believed(void **state)
{
	int none[NODES] = { 0, 0 };
	struct pollux_kind kinds[] = {
		{ .type = "a100", .free = none, .all = none },
		{ .type = "t4", .free = none, .all = none },
	};
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	w.snapshot.kind_count = 2;
	w.snapshot.kinds = kinds;
	measured(&w, 0, 16, 700);
	w.jobs[0].kind = 0;
	w.jobs[1].kind = 1;
	measured(&w, 1, 16, 700);
	w.jobs[1].unlike_model = true;
	problem = problem_of(&w);
	assert_true(problem->jobs[0].profiled);
	/* Nor is that lent which the first measured. */
	assert_false(problem->jobs[1].profiled);
	assert_int_equal(1, problem->jobs[1].profiled_gpus);
	plx_problem_destroy(problem);
}

static void a_type_is_counted_where_a_node_has_several(void **state)
{
	int free_of_kind[NODES] = { 0, 0 };
	int all_of_kind[NODES] = { 0, 0 };
	struct pollux_kind kind = { .type = "a100",
				    .free = free_of_kind,
				    .all = all_of_kind };
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	w.snapshot.kind_count = 1;
	w.snapshot.kinds = &kind;
	w.jobs[1].kind = 0;
	free_of_kind[0] = w.nodes[0].left.gpus;
	all_of_kind[0] = w.nodes[0].gpus;
	problem = problem_of(&w);
	assert_int_equal(0, problem->consumable_kinds);
	plx_problem_destroy(problem);
	all_of_kind[0]--;
	free_of_kind[0]--;
	problem = problem_of(&w);
	assert_int_equal(1, problem->consumable_kinds);
	plx_problem_destroy(problem);
}

/* The second job has so many CPUs of each node, and the first one all. */
static void expect_cpu_limit(struct world *w)
{
	int left[NODES] = { 2, 3 };
	struct pollux_cpu_limit cpu_limit = { .left = left };
	struct plx_problem *problem = NULL;

	w->snapshot.cpu_limit_count = 1;
	w->snapshot.cpu_limits = &cpu_limit;
	problem = problem_of(w);
	assert_int_equal(1, problem->consumable_kinds);
	/* What it has there is its own: one CPU. */
	assert_true(problem->consumables[0] == 3 &&
		    problem->consumables[1] == 3);
	assert_true(problem->jobs[0].demand[0] == 0);
	assert_true(problem->jobs[1].demand[0] == 1);
	plx_problem_destroy(problem);
}

static void a_partition_allows_its_jobs_so_many_cpus_a_node(void **state)
{
	struct world w;

	(void) state;
	set_up(&w);
	w.jobs[1].cpu_limit = 0;
	expect_cpu_limit(&w);
}

static void reservations_leave_a_job_so_many_cpus_a_node(void **state)
{
	struct world w;

	(void) state;
	set_up(&w);
	w.jobs[1].unreserved = 0;
	expect_cpu_limit(&w);
}

/* One GPU of each is on the first node, and a job waits for each. */
enum { MANY = PLX_KINDS_MAX + 6 };

struct typed_world {
	struct world w;
	int some[NODES];
	int left[NODES];
	struct pollux_cpu_limit cpu_limit;
	struct pollux_kind kinds[MANY];
	struct pollux_waiting waiting[MANY];
	struct plx_grant grants[MANY];
	struct pollux_reservations reservations;
};

static void set_up_types(struct typed_world *t, int types)
{
	memset(t, 0, sizeof(*t));
	set_up(&t->w);
	t->some[0] = 1;
	for (int k = 0; k < types; k++) {
		t->kinds[k] = (struct pollux_kind){ .free = t->some,
						    .all = t->some,
						    .mixed = true };
		snprintf(t->kinds[k].type, sizeof(t->kinds[k].type), "t%d", k);
		t->waiting[k] = (struct pollux_waiting){
			.kind = k, .nodes = 1, .each.gpus = 1, .cpu_limit = -1
		};
	}
	t->w.snapshot.kind_count = types;
	t->w.snapshot.kinds = t->kinds;
	t->w.snapshot.waiting = t->waiting;
	t->w.snapshot.waiting_count = types;
}

static struct plx_problem *typed_problem(struct typed_world *t)
{
	struct plx_problem *problem;
	struct plx_error err = { .text = "" };

	t->reservations =
		(struct pollux_reservations){ .reserved = t->w.reserved,
					      .grants = t->grants };
	note_allocs(&t->w);
	problem = pollux_problem_create(&t->w.snapshot, &t->w.params,
					t->w.inputs, &t->reservations, &err);
	assert_string_equal("", err.text);
	assert_non_null(problem);
	return problem;
}

static void types_that_are_waited_for_displace_no_limit(void **state)
{
	struct plx_problem *problem = NULL;
	bool limited = false;
	struct typed_world t;

	(void) state;
	set_up_types(&t, MANY);
	t.left[0] = 2;
	t.left[1] = 3;
	t.cpu_limit.left = t.left;
	t.w.snapshot.cpu_limit_count = 1;
	t.w.snapshot.cpu_limits = &t.cpu_limit;
	t.w.jobs[1].cpu_limit = 0;
	/* What nobody who runs can have. */
	t.w.jobs[0].kind = t.w.jobs[1].kind = 0;
	problem = typed_problem(&t);
	assert_int_equal(PLX_KINDS_MAX, problem->consumable_kinds);
	for (int k = 0; k < PLX_KINDS_MAX; k++)
		limited |= problem->consumables[k] == 3 &&
			   problem->consumables[PLX_KINDS_MAX + k] == 3 &&
			   problem->jobs[1].demand[k] == 1;
	assert_true(limited);
	plx_problem_destroy(problem);
}

/* Both jobs would like all GPUs of the first node; the second is parked. */
static struct plx_problem *problem_of_last_type(struct typed_world *t,
						int types)
{
	struct plx_problem *problem;

	set_up_types(t, types);
	t->w.nodes[1].usable = false;
	t->w.gpus[1][0] = t->w.cpus[1][0] = 0;
	t->w.nodes[0].left.gpus++;
	t->w.nodes[0].left.cpus++;
	t->w.jobs[0].kind = t->w.jobs[1].kind = types - 1;
	t->w.inputs[0].most_gpus = t->w.inputs[1].most_gpus = GPUS;
	/* None waits for these: the node's other GPUs are for both. */
	t->w.snapshot.waiting_count = types - 1;
	problem = typed_problem(t);
	/* What is reserved for those who wait is given back. */
	problem->gpus[0] = GPUS;
	return problem;
}

static void the_last_of_many_types_is_counted(void **state)
{
	struct plx_problem *problem = NULL;
	struct plx_plan *plan = NULL;
	struct typed_world t;

	(void) state;
	problem = problem_of_last_type(&t, PLX_KINDS_MAX - 1);
	assert_int_equal(0, t.reservations.held);
	assert_false(problem->jobs[0].fixed || problem->jobs[1].fixed);
	assert_int_equal(0, plx_plan_search(problem, &plan, NULL));
	/* Two: that which is free, and that which the first holds. */
	assert_in_range(plan->choices[0].gpus[0] + plan->choices[1].gpus[0], 1,
			2);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void who_needs_what_is_not_counted_keeps_what_it_has(void **state)
{
	struct plx_problem *problem = NULL;
	struct plx_plan *plan = NULL;
	struct typed_world t;

	(void) state;
	problem = problem_of_last_type(&t, MANY);
	assert_int_equal(2, t.reservations.held);
	assert_int_equal(0, plx_plan_search(problem, &plan, NULL));
	assert_int_equal(1, plan->choices[0].gpus[0]);
	assert_int_equal(0, plan->choices[1].gpus[0]);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void a_limit_on_a_node_takes_nothing_away(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	w.jobs[0].node_gpus = w.jobs[1].node_gpus = 2;
	w.gpus[0][0] = 3;
	problem = problem_of(&w);
	assert_int_equal(3, problem->jobs[0].node_gpus);
	assert_int_equal(2, problem->jobs[1].node_gpus);
	plx_problem_destroy(problem);
}

/* The first job's user named both nodes. */
static void a_job_needs_the_nodes_that_its_user_named(void **state)
{
	const bool both[NODES] = { true, true };
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	w.jobs[0].required = both;
	w.jobs[0].options.max_gpus = 4;
	w.gpus[0][1] = w.cpus[0][1] = 1;
	problem = problem_of(&w);
	assert_true(problem->jobs[0].required[0]);
	assert_true(problem->jobs[0].required[1]);
	assert_null(problem->jobs[1].required);
	assert_int_equal(2, problem->jobs[0].min_nodes);
	assert_int_equal(2, problem->jobs[0].min_gpus);
	assert_int_equal(4, problem->jobs[0].max_gpus);
	plx_problem_destroy(problem);
}

static void without_one_of_them_it_gains_nothing(void **state)
{
	const bool both[NODES] = { true, true };
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	w.jobs[0].required = both;
	w.jobs[0].min_nodes = 2;
	w.gpus[0][1] = w.cpus[0][1] = 1;
	w.nodes[1].usable = false;
	problem = problem_of(&w);
	assert_null(problem->jobs[0].required);
	assert_int_equal(1, problem->jobs[0].min_nodes);
	assert_int_equal(2, problem->jobs[0].max_gpus);
	assert_true(problem->jobs[0].allowed[0]);
	plx_problem_destroy(problem);

	/* Parked, it waits for both. */
	w.gpus[0][0] = w.gpus[0][1] = 0;
	problem = problem_of(&w);
	assert_false(problem->jobs[0].allowed[0]);
	assert_false(problem->jobs[0].allowed[1]);
	plx_problem_destroy(problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_must_be_worth_it),
		cmocka_unit_test(a_job_is_lent_what_another_measured),
		cmocka_unit_test(a_model_of_another_type_is_not_believed),
		cmocka_unit_test(what_was_measured_outlives_the_job),
		cmocka_unit_test(nodes_closed_to_a_job_are_closed_to_it_alone),
		cmocka_unit_test(switches_reach_the_search),
		cmocka_unit_test(
			a_job_keeps_to_the_switches_that_its_user_wants),
		cmocka_unit_test(boasting_does_not_move_others),
		cmocka_unit_test(
			a_job_that_said_nothing_is_known_by_its_options),
		cmocka_unit_test(only_what_may_run_out_is_counted),
		cmocka_unit_test(a_type_is_counted_where_a_node_has_several),
		cmocka_unit_test(
			a_partition_allows_its_jobs_so_many_cpus_a_node),
		cmocka_unit_test(reservations_leave_a_job_so_many_cpus_a_node),
		cmocka_unit_test(types_that_are_waited_for_displace_no_limit),
		cmocka_unit_test(the_last_of_many_types_is_counted),
		cmocka_unit_test(
			who_needs_what_is_not_counted_keeps_what_it_has),
		cmocka_unit_test(a_limit_on_a_node_takes_nothing_away),
		cmocka_unit_test(a_job_needs_the_nodes_that_its_user_named),
		cmocka_unit_test(without_one_of_them_it_gains_nothing),
		cmocka_unit_test(a_job_that_keeps_its_limit_is_to_keep_it),
		cmocka_unit_test(
			whether_it_keeps_its_limit_is_seen_where_it_is),
		cmocka_unit_test(weights_are_what_the_administrator_wants),
		cmocka_unit_test(
			what_was_promised_and_is_gone_is_taken_from_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
