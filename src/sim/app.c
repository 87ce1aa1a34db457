/* SPDX-License-Identifier: MIT */
/* app.c - times and gradient statistics between what was recorded */

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/app.h"

static double between(double a, double b, double part)
{
	return a + (b - a) * part;
}

static struct plx_app_times blend(struct plx_app_times a,
				  struct plx_app_times b, double part)
{
	return (struct plx_app_times){
		.step = between(a.step, b.step, part),
		.sync = between(a.sync, b.sync, part),
	};
}

/* The line of the last two points, as long as it makes sense. */
static struct plx_app_times beyond(const struct plx_app_curve *curve,
				   int per_gpu)
{
	const struct plx_app_point *last = &curve->points[curve->count - 1];
	struct plx_app_times t = last->times;

	if (curve->count > 1)
		t = blend(last[-1].times, t,
			  (double) (per_gpu - last[-1].per_gpu) /
				  (last->per_gpu - last[-1].per_gpu));
	t.step = fmax(t.step, last->times.step);
	t.sync = fmax(0, fmin(t.sync, last->times.sync));
	return t;
}

/* Linear in the batch a GPU; below the smallest recorded, as there. */
static struct plx_app_times curve_at(const struct plx_app_curve *curve,
				     int per_gpu)
{
	const struct plx_app_point *p = curve->points;
	int i = 0;

	if (per_gpu <= p[0].per_gpu)
		return p[0].times;
	if (per_gpu > p[curve->count - 1].per_gpu)
		return beyond(curve, per_gpu);
	while (p[i + 1].per_gpu < per_gpu)
		i++;
	return blend(p[i].times, p[i + 1].times,
		     (double) (per_gpu - p[i].per_gpu) /
			     (p[i + 1].per_gpu - p[i].per_gpu));
}

/* Times with this many GPUs on the number of nodes of shapes first..last. */
static struct plx_app_times plane_at(const struct plx_app_curve *plane,
				     int count, double gpus, int per_gpu)
{
	int i = 0;
	double low;
	double high;

	while (i + 1 < count && plane[i + 1].shape.gpus < gpus)
		i++;
	if (i + 1 == count || gpus <= plane[0].shape.gpus)
		return curve_at(&plane[i], per_gpu);
	low = plane[i].shape.gpus;
	high = plane[i + 1].shape.gpus;
	return blend(curve_at(&plane[i], per_gpu),
		     curve_at(&plane[i + 1], per_gpu),
		     (gpus - low) / (high - low));
}

/* Shapes from `first` on that have as many nodes. */
static int plane_size(const struct plx_app_curves *shapes, int first)
{
	int end = first;

	while (end < shapes->count && shapes->curves[end].shape.nodes ==
					      shapes->curves[first].shape.nodes)
		end++;
	return end - first;
}

/*
 * Between recorded numbers of nodes, points with as many GPUs a node
 * correspond: no recorded shape then lies outside.
 */
struct plx_app_times plx_app_between(const struct plx_app *app,
				     struct plx_shape shape, int per_gpu)
{
	const struct plx_app_curves *all = &app->shapes;
	double density = (double) shape.gpus / shape.nodes;
	struct plx_app_times low = { 0, 0 };
	int low_nodes = 0;

	assert(shape.nodes >= 1 && shape.gpus >= shape.nodes);
	for (int i = 0, n; i < all->count; i += n) {
		const struct plx_app_curve *plane = &all->curves[i];
		int nodes = plane->shape.nodes;
		struct plx_app_times here;

		n = plane_size(all, i);
		here = plane_at(plane, n, density * nodes, per_gpu);
		if (nodes >= shape.nodes)
			return low_nodes ? blend(low, here,
						 (double) (shape.nodes -
							   low_nodes) /
							 (nodes - low_nodes))
					 : here;
		low = here;
		low_nodes = nodes;
	}
	return low;
}

/* Digits of the smallest rotation; false when they do not fit. */
static bool placement_key(const int *counts, int nodes, char *key)
{
	char twice[2 * PLX_APP_NODES_MAX + 1];
	int best = 0;

	if (nodes > PLX_APP_NODES_MAX)
		return false;
	for (int i = 0; i < nodes; i++) {
		if (counts[i] > 9)
			return false;
		twice[i] = twice[nodes + i] = (char) ('0' + counts[i]);
	}
	for (int i = 1; i < nodes; i++) {
		if (memcmp(twice + i, twice + best, (size_t) nodes) < 0)
			best = i;
	}
	memcpy(key, twice + best, (size_t) nodes);
	key[nodes] = '\0';
	return true;
}

static int order(const struct plx_app_curve *a, const struct plx_app_curve *b)
{
	int keys = strcmp(a->key, b->key);

	if (keys)
		return keys;
	if (a->shape.nodes != b->shape.nodes)
		return a->shape.nodes - b->shape.nodes;
	return a->shape.gpus - b->shape.gpus;
}

/* NULL: not recorded. */
static const struct plx_app_curve *find_curve(const struct plx_app_curves *all,
					      const struct plx_app_curve *like)
{
	int low = 0;
	int high = all->count;

	while (low < high) {
		int middle = low + (high - low) / 2;
		int d = order(&all->curves[middle], like);

		if (d == 0)
			return &all->curves[middle];
		if (d < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

struct plx_app_times plx_app_step(const struct plx_app *app, const int *counts,
				  int nodes, int per_gpu)
{
	const struct plx_app_curve *curve = NULL;
	struct plx_app_curve like = { .shape = { .nodes = nodes } };

	for (int i = 0; i < nodes; i++)
		like.shape.gpus += counts[i];
	if (placement_key(counts, nodes, like.key))
		curve = find_curve(&app->placements, &like);
	if (!curve) {
		like.key[0] = '\0';
		curve = find_curve(&app->interpolated, &like);
	}
	if (curve)
		return curve_at(curve, per_gpu);
	return plx_app_between(app, like.shape, per_gpu);
}

/* The run at the batch or next below it, and how far from it to the next. */
static const struct plx_app_run *run_at(const struct plx_app *app, int batch,
					double *part)
{
	const struct plx_app_run *runs = app->runs;
	int i = 0;

	*part = 0;
	while (i + 1 < app->run_count && runs[i + 1].batch <= batch)
		i++;
	if (i + 1 < app->run_count && batch > runs[i].batch)
		*part = (double) (batch - runs[i].batch) /
			(runs[i + 1].batch - runs[i].batch);
	return &runs[i];
}

struct plx_noise plx_app_noise(const struct plx_app *app, int epoch, int batch)
{
	double part;
	const struct plx_app_run *run = run_at(app, batch, &part);
	struct plx_noise noise = run->noise[epoch];

	if (part > 0) {
		noise.sqr = between(noise.sqr, run[1].noise[epoch].sqr, part);
		noise.var = between(noise.var, run[1].noise[epoch].var, part);
	}
	return noise;
}

double plx_app_boundary(const struct plx_app *app, int epoch)
{
	double least = app->runs[0].progress[epoch];

	for (int i = 1; i < app->run_count; i++)
		least = fmin(least, app->runs[i].progress[epoch]);
	return least;
}

/* As published: from the end of this epoch, and one in the last. */
static double run_iterations_left(const struct plx_app *app,
				  const struct plx_app_run *run, int epoch)
{
	int last = app->limits.epochs - 1;

	if (epoch >= last)
		return 1;
	return run->iterations[last] - run->iterations[epoch];
}

double plx_app_iterations_left(const struct plx_app *app, int epoch, int batch)
{
	double part;
	const struct plx_app_run *run = run_at(app, batch, &part);
	double left = run_iterations_left(app, run, epoch);

	if (part > 0)
		left = between(left, run_iterations_left(app, run + 1, epoch),
			       part);
	return left;
}
