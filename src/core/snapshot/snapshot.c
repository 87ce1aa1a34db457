/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - a problem as text
 *
 * One line a node and a job, so that a reader's complaint about a line says
 * which one is meant.
 */
#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/snapshot/snapshot.h"

#define FIRST_SIZE  4096
#define NUMBER_SIZE 40
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
	{ "growth", PLX_IN_MODEL, PLX_WHOLE, AT(goodput.model.growth),
	  PLX_BY_GPU, PLX_BY_DOUBLING, PLX_BY_GPU },
	{ "sqr", PLX_IN_NOISE, PLX_REAL, AT(goodput.noise.sqr),
	  0, NORM_MAX, NAN },
	{ "var", PLX_IN_NOISE, PLX_REAL, AT(goodput.noise.var),
	  0, NORM_MAX, NAN },
	{ NULL, PLX_IN_JOB, PLX_WHOLE, 0, 0, 0, 0 },
};
/* clang-format on */

/* The text so far; after a failure nothing is added any more. */
struct sheet {
	char *text;
	size_t used;
	size_t size;
	bool failed;
};

static bool reserve(struct sheet *sheet, size_t more)
{
	size_t size = sheet->size;
	char *text;

	if (sheet->failed)
		return false;
	while (size - sheet->used <= more && size <= PLX_SNAPSHOT_MAX)
		size *= 2;
	if (size == sheet->size)
		return true;
	text = size <= PLX_SNAPSHOT_MAX ? realloc(sheet->text, size) : NULL;
	if (!text) {
		sheet->failed = true;
		return false;
	}
	sheet->text = text;
	sheet->size = size;
	return true;
}

static void add(struct sheet *sheet, const char *text)
{
	size_t length = strlen(text);

	if (!reserve(sheet, length))
		return;
	memcpy(sheet->text + sheet->used, text, length + 1);
	sheet->used += length;
}

static void add_whole(struct sheet *sheet, long long value)
{
	char text[NUMBER_SIZE];

	snprintf(text, sizeof(text), "%lld", value);
	add(sheet, text);
}

/* All digits, with a point whatever the locale says. */
static void add_real(struct sheet *sheet, double value)
{
	char text[NUMBER_SIZE];

	if (!isfinite(value)) {
		add(sheet, "null");
		return;
	}
	snprintf(text, sizeof(text), "%.17g", value);
	for (char *c = text; *c; c++) {
		if (!isalnum((unsigned char) *c) && *c != '-' && *c != '+')
			*c = '.';
	}
	add(sheet, text);
}

/* In quotes. Names and reasons are ASCII; anything else becomes "?". */
static void add_quoted(struct sheet *sheet, const char *text)
{
	char one[3];

	add(sheet, "\"");
	for (; *text; text++) {
		bool plain = (unsigned char) *text >= ' ' &&
			     (unsigned char) *text < 127;
		bool escaped = *text == '"' || *text == '\\';

		snprintf(one, sizeof(one), "%s%c", escaped ? "\\" : "",
			 plain ? *text : '?');
		add(sheet, one);
	}
	add(sheet, "\"");
}

/* "key": */
static void add_key(struct sheet *sheet, const char *key)
{
	add_quoted(sheet, key);
	add(sheet, ":");
}

static void add_id(struct sheet *sheet, uint32_t id)
{
	char text[NUMBER_SIZE];

	snprintf(text, sizeof(text), "\"%u\"", id);
	add(sheet, text);
}

static void add_field(struct sheet *sheet,
		      const struct plx_snapshot_field *field, const void *owner)
{
	const char *at = (const char *) owner + field->offset;

	add_key(sheet, field->key);
	if (field->kind == PLX_FLAG)
		add(sheet, *(const bool *) at ? "true" : "false");
	else if (field->kind == PLX_WHOLE)
		add_whole(sheet, *(const int *) at);
	else
		add_real(sheet, *(const double *) at);
}

/* All fields of this part of a job or problem, with commas between. */
static void add_part(struct sheet *sheet, enum plx_snapshot_part part,
		     const void *owner)
{
	const char *comma = "";

	for (int i = 0; plx_snapshot_fields[i].key; i++) {
		if (plx_snapshot_fields[i].part != part)
			continue;
		add(sheet, comma);
		add_field(sheet, &plx_snapshot_fields[i], owner);
		comma = ",";
	}
}

/* ,"key":[[first, last], ...]; nothing where all nodes are as is usual. */
static void add_ranges(struct sheet *sheet, const char *key, const bool *nodes,
		       int count, bool usual)
{
	const char *comma = "";
	int first = -1;
	int n = 0;

	while (n < count && nodes && nodes[n] == usual)
		n++;
	if (n == count || !nodes)
		return;
	add(sheet, ",");
	add_key(sheet, key);
	add(sheet, "[");
	for (n = 0; n <= count; n++) {
		bool yes = n < count && nodes[n];

		if (yes && first < 0)
			first = n;
		if (yes || first < 0)
			continue;
		add(sheet, comma);
		add(sheet, "[");
		add_whole(sheet, first);
		add(sheet, ",");
		add_whole(sheet, n - 1);
		add(sheet, "]");
		comma = ",";
		first = -1;
	}
	add(sheet, "]");
}

static void add_table(struct sheet *sheet, const struct plx_table *table)
{
	size_t cells = (size_t) table->nodes * (size_t) table->gpus;

	add(sheet, ",\"table\":{\"nodes\":");
	add_whole(sheet, table->nodes);
	add(sheet, ",\"gpus\":");
	add_whole(sheet, table->gpus);
	add(sheet, ",\"kept\":");
	add_real(sheet, table->kept);
	add(sheet, ",\"speedup\":[");
	for (size_t i = 0; i < cells && !sheet->failed; i++) {
		add(sheet, i ? "," : "");
		add_real(sheet, table->speedup[i]);
	}
	add(sheet, "]}");
}

static void add_goodput(struct sheet *sheet, const struct plx_job *job)
{
	add(sheet, ",");
	add_part(sheet, PLX_IN_PROFILE, job);
	add(sheet, ",\"atomic_bsz_range\":[");
	add_whole(sheet, job->goodput.limits.min_per_gpu);
	add(sheet, ",");
	add_whole(sheet, job->goodput.limits.max_per_gpu);
	add(sheet, "],\"perf_params\":{");
	add_part(sheet, PLX_IN_MODEL, job);
	add(sheet, "},\"grad_params\":{");
	add_part(sheet, PLX_IN_NOISE, job);
	add(sheet, "}");
}

/* ,"key":[...]; nothing where there are none. */
static void add_amounts(struct sheet *sheet, const char *key,
			const double *amounts, int count)
{
	if (!amounts || count == 0)
		return;
	add(sheet, ",");
	add_key(sheet, key);
	add(sheet, "[");
	for (int i = 0; i < count; i++) {
		add(sheet, i ? "," : "");
		add_real(sheet, amounts[i]);
	}
	add(sheet, "]");
}

static void add_job(struct sheet *sheet, const struct plx_problem *problem,
		    int j)
{
	const struct plx_job *job = &problem->jobs[j];

	add(sheet, "{\"key\":");
	add_id(sheet, job->id);
	add(sheet, ",\"id\":");
	add_whole(sheet, job->id);
	add(sheet, ",");
	add_part(sheet, PLX_IN_JOB, job);
	if (job->batch_host >= 0) {
		add(sheet, ",\"home\":");
		add_whole(sheet, job->batch_host);
	}
	add_ranges(sheet, "allowed", job->allowed, problem->node_count, true);
	add_ranges(sheet, "required", job->required, problem->node_count,
		   false);
	if (job->size_count > 0) {
		add(sheet, ",\"sizes\":[");
		for (int i = 0; i < job->size_count; i++) {
			add(sheet, i ? "," : "");
			add_whole(sheet, job->sizes[i]);
		}
		add(sheet, "]");
	}
	add_amounts(sheet, "takes", job->demand, problem->consumable_kinds);
	add_amounts(sheet, "home_takes", job->batch_host_demand,
		    problem->consumable_kinds);
	if (job->profiled)
		add_goodput(sheet, job);
	else
		add(sheet, ",\"speedup\":\"linear\"");
	if (job->table)
		add_table(sheet, job->table);
	add(sheet, "}");
}

static void add_nodes(struct sheet *sheet, const struct plx_problem *problem,
		      const char *const *nodes)
{
	char name[NUMBER_SIZE];

	add(sheet, "\"nodes\":[");
	for (int n = 0; n < problem->node_count; n++) {
		snprintf(name, sizeof(name), "n%d", n);
		add(sheet, n ? ",\n{\"key\":" : "\n{\"key\":");
		add_quoted(sheet, nodes ? nodes[n] : name);
		add(sheet, ",\"resources\":{\"gpu\":");
		add_whole(sheet, problem->gpus_total[n]);
		add(sheet, "},\"elastic\":");
		add_whole(sheet, problem->gpus[n]);
		if (problem->switches) {
			add(sheet, ",\"switch\":");
			add_whole(sheet, problem->switches[n]);
		}
		add_amounts(sheet, "stock",
			    problem->consumable_kinds > 0
				    ? problem->consumables +
					      n * problem->consumable_kinds
				    : NULL,
			    problem->consumable_kinds);
		add(sheet, "}");
	}
	add(sheet, "],\n");
}

/* [[job, node, GPUs], ...] */
static void add_base(struct sheet *sheet, const struct plx_problem *problem)
{
	const char *comma = "\n";

	add(sheet, "\"base_state\":[");
	for (int j = 0; j < problem->job_count; j++) {
		for (int n = 0; n < problem->node_count; n++) {
			if (problem->jobs[j].now[n] == 0)
				continue;
			add(sheet, comma);
			add(sheet, "[");
			add_whole(sheet, j);
			add(sheet, ",");
			add_whole(sheet, n);
			add(sheet, ",");
			add_whole(sheet, problem->jobs[j].now[n]);
			add(sheet, "]");
			comma = ",";
		}
	}
	add(sheet, "]");
}

static void add_choice(struct sheet *sheet, const struct plx_choice *choice,
		       int node_count)
{
	const char *comma = "";

	add(sheet, "[");
	for (int n = 0; n < node_count; n++) {
		if (choice->gpus[n] == 0)
			continue;
		add(sheet, comma);
		add(sheet, "[");
		add_whole(sheet, n);
		add(sheet, ",");
		add_whole(sheet, choice->gpus[n]);
		add(sheet, "]");
		comma = ",";
	}
	add(sheet, "]");
}

/* As pollux-alloc prints it. */
static void add_answer(struct sheet *sheet, const struct plx_problem *problem,
		       const struct plx_plan *plan)
{
	add(sheet, ",\n\"answer\":{\"fitness\":");
	add_real(sheet, plan->fitness);
	add(sheet, ",\"bound\":");
	add_real(sheet, plan->bound);
	add(sheet, ",\"allocations\":{");
	for (int j = 0; j < plan->job_count; j++) {
		add(sheet, j ? ",\n" : "\n");
		add_id(sheet, problem->jobs[j].id);
		add(sheet, ":");
		add_choice(sheet, &plan->choices[j], plan->node_count);
	}
	add(sheet, "},\"why\":{");
	for (int j = 0; j < plan->job_count; j++) {
		add(sheet, j ? ",\n" : "\n");
		add_id(sheet, problem->jobs[j].id);
		add(sheet, ":");
		add_quoted(sheet, plan->choices[j].why);
	}
	add(sheet, "}}");
}

/* The seed has 64 bits, more than a number of JSON holds everywhere. */
static void add_head(struct sheet *sheet, const struct plx_problem *problem)
{
	char seed[NUMBER_SIZE];

	add(sheet, "{\"format\":");
	add_whole(sheet, PLX_SNAPSHOT_FORMAT);
	add(sheet, ",\n\"fairness\":");
	if (isinf(problem->fairness))
		add(sheet, "\"min\"");
	else
		add_real(sheet, problem->fairness);
	add(sheet, ",\n");
	add_part(sheet, PLX_IN_PROBLEM, problem);
	snprintf(seed, sizeof(seed), ",\n\"seed\":\"%llu\",\n",
		 (unsigned long long) problem->seed);
	add(sheet, seed);
}

char *plx_snapshot_text(const struct plx_problem *problem,
			const char *const *nodes, const struct plx_plan *plan,
			struct plx_error *err)
{
	struct sheet sheet = { .size = FIRST_SIZE };

	sheet.text = malloc(sheet.size);
	sheet.failed = !sheet.text;
	add_head(&sheet, problem);
	add_nodes(&sheet, problem, nodes);
	add(&sheet, "\"jobs\":[");
	for (int j = 0; j < problem->job_count; j++) {
		add(&sheet, j ? ",\n" : "\n");
		add_job(&sheet, problem, j);
	}
	add(&sheet, "],\n");
	add_base(&sheet, problem);
	if (plan)
		add_answer(&sheet, problem, plan);
	add(&sheet, "}\n");
	if (!sheet.failed)
		return sheet.text;
	free(sheet.text);
	plx_fail(err,
		 "the snapshot of %d jobs on %d nodes needs more than %ld MiB",
		 problem->job_count, problem->node_count,
		 PLX_SNAPSHOT_MAX >> 20);
	return NULL;
}
