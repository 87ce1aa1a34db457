/* SPDX-License-Identifier: MIT */
/*
 * fit.c - the step model that explains measured times
 *
 * The loss may have several valleys, mostly along gamma: one descent starts
 * in each of a few gammas, where straight lines through the rows give the
 * other parts. A warm fit starts where the last one ended instead. Rows that
 * the model of all others cannot explain at all are then left out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/fit_descend.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define PART_MAX  1e6  /* seconds, of an alpha or a beta */
#define GAMMA_MAX 10.0 /* as published */
#define PRIOR	  1.1 /* all-reduce over nodes against in a node, as published */

/* Gains, relative to the loss, that are too little to go on for: */
#define GAIN_START 1e-3	 /* to tell which valley is deepest */
#define GAIN_COLD  1e-11 /* a model to start from for long */
#define GAIN_WARM  1e-6	 /* the next row comes soon */

/* A loss this much above that of the rows but the last is suspicious. */
#define LOSS_RISE 1.1

#define USUAL_GAMMA 1.5
#define NOTHING	    1e-6 /* of a pass: such a part was held, or nearly */

#define SUSPECT 2.0 /* as much off is looked into when rows are few */
#define OUTLIER 4.0 /* a row this many times off is no measurement */

enum {
	START_LOOKS = 20,   /* from each start */
	OUTLIER_LOOKS = 12, /* after each row left out */
	LOOKS = 100,	    /* from the best of them */
	COLD_EVERY = 8,	    /* rows: a warm fit starts anew */
	COLD_UP_TO = 3,
	FEW = 10,	      /* rows: each is tried as an outlier */
	KEPT_PER_OUTLIER = 3, /* at most a quarter is left out */
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
	int further_least; /* switches, of those over nodes */
	int further_most;
};

/* A fit under way. */
struct fit {
	struct plx_fit_rows in;
	bool *left_out; /* what in says of it */
	struct seen seen;
	struct plx_fit_table table;
	struct plx_fit_bounds bounds;
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

static bool counts(const struct fit *fit, size_t row)
{
	return plx_fit_usable(&fit->in.rows[row]) &&
	       !(fit->left_out && fit->left_out[row]);
}

static void see_nodes(struct seen *seen, int further)
{
	if (!seen->over_nodes || further < seen->further_least)
		seen->further_least = further;
	if (further > seen->further_most)
		seen->further_most = further;
	seen->over_nodes = true;
}

/* On one number of switches they cannot be told from what they took there. */
static bool is_priced(const struct seen *seen)
{
	return seen->further_least < seen->further_most;
}

static struct seen look(const struct fit *fit)
{
	struct seen seen = { 0 };

	for (size_t i = 0; i < fit->in.count; i++) {
		const struct plx_sample *row = &fit->in.rows[i];

		if (!counts(fit, i))
			continue;
		if (seen.rows++ == 0)
			seen.per_gpu = row->per_gpu;
		seen.mean_pass += row->pass_seconds;
		seen.many_per_gpu |= row->per_gpu != seen.per_gpu;
		if (row->shape.nodes > 1)
			see_nodes(&seen, row->shape.further);
		seen.in_node |= row->shape.nodes == 1 && row->shape.gpus > 1;
		seen.over_two_gpus |= row->shape.gpus > 2;
	}
	if (seen.rows > 0)
		seen.mean_pass /= seen.rows;
	return seen;
}

static void hold(struct fit *fit, int part, double value)
{
	fit->bounds.lower[part] = value;
	fit->bounds.upper[part] = value;
}

/*
 * What was never observed is held: at nothing, so that unseen scales look
 * optimistic and get tried.
 */
static void set_bounds(struct fit *fit)
{
	const struct seen *seen = &fit->seen;

	for (int i = 0; i < PLX_GAMMA; i++) {
		fit->bounds.lower[i] = PLX_FIT_FLOOR;
		fit->bounds.upper[i] = PART_MAX;
	}
	fit->bounds.lower[PLX_TWO] = 0;
	fit->bounds.upper[PLX_TWO] = fit->in.growth == PLX_BY_DOUBLING
					     ? log(1 + PLX_TWO_NODES_MAX)
					     : 0;
	fit->bounds.lower[PLX_SWITCH] = is_priced(seen) ? PLX_FIT_FLOOR : 0;
	fit->bounds.upper[PLX_SWITCH] =
		is_priced(seen) ? log1p(PLX_PER_SWITCH_MAX) : 0;
	fit->bounds.lower[PLX_GAMMA] = 1;
	fit->bounds.upper[PLX_GAMMA] = GAMMA_MAX;
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

/* Lines through the rows as if the overlap were this gamma. */
static void start_at(const struct fit *fit, double gamma,
		     double x[PLX_FIT_PARTS])
{
	struct line pass = { 0 };
	struct line sync[2]; /* over nodes, in a node */

	memset(sync, 0, sizeof(sync));
	for (size_t i = 0; i < fit->in.count; i++) {
		const struct plx_sample *row = &fit->in.rows[i];
		double t = row->iter_seconds;
		double shown;

		if (!counts(fit, i))
			continue;
		shown = 1 - pow(fmin(row->pass_seconds / t, 1), gamma);
		line_add(&pass, row->per_gpu, row->pass_seconds,
			 1 / (row->pass_seconds * row->pass_seconds));
		if (row->shape.gpus > 1)
			line_add(&sync[row->shape.nodes == 1],
				 plx_sync_extra(fit->in.growth,
						row->shape.gpus),
				 t * pow(fmax(shown, 1e-9), 1 / gamma),
				 1 / (t * t));
	}
	line_get(&pass, &x[PLX_ALPHA_C], &x[PLX_BETA_C]);
	if (!fit->seen.many_per_gpu) /* the fixed half is held */
		x[PLX_BETA_C] =
			fmax(x[PLX_ALPHA_C] - fit->bounds.lower[PLX_ALPHA_C],
			     0) /
			fit->seen.per_gpu;
	line_get(&sync[0], &x[PLX_ALPHA_N], &x[PLX_BETA_N]);
	line_get(&sync[1], &x[PLX_ALPHA_R], &x[PLX_BETA_R]);
	/* Not at the floor itself: a ratio of two floors holds both there. */
	for (int i = 0; i < PLX_GAMMA; i++)
		x[i] = fmax(x[i], 1e-3 * fit->seen.mean_pass /
					  (i % 2 ? fit->seen.per_gpu : 1));
	x[PLX_GAMMA] = gamma;
	x[PLX_TWO] = log(1 + PLX_FIT_TWO_USUAL);
	x[PLX_SWITCH] = log1p(PLX_SWITCH_COST);
	for (int i = 0; i < PLX_FIT_PARTS; i++)
		x[i] = fmin(fmax(x[i], fit->bounds.lower[i]),
			    fit->bounds.upper[i]);
}

static struct plx_model to_model(const struct fit *fit,
				 const double parts[PLX_FIT_PARTS])
{
	return (struct plx_model){
		.alpha_c = parts[PLX_ALPHA_C],
		.beta_c = parts[PLX_BETA_C],
		.alpha_n = parts[PLX_ALPHA_N],
		.beta_n = parts[PLX_BETA_N],
		.alpha_r = parts[PLX_ALPHA_R],
		.beta_r = parts[PLX_BETA_R],
		.gamma = parts[PLX_GAMMA],
		.two_nodes = expm1(parts[PLX_TWO]),
		.growth = fit->in.growth,
		.further = is_priced(&fit->seen) ? 0 : fit->seen.further_least,
		.per_switch = expm1(parts[PLX_SWITCH]),
	};
}

static void take_best(const struct fit *fit, struct plx_model *model)
{
	double p[PLX_FIT_PARTS];

	memcpy(p, fit->best, sizeof(p));
	/* Never seen over nodes: slower than in a node, by a little. */
	if (!fit->seen.over_nodes) {
		p[PLX_ALPHA_N] = fmax(p[PLX_ALPHA_N], PRIOR * p[PLX_ALPHA_R]);
		p[PLX_BETA_N] = fmax(p[PLX_BETA_N], PRIOR * p[PLX_BETA_R]);
	}
	*model = to_model(fit, p);
}

static void descend(struct fit *fit, int looks, double gain,
		    double x[PLX_FIT_PARTS])
{
	double loss =
		plx_fit_descend(&fit->table, &fit->bounds, looks, gain, x);

	if (!(loss < fit->best_loss))
		return;
	fit->best_loss = loss;
	memcpy(fit->best, x, sizeof(fit->best));
}

static void fit_cold(struct fit *fit)
{
	static const double gammas[] = { 1.02, 1.5, 3, 7 };
	double x[PLX_FIT_PARTS];

	for (size_t i = 0; i < ARRAY_SIZE(gammas); i++) {
		start_at(fit, gammas[i], x);
		descend(fit, START_LOOKS, GAIN_START, x);
	}
	memcpy(x, fit->best, sizeof(x));
	descend(fit, LOOKS, GAIN_COLD, x);
}

/* From this model; parts that it says nothing of from lines. */
static void fit_warm(struct fit *fit, const struct plx_model *start, int looks)
{
	const double parts[PLX_FIT_PARTS] = {
		[PLX_ALPHA_C] = start->alpha_c,
		[PLX_BETA_C] = start->beta_c,
		[PLX_ALPHA_N] = start->alpha_n,
		[PLX_BETA_N] = start->beta_n,
		[PLX_ALPHA_R] = start->alpha_r,
		[PLX_BETA_R] = start->beta_r,
		[PLX_GAMMA] = start->gamma,
		[PLX_TWO] = log(1 + start->two_nodes),
		[PLX_SWITCH] = log1p(start->per_switch),
	};
	double x[PLX_FIT_PARTS];

	start_at(fit, fmin(fmax(parts[PLX_GAMMA], 1), GAMMA_MAX), x);
	for (int i = 0; i < PLX_GAMMA; i++) {
		if (parts[i] > NOTHING * fit->seen.mean_pass)
			x[i] = fmin(fmax(parts[i], fit->bounds.lower[i]),
				    fit->bounds.upper[i]);
	}
	for (int i = PLX_TWO; i <= PLX_SWITCH; i++) {
		if (parts[i] > 0)
			x[i] = fmin(parts[i], fit->bounds.upper[i]);
	}
	descend(fit, looks, GAIN_WARM, x);
}

/* Look at the rows that count. -1 with err set when out of memory. */
static int fit_begin(struct fit *fit, struct plx_error *err)
{
	fit->seen = look(fit);
	fit->best_loss = INFINITY;
	plx_fit_table_release(&fit->table);
	fit->in.left_out = fit->left_out;
	if (plx_fit_table_init(&fit->table, &fit->in, err) < 0)
		return -1;
	set_bounds(fit);
	return 0;
}

/* By how many times a row is off, the worse of both times; as logarithm. */
static double row_off(const struct plx_model *model,
		      const struct plx_sample *row)
{
	double pass = plx_grad_seconds(model, row->per_gpu);
	double iter = plx_iter_seconds(model, row->shape, row->per_gpu);

	return fmax(fabs(log(pass / row->pass_seconds)),
		    fabs(log(iter / row->iter_seconds)));
}

/* The row that is most off, and how much. */
static double worst_row(const struct fit *fit, size_t *worst)
{
	struct plx_model model = to_model(fit, fit->best);
	double most = 0;

	for (size_t i = 0; i < fit->in.count; i++) {
		double off =
			counts(fit, i) ? row_off(&model, &fit->in.rows[i]) : 0;

		if (off > most) {
			most = off;
			*worst = i;
		}
	}
	return most;
}

/* Forget the fit; the rows that count have changed. */
static int fit_again(struct fit *fit, const struct plx_model *start,
		     struct plx_error *err)
{
	double x[PLX_FIT_PARTS];

	if (fit_begin(fit, err) < 0)
		return -1;
	fit_warm(fit, start, OUTLIER_LOOKS);
	if (fit->seen.rows > FEW)
		return 0;
	/* One of few rows has drawn the model far away. */
	start_at(fit, USUAL_GAMMA, x);
	descend(fit, OUTLIER_LOOKS, GAIN_WARM, x);
	return 0;
}

/* The row whose absence helps most: among few, often one less off. */
static int find_outlier(struct fit *fit, const struct plx_model *start,
			size_t *row, struct plx_error *err)
{
	double least = INFINITY;

	for (size_t i = 0; i < fit->in.count; i++) {
		if (!counts(fit, i))
			continue;
		fit->left_out[i] = true;
		if (fit_again(fit, start, err) < 0)
			return -1;
		fit->left_out[i] = false;
		if (fit->best_loss < least) {
			least = fit->best_loss;
			*row = i;
		}
	}
	return 0;
}

/* Rows left out on the way that the model explains after all. */
static void take_back(struct fit *fit)
{
	struct plx_model model = to_model(fit, fit->best);

	for (size_t i = 0; i < fit->in.count; i++) {
		if (fit->left_out[i] &&
		    row_off(&model, &fit->in.rows[i]) <= log(OUTLIER))
			fit->left_out[i] = false;
	}
}

/*
 * Leave rows out, one by one, until a model explains what is left. When that
 * takes too many, nothing is an outlier: no model explains these times.
 */
static int leave_out(struct fit *fit, double limit, struct plx_error *err)
{
	bool few = fit->seen.rows <= FEW;
	size_t most = fit->seen.rows / (KEPT_PER_OUTLIER + 1);
	size_t row = 0;
	double first[PLX_FIT_PARTS];

	memcpy(first, fit->best, sizeof(first));
	for (size_t i = 0; i < most && worst_row(fit, &row) > limit; i++) {
		struct plx_model model = to_model(fit, fit->best);

		if (few && find_outlier(fit, &model, &row, err) < 0)
			return -1;
		fit->left_out[row] = true;
		if (fit_again(fit, &model, err) < 0)
			return -1;
	}
	if (worst_row(fit, &row) <= limit) {
		take_back(fit);
		if (fit_begin(fit, err) < 0)
			return -1;
		fit_cold(fit);
		return 0;
	}
	memset(fit->left_out, 0, fit->in.count * sizeof(*fit->left_out));
	memcpy(fit->best, first, sizeof(first));
	fit->seen = look(fit);
	return 0;
}

/* No row can be off by more than all together are: mostly nothing to do. */
static int fit_robust(struct fit *fit, struct plx_error *err)
{
	/* A model bends towards one of few rows, which so hides. */
	double limit = log(fit->seen.rows <= FEW ? SUSPECT : OUTLIER);
	size_t row;

	if (fit->best_loss * sqrt(fit->seen.rows) <= limit ||
	    worst_row(fit, &row) <= limit)
		return 0;
	fit->left_out = calloc(fit->in.count, sizeof(*fit->left_out));
	if (!fit->left_out)
		return plx_fail(err, "out of memory");
	return leave_out(fit, limit, err);
}

/* What the last row was expected to leave the loss at, with some room. */
static double loss_expected(const struct plx_model *start,
			    const struct fit *fit)
{
	return LOSS_RISE * plx_fit_loss(start, fit->in.rows, fit->in.count - 1);
}

int plx_fit_from(const struct plx_model *start, const struct plx_sample *rows,
		 size_t count, struct plx_model *model, struct plx_error *err)
{
	struct fit fit = {
		.in = { .rows = rows, .count = count, .growth = start->growth },
	};
	int rc = -1;

	if (fit_begin(&fit, err) < 0)
		return -1;
	if (fit.seen.rows == 0) {
		plx_fail(err, "no usable measurement among %zu", count);
		goto done;
	}
	if (fit.seen.rows > COLD_UP_TO && fit.seen.rows % COLD_EVERY != 0)
		fit_warm(&fit, start, LOOKS);
	if (isinf(fit.best_loss) ||
	    !(fit.best_loss <= loss_expected(start, &fit)))
		fit_cold(&fit);
	if (fit_robust(&fit, err) < 0)
		goto done;
	take_best(&fit, model);
	rc = 0;
done:
	plx_fit_table_release(&fit.table);
	free(fit.left_out);
	return rc;
}

int plx_fit(const struct plx_sample *rows, size_t count,
	    struct plx_model *model, struct plx_error *err)
{
	return plx_fit_from(&(struct plx_model){ .growth = PLX_BY_GPU }, rows,
			    count, model, err);
}
