/* SPDX-License-Identifier: MIT */
/*
 * goodput_batch.c - the batch that maximises goodput on a shape
 *
 * With k = s + 1 passes of m samples a GPU takes q = k m samples a step. The
 * goodput is base_batch / cost, where
 *
 *	cost = t(k, m) (w0 + w1 / q)
 *
 * and t, the seconds of a step, is convex in m. Three facts make the search
 * short. Proofs are one line each, and tests/unit compares with trying all.
 *
 * 1. For a fixed k, cost is convex in 1/m: t(m) is, and so is t(m)/m. The
 *    best whole m is next to the only real one, found by Newton's method.
 * 2. For a fixed q, fewer passes are faster: each costs alpha_c, and a
 *    longer last one hides more of the all-reduce. So the best over real m
 *    bounds what more passes could reach, and the search ends soon.
 * 3. At m = m_max, t is linear in k, and the best real k has a closed form.
 */
#include <math.h>
#include <stdint.h>

#include "core/model/goodput.h"

/* What one call looks for. */
struct search {
	double alpha, beta; /* seconds of a pass, and per sample */
	double sync;	    /* seconds of an all-reduce */
	double gamma;
	double w0, w1;		/* see above */
	int64_t m_min, m_max;	/* samples of a pass */
	int64_t k_min;		/* passes of a step */
	int64_t q_min, q_max;	/* samples of a step on a GPU */
	double cost;		/* the best so far, INFINITY if none, */
	struct plx_batch batch; /* and its batch */
};

/* Seconds of a step, and its first two derivatives by m. */
struct slope {
	double t, t1, t2;
};

enum {
	NEWTON_MAX = 60,  /* bisection alone needs 31 */
	PROBE_MAX = 4096, /* k tried for a whole m in the window */
	IMPROVE_MAX = 16, /* k tried to better what is found */
};
#define SMALL_MAX   20000 /* m looked at for small passes */
#define GOOD_ENOUGH 1e-4  /* relative gain not worth another k */

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The pass that synchronises: (x^gamma + sync^gamma)^(1/gamma). */
static struct slope last_pass(const struct search *s, double x)
{
	bool computing = x >= s->sync;
	double ratio = computing ? s->sync / x : x / s->sync;
	double z = ratio > 0 ? pow(ratio, s->gamma) : 0;
	double share = computing ? 1 / (1 + z) : z / (1 + z);
	double t = computing ? x : s->sync;

	if (z > 0)
		t *= pow(1 + z, 1 / s->gamma);
	return (struct slope){
		.t = t,
		.t1 = t * share / x,
		.t2 = (s->gamma - 1) * t * share * (1 - share) / (x * x),
	};
}

static struct slope step_at(const struct search *s, int64_t k, double m)
{
	double x = s->alpha + s->beta * m;
	struct slope last = last_pass(s, x);

	return (struct slope){
		.t = (k - 1) * x + last.t,
		.t1 = s->beta * ((k - 1) + last.t1),
		.t2 = s->beta * s->beta * last.t2,
	};
}

static double cost_at(const struct search *s, int64_t k, double m)
{
	return step_at(s, k, m).t * (s->w0 + s->w1 / (k * m));
}

static void try_batch(struct search *s, int64_t k, int64_t m)
{
	double cost = cost_at(s, k, m);

	if (!(cost < s->cost))
		return;
	s->cost = cost;
	s->batch = (struct plx_batch){ .per_gpu = m, .accum = k - 1 };
}

/* Where cost is least for real m in [low, high]: fact 1. */
static double best_real(const struct search *s, int64_t k, double low,
			double high)
{
	double p = s->w1 / k;
	double a = low;
	double b = high;
	bool a_known = false;
	bool b_known = false;
	double m;

	if (!(p > 0))
		return low;
	/* Exact were the all-reduce not hidden at all. */
	m = sqrt(p * (k * s->alpha + s->sync) / (k * s->beta * s->w0));
	for (int i = 0; i < NEWTON_MAX && a < b; i++) {
		double here = m < a ? a : m < b ? m : b;
		struct slope d = step_at(s, k, here);
		double area = here * (s->w0 * here + p);
		double e = d.t1 * area - p * d.t;
		double e1 = d.t2 * area + 2 * s->w0 * here * d.t1;

		if (e > 0) {
			b = here;
			b_known = true;
		} else {
			a = here;
			a_known = true;
		}
		m = here - e / e1;
		if (fabs(m - here) < 0.01 + 1e-4 * here)
			break;
		if (!(m > a ? m < b || !b_known : !a_known))
			m = a + (b - a) / 2;
	}
	return m < a ? a : m < b ? m : b;
}

/*
 * Take the best whole m for this k. Returns a bound: no batch of k or more
 * passes costs less; NAN when k has no whole m.
 */
static double try_passes(struct search *s, int64_t k)
{
	int64_t low = max(s->m_min, ceil_div(s->q_min, k));
	int64_t high = min(s->m_max, s->q_max / k);
	double real;
	int64_t m;

	if (low > high)
		return NAN;
	real = best_real(s, k, fmax(s->m_min, s->q_min / (double) k),
			 fmin(s->m_max, s->q_max / (double) k));
	m = max(low, min(high, (int64_t) real));
	try_batch(s, k, m);
	if (m < high)
		try_batch(s, k, m + 1);
	return cost_at(s, k, real);
}

/* The real number of passes that costs least when m is fixed: fact 3. */
static double best_passes(const struct search *s, int64_t m)
{
	double x = s->alpha + s->beta * m;
	double shown = last_pass(s, x).t - x;
	double k = sqrt(shown * s->w1 / (x * s->w0 * m));
	double high = s->q_max / (double) m;

	if (!(k < high))
		k = high;
	return fmax(k, fmax(s->k_min, s->q_min / (double) m));
}

static int64_t first_passes(const struct search *s)
{
	if (s->m_max >= s->q_max)
		return s->k_min;
	return ceil(best_passes(s, s->m_max));
}

/*
 * Few k divide a number in a narrow window, or a good one where passes cost
 * nothing. Many k are left then, but few m; a model made up to have many of
 * both is looked at in strides.
 */
static void try_small(struct search *s, int64_t k_tried)
{
	int64_t m_top = min(s->m_max, s->q_max / k_tried);
	int64_t stride = 1 + max(0, m_top - s->m_min) / SMALL_MAX;

	for (int64_t m = m_top; m >= s->m_min; m -= stride) {
		int64_t low = max(s->k_min, ceil_div(s->q_min, m));
		int64_t high = s->q_max / m;
		int64_t k;

		if (low > high)
			continue;
		k = max(low, min(high, (int64_t) best_passes(s, m)));
		try_batch(s, k, m);
		if (k < high)
			try_batch(s, k + 1, m);
	}
}

static void search_passes(struct search *s)
{
	int64_t first = first_passes(s);
	int64_t last = min(s->q_max / s->m_min, first + PROBE_MAX);
	int64_t k = first;
	int improved = 0;

	/* Fewer than the first lack samples: full passes are the best left. */
	if (first > s->k_min && (first - 1) * s->m_max >= s->q_min)
		try_batch(s, first - 1, s->m_max);
	for (; k <= last && improved < IMPROVE_MAX; k++) {
		double bound = try_passes(s, k);

		if (isnan(bound))
			continue;
		/* With one pass every q was open already. */
		if ((k == 1 && s->m_max >= s->q_max) ||
		    !(bound < s->cost * (1 - GOOD_ENOUGH)))
			return;
		improved++;
	}
	try_small(s, k);
}

/*
 * No batch between base_batch and max_batch divides into this shape: the
 * largest below it that does.
 */
static struct plx_batch largest_below(const struct search *s, int64_t q_top,
				      bool accumulate)
{
	int64_t best_k = 1;
	int64_t best_m = min(s->m_max, q_top);
	int64_t k = ceil_div(q_top, s->m_max);

	if (!accumulate)
		k = 1;
	for (int64_t end = k + PROBE_MAX; k < end && k * s->m_min <= q_top;
	     k++) {
		int64_t m = min(s->m_max, q_top / k);

		if (k * m > best_k * best_m) {
			best_k = k;
			best_m = m;
		}
		if (!accumulate || best_k * best_m == q_top)
			break;
	}
	return (struct plx_batch){ .per_gpu = best_m, .accum = best_k - 1 };
}

static struct search search_begin(const struct plx_goodput *job,
				  struct plx_shape shape)
{
	const struct plx_limits *l = &job->limits;
	double sum = job->noise.sqr + job->noise.var;
	int64_t q_max = l->max_batch / shape.gpus;

	return (struct search){
		.alpha = job->model.alpha_c,
		.beta = job->model.beta_c,
		.sync = fmax(plx_sync_seconds(&job->model, shape),
			     PLX_SYNC_FLOOR_S),
		.gamma = job->model.gamma,
		.w0 = sum > 0 ? job->noise.sqr / sum : 1,
		.w1 = sum > 0 ? job->noise.var / sum * l->base_batch /
					shape.gpus
			      : 0,
		.m_min = l->min_per_gpu,
		.m_max = min(l->max_per_gpu, q_max),
		.k_min = 1,
		.q_min = ceil_div(l->base_batch, shape.gpus),
		.q_max = q_max,
		.cost = INFINITY,
	};
}

/* The noise estimate needs two gradients: of two GPUs, or of two passes. */
static void search_one_gpu(struct search *s)
{
	s->k_min = 2;
	if (s->q_min >= s->m_min && s->q_min <= s->m_max)
		try_batch(s, 1, s->q_min);
	search_passes(s);
	if (!isinf(s->cost))
		return;
	/* Better no estimate than no training. */
	s->k_min = 1;
	try_passes(s, 1);
}

bool plx_batch_best(const struct plx_goodput *job, struct plx_shape shape,
		    struct plx_batch *best, double *goodput)
{
	bool accumulate = job->limits.accumulate;
	struct search s;

	if (shape.gpus < 1)
		return false;
	s = search_begin(job, shape);
	if (s.m_min < 1 || s.m_min > s.m_max)
		return false;
	if (!accumulate)
		try_passes(&s, 1);
	else if (shape.gpus == 1)
		search_one_gpu(&s);
	else
		search_passes(&s);
	if (isinf(s.cost))
		s.batch = largest_below(&s, s.q_min - 1, accumulate);
	*goodput = plx_goodput(job, shape, s.batch);
	if (best)
		*best = s.batch;
	return true;
}
