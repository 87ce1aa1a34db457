/* SPDX-License-Identifier: MIT */
/* test_snapshot.c - problems written as text, and text from anywhere read */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/snapshot/snapshot.h"
#include "plan_rules.h"
#include "random_problem.h"
#include "sim/snapshot_load.h"

/* What random_problem() leaves alone. */
static void add_rare(uint64_t *seed, struct plx_problem *problem)
{
	struct plx_model *model = &problem->jobs[0].goodput.model;

	problem->hysteresis = unit_uniform(seed, 0, 0.1);
	problem->idle = chance(seed, 50);
	model->two_nodes = unit_uniform(seed, 0, 10);
	model->growth = PLX_BY_DOUBLING;
	problem->jobs[0].min_nodes = 2;
	problem->jobs[0].max_nodes = 3;
	problem->jobs[0].max_by = PLX_BOUND_PROGRAM;
	problem->jobs[0].least_goodput = 1.0 / 3;
}

static struct plx_problem *any_problem(uint64_t *seed, bool hostile)
{
	const struct random_spec spec = { .nodes = 9,
					  .jobs = 9,
					  .gpus = 8,
					  .hostile = hostile,
					  .rich = chance(seed, 60),
					  .stocked = true,
					  .bounded = chance(seed, 30),
					  .wired = chance(seed, 30) };
	struct plx_problem *problem = random_problem(seed, &spec);

	if (chance(seed, 60))
		add_rare(seed, problem);
	assert_int_equal(0, plx_problem_check(problem, NULL));
	return problem;
}

static char *text_of(const struct plx_problem *problem,
		     const struct plx_plan *plan)
{
	struct plx_error err = { .text = "" };
	char *text = plx_snapshot_text(problem, NULL, plan, &err);

	if (!text)
		fail_msg("%s", err.text);
	return text;
}

static struct plx_snapshot *parsed(const char *text)
{
	struct plx_snapshot *snapshot = NULL;
	struct plx_error err = { .text = "" };

	if (plx_snapshot_parse(text, strlen(text), "a.json", NULL, &snapshot,
			       &err) < 0)
		fail_msg("%s", err.text);
	return snapshot;
}

/* Of all that was written, nothing was lost. */
static void assert_same_text(const struct plx_problem *a,
			     const struct plx_problem *b)
{
	char *text = text_of(a, NULL);
	char *again = text_of(b, NULL);

	assert_string_equal(text, again);
	free(text);
	free(again);
}

static bool required(const struct plx_job *job, int n)
{
	return job->required && job->required[n];
}

static bool allowed(const struct plx_job *job, int n)
{
	return !job->allowed || job->allowed[n];
}

/* And all was written. */
static void assert_same_job(const struct plx_job *a, const struct plx_job *b,
			    int nodes)
{
	assert_int_equal(a->id, b->id);
	assert_true(a->weight == b->weight);
	assert_int_equal(a->min_gpus, b->min_gpus);
	assert_int_equal(a->max_gpus, b->max_gpus);
	assert_int_equal(a->profiled, b->profiled);
	if (a->profiled) {
		assert_memory_equal(&a->goodput.model, &b->goodput.model,
				    offsetof(struct plx_model, growth));
		assert_int_equal(a->goodput.model.growth,
				 b->goodput.model.growth);
		assert_true(a->goodput.model.per_switch ==
			    b->goodput.model.per_switch);
		assert_memory_equal(&a->goodput.noise, &b->goodput.noise,
				    sizeof(a->goodput.noise));
		assert_int_equal(a->goodput.limits.accumulate,
				 b->goodput.limits.accumulate);
		assert_memory_equal(&a->goodput.limits, &b->goodput.limits,
				    offsetof(struct plx_limits, accumulate));
	}
	assert_int_equal(a->profiled_gpus, b->profiled_gpus);
	assert_int_equal(a->max_switches, b->max_switches);
	assert_int_equal(a->fixed, b->fixed);
	assert_int_equal(a->may_park, b->may_park);
	assert_int_equal(a->batch_host, b->batch_host);
	assert_int_equal(a->roams, b->roams);
	assert_true(a->age_s == b->age_s);
	assert_true(a->restart_s == b->restart_s);
	assert_true(a->least_goodput == b->least_goodput);
	assert_int_equal(a->restarts, b->restarts);
	assert_memory_equal(a->now, b->now, (size_t) nodes * sizeof(int));
	for (int n = 0; n < nodes; n++) {
		assert_int_equal(allowed(a, n), allowed(b, n));
		assert_int_equal(required(a, n), required(b, n));
	}
	assert_int_equal(a->node_gpus, b->node_gpus);
	assert_int_equal(a->whole, b->whole);
	assert_int_equal(a->min_nodes, b->min_nodes);
	assert_int_equal(a->max_nodes, b->max_nodes);
	assert_int_equal(a->max_by, b->max_by);
	assert_int_equal(a->size_count, b->size_count);
	assert_int_equal(!a->table, !b->table);
}

static void assert_same(const struct plx_problem *a,
			const struct plx_problem *b)
{
	size_t nodes = (size_t) a->node_count * sizeof(int);

	assert_int_equal(a->node_count, b->node_count);
	assert_int_equal(a->job_count, b->job_count);
	assert_memory_equal(a->gpus, b->gpus, nodes);
	assert_memory_equal(a->gpus_total, b->gpus_total, nodes);
	assert_true(a->fairness == b->fairness);
	assert_true(a->hysteresis == b->hysteresis);
	assert_int_equal(a->uniform, b->uniform);
	assert_int_equal(a->idle, b->idle);
	assert_int_equal(a->interference, b->interference);
	assert_true(a->seed == b->seed);
	assert_true(a->switch_cost == b->switch_cost);
	assert_int_equal(!a->switches, !b->switches);
	if (a->switches)
		assert_memory_equal(a->switches, b->switches, nodes);
	assert_int_equal(a->consumable_kinds, b->consumable_kinds);
	for (int i = 0; i < a->consumable_kinds * a->node_count; i++)
		assert_true(a->consumables[i] == b->consumables[i]);
	for (int j = 0; j < a->job_count; j++) {
		const double *demand = a->jobs[j].demand;

		assert_int_equal(!demand, !b->jobs[j].demand);
		for (int k = 0; demand && k < a->consumable_kinds; k++)
			assert_true(demand[k] == b->jobs[j].demand[k]);
		demand = a->jobs[j].batch_host_demand;
		assert_int_equal(!demand, !b->jobs[j].batch_host_demand);
		for (int k = 0; demand && k < a->consumable_kinds; k++)
			assert_true(demand[k] ==
				    b->jobs[j].batch_host_demand[k]);
	}
	for (int j = 0; j < a->job_count; j++)
		assert_same_job(&a->jobs[j], &b->jobs[j], a->node_count);
}

static void what_is_written_is_read_as_it_was(void **state)
{
	uint64_t seed = 7;

	(void) state;
	for (int i = 0; i < UNIT_CASES(1000); i++) {
		struct plx_problem *problem = any_problem(&seed, i % 2);
		char *text = text_of(problem, NULL);
		struct plx_snapshot *snapshot = parsed(text);

		assert_same(problem, snapshot->problem);
		assert_same_text(problem, snapshot->problem);
		plx_snapshot_destroy(snapshot);
		free(text);
		plx_problem_destroy(problem);
	}
}

/* As 0.1 wrote them: what a further switch costs was one for all jobs. */
static void of_a_job_that_does_not_say_its_price_is_the_clusters(void **state)
{
	struct plx_problem *problem = NULL;
	struct plx_snapshot *snapshot;
	uint64_t seed = 3;
	char *text = NULL;
	char *at = NULL;
	int dropped = 0;

	(void) state;
	while (!problem || !problem->switches || !problem->jobs[0].profiled) {
		plx_problem_destroy(problem);
		problem = any_problem(&seed, false);
	}
	problem->switch_cost = 0.375;
	text = text_of(problem, NULL);
	for (; (at = strstr(text, "\"per_switch\"")); dropped++)
		at[1] = 'x';
	assert_true(dropped > 0);
	snapshot = parsed(text);
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_job *job = &snapshot->problem->jobs[j];

		assert_true(!job->profiled ||
			    job->goodput.model.per_switch == 0.375);
	}
	plx_snapshot_destroy(snapshot);
	free(text);
	plx_problem_destroy(problem);
}

static void a_decision_is_made_again_to_the_last_bit(void **state)
{
	uint64_t seed = 11;

	(void) state;
	for (int i = 0; i < UNIT_CASES(150); i++) {
		struct plx_problem *problem = any_problem(&seed, false);
		struct plx_plan *plan = searched(problem);
		char *text = text_of(problem, plan);
		struct plx_snapshot *snapshot = parsed(text);
		struct plx_plan *again = searched(snapshot->problem);
		size_t cells =
			(size_t) plan->job_count * (size_t) plan->node_count;

		assert_true(plan->fitness == again->fitness);
		assert_true(plan->bound == again->bound);
		assert_memory_equal(plan->choices[0].gpus,
				    again->choices[0].gpus,
				    cells * sizeof(int));
		for (int j = 0; j < plan->job_count; j++)
			assert_string_equal(plan->choices[j].why,
					    again->choices[j].why);
		plx_plan_destroy(again);
		plx_snapshot_destroy(snapshot);
		free(text);
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
}

/* What a careless or hostile hand does to a text. */
static size_t mutate(uint64_t *seed, char *text, size_t length)
{
	static const char *const words[] = { "-1",
					     "1e308",
					     "null",
					     "{}",
					     "[]",
					     "\"",
					     "99999999999999999999",
					     "0",
					     "true",
					     "-0.0",
					     "\\u0000",
					     "[[[[[[",
					     "1e-320",
					     "2147483648" };
	size_t at = unit_random(seed) % length;
	const char *word = words[unit_random(seed) % ARRAY_SIZE(words)];
	size_t size = strlen(word);
	size_t span = unit_random(seed) % 20;

	switch (unit_random(seed) % 4) {
	case 0:
		text[at] = (char) unit_random(seed);
		return length;
	case 1: /* A word over what was there. */
		if (at + size <= length)
			memcpy(text + at, word, size);
		return length;
	case 2: /* A word for a value. */
		at += strcspn(text + at, ":,[");
		if (at + 1 + size >= length)
			return length;
		span = strcspn(text + at + 1, ",]}:");
		if (size > span)
			return length;
		memmove(text + at + 1 + size, text + at + 1 + span,
			length - at - span);
		memcpy(text + at + 1, word, size);
		return length - span + size;
	default: /* A piece missing. */
		if (at + span >= length)
			return length;
		memmove(text + at, text + at + span, length - at - span + 1);
		return length - span;
	}
}

/* Is text that was read still fit to be decided upon? */
static void decide_if_small(const struct plx_snapshot *snapshot)
{
	struct plx_plan *plan = NULL;

	if (snapshot->problem->node_count > 20)
		return;
	plan = searched(snapshot->problem);
	plx_plan_destroy(plan);
}

static void hostile_text_is_refused_or_makes_sense(void **state)
{
	uint64_t seed = 3;
	int accepted = 0;
	int refused = 0;

	(void) state;
	for (int i = 0; i < UNIT_CASES(20000); i++) {
		struct plx_problem *problem = any_problem(&seed, false);
		struct plx_snapshot *snapshot = NULL;
		struct plx_error err = { .text = "" };
		char *text = text_of(problem, NULL);
		size_t length = strlen(text);

		for (int k = random_int(&seed, 1, 3); k > 0; k--) {
			length = mutate(&seed, text, length);
			text[length] = '\0';
		}
		if (plx_snapshot_parse(text, length, "a.json", NULL, &snapshot,
				       &err) == 0) {
			assert_int_equal(0, plx_problem_check(snapshot->problem,
							      NULL));
			if (accepted++ % 50 == 0)
				decide_if_small(snapshot);
			plx_snapshot_destroy(snapshot);
		} else {
			refused++;
			assert_null(snapshot);
			assert_int_equal(0, strncmp(err.text, "a.json:", 7));
			assert_null(strchr(err.text, '\n'));
		}
		free(text);
		plx_problem_destroy(problem);
	}
	/* The mutations are neither too wild nor too tame. */
	assert_true(accepted > UNIT_CASES(1000) && refused > UNIT_CASES(1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_as_it_was),
		cmocka_unit_test(
			of_a_job_that_does_not_say_its_price_is_the_clusters),
		cmocka_unit_test(a_decision_is_made_again_to_the_last_bit),
		cmocka_unit_test(hostile_text_is_refused_or_makes_sense),
	};

	return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
