/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - a problem as text
 *
 * One line a node and a job, so that a reader's complaint about a line says
 * which one is meant.
 */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "core/base/sheet.h"
#include "core/snapshot/snapshot.h"

#define DIGITS	    17 /* of a double, all that it has */
#define SECONDS_MAX 9.9e14
#define MODEL_MAX   1e9
#define NORM_MAX    1e100

/* An enum is written as an int. */
static_assert(sizeof(enum plx_growth) == sizeof(int), "an enum is an int");

#define AT(field) offsetof(struct plx_job, field)
#define OF(field) offsetof(struct plx_problem, field)

/* clang-format off */
const struct plx_snapshot_field plx_snapshot_fields[] = {
	{ "hysteresis", PLX_IN_PROBLEM, PLX_REAL, OF(hysteresis), 0, 1, 0 },
	{ "uniform", PLX_IN_PROBLEM, PLX_FLAG, OF(uniform), 0, 1, 0 },
	{ "spare", PLX_IN_PROBLEM, PLX_FLAG, OF(idle), 0, 1, 0 },
	{ "interference", PLX_IN_PROBLEM, PLX_FLAG, OF(interference),
	  0, 1, 0 },
	{ "switch_cost", PLX_IN_PROBLEM, PLX_REAL, OF(switch_cost), 0, 100, 0 },
	{ "weight", PLX_IN_JOB, PLX_REAL, AT(weight), 0, 1e6, 1 },
	{ "min_replicas", PLX_IN_JOB, PLX_WHOLE, AT(min_gpus),
	  0, INT_MAX, 1 },
	{ "max_replicas", PLX_IN_JOB, PLX_WHOLE, AT(max_gpus),
	  1, INT_MAX, NAN },
	{ "max_by", PLX_IN_JOB, PLX_WHOLE, AT(max_by),
	  0, PLX_BOUNDS - 1, PLX_BOUND_OWN },
	{ "min_nodes", PLX_IN_JOB, PLX_WHOLE, AT(min_nodes), 0, INT_MAX, 0 },
	{ "max_nodes", PLX_IN_JOB, PLX_WHOLE, AT(max_nodes), 0, INT_MAX, 0 },
	{ "max_switches", PLX_IN_JOB, PLX_WHOLE, AT(max_switches),
	  0, INT_MAX, 0 },
	{ "node_gpus", PLX_IN_JOB, PLX_WHOLE, AT(node_gpus), 0, INT_MAX, 0 },
	{ "profiled_replicas", PLX_IN_JOB, PLX_WHOLE, AT(profiled_gpus),
	  0, INT_MAX, 0 },
	{ "pinned", PLX_IN_JOB, PLX_FLAG, AT(fixed), 0, 1, 0 },
	{ "roams", PLX_IN_JOB, PLX_FLAG, AT(roams), 0, 1, 0 },
	{ "whole_nodes", PLX_IN_JOB, PLX_FLAG, AT(whole), 0, 1, 0 },
	{ "may_park", PLX_IN_JOB, PLX_FLAG, AT(may_park), 0, 1, 1 },
	{ "age", PLX_IN_JOB, PLX_REAL, AT(age_s), 0, SECONDS_MAX, 3600 },
	{ "restart_s", PLX_IN_JOB, PLX_REAL, AT(restart_s),
	  0, SECONDS_MAX, 30 },
	{ "least_goodput", PLX_IN_JOB, PLX_REAL, AT(least_goodput),
	  0, SECONDS_MAX, 0 },
	{ "num_restarts", PLX_IN_JOB, PLX_WHOLE, AT(restarts),
	  0, INT_MAX, 0 },
	{ "init_batch_size", PLX_IN_PROFILE, PLX_WHOLE,
	  AT(goodput.limits.base_batch), 1, INT_MAX, NAN },
	{ "max_batch_size", PLX_IN_PROFILE, PLX_WHOLE,
	  AT(goodput.limits.max_batch), 1, INT_MAX, NAN },
	{ "accumulation", PLX_IN_PROFILE, PLX_FLAG,
	  AT(goodput.limits.accumulate), 0, 1, 0 },
	{ "alpha_c", PLX_IN_MODEL, PLX_REAL, AT(goodput.model.alpha_c),
	  0, MODEL_MAX, NAN },
	{ "beta_c", PLX_IN_MODEL, PLX_REAL, AT(goodput.model.beta_c),
	  0, MODEL_MAX, NAN },
	{ "alpha_n", PLX_IN_MODEL, PLX_REAL, AT(goodput.model.alpha_n),
	  0, MODEL_MAX, NAN },
	{ "beta_n", PLX_IN_MODEL, PLX_REAL, AT(goodput.model.beta_n),
	  0, MODEL_MAX, NAN },
	{ "alpha_r", PLX_IN_MODEL, PLX_REAL, AT(goodput.model.alpha_r),
	  0, MODEL_MAX, NAN },
	{ "beta_r", PLX_IN_MODEL, PLX_REAL, AT(goodput.model.beta_r),
	  0, MODEL_MAX, NAN },
	{ "gamma", PLX_IN_MODEL, PLX_REAL, AT(goodput.model.gamma),
	  1, 10, NAN },
	{ "two_nodes", PLX_IN_MODEL, PLX_REAL, AT(goodput.model.two_nodes),
	  0, 10, 0 },
	{ "per_switch", PLX_IN_MODEL, PLX_REAL, AT(goodput.model.per_switch),
	  0, PLX_PER_SWITCH_MAX, 0 },
	{ "growth", PLX_IN_MODEL, PLX_WHOLE, AT(goodput.model.growth),
	  PLX_BY_GPU, PLX_BY_DOUBLING, PLX_BY_GPU },
	{ "sqr", PLX_IN_NOISE, PLX_REAL, AT(goodput.noise.sqr),
	  0, NORM_MAX, NAN },
	{ "var", PLX_IN_NOISE, PLX_REAL, AT(goodput.noise.var),
	  0, NORM_MAX, NAN },
	{ NULL, PLX_IN_JOB, PLX_WHOLE, 0, 0, 0, 0 },
};
/* clang-format on */

/* All digits; null where JSON has no number for it. */
static void add_real(struct plx_sheet *sheet, double value)
{
	char text[PLX_NUMBER_SIZE];

	plx_sheet_add(sheet, "%s",
		      isfinite(value) ? plx_number(value, DIGITS, text)
				      : "null");
}

/* In quotes. Names and reasons are ASCII; anything else becomes "?". */
static void add_quoted(struct plx_sheet *sheet, const char *text)
{
	plx_sheet_add(sheet, "\"");
	for (; *text; text++) {
		bool plain = (unsigned char) *text >= ' ' &&
			     (unsigned char) *text < 127;
		bool escaped = *text == '"' || *text == '\\';

		plx_sheet_add(sheet, "%s%c", escaped ? "\\" : "",
			      plain ? *text : '?');
	}
	plx_sheet_add(sheet, "\"");
}

static void add_field(struct plx_sheet *sheet,
		      const struct plx_snapshot_field *field, const void *owner)
{
	const char *at = (const char *) owner + field->offset;

	plx_sheet_add(sheet, "\"%s\":", field->key);
	if (field->kind == PLX_FLAG)
		plx_sheet_add(sheet, *(const bool *) at ? "true" : "false");
	else if (field->kind == PLX_WHOLE)
		plx_sheet_add(sheet, "%d", *(const int *) at);
	else
		add_real(sheet, *(const double *) at);
}

/* All fields of this part of a job or problem, with commas between. */
static void add_part(struct plx_sheet *sheet, enum plx_snapshot_part part,
		     const void *owner)
{
	const char *comma = "";

	for (int i = 0; plx_snapshot_fields[i].key; i++) {
		if (plx_snapshot_fields[i].part != part)
			continue;
		plx_sheet_add(sheet, "%s", comma);
		add_field(sheet, &plx_snapshot_fields[i], owner);
		comma = ",";
	}
}

/* ,"key":[[first, last], ...]; nothing where all nodes are as is usual. */
static void add_ranges(struct plx_sheet *sheet, const char *key,
		       const bool *nodes, int count, bool usual)
{
	const char *comma = "";
	int first = -1;
	int n = 0;

	while (n < count && nodes && nodes[n] == usual)
		n++;
	if (n == count || !nodes)
		return;
	plx_sheet_add(sheet, ",\"%s\":[", key);
	for (n = 0; n <= count; n++) {
		bool yes = n < count && nodes[n];

		if (yes && first < 0)
			first = n;
		if (yes || first < 0)
			continue;
		plx_sheet_add(sheet, "%s[%d,%d]", comma, first, n - 1);
		comma = ",";
		first = -1;
	}
	plx_sheet_add(sheet, "]");
}

/* ,"key":[...]; nothing where there are none. */
static void add_amounts(struct plx_sheet *sheet, const char *key,
			const double *amounts, size_t count)
{
	if (!amounts || count == 0)
		return;
	plx_sheet_add(sheet, ",\"%s\":", key);
	for (size_t i = 0; i < count && !sheet->failed; i++) {
		plx_sheet_add(sheet, i ? "," : "[");
		add_real(sheet, amounts[i]);
	}
	plx_sheet_add(sheet, "]");
}

static void add_table(struct plx_sheet *sheet, const struct plx_table *table)
{
	plx_sheet_add(sheet, ",\"table\":{\"nodes\":%d,\"gpus\":%d,\"kept\":",
		      table->nodes, table->gpus);
	add_real(sheet, table->kept);
	add_amounts(sheet, "speedup", table->speedup,
		    (size_t) table->nodes * (size_t) table->gpus);
	plx_sheet_add(sheet, "}");
}

static void add_goodput(struct plx_sheet *sheet, const struct plx_job *job)
{
	plx_sheet_add(sheet, ",");
	add_part(sheet, PLX_IN_PROFILE, job);
	plx_sheet_add(sheet, ",\"atomic_bsz_range\":[%d,%d],\"perf_params\":{",
		      job->goodput.limits.min_per_gpu,
		      job->goodput.limits.max_per_gpu);
	add_part(sheet, PLX_IN_MODEL, job);
	plx_sheet_add(sheet, "},\"grad_params\":{");
	add_part(sheet, PLX_IN_NOISE, job);
	plx_sheet_add(sheet, "}");
}

static void add_job(struct plx_sheet *sheet, const struct plx_problem *problem,
		    int j)
{
	const struct plx_job *job = &problem->jobs[j];
	size_t kinds = (size_t) problem->consumable_kinds;

	plx_sheet_add(sheet, "{\"key\":\"%u\",\"id\":%u,", job->id, job->id);
	add_part(sheet, PLX_IN_JOB, job);
	if (job->batch_host >= 0)
		plx_sheet_add(sheet, ",\"home\":%d", job->batch_host);
	add_ranges(sheet, "allowed", job->allowed, problem->node_count, true);
	add_ranges(sheet, "required", job->required, problem->node_count,
		   false);
	for (int i = 0; i < job->size_count; i++)
		plx_sheet_add(sheet, "%s%d", i ? "," : ",\"sizes\":[",
			      job->sizes[i]);
	if (job->size_count > 0)
		plx_sheet_add(sheet, "]");
	add_amounts(sheet, "takes", job->demand, kinds);
	add_amounts(sheet, "home_takes", job->batch_host_demand, kinds);
	if (job->profiled)
		add_goodput(sheet, job);
	else
		plx_sheet_add(sheet, ",\"speedup\":\"linear\"");
	if (job->table)
		add_table(sheet, job->table);
	plx_sheet_add(sheet, "}");
}

static void add_nodes(struct plx_sheet *sheet,
		      const struct plx_problem *problem,
		      const char *const *nodes)
{
	size_t kinds = (size_t) problem->consumable_kinds;
	char name[PLX_NUMBER_SIZE];

	plx_sheet_add(sheet, "\"nodes\":[");
	for (int n = 0; n < problem->node_count; n++) {
		snprintf(name, sizeof(name), "n%d", n);
		plx_sheet_add(sheet, "%s\n{\"key\":", n ? "," : "");
		add_quoted(sheet, nodes ? nodes[n] : name);
		plx_sheet_add(sheet,
			      ",\"resources\":{\"gpu\":%d},\"elastic\":%d",
			      problem->gpus_total[n], problem->gpus[n]);
		if (problem->switches)
			plx_sheet_add(sheet, ",\"switch\":%d",
				      problem->switches[n]);
		if (kinds > 0)
			add_amounts(sheet, "stock",
				    problem->consumables + (size_t) n * kinds,
				    kinds);
		plx_sheet_add(sheet, "}");
	}
	plx_sheet_add(sheet, "],\n");
}

/* [[job, node, GPUs], ...] */
static void add_base(struct plx_sheet *sheet, const struct plx_problem *problem)
{
	const char *comma = "\n";

	plx_sheet_add(sheet, "\"base_state\":[");
	for (int j = 0; j < problem->job_count; j++) {
		for (int n = 0; n < problem->node_count; n++) {
			if (problem->jobs[j].now[n] == 0)
				continue;
			plx_sheet_add(sheet, "%s[%d,%d,%d]", comma, j, n,
				      problem->jobs[j].now[n]);
			comma = ",";
		}
	}
	plx_sheet_add(sheet, "]");
}

static void add_choice(struct plx_sheet *sheet, const struct plx_choice *choice,
		       int node_count)
{
	const char *comma = "";

	plx_sheet_add(sheet, "[");
	for (int n = 0; n < node_count; n++) {
		if (choice->gpus[n] == 0)
			continue;
		plx_sheet_add(sheet, "%s[%d,%d]", comma, n, choice->gpus[n]);
		comma = ",";
	}
	plx_sheet_add(sheet, "]");
}

/* As pollux-alloc prints it. */
static void add_answer(struct plx_sheet *sheet,
		       const struct plx_problem *problem,
		       const struct plx_plan *plan)
{
	plx_sheet_add(sheet, ",\n\"answer\":{\"fitness\":");
	add_real(sheet, plan->fitness);
	plx_sheet_add(sheet, ",\"bound\":");
	add_real(sheet, plan->bound);
	plx_sheet_add(sheet, ",\"allocations\":{");
	for (int j = 0; j < plan->job_count; j++) {
		plx_sheet_add(sheet, "%s\n\"%u\":", j ? "," : "",
			      problem->jobs[j].id);
		add_choice(sheet, &plan->choices[j], plan->node_count);
	}
	plx_sheet_add(sheet, "},\"why\":{");
	for (int j = 0; j < plan->job_count; j++) {
		plx_sheet_add(sheet, "%s\n\"%u\":", j ? "," : "",
			      problem->jobs[j].id);
		add_quoted(sheet, plan->choices[j].why);
	}
	plx_sheet_add(sheet, "}}");
}

/* The seed has 64 bits, more than a number of JSON holds everywhere. */
static void add_head(struct plx_sheet *sheet, const struct plx_problem *problem)
{
	plx_sheet_add(sheet,
		      "{\"format\":%d,\n\"fairness\":", PLX_SNAPSHOT_FORMAT);
	if (isinf(problem->fairness))
		plx_sheet_add(sheet, "\"min\"");
	else
		add_real(sheet, problem->fairness);
	plx_sheet_add(sheet, ",\n");
	add_part(sheet, PLX_IN_PROBLEM, problem);
	plx_sheet_add(sheet, ",\n\"seed\":\"%llu\",\n",
		      (unsigned long long) problem->seed);
}

char *plx_snapshot_text(const struct plx_problem *problem,
			const char *const *nodes, const struct plx_plan *plan,
			struct plx_error *err)
{
	struct plx_sheet sheet = plx_sheet_create(PLX_SNAPSHOT_MAX);
	char *text;

	add_head(&sheet, problem);
	add_nodes(&sheet, problem, nodes);
	plx_sheet_add(&sheet, "\"jobs\":[");
	for (int j = 0; j < problem->job_count; j++) {
		plx_sheet_add(&sheet, "%s\n", j ? "," : "");
		add_job(&sheet, problem, j);
	}
	plx_sheet_add(&sheet, "],\n");
	add_base(&sheet, problem);
	if (plan)
		add_answer(&sheet, problem, plan);
	plx_sheet_add(&sheet, "}\n");
	text = plx_sheet_take(&sheet);
	if (!text)
		plx_fail(err,
			 "the snapshot of %d jobs on %d nodes needs more than "
			 "%ld MiB",
			 problem->job_count, problem->node_count,
			 PLX_SNAPSHOT_MAX >> 20);
	return text;
}
