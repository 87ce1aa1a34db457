/* SPDX-License-Identifier: MIT */
/*
 * sim_job.c - one simulated training job
 *
 * The order of events within an interval is the published simulator's: first
 * what is left of a restart, then epoch by epoch; the batch is chosen anew
 * after each epoch and at the end of the interval. The end of an epoch falls
 * on a whole second.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/measured.h"
#include "sim/sim_job.h"

#define ALONE_MAX_S (20 * 366 * 86400.0) /* more is as good as for ever */

int plx_simjob_init(struct plx_simjob *job,
		    const struct plx_workload_entry *entry, int node_count,
		    struct plx_error *err)
{
	size_t count = (size_t) node_count;

	*job = (struct plx_simjob){ .entry = entry,
				    .app = entry->app,
				    .batch_host = -1 };
	job->goodput.limits = entry->app->limits.batch;
	job->place.parts = calloc(count, sizeof(*job->place.parts));
	job->counts = calloc(count, sizeof(*job->counts));
	if (job->place.parts && job->counts)
		return 0;
	plx_simjob_release(job);
	return plx_fail(err, "no memory for %d nodes", node_count);
}

void plx_simjob_release(struct plx_simjob *job)
{
	free(job->place.parts);
	free(job->counts);
	free(job->rows);
	*job = (struct plx_simjob){ 0 };
}

bool plx_sim_placement_equal(const struct plx_sim_placement *a,
			     const struct plx_sim_placement *b)
{
	if (a->count != b->count)
		return false;
	for (int i = 0; i < a->count; i++) {
		if (a->parts[i].node != b->parts[i].node ||
		    a->parts[i].gpus != b->parts[i].gpus)
			return false;
	}
	return true;
}

void plx_sim_placement_copy(struct plx_sim_placement *to,
			    const struct plx_sim_placement *from)
{
	memcpy(to->parts, from->parts,
	       (size_t) from->count * sizeof(*to->parts));
	to->count = from->count;
	to->gpus = from->gpus;
}

static int ceil_div(int a, int b)
{
	return a / b + (a % b > 0);
}

/* Rounding up may have made the total too large. */
static void cut_batch(struct plx_batch *batch, const struct plx_app *app,
		      int gpus)
{
	int most = app->limits.batch.max_batch / (gpus * (batch->accum + 1));

	if (batch->per_gpu > most)
		batch->per_gpu = most > 1 ? most : 1;
}

struct plx_batch plx_fixed_batch(const struct plx_app *app, int total, int gpus)
{
	const struct plx_limits *limits = &app->limits.batch;
	int share = ceil_div(total, gpus);
	struct plx_batch batch = {
		.accum = ceil_div(share, limits->max_per_gpu) - 1,
	};

	/* The noise estimate needs two gradients. */
	if (gpus == 1 && total > limits->base_batch && batch.accum == 0)
		batch.accum = 1;
	batch.per_gpu = ceil_div(share, batch.accum + 1);
	cut_batch(&batch, app, gpus);
	return batch;
}

int plx_simjob_fit(struct plx_simjob *job, struct plx_error *err)
{
	struct plx_model *model = &job->goodput.model;

	if (!job->stale)
		return 0;
	if (plx_fit_from(model, job->rows, (size_t) job->row_count, model,
			 err) < 0)
		return -1;
	job->stale = false;
	job->modelled = true;
	return 0;
}

static struct plx_shape shape_of(const struct plx_sim_placement *place)
{
	return (struct plx_shape){ .nodes = place->count, .gpus = place->gpus };
}

static int choose_batch(struct plx_simjob *job, struct plx_error *err)
{
	const struct plx_limits *limits = &job->app->limits.batch;
	int gpus = job->place.gpus;
	int least = limits->min_per_gpu * gpus;
	size_t rows = job->corrects ? (size_t) job->row_count : 0;

	if (job->fixed_batch) {
		job->batch = plx_fixed_batch(job->app, job->fixed_batch, gpus);
		return 0;
	}
	if (plx_simjob_fit(job, err) < 0)
		return -1;
	if (job->modelled &&
	    plx_batch_measured(&job->goodput, job->rows, rows,
			       shape_of(&job->place), &job->batch)) {
		cut_batch(&job->batch, job->app, gpus);
		return 0;
	}
	if (least < limits->base_batch)
		least = limits->base_batch;
	job->batch = plx_fixed_batch(job->app, least, gpus);
	return 0;
}

static void begin(struct plx_simjob *job, const struct plx_sim_placement *place)
{
	job->started = true;
	job->start_s = job->now_s;
	if (job->batch_host < 0)
		job->batch_host = place->parts[0].node;
}

int plx_simjob_place(struct plx_simjob *job,
		     const struct plx_sim_placement *place, double pause_s,
		     struct plx_error *err)
{
	plx_sim_placement_copy(&job->place, place);
	if (place->count == 0)
		return 0;
	for (int i = 0; i < place->count; i++)
		job->counts[i] = place->parts[i].gpus;
	job->pause_s = pause_s;
	if (job->started)
		job->restarts++;
	else
		begin(job, place);
	return choose_batch(job, err);
}

/* A row for the profile, when the job has not yet run so. */
static int measure(struct plx_simjob *job, struct plx_app_times times,
		   struct plx_error *err)
{
	struct plx_sample row = {
		.shape = shape_of(&job->place),
		.per_gpu = job->batch.per_gpu,
		.pass_seconds = times.step - times.sync,
		.iter_seconds = times.step,
	};

	for (int i = 0; i < job->row_count; i++) {
		if (job->rows[i].shape.nodes == row.shape.nodes &&
		    job->rows[i].shape.gpus == row.shape.gpus &&
		    job->rows[i].per_gpu == row.per_gpu)
			return 0;
	}
	if (job->row_count == job->row_capacity) {
		int capacity = job->row_capacity ? 2 * job->row_capacity : 16;
		struct plx_sample *rows =
			realloc(job->rows, (size_t) capacity * sizeof(*rows));

		if (!rows)
			return plx_fail(err, "no memory for a profile");
		job->rows = rows;
		job->row_capacity = capacity;
	}
	job->rows[job->row_count++] = row;
	if (row.shape.gpus > job->profiled_gpus)
		job->profiled_gpus = row.shape.gpus;
	job->stale = true;
	return 0;
}

/* How fast it trains now. */
struct speed {
	double rate;	   /* progress a second */
	double efficiency; /* 0 to 1 */
};

static int speed_now(struct plx_simjob *job, double slowdown,
		     struct speed *speed, struct plx_error *err)
{
	int total =
		job->place.gpus * job->batch.per_gpu * (job->batch.accum + 1);
	double base = job->app->limits.batch.base_batch;
	struct plx_app_times t = plx_app_step(
		job->app, job->counts, job->place.count, job->batch.per_gpu);
	struct plx_noise noise = plx_app_noise(job->app, job->epoch, total);
	double seconds = t.step + (t.step - t.sync) * job->batch.accum;

	speed->efficiency = plx_efficiency(&noise, base, total);
	speed->rate =
		speed->efficiency * total / base / seconds * (1 - slowdown);
	job->goodput.noise = noise;
	return job->learns ? measure(job, t, err) : 0;
}

static void train(struct plx_simjob *job, double seconds,
		  const struct speed *speed)
{
	double gpu_s = seconds * job->place.gpus;

	job->now_s += seconds;
	job->gpu_s += gpu_s;
	job->trained_s += gpu_s;
	job->efficiency_s += gpu_s * speed->efficiency;
	job->useful_s += seconds * speed->rate / job->app->unit_rate;
}

/* Train to the end of the epoch or of the time. Returns the seconds left. */
static double train_epoch(struct plx_simjob *job, double seconds,
			  const struct speed *speed)
{
	double boundary = plx_app_boundary(job->app, job->epoch);
	double needed = (boundary - job->progress) / speed->rate;

	if (job->progress + speed->rate * seconds < boundary) {
		job->progress += speed->rate * seconds;
		train(job, seconds, speed);
		return 0;
	}
	needed = fmin(rint(fmax(needed, 0)), seconds);
	train(job, needed, speed);
	job->progress = boundary;
	job->epoch++;
	if (job->epoch >= job->app->limits.epochs) {
		job->done = true;
		job->finish_s = job->now_s;
	}
	return seconds - needed;
}

int plx_simjob_run(struct plx_simjob *job, double seconds, double slowdown,
		   struct plx_error *err)
{
	double end_s = job->now_s + seconds;
	double pause = fmin(job->pause_s, seconds);

	if (job->place.count > 0 && !job->done) {
		job->pause_s -= pause;
		job->now_s += pause;
		job->gpu_s += pause * job->place.gpus;
		seconds -= pause;
		while (seconds > 0 && !job->done) {
			struct speed speed;

			if (speed_now(job, slowdown, &speed, err) < 0)
				return -1;
			seconds = train_epoch(job, seconds, &speed);
			if (choose_batch(job, err) < 0)
				return -1;
		}
	}
	job->now_s = end_s;
	return 0;
}

int plx_simjob_alone(const struct plx_simjob *like, int gpus, int per_node,
		     double pause_s, double *seconds, struct plx_error *err)
{
	int nodes = ceil_div(gpus, per_node);
	struct plx_simjob job;
	int rc = -1;

	if (plx_simjob_init(&job, like->entry, nodes, err) < 0)
		return -1;
	job.fixed_batch = like->fixed_batch;
	/* What it has learnt it knows from the start: no fit is needed. */
	job.modelled = like->modelled;
	job.goodput = like->goodput;
	job.place.count = nodes;
	job.place.gpus = gpus;
	for (int i = 0; i < nodes; i++) {
		job.place.parts[i].node = i;
		job.place.parts[i].gpus =
			i < nodes - 1 ? per_node : gpus - i * per_node;
	}
	if (plx_simjob_place(&job, &job.place, pause_s, err) < 0)
		goto done;
	while (!job.done && job.now_s < ALONE_MAX_S) {
		if (plx_simjob_run(&job, 3600, 0, err) < 0)
			goto done;
	}
	*seconds = job.done ? job.finish_s : job.now_s;
	rc = 0;
done:
	plx_simjob_release(&job);
	return rc;
}
