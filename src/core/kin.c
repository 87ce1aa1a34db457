/* SPDX-License-Identifier: MIT */
/* kin.c - what jobs of the same kind have learnt lends itself to the next */

#include <math.h>

#include "core/kin.h"

#define ALIKE 1.25 /* passes this many times longer are another program's */

static bool same_limits(const struct plx_limits *a, const struct plx_limits *b)
{
	return a->base_batch == b->base_batch && a->max_batch == b->max_batch &&
	       a->min_per_gpu == b->min_per_gpu &&
	       a->max_per_gpu == b->max_per_gpu &&
	       a->accumulate == b->accumulate;
}

static bool alike(double a, double b)
{
	return a <= b * ALIKE && b <= a * ALIKE; /* false for NaN */
}

/* Passes of the batch that both were tuned for last as long. */
static bool same_speed(const struct plx_goodput *a, const struct plx_goodput *b)
{
	const struct plx_limits *l = &a->limits;
	double m = fmin(fmax(l->base_batch, l->min_per_gpu), l->max_per_gpu);

	return alike(plx_grad_seconds(&a->model, m),
		     plx_grad_seconds(&b->model, m));
}

static bool is_kin(const struct plx_kin *kin, const struct plx_job *job)
{
	return same_limits(&kin->goodput.limits, &job->goodput.limits) &&
	       (!job->profiled || same_speed(&kin->goodput, &job->goodput));
}

/* The most knowing one of the job's kind; -1: none. */
static int find(const struct plx_kinship *kinship, const struct plx_job *job)
{
	int found = -1;

	for (int i = 0; i < kinship->count; i++) {
		const struct plx_kin *kin = &kinship->kin[i];

		if (is_kin(kin, job) &&
		    (found < 0 ||
		     kin->profiled_gpus > kinship->kin[found].profiled_gpus))
			found = i;
	}
	return found;
}

/* Room for another kind: the one not met for longest has to go. */
static int add(struct plx_kinship *kinship, const struct plx_job *job)
{
	int oldest = 0;

	if (kinship->count < PLX_KIN_MAX) {
		oldest = kinship->count++;
	} else {
		for (int i = 1; i < PLX_KIN_MAX; i++) {
			if (kinship->kin[i].met < kinship->kin[oldest].met)
				oldest = i;
		}
	}
	kinship->kin[oldest] = (struct plx_kin){ .goodput = job->goodput };
	return oldest;
}

void plx_kin_learn(struct plx_kinship *kinship, const struct plx_job *job)
{
	struct plx_kin *kin;
	int i;

	if (!job->profiled || job->table || !plx_goodput_valid(&job->goodput))
		return;
	i = find(kinship, job);
	kin = &kinship->kin[i < 0 ? add(kinship, job) : i];
	kin->met = ++kinship->now;
	if (job->profiled_gpus < kin->profiled_gpus ||
	    (job->profiled_gpus == kin->profiled_gpus &&
	     job->service_s < kin->service_s))
		return;
	kin->profiled_gpus = job->profiled_gpus;
	kin->service_s = job->service_s;
	kin->goodput.model = job->goodput.model;
}

bool plx_kin_lend(const struct plx_kinship *kinship, struct plx_job *job)
{
	int i = job->table ? -1 : find(kinship, job);
	const struct plx_kin *kin;

	if (i < 0)
		return false;
	kin = &kinship->kin[i];
	if (job->profiled && job->profiled_gpus >= kin->profiled_gpus)
		return false;
	job->goodput.model = kin->goodput.model;
	if (!job->profiled)
		job->goodput.noise = kin->goodput.noise;
	job->profiled = true;
	job->profiled_gpus = kin->profiled_gpus;
	return true;
}
