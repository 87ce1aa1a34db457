/* SPDX-License-Identifier: MIT */
/* objective.c - the value of an allocation to a job */

#include <math.h>
#include <stddef.h>

#include "core/problem/objective.h"

#define SPEEDUP_MAX 1e6 /* no power of it overflows */
#define GPUS_MAX    65536

/* How long a change is expected to last: docs/decisions/0011-objective.md. */
#define HORIZON_S 240.0

/* Of a shape's value, what is left where it misses the time limit. */
#define MISSED	0.5
#define ROUNDED 1e-9

/* Requires a >= 0, b >= 1. */
static int ceil_div(int a, int b)
{
	return a / b + (a % b > 0);
}

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

static double goodput_of(const struct plx_job *job, struct plx_shape shape)
{
	double goodput = 0;

	if (!plx_batch_best(&job->goodput, shape, NULL, &goodput) ||
	    !isfinite(goodput) || goodput < 0)
		return 0;
	return goodput;
}

/*
 * Set the yardstick to this count, on as few nodes as hold it. False when no
 * batch of the job is possible there.
 */
static bool measure(struct plx_yardstick *fair, const struct plx_job *job,
		    int gpus, int largest)
{
	struct plx_shape shape = { .nodes = ceil_div(gpus, largest),
				   .gpus = gpus };
	double goodput = goodput_of(job, shape);

	if (goodput <= 0)
		return false;
	fair->gpus = gpus;
	fair->goodput = goodput;
	return true;
}

/* Total GPUs by jobs; near that where its batch is too small or too large. */
struct plx_yardstick plx_fair_share(const struct plx_problem *problem,
				    const struct plx_job *job)
{
	struct plx_yardstick fair = { .gpus = 1, .goodput = 0 };
	int total = 0;
	int largest = 1;

	for (int n = 0; n < problem->node_count; n++) {
		total += problem->gpus_total[n];
		largest = max_int(largest, problem->gpus_total[n]);
	}
	fair.gpus = max_int(1, ceil_div(total, max_int(1, problem->job_count)));
	fair.gpus = max_int(fair.gpus, min_int(job->min_gpus, GPUS_MAX));
	if (!job->profiled)
		return fair;
	for (int gpus = fair.gpus; gpus > 0; gpus -= max_int(1, gpus / 8)) {
		if (measure(&fair, job, gpus, largest))
			return fair;
	}
	for (int gpus = fair.gpus; gpus <= GPUS_MAX; gpus *= 2) {
		if (measure(&fair, job, gpus, largest))
			return fair;
	}
	return fair;
}

static double table_speedup(const struct plx_table *table,
			    struct plx_shape shape)
{
	if (shape.nodes > table->nodes || shape.gpus > table->gpus)
		return 0;
	return table->speedup[(shape.nodes - 1) * table->gpus + shape.gpus - 1];
}

double plx_speedup(const struct plx_job *job, const struct plx_yardstick *fair,
		   struct plx_shape shape)
{
	double speedup;

	if (shape.gpus < 1)
		return 0;
	if (job->table)
		speedup = table_speedup(job->table, shape);
	else if (!job->profiled)
		speedup = (double) shape.gpus / fair->gpus;
	else if (fair->goodput > 0)
		speedup = goodput_of(job, shape) / fair->goodput;
	else
		return 0; /* no batch is possible anywhere */
	return speedup < SPEEDUP_MAX ? speedup : SPEEDUP_MAX;
}

double plx_speedup_alone(const struct plx_job *job, struct plx_shape shape)
{
	static const struct plx_shape one = { .nodes = 1, .gpus = 1 };
	double alone;

	if (shape.gpus < 1)
		return 0;
	if (!job->profiled)
		return shape.gpus;
	alone = goodput_of(job, one);
	return alone > 0 ? goodput_of(job, shape) / alone : 0;
}

/*
 * A change costs restart_s of training and pays for as long as it lasts: not
 * for the rest of the job, as others come and go.
 */
double plx_restart_factor(const struct plx_job *job)
{
	if (job->table)
		return job->table->kept;
	return HORIZON_S / (HORIZON_S + job->restart_s);
}

/*
 * A time limit that is missed costs its user more than time. More than its
 * fair share is nobody's due for having a short one.
 */
static double limit_factor(const struct plx_job *job,
			   const struct plx_yardstick *fair, double speedup)
{
	double least = job->least_goodput;

	if (!(least > 0) || job->table || !job->profiled ||
	    least > fair->goodput)
		return 1;
	return speedup * fair->goodput < least * (1 - ROUNDED) ? MISSED : 1;
}

double plx_job_value(const struct plx_job *job,
		     const struct plx_yardstick *fair, struct plx_shape shape,
		     bool changed)
{
	return plx_speedup_value(job, fair, plx_speedup(job, fair, shape),
				 changed);
}

double plx_speedup_value(const struct plx_job *job,
			 const struct plx_yardstick *fair, double speedup,
			 bool changed)
{
	speedup *= limit_factor(job, fair, speedup);
	return changed ? speedup * plx_restart_factor(job) : speedup;
}

double plx_weight(const struct plx_job *job)
{
	return job->weight > 0 ? job->weight : 1;
}

double plx_utility(double p, double value)
{
	double x = value + PLX_SPEEDUP_FLOOR;

	if (fabs(p) < PLX_FAIRNESS_TINY)
		return log(x);
	return p > 0 ? pow(x, p) : -pow(x, p);
}
