/* SPDX-License-Identifier: MIT */
/*
 * app.h - what a training program really does, as recorded
 *
 * A folder of traces has one folder an application:
 * placements.csv	step and sync time on exact placements, by batch a GPU
 * scalability.csv	the same by number of nodes and GPUs (may be absent)
 * validation-M.csv	progress and gradient statistics by epoch, at batch M
 * interpolated.csv.gz	the same for shapes between, computed by others (may
 *			be absent; also ../interpolated/APPLICATION.csv.gz)
 * limits.csv		one row: base_batch, max_batch, min_gpu_batch,
 *			max_gpu_batch, epochs, fixed_batch (0: none); absent
 *			for the applications of the published traces
 * restart.csv		one row: restart_s, what a restart really costs (may
 *			be absent)
 */
#ifndef PLX_SIM_APP_H
#define PLX_SIM_APP_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/model/goodput.h"

#define PLX_APP_NODES_MAX 16 /* of an exactly recorded placement */

struct plx_app_limits {
	struct plx_limits batch;
	int epochs;
	int fixed_batch;  /* on one GPU, when free to adapt; 0: adapts */
	double restart_s; /* without progress after a change of its GPUs */
};

/* Seconds. */
struct plx_app_times {
	double step; /* a pass with its all-reduce */
	double sync; /* of this, what the all-reduce adds */
};

/* One recorded pass with m samples a GPU. */
struct plx_app_point {
	int per_gpu;
	struct plx_app_times times;
};

/* Times by batch a GPU, rising, on one placement or shape. */
struct plx_app_curve {
	char key[PLX_APP_NODES_MAX + 1]; /* digits of the placement, or "" */
	struct plx_shape shape;
	struct plx_app_point *points;
	int count;
};

struct plx_app_curves {
	struct plx_app_curve *curves;
	int count;
};

/* What was recorded at one total batch, by epoch. */
struct plx_app_run {
	int batch;
	double *progress;   /* at the epoch's end, base batches */
	double *iterations; /* at the epoch's end */
	struct plx_noise *noise;
};

struct plx_app {
	char *name;
	struct plx_app_limits limits;
	struct plx_app_curves placements;   /* by key */
	struct plx_app_curves shapes;	    /* by nodes, then GPUs */
	struct plx_app_curves interpolated; /* the same; may be empty */
	struct plx_app_run *runs;	    /* by batch */
	int run_count;
	double unit_rate; /* progress a second, one GPU at the base batch */
};

/* Read dir/name. The caller's to destroy; NULL with err set on failure. */
struct plx_app *plx_app_load(const char *dir, const char *name,
			     struct plx_error *err);
void plx_app_destroy(struct plx_app *app); /* accepts NULL */

/*
 * Times of a pass of per_gpu samples; counts: GPUs on each of the nodes,
 * neighbours in their order. Exact placements are looked up, whatever
 * rotation; others by nodes and GPUs in what others interpolated, or else
 * interpolated here.
 */
struct plx_app_times plx_app_step(const struct plx_app *app, const int *counts,
				  int nodes, int per_gpu);

/* The same by interpolation alone. */
struct plx_app_times plx_app_between(const struct plx_app *app,
				     struct plx_shape shape, int per_gpu);

/* Gradient statistics in this epoch (from 0) at this total batch. */
struct plx_noise plx_app_noise(const struct plx_app *app, int epoch, int batch);

/* Progress at which this epoch (from 0) ends. */
double plx_app_boundary(const struct plx_app *app, int epoch);

/*
 * Iterations to the end at this batch, as the published oracle counts them:
 * from the end of this epoch (from 0), and one in the last.
 */
double plx_app_iterations_left(const struct plx_app *app, int epoch, int batch);

#endif
