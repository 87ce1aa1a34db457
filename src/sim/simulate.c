/* SPDX-License-Identifier: MIT */
/* simulate.c - a workload under a policy, interval by interval */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/autoscale.h"
#include "sim/fairness.h"
#include "sim/simulate.h"

/* Nothing that makes sense takes as long as that after the last submission. */
#define PATIENCE_S (366 * 86400.0)

/* A simulation under way. */
struct world {
	struct plx_setting setting; /* node_count: usable now */
	int node_max;		    /* most nodes that there may be */
	const struct plx_policy *policy;
	const struct plx_workload *workload;
	struct plx_simjob *jobs;	/* [workload->count] */
	int first;			/* all before are done */
	void *states;			/* the policy's, a job each */
	struct plx_sim_placement *next; /* [workload->count] */
	struct plx_sim_part *parts;	/* memory of next */
	struct plx_round round;
	bool *multi;   /* [node_room] scratch: a job on several nodes is here */
	bool *crowded; /* [node_room] more than one is */
	struct plx_autoscaler scaler; /* unless scaling.max_nodes is 0 */
	struct plx_tick totals;	      /* of all jobs, up to now_s */
	double now_s;
	int paid; /* nodes, in the interval that ended now */
	struct plx_run_result *run_result;
	int decision_capacity;
};

static double clock_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

int plx_simulate_check(const struct plx_setting *setting,
		       const struct plx_policy *policy,
		       const struct plx_workload *workload,
		       struct plx_error *err)
{
	int total = setting->node_count * setting->node_gpus;

	for (int i = 0; i < workload->count && !policy->adaptive; i++) {
		const struct plx_workload_entry *entry = &workload->entries[i];

		if (entry->gpus > total)
			return plx_fail(err,
					"%s:%d: job %.40s wants %d GPUs: the "
					"cluster has %d",
					workload->path, entry->line,
					entry->name, entry->gpus, total);
	}
	return 0;
}

static void world_release(struct world *world)
{
	for (int i = 0; world->jobs && i < world->workload->count; i++)
		plx_simjob_release(&world->jobs[i]);
	if (world->round.run && world->policy->end)
		world->policy->end(world->round.run);
	free(world->round.run);
	free(world->jobs);
	free(world->states);
	free(world->next);
	free(world->parts);
	free(world->round.jobs);
	free(world->round.free);
	free(world->round.next);
	free(world->multi);
	free(world->crowded);
	plx_autoscaler_release(&world->scaler);
}

static int make_jobs(struct world *world, struct plx_error *err)
{
	const struct plx_workload *workload = world->workload;
	unsigned without = world->setting.without;
	bool published = world->policy->published;

	for (int i = 0; i < workload->count; i++) {
		const struct plx_workload_entry *entry = &workload->entries[i];
		struct plx_simjob *job = &world->jobs[i];

		if (plx_simjob_init(job, entry, world->node_max, err) < 0)
			return -1;
		job->index = i;
		job->learns = world->policy->adaptive;
		job->corrects = !published && !(without & PLX_PART_MEASURED);
		if (!published && !(without & PLX_PART_MODEL))
			job->goodput.model.growth = PLX_BY_DOUBLING;
		job->fixed_batch = world->policy->adaptive
					   ? entry->app->limits.fixed_batch
					   : entry->batch;
	}
	return 0;
}

/* The world is the caller's to release, also on failure. */
static int world_init(struct world *world, struct plx_error *err)
{
	size_t jobs = (size_t) world->workload->count;
	size_t nodes = (size_t) world->node_max;

	world->jobs = calloc(jobs, sizeof(*world->jobs));
	world->states = calloc(jobs, world->policy->state_size + 1);
	world->next = calloc(jobs, sizeof(*world->next));
	world->parts = calloc(jobs * nodes, sizeof(*world->parts));
	world->round.jobs = calloc(jobs, sizeof(struct plx_simjob *));
	world->round.next = calloc(jobs, sizeof(*world->round.next));
	world->round.free = calloc(nodes, sizeof(*world->round.free));
	world->round.run = calloc(1, world->policy->run_size + 1);
	world->multi = calloc(nodes, sizeof(*world->multi));
	world->crowded = calloc(nodes, sizeof(*world->crowded));
	if (!world->jobs || !world->states || !world->next || !world->parts ||
	    !world->round.jobs || !world->round.next || !world->round.free ||
	    !world->round.run || !world->multi || !world->crowded)
		return plx_fail(err, "no memory for %zu jobs on %zu nodes",
				jobs, nodes);
	world->round.setting = &world->setting;
	if (world->setting.scaling.max_nodes &&
	    plx_autoscaler_init(&world->scaler, &world->setting, world->policy,
				err) < 0)
		return -1;
	return make_jobs(world, err);
}

/* Nodes that more than one job on several nodes shares. */
static void find_crowds(struct world *world)
{
	size_t size = (size_t) world->setting.node_count * sizeof(bool);

	memset(world->multi, 0, size);
	memset(world->crowded, 0, size);
	for (int i = world->first; i < world->workload->count; i++) {
		const struct plx_sim_placement *place = &world->jobs[i].place;

		if (world->jobs[i].done || place->count < 2)
			continue;
		for (int k = 0; k < place->count; k++) {
			int n = place->parts[k].node;

			world->crowded[n] = world->multi[n];
			world->multi[n] = true;
		}
	}
}

static double slowdown_of(const struct world *world,
			  const struct plx_sim_placement *place)
{
	if (place->count < 2)
		return 0;
	for (int k = 0; k < place->count; k++) {
		if (world->crowded[place->parts[k].node])
			return world->setting.interference;
	}
	return 0;
}

static int nodes_paid(const struct world *world)
{
	return world->setting.scaling.max_nodes ? world->scaler.paid
						: world->setting.node_count;
}

/* What all jobs together did in the seconds that ended now. */
static void record(struct world *world, double seconds)
{
	const struct plx_tick *before = &world->totals;
	struct plx_tick now = { .seconds = world->now_s };
	struct plx_tick tick = { .seconds = seconds };

	for (int i = 0; i < world->workload->count; i++) {
		const struct plx_simjob *job = &world->jobs[i];

		now.gpu_s += job->gpu_s;
		now.trained_s += job->trained_s;
		now.efficiency_s += job->efficiency_s;
		now.useful_s += job->useful_s;
		if (job->entry->submit_s < world->now_s && !job->done) {
			tick.active_s += seconds;
			tick.waiting_s += job->place.count ? 0 : seconds;
		}
	}
	tick.gpu_s = now.gpu_s - before->gpu_s;
	tick.trained_s = now.trained_s - before->trained_s;
	tick.efficiency_s = now.efficiency_s - before->efficiency_s;
	tick.useful_s = now.useful_s - before->useful_s;
	tick.node_s = seconds * world->paid;
	world->totals = now;
	plx_timeline_add(&world->run_result->timeline, &tick);
}

static int run_jobs(struct world *world, struct plx_error *err)
{
	double seconds = world->setting.interval_s;

	if (world->setting.interference > 0)
		find_crowds(world);
	for (int i = world->first; i < world->workload->count; i++) {
		struct plx_simjob *job = &world->jobs[i];

		if (job->done)
			continue;
		if (plx_simjob_run(job, seconds,
				   slowdown_of(world, &job->place), err) < 0)
			return -1;
	}
	world->now_s += seconds;
	world->paid = nodes_paid(world);
	world->run_result->node_s += seconds * world->paid;
	if (world->setting.timeline)
		record(world, seconds);
	while (world->first < world->workload->count &&
	       world->jobs[world->first].done)
		world->first++;
	return 0;
}

/* Who has come and is not done. */
static void gather(struct world *world)
{
	struct plx_round *round = &world->round;

	round->now_s = world->now_s;
	round->job_count = 0;
	for (int i = world->first; i < world->workload->count; i++) {
		struct plx_simjob *job = &world->jobs[i];

		if (!job->done && job->entry->submit_s <= world->now_s)
			round->jobs[round->job_count++] = job;
	}
}

/* The policy starts from what each has. */
static void offer(struct world *world)
{
	struct plx_round *round = &world->round;
	size_t capacity = (size_t) world->node_max;

	for (int j = 0; j < round->job_count; j++) {
		round->next[j].parts = world->parts + (size_t) j * capacity;
		plx_sim_placement_copy(&round->next[j], &round->jobs[j]->place);
	}
}

static int note_decision(struct world *world, double seconds,
			 struct plx_error *err)
{
	struct plx_run_result *run_result = world->run_result;

	if (run_result->decision_count == world->decision_capacity) {
		int capacity = world->decision_capacity
				       ? 2 * world->decision_capacity
				       : 1024;
		double *more = realloc(run_result->decisions_s,
				       (size_t) capacity * sizeof(*more));

		if (!more)
			return plx_fail(err, "no memory for %d decisions",
					capacity);
		run_result->decisions_s = more;
		world->decision_capacity = capacity;
	}
	run_result->decisions_s[run_result->decision_count++] = seconds;
	return 0;
}

static int place(struct world *world, int j, struct plx_error *err)
{
	struct plx_simjob *job = world->round.jobs[j];
	const struct plx_sim_placement *next = &world->round.next[j];
	struct plx_sim_span span = {
		.job = job->index,
		.gpus = next->gpus,
		.nodes = next->count,
		.begin_s = world->now_s,
	};

	if (plx_simjob_place(job, next,
			     plx_setting_restart_s(&world->setting, job->app),
			     err) < 0)
		return -1;
	if (!world->setting.timeline)
		return 0;
	return plx_timeline_place(&world->run_result->timeline, span, err);
}

static int scale(struct world *world, struct plx_error *err)
{
	struct plx_sim_timeline *timeline = &world->run_result->timeline;

	if (plx_autoscale(&world->scaler, &world->round, err) < 0)
		return -1;
	world->setting.node_count = world->scaler.usable;
	for (int j = 0; world->setting.timeline && j < world->round.job_count;
	     j++) {
		const struct plx_simjob *job = world->round.jobs[j];
		struct plx_sim_span none = { .job = job->index,
					     .begin_s = world->now_s };

		/* Its nodes may have gone. */
		if (job->place.count == 0 &&
		    plx_timeline_place(timeline, none, err) < 0)
			return -1;
	}
	return 0;
}

static int decide(struct world *world, struct plx_error *err)
{
	struct plx_round *round = &world->round;
	double began_s = clock_s();

	gather(world);
	if (world->setting.scaling.max_nodes && scale(world, err) < 0)
		return -1;
	if (round->job_count == 0)
		return 0;
	offer(world);
	if (world->policy->decide(round, world->states, err) < 0 ||
	    note_decision(world, clock_s() - began_s, err) < 0)
		return -1;
	for (int j = 0; j < round->job_count; j++) {
		if (plx_sim_placement_equal(&round->jobs[j]->place,
					    &round->next[j]))
			continue;
		if (place(world, j, err) < 0)
			return -1;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The last of each job is open: it ends when the job does. */
static void end_span(const struct plx_run_result *run_result,
		     struct plx_sim_span *span)
{
	if (run_result->timeline.open[span->job] ==
	    span - run_result->timeline.spans)
		span->end_s = run_result->job_results[span->job].finish_s;
}

static int tell(struct world *world, struct plx_error *err)
{
	struct plx_run_result *run_result = world->run_result;

	for (int i = 0; i < run_result->workload->count; i++) {
		const struct plx_simjob *job = &world->jobs[i];

		run_result->job_results[i] = (struct plx_job_result){
			.entry = job->entry,
			.start_s = job->start_s,
			.finish_s = job->finish_s,
			.restarts = job->restarts,
			.gpu_s = job->gpu_s,
			.trained_s = job->trained_s,
			.efficiency_s = job->efficiency_s,
			.useful_s = job->useful_s,
		};
		run_result->end_s = fmax(run_result->end_s, job->finish_s);
	}
	/* The last interval is not over when all are done. */
	run_result->node_s -= (world->now_s - run_result->end_s) * world->paid;
	for (int i = 0; i < run_result->workload->count; i++) {
		if (plx_judge_fairness(&world->setting, &world->jobs[i],
				       run_result, err) < 0)
			return -1;
	}
	for (int i = 0; i < run_result->timeline.span_count; i++)
		end_span(run_result, &run_result->timeline.spans[i]);
	qsort(run_result->decisions_s, (size_t) run_result->decision_count,
	      sizeof(*run_result->decisions_s), by_value);
	return 0;
}

static int simulate(struct world *world, struct plx_error *err)
{
	const struct plx_workload *workload = world->workload;
	double last_s = workload->entries[workload->count - 1].submit_s;

	while (world->first < workload->count) {
		if (run_jobs(world, err) < 0 || decide(world, err) < 0)
			return -1;
		if (world->now_s > last_s + PATIENCE_S)
			return plx_fail(err,
					"%s: job %.40s is not done a year "
					"after the last submission",
					workload->path,
					workload->entries[world->first].name);
	}
	return tell(world, err);
}

int plx_simulate(const struct plx_setting *setting,
		 const struct plx_policy *policy,
		 const struct plx_workload *workload,
		 struct plx_run_result *run_result, struct plx_error *err)
{
	struct plx_run_result made = { .policy = policy, .workload = workload };
	struct world world = {
		.setting = *setting,
		.policy = policy,
		.workload = workload,
		.run_result = &made,
	};
	double began_s = clock_s();
	int rc = -1;

	world.node_max = plx_setting_nodes(setting);
	if (plx_simulate_check(setting, policy, workload, err) < 0)
		return -1;
	made.job_results =
		calloc((size_t) workload->count, sizeof(*made.job_results));
	if (!made.job_results) {
		plx_fail(err, "no memory for %d jobs", workload->count);
		goto done;
	}
	if (setting->timeline &&
	    plx_timeline_init(&made.timeline, workload->count,
			      setting->interval_s, err) < 0)
		goto done;
	if (world_init(&world, err) < 0 || simulate(&world, err) < 0)
		goto done;
	made.wall_s = clock_s() - began_s;
	*run_result = made;
	made = (struct plx_run_result){ 0 }; /* now the caller's */
	rc = 0;
done:
	world_release(&world);
	plx_run_result_release(&made);
	return rc;
}

void plx_run_result_release(struct plx_run_result *run_result)
{
	free(run_result->job_results);
	free(run_result->decisions_s);
	plx_timeline_release(&run_result->timeline);
	*run_result = (struct plx_run_result){ 0 };
}
