/* SPDX-License-Identifier: MIT */
/*
 * goodput.c - the model of throughput and statistical efficiency
 *
 * The batch that maximises it is found in goodput_batch.c.
 */
#include <assert.h>
#include <math.h>

#include "core/model/goodput.h"

#define SECONDS_MAX 1e9
#define NORM_MAX    1e100
#define GAMMA_MAX   10.0

/* The norm of (a, b): their sum when gamma is 1, their larger at infinity. */
static double overlapped(double a, double b, double gamma)
{
	double large = fmax(a, b);
	double small = fmin(a, b);

	if (!(small > 0))
		return large;
	return large * pow(1 + pow(small / large, gamma), 1 / gamma);
}

double plx_grad_seconds(const struct plx_model *model, double per_gpu)
{
	return model->alpha_c + model->beta_c * per_gpu;
}

double plx_sync_extra(enum plx_growth growth, int gpus)
{
	double extra =
		growth == PLX_BY_DOUBLING ? log2(fmax(gpus, 2) / 2) : gpus - 2;

	return fmax(extra, PLX_EXTRA_FLOOR);
}

double plx_sync_seconds(const struct plx_model *model, struct plx_shape shape)
{
	double extra = plx_sync_extra(model->growth, shape.gpus);
	double over_nodes = model->alpha_n + model->beta_n * extra;

	if (shape.gpus < 2)
		return 0;
	if (shape.nodes > 1)
		over_nodes *= 1 + model->per_switch * shape.further;
	if (shape.nodes > 2)
		return over_nodes;
	if (shape.nodes > 1)
		return over_nodes * (1 + model->two_nodes);
	return model->alpha_r + model->beta_r * extra;
}

double plx_iter_seconds(const struct plx_model *model, struct plx_shape shape,
			double per_gpu)
{
	double sync = fmax(plx_sync_seconds(model, shape), PLX_SYNC_FLOOR_S);

	return overlapped(plx_grad_seconds(model, per_gpu), sync, model->gamma);
}

double plx_step_seconds(const struct plx_model *model, struct plx_shape shape,
			struct plx_batch batch)
{
	/* Only the last pass can hide the all-reduce behind it. */
	return batch.accum * plx_grad_seconds(model, batch.per_gpu) +
	       plx_iter_seconds(model, shape, batch.per_gpu);
}

static double total_batch(struct plx_shape shape, struct plx_batch batch)
{
	return (double) shape.gpus * batch.per_gpu * (batch.accum + 1.0);
}

double plx_throughput(const struct plx_model *model, struct plx_shape shape,
		      struct plx_batch batch)
{
	assert(shape.gpus > 0);
	return total_batch(shape, batch) /
	       plx_step_seconds(model, shape, batch);
}

double plx_efficiency(const struct plx_noise *noise, double base_batch,
		      double total_batch)
{
	double scale = total_batch / base_batch;
	double noisy = noise->var / scale + noise->sqr;

	if (!(noisy > 0))
		return 1 / scale; /* no gradient: more samples gain nothing */
	return (noise->var + noise->sqr) / noisy / scale;
}

double plx_goodput(const struct plx_goodput *job, struct plx_shape shape,
		   struct plx_batch batch)
{
	if (shape.gpus <= 0)
		return 0;
	return plx_throughput(&job->model, shape, batch) *
	       plx_efficiency(&job->noise, job->limits.base_batch,
			      total_batch(shape, batch));
}

/* False for NaN as well. */
static bool within(double value, double low, double high)
{
	return value >= low && value <= high;
}

static bool model_valid(const struct plx_model *m)
{
	return within(m->alpha_c, 0, SECONDS_MAX) &&
	       within(m->beta_c, 0, SECONDS_MAX) &&
	       within(m->alpha_n, 0, SECONDS_MAX) &&
	       within(m->beta_n, 0, SECONDS_MAX) &&
	       within(m->alpha_r, 0, SECONDS_MAX) &&
	       within(m->beta_r, 0, SECONDS_MAX) &&
	       within(m->two_nodes, 0, PLX_TWO_NODES_MAX) &&
	       within(m->per_switch, 0, PLX_PER_SWITCH_MAX) &&
	       m->further >= 0 && m->further <= PLX_FURTHER_MAX &&
	       (m->growth == PLX_BY_GPU || m->growth == PLX_BY_DOUBLING) &&
	       within(m->gamma, 1, GAMMA_MAX) && m->alpha_c + m->beta_c > 0;
}

bool plx_goodput_valid(const struct plx_goodput *job)
{
	const struct plx_limits *l = &job->limits;
	const struct plx_noise *n = &job->noise;

	/* sqr is 0 while the noise drowns the gradient. */
	return model_valid(&job->model) && within(n->sqr, 0, NORM_MAX) &&
	       within(n->var, 0, NORM_MAX) && n->sqr + n->var > 0 &&
	       l->base_batch >= 1 && l->max_batch >= l->base_batch &&
	       l->min_per_gpu >= 1 && l->max_per_gpu >= l->min_per_gpu &&
	       l->min_per_gpu <= l->max_batch;
}
