/* SPDX-License-Identifier: MIT */
/* simulate.c - a workload under a policy, interval by interval */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/simulate.h"

/* Nothing that makes sense takes as long as that after the last submission. */
#define PATIENCE_S (366 * 86400.0)

/* A simulation under way. */
struct world {
	const struct plx_setting *setting;
	const struct plx_policy *policy;
	const struct plx_workload *workload;
	struct plx_simjob *jobs;    /* [workload->count] */
	int first;		    /* all before are done */
	void *states;		    /* the policy's, a job each */
	struct plx_placement *next; /* [workload->count] */
	struct plx_part *parts;	    /* memory of next */
	struct plx_turn turn;
	bool *multi; /* [node_count] scratch: a job on several nodes is here */
	bool *crowded; /* [node_count] more than one is */
	double now_s;
	struct plx_story *story;
	int decision_room;
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
		const struct plx_entry *entry = &workload->entries[i];

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
	if (world->turn.run && world->policy->end)
		world->policy->end(world->turn.run);
	free(world->turn.run);
	free(world->jobs);
	free(world->states);
	free(world->next);
	free(world->parts);
	free(world->turn.jobs);
	free(world->turn.free);
	free(world->turn.next);
	free(world->multi);
	free(world->crowded);
}

static int make_jobs(struct world *world, struct plx_error *err)
{
	const struct plx_workload *workload = world->workload;

	for (int i = 0; i < workload->count; i++) {
		const struct plx_entry *entry = &workload->entries[i];
		struct plx_simjob *job = &world->jobs[i];

		if (plx_simjob_init(job, entry, world->setting->node_count,
				    err) < 0)
			return -1;
		job->index = i;
		job->learns = world->policy->adaptive;
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
	size_t nodes = (size_t) world->setting->node_count;

	world->jobs = calloc(jobs, sizeof(*world->jobs));
	world->states = calloc(jobs, world->policy->state_size + 1);
	world->next = calloc(jobs, sizeof(*world->next));
	world->parts = calloc(jobs * nodes, sizeof(*world->parts));
	world->turn.jobs = calloc(jobs, sizeof(struct plx_simjob *));
	world->turn.next = calloc(jobs, sizeof(*world->turn.next));
	world->turn.free = calloc(nodes, sizeof(*world->turn.free));
	world->turn.run = calloc(1, world->policy->run_size + 1);
	world->multi = calloc(nodes, sizeof(*world->multi));
	world->crowded = calloc(nodes, sizeof(*world->crowded));
	if (!world->jobs || !world->states || !world->next || !world->parts ||
	    !world->turn.jobs || !world->turn.next || !world->turn.free ||
	    !world->turn.run || !world->multi || !world->crowded)
		return plx_fail(err, "no memory for %zu jobs on %zu nodes",
				jobs, nodes);
	world->turn.setting = world->setting;
	return make_jobs(world, err);
}

/* Nodes that more than one job on several nodes shares. */
static void find_crowds(struct world *world)
{
	size_t size = (size_t) world->setting->node_count * sizeof(bool);

	memset(world->multi, 0, size);
	memset(world->crowded, 0, size);
	for (int i = world->first; i < world->workload->count; i++) {
		const struct plx_placement *place = &world->jobs[i].place;

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
			  const struct plx_placement *place)
{
	if (place->count < 2)
		return 0;
	for (int k = 0; k < place->count; k++) {
		if (world->crowded[place->parts[k].node])
			return world->setting->interference;
	}
	return 0;
}

static int run_jobs(struct world *world, struct plx_error *err)
{
	double seconds = world->setting->interval_s;

	if (world->setting->interference > 0)
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
	while (world->first < world->workload->count &&
	       world->jobs[world->first].done)
		world->first++;
	return 0;
}

/* Who has come and is not done, with what each has. */
static void begin_turn(struct world *world)
{
	struct plx_turn *turn = &world->turn;
	int nodes = world->setting->node_count;

	turn->now_s = world->now_s;
	turn->job_count = 0;
	for (int i = world->first; i < world->workload->count; i++) {
		struct plx_simjob *job = &world->jobs[i];
		struct plx_placement *next = &turn->next[turn->job_count];

		if (job->done || job->entry->submit_s > world->now_s)
			continue;
		next->parts = world->parts +
			      (size_t) turn->job_count * (size_t) nodes;
		plx_placement_copy(next, &job->place);
		turn->jobs[turn->job_count++] = job;
	}
}

static int note_decision(struct world *world, double seconds,
			 struct plx_error *err)
{
	struct plx_story *story = world->story;

	if (story->decision_count == world->decision_room) {
		int room =
			world->decision_room ? 2 * world->decision_room : 1024;
		double *more = realloc(story->decisions_s,
				       (size_t) room * sizeof(*more));

		if (!more)
			return plx_fail(err, "no memory for %d decisions",
					room);
		story->decisions_s = more;
		world->decision_room = room;
	}
	story->decisions_s[story->decision_count++] = seconds;
	return 0;
}

static int decide(struct world *world, struct plx_error *err)
{
	struct plx_turn *turn = &world->turn;
	double began_s;

	begin_turn(world);
	if (turn->job_count == 0)
		return 0;
	began_s = clock_s();
	if (world->policy->decide(turn, world->states, err) < 0 ||
	    note_decision(world, clock_s() - began_s, err) < 0)
		return -1;
	for (int j = 0; j < turn->job_count; j++) {
		struct plx_simjob *job = turn->jobs[j];

		if (plx_placement_equal(&job->place, &turn->next[j]))
			continue;
		if (plx_simjob_place(job, &turn->next[j],
				     world->setting->restart_s, err) < 0)
			return -1;
	}
	return 0;
}

/* Time-average of the jobs that were there while this one was. */
static double contention(const struct plx_story *story, int i)
{
	const struct plx_fate *mine = &story->fates[i];
	double from_s = mine->entry->submit_s;
	double shared_s = 0;

	for (int k = 0; k < story->workload->count; k++) {
		const struct plx_fate *other = &story->fates[k];
		double begin_s = other->entry->submit_s;
		double end_s = other->finish_s;

		begin_s = begin_s > from_s ? begin_s : from_s;
		end_s = end_s < mine->finish_s ? end_s : mine->finish_s;
		if (end_s > begin_s)
			shared_s += end_s - begin_s;
	}
	/* A job that took no time had no company. */
	return shared_s > 0 ? shared_s / (mine->finish_s - from_s) : 1;
}

/* Themis: the time it took over the time on a 1/N share of the cluster. */
static int judge_fairness(struct world *world, int i, struct plx_error *err)
{
	const struct plx_setting *setting = world->setting;
	struct plx_fate *fate = &world->story->fates[i];
	const struct plx_simjob *job = &world->jobs[i];
	const struct plx_limits *limits = &job->app->limits.batch;
	int most = limits->max_batch / limits->min_per_gpu;
	double share = setting->node_count * setting->node_gpus /
		       contention(world->story, i);
	int gpus = share > most ? most : (int) share;

	if (world->policy->adaptive && job->fixed_batch)
		gpus = 1;
	if (plx_simjob_alone(job, gpus > 1 ? gpus : 1, setting->node_gpus,
			     setting->restart_s, &fate->alone_s, err) < 0)
		return -1;
	fate->fairness =
		(fate->finish_s - fate->entry->submit_s) / fate->alone_s;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

static int tell(struct world *world, struct plx_error *err)
{
	struct plx_story *story = world->story;

	for (int i = 0; i < story->workload->count; i++) {
		const struct plx_simjob *job = &world->jobs[i];

		story->fates[i] = (struct plx_fate){
			.entry = job->entry,
			.start_s = job->start_s,
			.finish_s = job->finish_s,
			.restarts = job->restarts,
			.gpu_s = job->gpu_s,
			.trained_s = job->trained_s,
			.efficiency_s = job->efficiency_s,
			.useful_s = job->useful_s,
		};
	}
	for (int i = 0; i < story->workload->count; i++) {
		if (judge_fairness(world, i, err) < 0)
			return -1;
	}
	qsort(story->decisions_s, (size_t) story->decision_count,
	      sizeof(*story->decisions_s), by_value);
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
		 const struct plx_workload *workload, struct plx_story *story,
		 struct plx_error *err)
{
	struct plx_story made = { .policy = policy, .workload = workload };
	struct world world = {
		.setting = setting,
		.policy = policy,
		.workload = workload,
		.story = &made,
	};
	double began_s = clock_s();
	int rc = -1;

	if (plx_simulate_check(setting, policy, workload, err) < 0)
		return -1;
	made.fates = calloc((size_t) workload->count, sizeof(*made.fates));
	if (!made.fates) {
		plx_fail(err, "no memory for %d jobs", workload->count);
		goto done;
	}
	if (world_init(&world, err) < 0 || simulate(&world, err) < 0)
		goto done;
	made.wall_s = clock_s() - began_s;
	*story = made;
	made = (struct plx_story){ 0 }; /* now the caller's */
	rc = 0;
done:
	world_release(&world);
	plx_story_release(&made);
	return rc;
}

void plx_story_release(struct plx_story *story)
{
	free(story->fates);
	free(story->decisions_s);
	*story = (struct plx_story){ 0 };
}
