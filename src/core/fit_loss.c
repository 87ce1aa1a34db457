/* SPDX-License-Identifier: MIT */
/*
 * fit_loss.c - how badly a step model explains measured times
 *
 * RMSE of the logarithms of pass times, plus that of step times, plus what
 * holds unusual models back. Relative errors count, so a fast shape weighs
 * as much as a slow one.
 */
#include <math.h>
#include <string.h>

#include "core/fit_loss.h"

#define GAMMA_WEIGHT 1e-3 /* on (gamma - 1)^2 */
#define RATIO_WEIGHT 1e-2 /* on (beta / alpha)^2 of either all-reduce */

#define SECONDS_MIN 1e-9 /* of a row that is not absurd */
#define SECONDS_MAX 1e5
#define COUNT_MAX   (1 << 24) /* samples or GPUs */

/* Sums over rows; slopes are by the parts themselves. */
struct sums {
	double squares; /* of the errors */
	double slope[PLX_FIT_PARTS];
};

static bool sane_seconds(double t)
{
	return t >= SECONDS_MIN && t <= SECONDS_MAX; /* false for NaN */
}

bool plx_fit_usable(const struct plx_sample *row)
{
	return row->shape.nodes >= 1 && row->shape.gpus >= row->shape.nodes &&
	       row->shape.gpus <= COUNT_MAX && row->per_gpu >= 1 &&
	       row->per_gpu <= COUNT_MAX && sane_seconds(row->pass_seconds) &&
	       sane_seconds(row->iter_seconds);
}

/* Seconds of the all-reduce, and the parts that it consists of. */
static double sync_seconds(const double parts[PLX_FIT_PARTS],
			   struct plx_shape shape, int *alpha, double *extra)
{
	*alpha = shape.nodes > 1 ? PLX_ALPHA_N : PLX_ALPHA_R;
	*extra = fmax(shape.gpus - 2, PLX_EXTRA_FLOOR);
	if (shape.gpus < 2)
		return PLX_SYNC_FLOOR_S;
	return fmax(parts[*alpha] + parts[*alpha + 1] * *extra,
		    PLX_SYNC_FLOOR_S);
}

/* A pass without all-reduce: alpha_c + beta_c m. Returns its logarithm. */
static double add_pass(const double parts[PLX_FIT_PARTS],
		       const struct plx_sample *row, struct sums *sums)
{
	double x = parts[PLX_ALPHA_C] + parts[PLX_BETA_C] * row->per_gpu;
	double log_x = log(x);
	double e = log_x - log(row->pass_seconds);

	sums->squares += e * e;
	sums->slope[PLX_ALPHA_C] += e / x;
	sums->slope[PLX_BETA_C] += e / x * row->per_gpu;
	return log_x;
}

/* A pass with all-reduce: the gamma-norm of both. */
static void add_iter(const double parts[PLX_FIT_PARTS],
		     const struct plx_sample *row, double log_x,
		     struct sums *sums)
{
	int alpha;
	double extra;
	double gamma = parts[PLX_GAMMA];
	double sync = sync_seconds(parts, row->shape, &alpha, &extra);
	double log_s = log(sync);
	double z = exp(-gamma * fabs(log_x - log_s));
	double share = (log_x > log_s ? 1 : z) / (1 + z); /* of the pass */
	double log_t = fmax(log_x, log_s) + log1p(z) / gamma;
	double e = log_t - log(row->iter_seconds);
	double by_x = e * share * exp(-log_x);
	double by_s = e * (1 - share) / sync;

	sums->squares += e * e;
	sums->slope[PLX_ALPHA_C] += by_x;
	sums->slope[PLX_BETA_C] += by_x * row->per_gpu;
	sums->slope[PLX_GAMMA] +=
		e * (share * log_x + (1 - share) * log_s - log_t) / gamma;
	if (row->shape.gpus < 2)
		return;
	sums->slope[alpha] += by_s;
	sums->slope[alpha + 1] += by_s * extra;
}

/* RMSE of the sums; its slope is added. */
static double add_rmse(const struct sums *sums, size_t rows,
		       double slope[PLX_FIT_PARTS])
{
	double rmse = sqrt(sums->squares / rows);

	for (int i = 0; i < PLX_FIT_PARTS && rmse > 0; i++)
		slope[i] += sums->slope[i] / (rmse * rows);
	return rmse;
}

/* An all-reduce whose time is mostly per GPU is unlikely. */
static double add_ratio(const double parts[PLX_FIT_PARTS], int alpha,
			double slope[PLX_FIT_PARTS])
{
	double a = fmax(parts[alpha], PLX_FIT_FLOOR);
	double ratio = parts[alpha + 1] / a;

	slope[alpha] -= 2 * RATIO_WEIGHT * ratio * ratio / a;
	slope[alpha + 1] += 2 * RATIO_WEIGHT * ratio / a;
	return RATIO_WEIGHT * ratio * ratio;
}

double plx_fit_slope(const double parts[PLX_FIT_PARTS],
		     const struct plx_sample *rows, size_t count,
		     double slope[PLX_FIT_PARTS])
{
	struct sums pass = { 0 };
	struct sums iter = { 0 };
	double over = parts[PLX_GAMMA] - 1;
	size_t used = 0;

	memset(slope, 0, PLX_FIT_PARTS * sizeof(*slope));
	for (size_t i = 0; i < count; i++) {
		if (!plx_fit_usable(&rows[i]))
			continue;
		add_iter(parts, &rows[i], add_pass(parts, &rows[i], &pass),
			 &iter);
		used++;
	}
	if (used == 0)
		return INFINITY;
	slope[PLX_GAMMA] = 2 * GAMMA_WEIGHT * over;
	return add_rmse(&pass, used, slope) + add_rmse(&iter, used, slope) +
	       GAMMA_WEIGHT * over * over +
	       add_ratio(parts, PLX_ALPHA_N, slope) +
	       add_ratio(parts, PLX_ALPHA_R, slope);
}

double plx_fit_loss(const struct plx_model *model,
		    const struct plx_sample *rows, size_t count)
{
	double parts[PLX_FIT_PARTS] = {
		[PLX_ALPHA_C] = model->alpha_c, [PLX_BETA_C] = model->beta_c,
		[PLX_ALPHA_N] = model->alpha_n, [PLX_BETA_N] = model->beta_n,
		[PLX_ALPHA_R] = model->alpha_r, [PLX_BETA_R] = model->beta_r,
		[PLX_GAMMA] = model->gamma,
	};
	double slope[PLX_FIT_PARTS];

	return plx_fit_slope(parts, rows, count, slope);
}
