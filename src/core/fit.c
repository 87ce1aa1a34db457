/* SPDX-License-Identifier: MIT */
/*
 * fit.c - the step model that explains measured times
 *
 * The loss has several valleys, mostly along gamma: one descent starts in
 * each of a few gammas, where straight lines through the rows give the other
 * parts. The best is polished without slopes, for the loss has an edge where
 * rows are explained exactly; two ways, for each gets stuck elsewhere.
 */
#include <math.h>
#include <nlopt.h>
#include <string.h>

#include "core/fit_loss.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define PART_MAX  1e6  /* seconds, of an alpha or a beta */
#define GAMMA_MAX 10.0 /* as published */
#define PRIOR	  1.1 /* all-reduce over nodes against in a node, as published */

#define TOLERANCE 1e-11 /* relative, of the loss */

enum {
	DESCENT_STEPS = 120, /* evaluations from each start */
	POLISH_STEPS = 800,
};

/* What the usable rows show. */
struct seen {
	size_t rows;
	double mean_pass; /* seconds */
	int per_gpu;	  /* m, of the first row */
	bool many_per_gpu;
	bool over_nodes;
	bool in_node; /* more than one GPU of it */
	bool over_two_gpus;
};

/* A fit under way. Vectors hold logarithms of all parts but gamma. */
struct fit {
	const struct plx_sample *rows;
	size_t count;
	struct seen seen;
	double lower[PLX_FIT_PARTS], upper[PLX_FIT_PARTS];
	double best[PLX_FIT_PARTS]; /* of all points tried */
	double best_loss;
};

/* Weighted sums for a straight line y = alpha + beta x. */
struct line {
	double w, x, y, xx, xy;
};

static void line_add(struct line *line, double x, double y, double weight)
{
	line->w += weight;
	line->x += weight * x;
	line->y += weight * y;
	line->xx += weight * x * x;
	line->xy += weight * x * y;
}

/* The line with least squares among those with neither part negative. */
static void line_get(const struct line *l, double *alpha, double *beta)
{
	double d = l->w * l->xx - l->x * l->x;

	*alpha = l->w > 0 ? l->y / l->w : 0;
	*beta = 0;
	if (!(d > 1e-9 * l->w * l->xx))
		return; /* a single x */
	*beta = (l->w * l->xy - l->x * l->y) / d;
	*alpha = (l->y - *beta * l->x) / l->w;
	if (*beta < 0) {
		*beta = 0;
		*alpha = l->y / l->w;
	} else if (*alpha < 0) {
		*alpha = 0;
		*beta = l->xy / l->xx;
	}
}

static struct seen look(const struct plx_sample *rows, size_t count)
{
	struct seen seen = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct plx_sample *row = &rows[i];

		if (!plx_fit_usable(row))
			continue;
		if (seen.rows++ == 0)
			seen.per_gpu = row->per_gpu;
		seen.mean_pass += row->pass_seconds;
		seen.many_per_gpu |= row->per_gpu != seen.per_gpu;
		seen.over_nodes |= row->shape.nodes > 1;
		seen.in_node |= row->shape.nodes == 1 && row->shape.gpus > 1;
		seen.over_two_gpus |= row->shape.gpus > 2;
	}
	if (seen.rows > 0)
		seen.mean_pass /= seen.rows;
	return seen;
}

static void hold(struct fit *fit, int part, double value)
{
	fit->lower[part] = log(value);
	fit->upper[part] = log(value);
}

/*
 * What was never observed is held: at nothing, so that unseen scales look
 * optimistic and get tried.
 */
static void set_bounds(struct fit *fit)
{
	const struct seen *seen = &fit->seen;

	for (int i = 0; i < PLX_GAMMA; i++) {
		fit->lower[i] = log(PLX_FIT_FLOOR);
		fit->upper[i] = log(PART_MAX);
	}
	fit->lower[PLX_GAMMA] = 1;
	fit->upper[PLX_GAMMA] = GAMMA_MAX;
	/* One m cannot tell alpha_c from beta_c: half the time each. */
	if (!seen->many_per_gpu)
		hold(fit, PLX_ALPHA_C,
		     fmax(seen->mean_pass / 2, PLX_FIT_FLOOR));
	if (!seen->over_nodes)
		hold(fit, PLX_ALPHA_N, PLX_FIT_FLOOR);
	if (!seen->in_node)
		hold(fit, PLX_ALPHA_R, PLX_FIT_FLOOR);
	if (!seen->over_nodes || !seen->over_two_gpus)
		hold(fit, PLX_BETA_N, PLX_FIT_FLOOR);
	if (!seen->in_node || !seen->over_two_gpus)
		hold(fit, PLX_BETA_R, PLX_FIT_FLOOR);
}

static void to_parts(const double x[PLX_FIT_PARTS], double parts[PLX_FIT_PARTS])
{
	for (int i = 0; i < PLX_GAMMA; i++)
		parts[i] = exp(x[i]);
	parts[PLX_GAMMA] = x[PLX_GAMMA];
}

/* What NLopt calls. */
static double objective(unsigned n, const double *x, double *grad, void *data)
{
	struct fit *fit = data;
	double parts[PLX_FIT_PARTS];
	double slope[PLX_FIT_PARTS];
	double loss;

	to_parts(x, parts);
	loss = plx_fit_slope(parts, fit->rows, fit->count, slope);
	if (loss < fit->best_loss) {
		fit->best_loss = loss;
		memcpy(fit->best, x, sizeof(fit->best));
	}
	for (unsigned i = 0; i < n && grad; i++)
		grad[i] = i == PLX_GAMMA ? slope[i] : slope[i] * parts[i];
	return loss;
}

/* Lines through the rows as if the overlap were this gamma. */
static void start_at(const struct fit *fit, double gamma,
		     double x[PLX_FIT_PARTS])
{
	struct line pass = { 0 };
	struct line sync[2]; /* over nodes, in a node */

	memset(sync, 0, sizeof(sync));
	for (size_t i = 0; i < fit->count; i++) {
		const struct plx_sample *row = &fit->rows[i];
		double t = row->iter_seconds;
		double shown;

		if (!plx_fit_usable(row))
			continue;
		shown = 1 - pow(fmin(row->pass_seconds / t, 1), gamma);
		line_add(&pass, row->per_gpu, row->pass_seconds,
			 1 / (row->pass_seconds * row->pass_seconds));
		if (row->shape.gpus > 1)
			line_add(&sync[row->shape.nodes == 1],
				 row->shape.gpus - 2,
				 t * pow(fmax(shown, 1e-9), 1 / gamma),
				 1 / (t * t));
	}
	line_get(&pass, &x[PLX_ALPHA_C], &x[PLX_BETA_C]);
	line_get(&sync[0], &x[PLX_ALPHA_N], &x[PLX_BETA_N]);
	line_get(&sync[1], &x[PLX_ALPHA_R], &x[PLX_BETA_R]);
	/* Not at the floor itself: slopes by logarithms vanish there. */
	for (int i = 0; i < PLX_GAMMA; i++)
		x[i] = log(fmax(x[i], 1e-3 * fit->seen.mean_pass /
					      (i % 2 ? fit->seen.per_gpu : 1)));
	x[PLX_GAMMA] = gamma;
	for (int i = 0; i < PLX_FIT_PARTS; i++)
		x[i] = fmin(fmax(x[i], fit->lower[i]), fit->upper[i]);
}

static int descend(struct fit *fit, nlopt_algorithm algorithm, int steps,
		   double x[PLX_FIT_PARTS])
{
	double loss;
	nlopt_opt opt = nlopt_create(algorithm, PLX_FIT_PARTS);

	if (!opt)
		return -1;
	/* A failure leaves the best point that was tried: good enough. */
	if (nlopt_set_min_objective(opt, objective, fit) > 0 &&
	    nlopt_set_lower_bounds(opt, fit->lower) > 0 &&
	    nlopt_set_upper_bounds(opt, fit->upper) > 0 &&
	    nlopt_set_maxeval(opt, steps) > 0 &&
	    nlopt_set_ftol_rel(opt, TOLERANCE) > 0)
		nlopt_optimize(opt, x, &loss);
	nlopt_destroy(opt);
	return 0;
}

static void take_best(const struct fit *fit, struct plx_model *model)
{
	double p[PLX_FIT_PARTS];

	to_parts(fit->best, p);
	/* Never seen over nodes: slower than in a node, by a little. */
	if (!fit->seen.over_nodes) {
		p[PLX_ALPHA_N] = fmax(p[PLX_ALPHA_N], PRIOR * p[PLX_ALPHA_R]);
		p[PLX_BETA_N] = fmax(p[PLX_BETA_N], PRIOR * p[PLX_BETA_R]);
	}
	*model = (struct plx_model){
		.alpha_c = p[PLX_ALPHA_C],
		.beta_c = p[PLX_BETA_C],
		.alpha_n = p[PLX_ALPHA_N],
		.beta_n = p[PLX_BETA_N],
		.alpha_r = p[PLX_ALPHA_R],
		.beta_r = p[PLX_BETA_R],
		.gamma = p[PLX_GAMMA],
	};
}

int plx_fit(const struct plx_sample *rows, size_t count,
	    struct plx_model *model, struct plx_error *err)
{
	static const double gammas[] = { 1.02, 1.5, 3, 7 };
	static const nlopt_algorithm polishes[] = { NLOPT_LN_SBPLX,
						    NLOPT_LN_NELDERMEAD };
	struct fit fit = {
		.rows = rows,
		.count = count,
		.seen = look(rows, count),
		.best_loss = INFINITY,
	};
	double x[PLX_FIT_PARTS];

	if (fit.seen.rows == 0)
		return plx_fail(err, "no usable measurement among %zu", count);
	set_bounds(&fit);
	for (size_t i = 0; i < ARRAY_SIZE(gammas); i++) {
		start_at(&fit, gammas[i], x);
		if (descend(&fit, NLOPT_LD_SLSQP, DESCENT_STEPS, x) < 0)
			return plx_fail(err, "out of memory");
	}
	for (size_t i = 0; i < ARRAY_SIZE(polishes); i++) {
		memcpy(x, fit.best, sizeof(x));
		if (descend(&fit, polishes[i], POLISH_STEPS, x) < 0)
			return plx_fail(err, "out of memory");
	}
	take_best(&fit, model);
	return 0;
}
