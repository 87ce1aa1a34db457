/* SPDX-License-Identifier: MIT */
/*
 * gradient_walk.h - one pass over the numbers of a gradient
 *
 * All that is wanted of them at one moment is done in one walk through
 * memory, norms in double precision. A number that is not finite makes the
 * norm so. Pure.
 */
#ifndef PLX_AGENT_GRADIENT_WALK_H
#define PLX_AGENT_GRADIENT_WALK_H

#include <stdbool.h>
#include <stddef.h>

/* What is wanted in a walk. */
struct plx_gradient_walk {
	const float *in;
	float *out;		   /* = weight * in; may be in; or NULL */
	bool add;		   /* out += weight * in */
	float weight;		   /* 1 without out */
	float *previous;	   /* another gradient, or NULL; with it: */
	bool compare;		   /* take the product with out, and/or */
	bool keep;		   /* then previous = out */
	const float *precondition; /* divides each number for norms, or NULL */
	size_t n;
};

/* Sums over all numbers, each divided by its precondition. */
struct plx_gradient_norms {
	double sqr;   /* in * in; of out instead where there is previous */
	double cross; /* out * previous as it was; 0 unless compared */
};

struct plx_gradient_norms plx_gradient_walk(
	const struct plx_gradient_walk *walk);

/*
 * Without norms, at the speed of memory: out = weight * in, out may be in, or
 * NULL. Are all numbers finite?
 */
bool plx_gradient_walk_plain(const float *in, float *out, float weight,
			     size_t n);

#endif
