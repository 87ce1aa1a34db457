/* SPDX-License-Identifier: MIT */
/* alloc_print.c - an answer for people and for programs */

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/alloc.h"

#define NAME_SHOWN     24
#define PLACEMENT_SIZE 32

/* The job's name as the search says it: its id. */
static bool named_by_id(const struct plx_snapshot *snapshot, int j)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", snapshot->problem->jobs[j].id);
	return !strcmp(id, snapshot->jobs[j]);
}

static bool all_named_by_id(const struct plx_snapshot *snapshot)
{
	for (int j = 0; j < snapshot->problem->job_count; j++) {
		if (!named_by_id(snapshot, j))
			return false;
	}
	return true;
}

/* "8 on 2": GPUs, and nodes where that says more. */
static void write_placement(const int *gpus, int node_count,
			    char placement[PLACEMENT_SIZE])
{
	struct plx_shape shape = plx_shape_of(gpus, node_count);

	if (shape.nodes > 1)
		snprintf(placement, PLACEMENT_SIZE, "%d on %d", shape.gpus,
			 shape.nodes);
	else
		snprintf(placement, PLACEMENT_SIZE, "%d", shape.gpus);
}

/* Names come from a file: nothing of them may move a terminal's cursor. */
static void print_name(const char *name, FILE *out)
{
	char shown[NAME_SHOWN + 1];

	snprintf(shown, sizeof(shown), "%s", name);
	for (char *c = shown; *c; c++) {
		if ((unsigned char) *c < ' ' || (unsigned char) *c > '~')
			*c = '?';
	}
	fprintf(out, "%-*s", NAME_SHOWN, shown);
}

static void print_job(const struct plx_answer *answer, int j, bool ids,
		      FILE *out)
{
	const struct plx_problem *problem = answer->snapshot->problem;
	const struct plx_choice *choice = &answer->plan->choices[j];
	char from[PLACEMENT_SIZE];
	char to[PLACEMENT_SIZE];

	write_placement(problem->jobs[j].now, problem->node_count, from);
	write_placement(choice->gpus, problem->node_count, to);
	if (ids)
		fprintf(out, "%6u  ", problem->jobs[j].id);
	print_name(answer->snapshot->jobs[j], out);
	fprintf(out, "  %10s  %10s  %7.3f  %s\n", from, to, choice->speedup,
		choice->why);
}

static void print_totals(const struct plx_answer *answer,
			 const struct plx_alloc_options *options, FILE *out)
{
	const struct plx_problem *problem = answer->snapshot->problem;
	const struct plx_plan *plan = answer->plan;
	int total = plx_shape_of(problem->gpus, problem->node_count).gpus;
	int used = 0;
	int changed = 0;
	int parked = 0;

	for (int j = 0; j < plan->job_count; j++) {
		used += plan->choices[j].shape.gpus;
		changed += plan->choices[j].changed;
		parked += plan->choices[j].shape.gpus == 0;
	}
	fprintf(out,
		"\n%d jobs: %d change, %d have no GPU; %d of %d GPUs used on "
		"%d nodes\n",
		plan->job_count, changed, parked, used, total,
		plan->node_count);
	fprintf(out,
		"fitness %.6g (%s, p = %g), now %.6g, bound %.6g, gap %.2f "
		"%%\n",
		plan->fitness, options->osdi21 ? "osdi21" : "pollux",
		problem->fairness, plan->fitness_now, plan->bound,
		plan->bound > 0 ? 100 * (1 - plan->fitness / plan->bound) : 0);
	if (!isnan(answer->snapshot->recorded))
		fprintf(out, "the file's own answer has fitness %.6g: %s\n",
			answer->snapshot->recorded,
			answer->snapshot->recorded == plan->fitness
				? "the same"
				: "another one");
	fprintf(out, "policy %s, %.3f ms\n", options->policy->name,
		answer->elapsed_ms);
}

void plx_answer_print(const struct plx_answer *answer,
		      const struct plx_alloc_options *options, FILE *out)
{
	bool ids = !all_named_by_id(answer->snapshot);

	if (ids)
		fprintf(out, "%6s  ", "ID");
	fprintf(out, "%-*s  %10s  %10s  %7s  %s\n", NAME_SHOWN, "JOB", "NOW",
		"NEXT", "SPEEDUP", "WHY");
	for (int j = 0; j < answer->plan->job_count; j++)
		print_job(answer, j, ids, out);
	print_totals(answer, options, out);
}

/* [[node, GPUs], ...], or NULL. */
static json_t *placement_json(const int *gpus, int node_count)
{
	json_t *list = json_array();

	for (int n = 0; list && n < node_count; n++) {
		if (gpus[n] > 0 &&
		    json_array_append_new(list, json_pack("[i, i]", n,
							  gpus[n])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static int fill_json(const struct plx_answer *answer, json_t *allocations,
		     json_t *why)
{
	const struct plx_plan *plan = answer->plan;

	for (int j = 0; j < plan->job_count; j++) {
		const struct plx_choice *choice = &plan->choices[j];
		const char *name = answer->snapshot->jobs[j];

		if (json_object_set_new(allocations, name,
					placement_json(choice->gpus,
						       plan->node_count)) < 0 ||
		    json_object_set_new(why, name, json_string(choice->why)) <
			    0)
			return -1;
	}
	return 0;
}

int plx_answer_print_json(const struct plx_answer *answer, FILE *out,
			  struct plx_error *err)
{
	json_t *allocations = json_object();
	json_t *why = json_object();
	json_t *root =
		json_pack("{s:f, s:f, s:f, s:O, s:O}", "fitness",
			  answer->plan->fitness, "bound", answer->plan->bound,
			  "elapsed_ms", answer->elapsed_ms, "allocations",
			  allocations, "why", why);
	int rc = -1;

	if (root && fill_json(answer, allocations, why) == 0)
		rc = json_dumpf(root, out, JSON_REAL_PRECISION(17));
	fputc('\n', out);
	json_decref(root);
	json_decref(allocations);
	json_decref(why);
	if (rc < 0)
		return plx_fail(err, "the answer cannot be written as JSON");
	return 0;
}
