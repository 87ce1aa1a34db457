/* SPDX-License-Identifier: MIT */
/*
 * search.c - how long a plan takes, and how far from the best it may be
 *
 *	bench/search [--json] [--largest=JOBS] [--largest-ga=JOBS]
 *		     [--switches=NODES] [--recorded=SNAPSHOT]
 *
 * Random clusters of several sizes, planned from nothing and again after
 * one job has come, by our search and by the published genetic algorithm
 * (policy pollux-ga: 100 plans in 100 generations), which is left out where
 * it would take minutes. Times are of one core, the median of some runs of
 * ours and one of the other; the gap is to the bound that the search itself
 * gives, so the true distance from the best plan is smaller.
 *
 * With --switches, nodes are on leaf switches of so many, and problems are as
 * slurmctld poses them: even shapes, other resources besides GPUs. Each is
 * planned by our search alone, when it knows of the switches and when it does
 * not, and of the jobs on several nodes those on several switches are counted.
 *
 * With --recorded, the problem is one that slurmctld posed (pollux_dump):
 * planned from nothing without its last job, again when that comes, and as it
 * was recorded. zcat bench/data/slurmctld-2000.json.gz | bench/search
 * --recorded=/dev/stdin: 2,000 elastic jobs on 1,250 nodes of 8 GPUs.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/policy/ga.h"
#include "core/jobs/prepare.h"
#include "core/search/plan.h"
#include "sim/snapshot_load.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define REPEATS	      5

/* Measured on nobody's cluster, but of the size of well-known programs. */
static const struct plx_goodput kinds[] = {
	/* clang-format off */
	{ { 0.010, 0.0008, 0.080, 0.0020, 0.020, 0.0010, 2.0, 0, 0, 0, 0 },	/* images */
	  { 2e-3, 0.4 }, { 128, 4096, 32, 1024, true } },
	{ { 0.120, 0.0050, 0.300, 0.0080, 0.060, 0.0020, 1.6, 0, 0, 0, 0 },	/* photos */
	  { 1e-2, 8.0 }, { 200, 12800, 20, 200, true } },
	{ { 0.250, 0.0200, 0.900, 0.0300, 0.150, 0.0050, 1.3, 0, 0, 0, 0 },	/* text */
	  { 5e-2, 2.5 }, { 12, 384, 4, 12, true } },
	{ { 0.300, 0.0250, 0.350, 0.0250, 0.080, 0.0020, 1.5, 0, 0, 0, 0 },	/* speech */
	  { 3e-4, 1.8 }, { 20, 640, 10, 80, true } },
	{ { 0.180, 0.0260, 0.700, 0.0230, 0.140, 0.0210, 1.2, 0, 0, 0, 0 },	/* boxes */
	  { 1.5, 5.5 }, { 8, 512, 4, 8, true } },
	{ { 0.002, 0.00002, 0.030, 0.0010, 0.004, 0.0004, 3.0, 0, 0, 0, 0 }, /* ratings */
	  { 1e-3, 0.02 }, { 256, 32768, 32, 32768, false } },
	/* clang-format on */
};

static const struct bench_case {
	int jobs;
	int nodes;
	int node_gpus;
} cases[] = {
	{ 10, 4, 4 },	 { 30, 16, 4 },	  { 60, 16, 4 },
	{ 500, 250, 4 }, { 512, 256, 8 }, { 2000, 1250, 8 },
};

typedef int decide_fn(const struct plx_problem *problem, struct plx_plan **plan,
		      struct plx_error *err);

static const struct policy {
	const char *name;
	decide_fn *decide;
	int repeats; /* of a case; the median is told */
} ours = { "pollux", plx_plan_search, REPEATS },
  genetic = { "pollux-ga", plx_ga_search, 1 };

/* What to run, and how to tell. */
struct options {
	bool json;
	int largest;	      /* jobs of the largest case */
	int largest_ga;	      /* ... for the genetic algorithm */
	int switches;	      /* nodes of each; 0: nothing is known of them */
	const char *recorded; /* a snapshot; NULL: random problems */
};

struct result {
	double elapsed_ms;
	double fitness;
	double bound;
	int changed; /* jobs */
};

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static double uniform(uint64_t *state, double low, double high)
{
	return low + (high - low) * (double) (draw(state) >> 11) / 0x1p53;
}

static double around(uint64_t *state, double x)
{
	return x * exp(uniform(state, -0.5, 0.5));
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void die(const struct plx_error *err)
{
	fprintf(stderr, "search: %s\n", err->text);
	exit(1);
}

/* A job of some kind, some way into its training. */
static void draw_job(uint64_t *state, struct plx_job *job, int id, int gpus)
{
	struct plx_goodput goodput = kinds[draw(state) % ARRAY_SIZE(kinds)];
	int useful = goodput.limits.max_batch / goodput.limits.min_per_gpu;
	double *model = &goodput.model.alpha_c;

	for (int i = 0; i < 6; i++)
		model[i] = around(state, model[i]);
	goodput.noise.var *= exp(uniform(state, -1, 2));
	job->id = (uint32_t) id;
	job->min_gpus = 1;
	job->max_gpus = useful < 64 ? useful : 64;
	if (job->max_gpus > gpus)
		job->max_gpus = gpus;
	job->profiled = draw(state) % 10 > 0;
	job->profiled_gpus = 1 << draw(state) % 5;
	job->goodput = goodput;
	job->may_park = true;
	job->age_s = exp(uniform(state, 6.5, 10));
	job->restart_s = uniform(state, 1, 40);
	job->restarts = (int) (draw(state) % 4);
}

/* The same cluster for any number of jobs: the first ones are the same. */
static struct plx_problem *draw_problem(const struct bench_case *c, int jobs,
					uint64_t seed)
{
	struct plx_error err = { .text = "" };
	struct plx_problem *problem = plx_problem_create(c->nodes, jobs, &err);

	if (!problem)
		die(&err);
	problem->interference = true;
	for (int n = 0; n < c->nodes; n++)
		problem->gpus[n] = problem->gpus_total[n] = c->node_gpus;
	for (int j = 0; j < jobs; j++)
		draw_job(&seed, &problem->jobs[j], j + 1,
			 c->nodes * c->node_gpus);
	return problem;
}

static struct result measure(const struct plx_problem *problem,
			     const struct policy *policy,
			     struct plx_plan **plan)
{
	struct plx_error err = { .text = "" };
	struct result result = { 0 };
	double times[REPEATS];

	for (int i = 0; i < policy->repeats; i++) {
		double start = now_ms();

		plx_plan_destroy(*plan);
		*plan = NULL;
		if (policy->decide(problem, plan, &err) < 0)
			die(&err);
		times[i] = now_ms() - start;
		for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
			double t = times[k];

			times[k] = times[k - 1];
			times[k - 1] = t;
		}
	}
	result.elapsed_ms = times[policy->repeats / 2];
	result.fitness = (*plan)->fitness;
	result.bound = (*plan)->bound;
	for (int j = 0; j < problem->job_count; j++)
		result.changed += (*plan)->choices[j].changed;
	return result;
}

static void report(const struct bench_case *c, const struct policy *policy,
		   const struct result *r, bool cold, bool json)
{
	static bool comma;

	if (json)
		printf("%s{\"jobs\":%d,\"gpus\":%d,\"policy\":\"%s\","
		       "\"cold\":%s,\"elapsed_ms\":%.3f,\"fitness\":%.9g,"
		       "\"bound\":%.9g}",
		       comma ? "," : "", c->jobs, c->nodes * c->node_gpus,
		       policy->name, cold ? "true" : "false", r->elapsed_ms,
		       r->fitness, r->bound);
	else
		printf("%5d %6d  %-7s  %-9s %10.3f %10.6f %10.6f %8.3f %8d\n",
		       c->jobs, c->nodes * c->node_gpus,
		       cold ? "nothing" : "a plan", policy->name, r->elapsed_ms,
		       r->fitness, r->bound, 100 * (1 - r->fitness / r->bound),
		       r->changed);
	comma = true;
	fflush(stdout);
}

/* The genetic algorithm on the same problem, told beside our bound. */
static void compare(const struct bench_case *c,
		    const struct plx_problem *problem, double bound, bool cold,
		    const struct options *options)
{
	struct plx_plan *plan = NULL;
	struct result result;

	if (c->jobs > options->largest_ga)
		return;
	result = measure(problem, &genetic, &plan);
	result.bound = bound;
	report(c, &genetic, &result, cold, options->json);
	plx_plan_destroy(plan);
}

/* Plan for all jobs but the last, then for all from there. */
static void run(const struct bench_case *c, const struct options *options)
{
	uint64_t seed = (uint64_t) c->jobs;
	struct plx_problem *problem = draw_problem(c, c->jobs - 1, seed);
	struct plx_problem *next = draw_problem(c, c->jobs, seed);
	struct plx_plan *plan = NULL;
	struct result result;

	result = measure(problem, &ours, &plan);
	for (int j = 0; j < problem->job_count; j++)
		memcpy(next->jobs[j].now, plan->choices[j].gpus,
		       (size_t) c->nodes * sizeof(int));
	report(c, &ours, &result, true, options->json);
	compare(c, problem, result.bound, true, options);
	result = measure(next, &ours, &plan);
	report(c, &ours, &result, false, options->json);
	compare(c, next, result.bound, false, options);
	plx_plan_destroy(plan);
	plx_problem_destroy(next);
	plx_problem_destroy(problem);
}

/* As slurmctld poses it: each GPU needs a CPU, and there are enough. */
static void wire(struct plx_problem *problem, const struct bench_case *c,
		 int each)
{
	struct plx_error err = { .text = "" };
	size_t nodes = (size_t) problem->node_count;

	if (plx_problem_add_switches(problem, &err) < 0)
		die(&err);
	plx_prepare_defaults(problem);
	problem->idle = true;
	problem->consumable_kinds = 1;
	problem->consumables = calloc(nodes, sizeof(double));
	for (size_t n = 0; problem->consumables && n < nodes; n++) {
		problem->switches[n] = (int) n / each;
		problem->consumables[n] = c->node_gpus;
	}
	for (int j = 0; j < problem->job_count; j++) {
		problem->jobs[j].demand = calloc(1, sizeof(double));
		if (problem->jobs[j].demand)
			problem->jobs[j].demand[0] = 1;
	}
	plx_problem_price(problem);
}

/* Jobs on several nodes, and those of them that are on several switches. */
static void count_wide(const struct plx_problem *problem, const int *of,
		       const struct plx_plan *plan, int *multi, int *wide)
{
	*multi = *wide = 0;
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_choice *choice = &plan->choices[j];
		int first = -1;
		bool several = false;

		for (int n = 0; n < problem->node_count; n++) {
			if (choice->gpus[n] == 0)
				continue;
			several = several || (first >= 0 && of[n] != first);
			first = of[n];
		}
		*multi += choice->shape.nodes > 1;
		*wide += several;
	}
}

static void report_switches(const struct bench_case *c,
			    struct plx_problem *problem, bool known,
			    const struct options *options)
{
	static bool comma;
	int *of = problem->switches;
	struct plx_plan *plan = NULL;
	struct result r;
	int multi, wide;

	if (!known)
		problem->switches = NULL;
	r = measure(problem, &ours, &plan);
	problem->switches = of;
	r.fitness = plx_plan_fitness(problem, plan->choices[0].gpus);
	count_wide(problem, of, plan, &multi, &wide);
	if (options->json)
		printf("%s{\"jobs\":%d,\"gpus\":%d,\"known\":%s,"
		       "\"elapsed_ms\":%.3f,\"several_nodes\":%d,"
		       "\"several_switches\":%d}",
		       comma ? "," : "", c->jobs, c->nodes * c->node_gpus,
		       known ? "true" : "false", r.elapsed_ms, multi, wide);
	else
		printf("%5d %6d  %-8s %10.3f %10.6f %8.3f %8d %8d\n", c->jobs,
		       c->nodes * c->node_gpus, known ? "known" : "unknown",
		       r.elapsed_ms, r.fitness, 100 * (1 - r.fitness / r.bound),
		       multi, wide);
	comma = true;
	fflush(stdout);
	plx_plan_destroy(plan);
}

static void run_switches(const struct bench_case *c,
			 const struct options *options)
{
	struct plx_problem *problem =
		draw_problem(c, c->jobs, (uint64_t) c->jobs);

	wire(problem, c, options->switches);
	report_switches(c, problem, false, options);
	report_switches(c, problem, true, options);
	plx_problem_destroy(problem);
}

/* Nobody has anything. */
static void forget_now(struct plx_problem *problem)
{
	for (int j = 0; j < problem->job_count; j++) {
		memset(problem->jobs[j].now, 0,
		       (size_t) problem->node_count * sizeof(int));
		problem->jobs[j].fixed = false;
	}
}

static struct plx_problem *load(const char *path, struct plx_snapshot **from)
{
	struct plx_error err = { .text = "" };

	if (plx_snapshot_load(path, NULL, from, &err) < 0)
		die(&err);
	return (*from)->problem;
}

static void report_recorded(const struct plx_problem *problem, const char *from,
			    struct plx_plan **plan, bool json)
{
	static bool comma;
	struct result r = measure(problem, &ours, plan);

	if (json)
		printf("%s{\"jobs\":%d,\"nodes\":%d,\"from\":\"%s\","
		       "\"elapsed_ms\":%.3f,\"fitness\":%.9g,"
		       "\"bound\":%.9g,\"changed\":%d}",
		       comma ? "," : "", problem->job_count,
		       problem->node_count, from, r.elapsed_ms, r.fitness,
		       r.bound, r.changed);
	else
		printf("%5d %6d  %-8s %10.3f %10.6f %10.6f %8.3f %8d\n",
		       problem->job_count, problem->node_count, from,
		       r.elapsed_ms, r.fitness, r.bound,
		       100 * (1 - r.fitness / r.bound), r.changed);
	comma = true;
	fflush(stdout);
}

static void run_recorded(const struct options *options)
{
	struct plx_snapshot *snapshot = NULL;
	struct plx_problem *problem = load(options->recorded, &snapshot);
	struct plx_plan *plan = NULL;

	report_recorded(problem, "recorded", &plan, options->json);
	forget_now(problem);
	if (problem->job_count > 1) {
		problem->job_count--;
		report_recorded(problem, "nothing", &plan, options->json);
		for (int j = 0; j < problem->job_count; j++)
			memcpy(problem->jobs[j].now, plan->choices[j].gpus,
			       (size_t) problem->node_count * sizeof(int));
		problem->job_count++;
		report_recorded(problem, "a plan", &plan, options->json);
	}
	plx_plan_destroy(plan);
	plx_snapshot_destroy(snapshot);
}

static bool read_options(int argc, char **argv, struct options *options)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			options->json = true;
		else if (strncmp(argv[i], "--largest=", 10) == 0)
			options->largest = atoi(argv[i] + 10);
		else if (strncmp(argv[i], "--largest-ga=", 13) == 0)
			options->largest_ga = atoi(argv[i] + 13);
		else if (strncmp(argv[i], "--switches=", 11) == 0)
			options->switches = atoi(argv[i] + 11);
		else if (strncmp(argv[i], "--recorded=", 11) == 0)
			options->recorded = argv[i] + 11;
		else
			return false;
	}
	return true;
}

static void print_head(const struct options *options)
{
	if (options->json)
		printf("{\"cases\":[");
	else if (options->recorded)
		printf("%5s %6s  %-8s %10s %10s %10s %8s %8s\n", "jobs",
		       "nodes", "from", "ms", "fitness", "bound", "gap %",
		       "changed");
	else if (options->switches > 0)
		printf("%5s %6s  %-8s %10s %10s %8s %8s %8s\n", "jobs", "GPUs",
		       "switches", "ms", "fitness", "gap %", "on nodes",
		       "switches");
	else
		printf("%5s %6s  %-7s  %-9s %10s %10s %10s %8s %8s\n", "jobs",
		       "GPUs", "from", "policy", "ms", "fitness", "bound",
		       "gap %", "changed");
}

int main(int argc, char **argv)
{
	struct options options = { .largest = 2000, .largest_ga = 512 };

	if (!read_options(argc, argv, &options)) {
		fprintf(stderr, "usage: search [--json] [--largest=JOBS] "
				"[--largest-ga=JOBS] [--switches=NODES] "
				"[--recorded=SNAPSHOT]\n");
		return 2;
	}
	print_head(&options);
	if (options.recorded)
		run_recorded(&options);
	for (size_t i = 0; !options.recorded && i < ARRAY_SIZE(cases); i++) {
		if (cases[i].jobs > options.largest)
			continue;
		if (options.switches > 0)
			run_switches(&cases[i], &options);
		else
			run(&cases[i], &options);
	}
	if (options.json)
		printf("]}\n");
	else if (!options.switches && !options.recorded &&
		 options.largest > options.largest_ga)
		printf("pollux-ga is left out above %d jobs\n",
		       options.largest_ga);
	return 0;
}
