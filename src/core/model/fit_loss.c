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

#include "core/model/fit_loss.h"

#define GAMMA_WEIGHT  1e-3 /* on (gamma - 1)^2 */
#define TWO_WEIGHT    1e-2 /* on log((1 + two_nodes) / (1 + usual))^2 */
#define SWITCH_WEIGHT 1e-2 /* on log((1 + per_switch) / (1 + usual))^2 */
#define RATIO_WEIGHT  1e-2 /* on (beta / alpha)^2 of either all-reduce */

/* An RMSE bends without end at 0; below this it counts as this. */
#define RMSE_MIN 1e-8
/* Of an RMSE's own bend: all of it has none along the errors. */
#define ROUND 0.9

/* Sums over rows of squared errors, half their slopes and half their bends. */
struct sums {
	double squares;
	double slope[PLX_FIT_PARTS];
	double bend[PLX_FIT_PARTS][PLX_FIT_PARTS];
};

/* A pass: its seconds, their logarithm, and the latter's two slopes. */
struct pass {
	double log_x;
	double by_alpha, by_beta;
};

static struct pass add_pass(const double parts[PLX_FIT_PARTS],
			    const struct plx_fit_pass *p, struct sums *sums)
{
	double x = parts[PLX_ALPHA_C] + parts[PLX_BETA_C] * p->per_gpu;
	struct pass pass = { log(x), 1 / x, p->per_gpu / x };
	double e = pass.log_x - p->log_s;

	sums->squares += p->rows * e * e;
	sums->slope[0] += p->rows * e * pass.by_alpha;
	sums->slope[1] += p->rows * e * pass.by_beta;
	sums->bend[0][0] += p->rows * pass.by_alpha * pass.by_alpha;
	sums->bend[1][0] += p->rows * pass.by_beta * pass.by_alpha;
	sums->bend[1][1] += p->rows * pass.by_beta * pass.by_beta;
	return pass;
}

/* A pass with all-reduce: the gamma-norm of both. */
static void add_iter(double gamma, const struct pass *pass,
		     const struct plx_fit_sync *sync,
		     const struct plx_fit_iter *iter, struct sums *sums)
{
	/* In the order of the parts, but both kinds of all-reduce alike. */
	static const int first[] = { PLX_ALPHA_C, PLX_BETA_C };
	double far = pass->log_x - sync->log_s;
	double z = exp(-gamma * fabs(far));
	double share = (far > 0 ? 1 : z) / (1 + z); /* of the pass */
	double log_t = fmax(pass->log_x, sync->log_s) + log1p(z) / gamma;
	double e = log_t - iter->log_s;
	double by_s = sync->alpha < 0 ? 0 : (1 - share) / sync->s * sync->times;
	int alpha = sync->alpha < 0 ? PLX_ALPHA_N : sync->alpha;
	const int at[] = { first[0],  first[1], alpha,	   alpha + 1,
			   PLX_GAMMA, PLX_TWO,	PLX_SWITCH };
	const double by[] = {
		share * pass->by_alpha,
		share * pass->by_beta,
		by_s,
		by_s * sync->extra,
		(share * pass->log_x + (1 - share) * sync->log_s - log_t) /
			gamma,
		sync->two ? 1 - share : 0,
		(1 - share) * sync->by_switch,
	};
	/* The last ones are of few all-reduces. */
	int count = sync->further ? 7 : 5 + sync->two;

	sums->squares += iter->rows * e * e;
	for (int i = 0; i < count; i++) {
		double weighted = iter->rows * by[i];

		sums->slope[at[i]] += e * weighted;
		for (int j = 0; j <= i; j++)
			sums->bend[at[i]][at[j]] += weighted * by[j];
	}
}

/* The RMSE of the sums is added, a norm of the errors. */
static void add_rmse(const struct sums *sums, double spread, double rows,
		     struct plx_fit_point *point)
{
	double rmse = sqrt((sums->squares + spread) / rows);
	double scale = 1 / (fmax(rmse, RMSE_MIN) * rows);
	double round = ROUND * scale /
		       (sums->squares + spread + RMSE_MIN * RMSE_MIN * rows);

	point->loss += rmse;
	for (int i = 0; i < PLX_FIT_PARTS; i++) {
		point->slope[i] += sums->slope[i] * scale;
		for (int j = 0; j <= i; j++)
			point->bend[i][j] +=
				scale * sums->bend[i][j] -
				round * sums->slope[i] * sums->slope[j];
	}
}

/* An all-reduce whose time is mostly per GPU is unlikely. */
static void add_ratio(const double parts[PLX_FIT_PARTS], int alpha,
		      struct plx_fit_point *point)
{
	double a = parts[alpha];
	double ratio = parts[alpha + 1] / a;
	double by_a = -ratio / a;
	double by_b = 1 / a;

	point->loss += RATIO_WEIGHT * ratio * ratio;
	point->slope[alpha] += 2 * RATIO_WEIGHT * ratio * by_a;
	point->slope[alpha + 1] += 2 * RATIO_WEIGHT * ratio * by_b;
	point->bend[alpha][alpha] += 2 * RATIO_WEIGHT * by_a * by_a;
	point->bend[alpha + 1][alpha] += 2 * RATIO_WEIGHT * by_a * by_b;
	point->bend[alpha + 1][alpha + 1] += 2 * RATIO_WEIGHT * by_b * by_b;
}

/* Of many programs on one network, two nodes take alike longer, say. */
static void add_usual(const double parts[PLX_FIT_PARTS], int part, double usual,
		      double weight, struct plx_fit_point *point)
{
	double off = parts[part] - log(1 + usual);

	point->loss += weight * off * off;
	point->slope[part] += 2 * weight * off;
	point->bend[part][part] += 2 * weight;
}

static void set_syncs(struct plx_fit_table *table,
		      const double parts[PLX_FIT_PARTS])
{
	double per_switch = expm1(parts[PLX_SWITCH]);

	for (size_t i = 0; i < table->sync_count; i++) {
		struct plx_fit_sync *sync = &table->syncs[i];
		double priced = 1 + sync->further * per_switch;

		sync->s = PLX_SYNC_FLOOR_S;
		sync->times = (sync->two ? exp(parts[PLX_TWO]) : 1) * priced;
		sync->by_switch = sync->further * (1 + per_switch) / priced;
		if (sync->alpha >= 0)
			sync->s = fmax((parts[sync->alpha] +
					parts[sync->alpha + 1] * sync->extra) *
					       sync->times,
				       PLX_SYNC_FLOOR_S);
		sync->log_s = log(sync->s);
	}
}

void plx_fit_look(struct plx_fit_table *table,
		  const double parts[PLX_FIT_PARTS],
		  struct plx_fit_point *point)
{
	double over = parts[PLX_GAMMA] - 1;
	double rows = (double) table->rows;
	struct sums pass = { 0 };
	struct sums iter = { 0 };
	size_t at = 0;

	memset(point, 0, sizeof(*point));
	set_syncs(table, parts);
	for (size_t i = 0; i < table->pass_count; i++) {
		struct pass p = add_pass(parts, &table->passes[i], &pass);

		for (; at < table->passes[i].end; at++)
			add_iter(parts[PLX_GAMMA], &p,
				 &table->syncs[table->iters[at].sync],
				 &table->iters[at], &iter);
	}
	add_rmse(&pass, table->pass_spread, rows, point);
	add_rmse(&iter, table->iter_spread, rows, point);
	point->loss += GAMMA_WEIGHT * over * over;
	point->slope[PLX_GAMMA] += 2 * GAMMA_WEIGHT * over;
	point->bend[PLX_GAMMA][PLX_GAMMA] += 2 * GAMMA_WEIGHT;
	if (table->growth == PLX_BY_DOUBLING)
		add_usual(parts, PLX_TWO, PLX_FIT_TWO_USUAL, TWO_WEIGHT, point);
	if (table->priced)
		add_usual(parts, PLX_SWITCH, PLX_SWITCH_COST, SWITCH_WEIGHT,
			  point);
	add_ratio(parts, PLX_ALPHA_N, point);
	add_ratio(parts, PLX_ALPHA_R, point);
}

double plx_fit_loss(const struct plx_model *model,
		    const struct plx_sample *rows, size_t count)
{
	const double parts[PLX_FIT_PARTS] = {
		[PLX_ALPHA_C] = model->alpha_c,
		[PLX_BETA_C] = model->beta_c,
		[PLX_ALPHA_N] = fmax(model->alpha_n, PLX_FIT_FLOOR),
		[PLX_BETA_N] = model->beta_n,
		[PLX_ALPHA_R] = fmax(model->alpha_r, PLX_FIT_FLOOR),
		[PLX_BETA_R] = model->beta_r,
		[PLX_GAMMA] = model->gamma,
		[PLX_TWO] = log(1 + model->two_nodes),
		[PLX_SWITCH] = log1p(model->per_switch),
	};
	const struct plx_fit_rows all = { .rows = rows,
					  .count = count,
					  .growth = model->growth };
	struct plx_fit_table table;
	struct plx_fit_point point = { .loss = INFINITY };

	if (plx_fit_table_init(&table, &all, NULL) < 0)
		return NAN;
	if (table.rows > 0)
		plx_fit_look(&table, parts, &point);
	plx_fit_table_release(&table);
	return point.loss;
}
