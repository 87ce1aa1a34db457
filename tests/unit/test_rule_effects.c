/* SPDX-License-Identifier: MIT */
/*
 * test_rule_effects.c - random problems come to each rule, and it matters there
 *
 * A plan that keeps to a rule proves little where every plan would. So the
 * rule is taken out of a copy of the problem: some plan of the copy has to
 * break it, and none of the problem itself may.
 */

#include "plan_rules.h"
#include "random_problem.h"

static const struct random_spec plain = { .nodes = 4, .jobs = 6, .gpus = 4 };
static const struct random_spec rich = {
	.nodes = 4, .jobs = 6, .gpus = 4, .rich = true
};
static const struct random_spec stocked = {
	.nodes = 4, .jobs = 6, .gpus = 4, .stocked = true
};
/* Where jobs may leave their batch host, its script stays there. */
static const struct random_spec stocked_bounded = {
	.nodes = 4, .jobs = 6, .gpus = 4, .stocked = true, .bounded = true
};
static const struct random_spec two_kinds = {
	.nodes = 4, .jobs = 6, .gpus = 4, .stocked = true, .kinds = 2
};
static const struct random_spec wired = {
	.nodes = 6, .jobs = 6, .gpus = 4, .wired = true
};
static const struct random_spec bounded = {
	.nodes = 4, .jobs = 6, .gpus = 4, .bounded = true
};
static const struct random_spec spare = {
	.nodes = 4, .jobs = 6, .gpus = 4, .bounded = true, .spare = true
};

/* ---- each rule, taken out; true: it was there ---- */

typedef bool (*drop_fn)(struct plx_job *job);

static bool drop_int(int *limit, int none)
{
	bool was = *limit != none;

	*limit = none;
	return was;
}

static bool drop_bool(bool *flag, bool none)
{
	bool was = *flag != none;

	*flag = none;
	return was;
}

static bool drop_min_gpus(struct plx_job *job)
{
	return drop_int(&job->min_gpus, 1);
}

static bool drop_max_gpus(struct plx_job *job)
{
	return drop_int(&job->max_gpus, 64);
}

static bool drop_profiled_gpus(struct plx_job *job)
{
	return drop_int(&job->profiled_gpus, 64);
}

static bool drop_min_nodes(struct plx_job *job)
{
	return drop_int(&job->min_nodes, 0);
}

static bool drop_max_nodes(struct plx_job *job)
{
	return drop_int(&job->max_nodes, 0);
}

static bool drop_max_switches(struct plx_job *job)
{
	return drop_int(&job->max_switches, 0);
}

static bool drop_node_gpus(struct plx_job *job)
{
	return !job->whole && drop_int(&job->node_gpus, 0);
}

static bool drop_whole(struct plx_job *job)
{
	return drop_bool(&job->whole, false);
}

static bool drop_fixed(struct plx_job *job)
{
	return drop_bool(&job->fixed, false);
}

static bool drop_may_park(struct plx_job *job)
{
	return drop_bool(&job->may_park, true);
}

static bool drop_batch_host(struct plx_job *job)
{
	return !job->roams && drop_int(&job->batch_host, -1);
}

static bool drop_roams(struct plx_job *job)
{
	return drop_bool(&job->roams, false);
}

static bool drop_required(struct plx_problem *problem)
{
	bool was = false;

	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		for (int n = 0; job->required && n < problem->node_count; n++)
			was = drop_bool(&job->required[n], false) || was;
	}
	return was;
}

static bool drop_allowed(struct plx_job *job)
{
	bool was = job->allowed != NULL;

	free(job->allowed);
	job->allowed = NULL;
	return was;
}

static bool drop_sizes(struct plx_job *job)
{
	if (job->whole || !job->sizes)
		return false;
	free(job->sizes);
	job->sizes = NULL;
	job->size_count = 0;
	return true;
}

static bool drop_table(struct plx_job *job)
{
	bool was = job->table != NULL;

	if (was)
		free(job->table->speedup);
	free(job->table);
	job->table = NULL;
	return was;
}

static bool drop_demand(struct plx_job *job)
{
	bool was = job->demand && *job->demand > 0;

	if (job->demand)
		*job->demand = 0;
	return was;
}

/* Where there are two kinds. */
static bool drop_second_demand(struct plx_job *job)
{
	bool was = job->demand && job->demand[1] > 0;

	if (job->demand)
		job->demand[1] = 0;
	return was;
}

static bool drop_batch_host_demand(struct plx_job *job)
{
	bool was = job->batch_host_demand && *job->batch_host_demand > 0;

	if (job->batch_host_demand)
		*job->batch_host_demand = 0;
	return was;
}

static bool drop_weight(struct plx_job *job)
{
	bool was = job->weight > 0;

	job->weight = 0;
	return was;
}

static bool drop_two_nodes(struct plx_job *job)
{
	bool was = job->goodput.model.two_nodes > 0;

	job->goodput.model.two_nodes = 0;
	return was;
}

static bool drop_growth(struct plx_job *job)
{
	bool was = job->goodput.model.growth == PLX_BY_DOUBLING;

	job->goodput.model.growth = PLX_BY_GPU;
	return was;
}

static bool drop_restart(struct plx_job *job)
{
	bool was = job->restart_s > 0;

	job->restart_s = 0;
	return was;
}

static bool drop_uniform(struct plx_problem *problem)
{
	return drop_bool(&problem->uniform, false);
}

static bool drop_idle(struct plx_problem *problem)
{
	return drop_bool(&problem->idle, false);
}

static bool drop_interference(struct plx_problem *problem)
{
	return drop_bool(&problem->interference, false);
}

static bool drop_per_switch(struct plx_job *job)
{
	bool was = job->goodput.model.per_switch > 0;

	job->goodput.model.per_switch = 0;
	return was;
}

/* Rigid jobs have some of a node. */
static bool drop_taken(struct plx_problem *problem)
{
	bool was = false;

	for (int n = 0; n < problem->node_count; n++)
		was = drop_int(&problem->gpus[n], problem->gpus_total[n]) ||
		      was;
	return was;
}

enum effect {
	FORBIDS, /* without it some plan does what it forbids */
	PERMITS, /* with it some plan does what is forbidden without */
	STEERS,	 /* without it some plan is another */
};

static const struct rule {
	const char *name;
	enum effect effect;
	const struct random_spec *spec;
	bool (*drop)(struct plx_problem *problem); /* NULL: ... */
	drop_fn drop_of;			   /* ... of each job */
} rules[] = {
	{ "min_gpus", FORBIDS, &plain, NULL, drop_min_gpus },
	{ "max_gpus", FORBIDS, &plain, NULL, drop_max_gpus },
	{ "profiled_gpus", FORBIDS, &plain, NULL, drop_profiled_gpus },
	{ "min_nodes", FORBIDS, &bounded, NULL, drop_min_nodes },
	{ "max_nodes", FORBIDS, &bounded, NULL, drop_max_nodes },
	{ "max_switches", FORBIDS, &wired, NULL, drop_max_switches },
	{ "node_gpus", FORBIDS, &bounded, NULL, drop_node_gpus },
	{ "whole", FORBIDS, &rich, NULL, drop_whole },
	{ "fixed", FORBIDS, &plain, NULL, drop_fixed },
	{ "may_park", FORBIDS, &plain, NULL, drop_may_park },
	{ "batch_host", FORBIDS, &plain, NULL, drop_batch_host },
	{ "required", FORBIDS, &bounded, drop_required, NULL },
	{ "allowed", FORBIDS, &plain, NULL, drop_allowed },
	{ "sizes", FORBIDS, &rich, NULL, drop_sizes },
	{ "table", FORBIDS, &rich, NULL, drop_table },
	{ "demand", FORBIDS, &stocked, NULL, drop_demand },
	{ "demand of a second kind", FORBIDS, &two_kinds, NULL,
	  drop_second_demand },
	{ "batch_host_demand", FORBIDS, &stocked_bounded, NULL,
	  drop_batch_host_demand },
	{ "uniform", FORBIDS, &plain, drop_uniform, NULL },
	{ "interference", FORBIDS, &plain, drop_interference, NULL },
	{ "GPUs of rigid jobs", FORBIDS, &plain, drop_taken, NULL },
	{ "roams", PERMITS, &bounded, NULL, drop_roams },
	{ "idle", PERMITS, &spare, drop_idle, NULL },
	{ "per_switch", STEERS, &wired, NULL, drop_per_switch },
	{ "weight", STEERS, &rich, NULL, drop_weight },
	{ "two_nodes", STEERS, &rich, NULL, drop_two_nodes },
	{ "growth", STEERS, &rich, NULL, drop_growth },
	{ "restart_s", STEERS, &plain, NULL, drop_restart },
};

static bool drop(const struct rule *rule, struct plx_problem *problem)
{
	bool was = false;

	if (rule->drop)
		return rule->drop(problem);
	for (int j = 0; j < problem->job_count; j++)
		was = rule->drop_of(&problem->jobs[j]) || was;
	return was;
}

/* ---- what became of it ---- */

static bool breaks_on_node(const struct plx_problem *problem,
			   const struct plx_plan *plan, int n)
{
	int used = 0;
	int multi = 0;

	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_choice *choice = &plan->choices[j];

		used += choice->gpus[n];
		multi += choice->gpus[n] > 0 && choice->shape.nodes > 1;
	}
	if (used > problem->gpus[n] && !all_immovable(problem, plan, n, false))
		return true;
	return problem->interference && multi > 1 &&
	       !all_immovable(problem, plan, n, true);
}

static bool breaks_consumables(const struct plx_problem *problem,
			       const struct plx_plan *plan)
{
	int kinds = problem->consumable_kinds;

	for (int i = 0; i < problem->node_count * kinds; i++) {
		double taken = 0;

		for (int j = 0; j < problem->job_count; j++)
			taken += job_demand(problem, j, i,
					    plan->choices[j].gpus[i / kinds]);
		if (taken > problem->consumables[i] * (1 + 1e-6) &&
		    !all_immovable(problem, plan, i / kinds, false))
			return true;
	}
	return false;
}

/* What check_plan() would complain of. */
static bool breaks(const struct plx_problem *problem,
		   const struct plx_plan *plan)
{
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_choice *choice = &plan->choices[j];

		if (choice->changed &&
		    !row_allowed(problem, &problem->jobs[j], choice->gpus))
			return true;
	}
	for (int n = 0; n < problem->node_count; n++) {
		if (breaks_on_node(problem, plan, n))
			return true;
	}
	return breaks_consumables(problem, plan);
}

static bool same_plan(const struct plx_problem *problem,
		      const struct plx_plan *a, const struct plx_plan *b)
{
	for (int j = 0; j < problem->job_count; j++) {
		if (!same_row(problem, a->choices[j].gpus, b->choices[j].gpus))
			return false;
	}
	return true;
}

static bool has_effect(enum effect effect, const struct plx_problem *with,
		       const struct plx_problem *without)
{
	struct plx_plan *plan = searched(with);
	struct plx_plan *other = searched(without);
	bool has;

	check_plan(with, plan);
	check_plan(without, other);
	assert_false(breaks(with, plan) || breaks(without, other));
	if (effect == FORBIDS)
		has = breaks(with, other);
	else if (effect == PERMITS)
		has = breaks(without, plan);
	else
		has = !same_plan(with, plan, other);
	plx_plan_destroy(other);
	plx_plan_destroy(plan);
	return has;
}

/* Of so many problems, how many have the rule; in *effective it matters. */
static int try_rule(const struct rule *rule, int count, int *effective)
{
	uint64_t seed = 15;
	int drawn = 0;

	*effective = 0;
	for (int i = 0; i < count; i++) {
		uint64_t again = seed;
		struct plx_problem *with = random_problem(&seed, rule->spec);
		struct plx_problem *without =
			random_problem(&again, rule->spec);

		if (drop(rule, without)) {
			drawn++;
			*effective += has_effect(rule->effect, with, without);
		}
		plx_problem_destroy(without);
		plx_problem_destroy(with);
	}
	return drawn;
}

static void every_rule_is_drawn_and_changes_plans(void **state)
{
	(void) state;
	for (size_t r = 0; r < ARRAY_SIZE(rules); r++) {
		int effective;
		int drawn = try_rule(&rules[r], UNIT_CASES(1200), &effective);

		print_message("# %s: drawn %d, matters %d\n", rules[r].name,
			      drawn, effective);
		if (drawn < UNIT_CASES(50) || effective < UNIT_CASES(5))
			fail_msg("%s: drawn %d times, of which it matters %d",
				 rules[r].name, drawn, effective);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_is_drawn_and_changes_plans),
	};

	return cmocka_run_group_tests_name("effects of rules", tests, NULL,
					   NULL);
}
