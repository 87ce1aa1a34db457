/* SPDX-License-Identifier: MIT */
/*
 * gradient_walk.c - one pass over the numbers of a gradient
 *
 * Four numbers at a time, in vectors that the compiler maps to what the
 * machine has. One walk for each of the few things that are done, so that
 * none has to decide anything on its way.
 *
 * Ranks must come to the same bits whatever processor each has: the order of
 * additions is fixed, and nothing is fused that is not so everywhere.
 */
#include <config.h>

#include <string.h>

#include "agent/gradient/gradient_walk.h"

#define WIDTH  4
#define INLINE static inline __attribute__((always_inline))

typedef float floats __attribute__((vector_size(WIDTH * sizeof(float))));
typedef double doubles __attribute__((vector_size(WIDTH * sizeof(double))));

/* What a walk does; constant in each. */
struct kind {
	bool write;
	bool add;
	bool compare;
	bool keep;
	bool divide;
};

/* Sums so far, four of each. */
struct sums {
	doubles sqr;
	doubles cross;
};

/* Numbers i to i + WIDTH - 1. */
INLINE void walk(const struct plx_gradient_walk *f, struct kind kind, size_t i,
		 struct sums *sums)
{
	floats in;
	floats out;
	doubles seen;
	doubles by;

	memcpy(&in, f->in + i, sizeof(in));
	out = in;
	if (kind.write)
		out = in * f->weight;
	seen = __builtin_convertvector(kind.compare || kind.keep ? out : in,
				       doubles);
	if (kind.divide) {
		floats precondition;

		memcpy(&precondition, f->precondition + i, sizeof(in));
		by = __builtin_convertvector(precondition, doubles);
		seen /= by;
	}
	sums->sqr += seen * seen;
	if (kind.compare) {
		floats before;
		doubles old;

		memcpy(&before, f->previous + i, sizeof(before));
		old = __builtin_convertvector(before, doubles);
		if (kind.divide)
			old /= by;
		sums->cross += seen * old;
	}
	if (kind.keep)
		memcpy(f->previous + i, &out, sizeof(out));
	if (kind.add) {
		floats sum;

		memcpy(&sum, f->out + i, sizeof(sum));
		out += sum;
	}
	if (kind.write)
		memcpy(f->out + i, &out, sizeof(out));
}

/* The same for one number. */
INLINE void step(const struct plx_gradient_walk *f, struct kind kind, size_t i,
		 struct plx_gradient_norms *folded)
{
	float in = f->in[i];
	float out = kind.write ? in * f->weight : in;
	double by = kind.divide ? (double) f->precondition[i] : 1;
	double seen = (double) (kind.compare || kind.keep ? out : in) / by;

	folded->sqr += seen * seen;
	if (kind.compare)
		folded->cross += seen * ((double) f->previous[i] / by);
	if (kind.keep)
		f->previous[i] = out;
	if (kind.write)
		f->out[i] = kind.add ? f->out[i] + out : out;
}

INLINE struct plx_gradient_norms run(const struct plx_gradient_walk *f,
				     struct kind kind)
{
	/* Two chains: an addition need not wait for the one before it. */
	struct sums sums[2] = { 0 };
	struct plx_gradient_norms folded = { 0 };
	size_t i = 0;

	for (; i + 2 * WIDTH <= f->n; i += 2 * WIDTH) {
		walk(f, kind, i, &sums[0]);
		walk(f, kind, i + WIDTH, &sums[1]);
	}
	for (; i < f->n; i++)
		step(f, kind, i, &folded);
	for (int k = 0; k < WIDTH; k++) {
		folded.sqr += sums[0].sqr[k] + sums[1].sqr[k];
		folded.cross += sums[0].cross[k] + sums[1].cross[k];
	}
	return folded;
}

/* Beside a gradient kept before, or for one that comes next. */
INLINE struct plx_gradient_norms choose_beside(
	const struct plx_gradient_walk *f, bool divide, bool write)
{
	if (f->compare && f->keep)
		return run(f,
			   (struct kind){ write, false, true, true, divide });
	if (f->compare)
		return run(f,
			   (struct kind){ write, false, true, false, divide });
	return run(f, (struct kind){ write, false, false, true, divide });
}

INLINE struct plx_gradient_norms choose(const struct plx_gradient_walk *f,
					bool divide)
{
	if (f->previous && f->out)
		return choose_beside(f, divide, true);
	if (f->previous)
		return choose_beside(f, divide, false);
	if (f->out && f->add)
		return run(f, (struct kind){ .write = true,
					     .add = true,
					     .divide = divide });
	if (f->out)
		return run(f, (struct kind){ .write = true, .divide = divide });
	return run(f, (struct kind){ .divide = divide });
}

INLINE struct plx_gradient_norms walk_all(const struct plx_gradient_walk *f)
{
	return f->precondition ? choose(f, true) : choose(f, false);
}

#ifdef __x86_64__
/* Twice as wide as what every x86-64 has; no fused multiply-add. */
__attribute__((target("avx2"))) static struct plx_gradient_norms walk_wide(
	const struct plx_gradient_walk *f)
{
	return walk_all(f);
}
#endif

struct plx_gradient_norms plx_gradient_walk(
	const struct plx_gradient_walk *walk)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return walk_wide(walk);
#endif
	return walk_all(walk);
}

/* ---- without norms ---- */

#define WIDE  8	  /* numbers of a vector; the order of additions is free */
#define LINE  16  /* numbers of a line of a cache */
#define AHEAD 512 /* numbers: as far as memory is slow, found by trying */

typedef float wides __attribute__((vector_size(WIDE * sizeof(float))));

/*
 * What is not finite is not 0 times 0 either, and stays so in a sum. Lines are
 * asked for early: there is nothing to do but to wait for memory.
 */
INLINE bool plain(const float *in, float *out, float weight, size_t n)
{
	wides sums[4] = { 0 };
	float rest = 0;
	size_t i = 0;

	for (; i + 4 * WIDE <= n; i += 4 * WIDE) {
		__builtin_prefetch(in + i + AHEAD);
		__builtin_prefetch(in + i + AHEAD + LINE);
		for (int k = 0; k < 4; k++) {
			wides x;

			memcpy(&x, in + i + k * WIDE, sizeof(x));
			sums[k] += x * 0.0f;
			x *= weight;
			if (out)
				memcpy(out + i + k * WIDE, &x, sizeof(x));
		}
	}
	for (; i < n; i++) {
		rest += in[i] * 0.0f;
		if (out)
			out[i] = in[i] * weight;
	}
	for (int k = 0; k < WIDE; k++)
		rest += sums[0][k] + sums[1][k] + sums[2][k] + sums[3][k];
	return rest == 0;
}

INLINE bool plain_all(const float *in, float *out, float weight, size_t n)
{
	return out ? plain(in, out, weight, n) : plain(in, NULL, 1, n);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static bool plain_wide(const float *in,
						       float *out, float weight,
						       size_t n)
{
	return plain_all(in, out, weight, n);
}
#endif

bool plx_gradient_walk_plain(const float *in, float *out, float weight,
			     size_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return plain_wide(in, out, weight, n);
#endif
	return plain_all(in, out, weight, n);
}
