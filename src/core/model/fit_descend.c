/* SPDX-License-Identifier: MIT */
/*
 * fit_descend.c - the nearest valley of a fit's loss
 *
 * Levenberg and Marquardt's method: each step solves a linear system of the
 * free parts, damped until it gains. A part at a bound that pulls outwards
 * is not free. Why our own: docs/decisions/0008-our-own-descent.md.
 */
#include <math.h>
#include <string.h>

#include "core/model/fit_descend.h"

#define DAMPING_FIRST 1e-3
#define DAMPING_MIN   1e-9
#define DAMPING_MAX   1e9

/* A linear system of the free parts only. */
struct step {
	int count;
	int part[PLX_FIT_PARTS];		/* which */
	double a[PLX_FIT_PARTS][PLX_FIT_PARTS]; /* the lower half */
	double x[PLX_FIT_PARTS];
};

static void find_free(const struct plx_fit_bounds *bounds,
		      const struct plx_fit_point *point,
		      const double parts[PLX_FIT_PARTS], struct step *step)
{
	step->count = 0;
	for (int i = 0; i < PLX_FIT_PARTS; i++) {
		double slope = point->slope[i];

		if (!(bounds->lower[i] < bounds->upper[i]) || slope == 0 ||
		    (parts[i] <= bounds->lower[i] && slope > 0) ||
		    (parts[i] >= bounds->upper[i] && slope < 0))
			continue;
		step->part[step->count++] = i;
	}
}

/* Cholesky's factor in place. False when the system is not definite. */
static bool factor(struct step *s)
{
	for (int i = 0; i < s->count; i++) {
		for (int j = 0; j <= i; j++) {
			double sum = s->a[i][j];

			for (int k = 0; k < j; k++)
				sum -= s->a[i][k] * s->a[j][k];
			if (j < i)
				s->a[i][j] = sum / s->a[j][j];
			else if (sum > 1e-14 * s->a[i][i])
				s->a[i][i] = sqrt(sum);
			else
				return false;
		}
	}
	return true;
}

static void substitute(struct step *s)
{
	for (int i = 0; i < s->count; i++) {
		for (int k = 0; k < i; k++)
			s->x[i] -= s->a[i][k] * s->x[k];
		s->x[i] /= s->a[i][i];
	}
	for (int i = s->count - 1; i >= 0; i--) {
		for (int k = i + 1; k < s->count; k++)
			s->x[i] -= s->a[k][i] * s->x[k];
		s->x[i] /= s->a[i][i];
	}
}

/* The damped step. False when it must be damped more. */
static bool solve(const struct plx_fit_point *point, double damping,
		  struct step *s)
{
	for (int i = 0; i < s->count; i++) {
		int part = s->part[i];

		for (int j = 0; j <= i; j++)
			s->a[i][j] = point->bend[part][s->part[j]];
		s->a[i][i] = s->a[i][i] * (1 + damping) + 1e-300;
		s->x[i] = -point->slope[part];
	}
	if (!factor(s))
		return false;
	substitute(s);
	return true;
}

/* What the step would gain were the loss as its slope and bend say. */
static double foreseen(const struct plx_fit_point *point, const struct step *s)
{
	double gain = 0;

	for (int i = 0; i < s->count; i++)
		gain -= s->x[i] * point->slope[s->part[i]] / 2;
	return gain;
}

static void go(const struct plx_fit_bounds *bounds, const struct step *s,
	       const double from[PLX_FIT_PARTS], double to[PLX_FIT_PARTS])
{
	memcpy(to, from, PLX_FIT_PARTS * sizeof(*to));
	for (int i = 0; i < s->count; i++) {
		int part = s->part[i];

		to[part] = fmin(fmax(from[part] + s->x[i], bounds->lower[part]),
				bounds->upper[part]);
	}
}

double plx_fit_descend(struct plx_fit_table *table,
		       const struct plx_fit_bounds *bounds, int looks,
		       double gain, double parts[PLX_FIT_PARTS])
{
	struct plx_fit_point here;
	struct plx_fit_point there;
	struct step step;
	double damping = DAMPING_FIRST;
	double next[PLX_FIT_PARTS];

	plx_fit_look(table, parts, &here);
	find_free(bounds, &here, parts, &step);
	for (int i = 1; i < looks && step.count > 0;) {
		if (damping > DAMPING_MAX)
			break;
		if (!solve(&here, damping, &step)) {
			damping *= 10;
			continue;
		}
		if (foreseen(&here, &step) < gain * here.loss)
			break;
		go(bounds, &step, parts, next);
		plx_fit_look(table, next, &there);
		i++;
		if (!(there.loss < here.loss)) {
			damping *= 5;
			continue;
		}
		damping = fmax(damping / 10, DAMPING_MIN);
		here = there;
		memcpy(parts, next, sizeof(next));
		find_free(bounds, &here, parts, &step);
	}
	return here.loss;
}
