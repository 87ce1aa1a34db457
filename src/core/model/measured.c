/* SPDX-License-Identifier: MIT */
/*
 * measured.c - the best batch, where measured times correct the model
 *
 * The corrected goodput has kinks, so total batches are tried one by one, in
 * equal ratios from the smallest allowed to the largest, and the one that is
 * best by the model alone.
 */
#include <math.h>

#include "core/model/fit_loss.h"
#include "core/model/measured.h"

#define OFF_MAX 0.7 /* logarithm; farther off it was a disturbance */
#define TOTALS	40  /* tried; neighbours are then 10 % apart or closer */

/* What the rows say about a shape. */
struct known {
	const struct plx_goodput *job;
	const struct plx_sample *rows;
	size_t count;
	struct plx_shape shape;
};

/* How far the model is off, as a logarithm, at the batches next to some m. */
struct off {
	double below, above; /* m there; 0 and INFINITY: none */
	double below_log, above_log;
};

static void off_add(struct off *off, double m, double at, double log_off)
{
	if (!(fabs(log_off) <= OFF_MAX))
		return;
	if (at <= m && at > off->below) {
		off->below = at;
		off->below_log = log_off;
	}
	if (at >= m && at < off->above) {
		off->above = at;
		off->above_log = log_off;
	}
}

static bool off_known(const struct off *off)
{
	return off->below > 0 || isfinite(off->above);
}

static double off_get(const struct off *off, double m)
{
	if (!(off->below > 0))
		return isfinite(off->above) ? off->above_log : 0;
	if (!isfinite(off->above) || off->above <= off->below)
		return off->below_log;
	return off->below_log + (off->above_log - off->below_log) *
					(m - off->below) /
					(off->above - off->below);
}

static bool same_class(struct plx_shape a, struct plx_shape b)
{
	return a.gpus == b.gpus && (a.nodes > 1) == (b.nodes > 1) &&
	       a.further == b.further;
}

/* The corrected seconds of a pass and of one with its all-reduce. */
static void seconds_at(const struct known *known, double m, double *pass,
		       double *iter)
{
	const struct plx_model *model = &known->job->model;
	struct off pass_off = { .above = INFINITY };
	struct off here_off = { .above = INFINITY };
	struct off iter_off = { .above = INFINITY };

	for (size_t i = 0; i < known->count; i++) {
		const struct plx_sample *row = &known->rows[i];
		double at = row->per_gpu;
		bool here = same_class(row->shape, known->shape);
		double log_off;

		if (!plx_fit_usable(row))
			continue;
		/* Farther than a neighbour already known, it says nothing. */
		if (at < pass_off.below &&
		    (!here || (at < here_off.below && at < iter_off.below)))
			continue;
		if (at > pass_off.above &&
		    (!here || (at > here_off.above && at > iter_off.above)))
			continue;
		log_off = log(row->pass_seconds / plx_grad_seconds(model, at));
		off_add(&pass_off, m, at, log_off);
		if (!here)
			continue;
		off_add(&here_off, m, at, log_off);
		log_off = log(row->iter_seconds /
			      plx_iter_seconds(model, row->shape, at));
		off_add(&iter_off, m, at, log_off);
	}
	if (off_known(&here_off))
		pass_off = here_off;
	*pass = plx_grad_seconds(model, m) * exp(off_get(&pass_off, m));
	*iter = plx_iter_seconds(model, known->shape, m) *
		exp(off_get(off_known(&iter_off) ? &iter_off : &pass_off, m));
	*iter = fmax(*iter, *pass);
}

static double goodput_at(const struct known *known, struct plx_batch batch)
{
	double pass;
	double iter;
	double total = (double) known->shape.gpus * batch.per_gpu *
		       (batch.accum + 1.0);

	seconds_at(known, batch.per_gpu, &pass, &iter);
	return total / (batch.accum * pass + iter) *
	       plx_efficiency(&known->job->noise, known->job->limits.base_batch,
			      total);
}

/* The batch that makes about this total; false when it breaks a limit. */
static bool batch_of(const struct known *known, double total,
		     struct plx_batch *batch)
{
	const struct plx_limits *limits = &known->job->limits;
	int gpus = known->shape.gpus;
	double share = ceil(total / gpus - 1e-9);
	double most;

	batch->accum = (int) ceil(share / limits->max_per_gpu) - 1;
	/* The noise estimate needs two gradients. */
	if (gpus == 1 && limits->accumulate && batch->accum == 0 &&
	    total > limits->base_batch)
		batch->accum = 1;
	if (batch->accum > 0 && !limits->accumulate)
		return false;
	most = floor((double) limits->max_batch / gpus / (batch->accum + 1));
	batch->per_gpu = (int) fmin(ceil(share / (batch->accum + 1)), most);
	return batch->per_gpu >= limits->min_per_gpu &&
	       batch->per_gpu <= limits->max_per_gpu;
}

bool plx_batch_measured(const struct plx_goodput *job,
			const struct plx_sample *rows, size_t count,
			struct plx_shape shape, struct plx_batch *best)
{
	const struct known known = {
		.job = job, .rows = rows, .count = count, .shape = shape
	};
	const struct plx_limits *limits = &job->limits;
	double low = fmax(limits->base_batch,
			  (double) limits->min_per_gpu * shape.gpus);
	struct plx_batch batch;
	double most;

	if (!plx_batch_best(job, shape, &batch, &most))
		return false;
	*best = batch;
	if (count == 0 || low >= limits->max_batch)
		return true;
	most = goodput_at(&known, batch);
	for (int i = 0; i < TOTALS; i++) {
		double total =
			low * pow(limits->max_batch / low, i / (TOTALS - 1.0));
		double goodput;

		if (!batch_of(&known, total, &batch))
			continue;
		goodput = goodput_at(&known, batch);
		if (goodput > most) {
			most = goodput;
			*best = batch;
		}
	}
	return true;
}

double plx_goodput_measured(const struct plx_goodput *job,
			    const struct plx_sample *rows, size_t count,
			    struct plx_shape shape, struct plx_batch batch)
{
	const struct known known = {
		.job = job, .rows = rows, .count = count, .shape = shape
	};

	return shape.gpus > 0 ? goodput_at(&known, batch) : 0;
}
