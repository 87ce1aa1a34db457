/* SPDX-License-Identifier: MIT */
/*
 * osdi21.c - the objective of the published scheduler, quirks included
 *
 * A batch that cannot be better than another is not looked at: the
 * synchronising pass takes at least as long as its longer part, which costs
 * no power to find out.
 */
#include <math.h>
#include <stdlib.h>

#include "core/policy/osdi21.h"

#define BATCHES 50
#define NEARLY	1e-8 /* a batch so little above a whole one is whole */

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

/* One look at a shape. */
struct look {
	const struct plx_goodput *job;
	double gpus;
	double sync; /* seconds of an all-reduce */
};

/* As published it asks for nodes first: one GPU may be on several there. */
static double sync_seconds(const struct plx_model *model,
			   struct plx_shape shape)
{
	double extra = fmax(shape.gpus - 2, PLX_EXTRA_FLOOR);

	if (shape.nodes > 1)
		return model->alpha_n + model->beta_n * extra;
	if (shape.gpus > 1)
		return model->alpha_r + model->beta_r * extra;
	return PLX_SYNC_FLOOR_S + PLX_SYNC_FLOOR_S * extra;
}

/* How the published code spreads a total batch; false: not within limits. */
static bool spread(const struct look *look, double total,
		   struct plx_batch *batch)
{
	const struct plx_limits *limits = &look->job->limits;
	double local = total / look->gpus;
	double passes = 1;
	double per_gpu;

	if (limits->accumulate) {
		passes = ceil(local / limits->max_per_gpu - NEARLY);
		if (look->gpus < 2 && local > limits->base_batch + NEARLY)
			passes = fmax(passes, 2);
	}
	per_gpu = ceil(local / passes - NEARLY);
	if (!(per_gpu >= limits->min_per_gpu && per_gpu <= limits->max_per_gpu))
		return false;
	batch->per_gpu = (int) per_gpu;
	batch->accum = (int) passes - 1;
	return true;
}

/* Useful samples, and the seconds that they take at least. */
static double useful_samples(const struct look *look, struct plx_batch batch,
			     double *least_s)
{
	double samples = look->gpus * batch.per_gpu * (batch.accum + 1.0);
	double pass = plx_grad_seconds(&look->job->model, batch.per_gpu);

	*least_s = batch.accum * pass + fmax(pass, look->sync);
	return samples * plx_efficiency(&look->job->noise,
					look->job->limits.base_batch, samples);
}

static double goodput_of(const struct look *look, struct plx_batch batch)
{
	double pass = plx_grad_seconds(&look->job->model, batch.per_gpu);
	double gamma = look->job->model.gamma;
	double large = fmax(pass, look->sync);
	double small = fmin(pass, look->sync);
	double least_s;
	double samples = useful_samples(look, batch, &least_s);
	double hidden = small > 0 ? pow(small / large, gamma) : 0;

	return samples /
	       (batch.accum * pass + large * pow(1 + hidden, 1 / gamma));
}

/* A batch that is possible, and what its goodput does not surpass. */
struct candidate {
	struct plx_batch batch;
	double bound;
};

static int list_batches(const struct look *look, struct candidate *list)
{
	const struct plx_limits *limits = &look->job->limits;
	double first =
		fmax(limits->base_batch, limits->min_per_gpu * look->gpus);
	double last = limits->max_batch;
	double ratio = pow(last / first, 1.0 / (BATCHES - 1));
	double total = first;
	int count = 0;

	for (int i = 0; i < BATCHES; i++) {
		struct candidate *c = &list[count];
		double least_s;

		if (spread(look, i < BATCHES - 1 ? total : last, &c->batch)) {
			c->bound = useful_samples(look, c->batch, &least_s);
			c->bound /= least_s;
			count++;
		}
		total *= ratio;
	}
	return count;
}

double plx_osdi21_goodput(const struct plx_goodput *job, struct plx_shape shape,
			  struct plx_batch *best)
{
	const struct look look = { .job = job,
				   .gpus = shape.gpus,
				   .sync = sync_seconds(&job->model, shape) };
	struct candidate list[BATCHES];
	int count = shape.gpus > 0 ? list_batches(&look, list) : 0;
	int top = 0;
	double found = 0;

	for (int i = 1; i < count; i++) {
		if (list[i].bound > list[top].bound)
			top = i;
	}
	if (count > 0)
		found = goodput_of(&look, list[top].batch);
	for (int i = 0; i < count; i++) {
		double goodput;

		if (list[i].bound < found)
			continue;
		goodput = goodput_of(&look, list[i].batch);
		/* The smallest of equals. */
		if (goodput > found || (goodput >= found && i < top)) {
			found = goodput;
			top = i;
		}
	}
	if (best && count > 0)
		*best = list[top].batch;
	return found;
}

struct plx_shape plx_osdi21_fair_share(double dominant_share, int jobs,
				       int nodes)
{
	return (struct plx_shape){
		.gpus = (int) ceil(1 / dominant_share / jobs),
		.nodes = (int) ceil(nodes * dominant_share),
	};
}

double plx_osdi21_restart_factor(double age_s, int restarts)
{
	return fmax(age_s - PLX_OSDI21_RESTART_S * restarts, 0) /
	       (age_s + PLX_OSDI21_RESTART_S);
}

/* The cluster, and what a job's speedup is scaled with. */
struct cluster {
	int gpus;		 /* of all nodes */
	int largest;		 /* of one node */
	struct plx_shape linear; /* fair share of jobs without a profile */
};

static double share_of(const struct cluster *cluster,
		       const double *dominant_share, int j)
{
	if (dominant_share)
		return dominant_share[j];
	return 1.0 / (cluster->gpus > 0 ? cluster->gpus : 1);
}

static double speedup_of(const struct plx_job *job, struct plx_shape shape,
			 double fair)
{
	if (!job->profiled)
		return shape.gpus / fair;
	return fair > 0 ? plx_osdi21_goodput(&job->goodput, shape, NULL) / fair
			: 0;
}

/* Several nodes are all the same to the model, so one row serves them all. */
static void fill(const struct plx_job *job, const struct cluster *cluster,
		 double fair, double scale)
{
	struct plx_table *table = job->table;

	for (int g = 1; g <= min_int(table->gpus, cluster->largest); g++)
		table->speedup[g - 1] =
			scale *
			speedup_of(job,
				   (struct plx_shape){ .nodes = 1, .gpus = g },
				   fair);
	for (int g = 2; g <= table->gpus && table->nodes > 1; g++) {
		struct plx_shape shape = { .nodes = 2, .gpus = g };
		double speedup = scale * speedup_of(job, shape, fair);

		for (int n = 2; n <= min_int(g, table->nodes); n++)
			table->speedup[(n - 1) * table->gpus + g - 1] = speedup;
	}
}

static struct plx_table *table_create(int nodes, int gpus)
{
	struct plx_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->nodes = nodes;
	table->gpus = gpus;
	table->speedup =
		calloc((size_t) nodes * (size_t) gpus, sizeof(*table->speedup));
	if (!table->speedup) {
		free(table);
		return NULL;
	}
	return table;
}

static int give_table(struct plx_problem *problem, int j,
		      const struct cluster *cluster, double share,
		      struct plx_error *err)
{
	struct plx_job *job = &problem->jobs[j];
	struct plx_shape fair = plx_osdi21_fair_share(share, problem->job_count,
						      problem->node_count);
	int gpus = min_int(job->max_gpus, cluster->gpus);
	int nodes = min_int(problem->node_count, gpus);
	double unit = cluster->linear.gpus;

	if (gpus < 1 || nodes < 1)
		gpus = nodes = 1;
	job->table = table_create(nodes, gpus);
	if (!job->table)
		return plx_fail(err, "no memory for the speedups of job %u",
				job->id);
	job->table->kept = plx_osdi21_restart_factor(job->age_s, job->restarts);
	if (job->profiled)
		unit = plx_osdi21_goodput(&job->goodput, fair, NULL);
	fill(job, cluster, unit, share * problem->node_count);
	return 0;
}

int plx_osdi21_tables(struct plx_problem *problem, const double *dominant_share,
		      struct plx_error *err)
{
	struct cluster cluster = { 0 };
	int jobs = problem->job_count;

	problem->hysteresis = 0;
	for (int n = 0; n < problem->node_count; n++) {
		cluster.gpus += problem->gpus_total[n];
		if (problem->gpus_total[n] > cluster.largest)
			cluster.largest = problem->gpus_total[n];
	}
	if (jobs > 0)
		cluster.linear = plx_osdi21_fair_share(
			share_of(&cluster, dominant_share, jobs - 1), jobs,
			problem->node_count);
	for (int j = 0; j < jobs; j++) {
		if (problem->jobs[j].table)
			continue;
		if (give_table(problem, j, &cluster,
			       share_of(&cluster, dominant_share, j), err) < 0)
			return -1;
	}
	return 0;
}
