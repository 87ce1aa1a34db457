/* SPDX-License-Identifier: MIT */
/* cuda_host.c - arithmetic on gradients of a GPU, done by the host */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/gpu/cuda_calls.h"
#include "agent/gpu/cuda_host.h"

#define PIECE 1048576 /* numbers copied at once */

/* Pieces of a bucket's arrays. */
enum array { GRADIENT, SUM, PREVIOUS, PRECONDITION, ARRAYS };

struct plx_cuda_host {
	float *piece[ARRAYS];
	double *norms;
	int count;
};

struct plx_cuda_host *plx_cuda_host_create(int norms, struct plx_error *err)
{
	struct plx_cuda_host *h = calloc(1, sizeof(*h));
	bool good = h != NULL;

	if (h) {
		h->count = norms;
		h->norms = calloc((size_t) norms, sizeof(*h->norms));
		good = h->norms != NULL;
	}
	for (int i = 0; i < ARRAYS && good; i++) {
		h->piece[i] = malloc(PIECE * sizeof(float));
		good = h->piece[i] != NULL;
	}
	if (good)
		return h;
	plx_cuda_host_destroy(h);
	plx_fail(err, "out of memory");
	return NULL;
}

void plx_cuda_host_destroy(struct plx_cuda_host *h)
{
	if (!h)
		return;
	for (int i = 0; i < ARRAYS; i++)
		free(h->piece[i]);
	free(h->norms);
	free(h);
}

static int fetch(struct plx_cuda_host *h, enum array which, const float *from,
		 size_t n, struct plx_error *err)
{
	if (!from)
		return 0;
	return plx_cuda_copy(h->piece[which], from, n * sizeof(float), err);
}

static int store(struct plx_cuda_host *h, enum array which, float *to, size_t n,
		 struct plx_error *err)
{
	if (!to)
		return 0;
	return plx_cuda_copy(to, h->piece[which], n * sizeof(float), err);
}

/* What the piece at `at` has of an array that may be missing. */
static const float *from(const float *array, size_t at)
{
	return array ? array + at : NULL;
}

int plx_cuda_host_add(struct plx_cuda_host *h, const struct plx_gpu_bucket *b,
		      float weight, bool first, struct plx_error *err)
{
	const float *gradient = h->piece[GRADIENT];
	const float *precondition = h->piece[PRECONDITION];
	float *sum = h->piece[SUM];

	for (size_t at = 0; at < b->n; at += PIECE) {
		size_t n = b->n - at < PIECE ? b->n - at : PIECE;

		if (fetch(h, GRADIENT, b->gradient + at, n, err) < 0 ||
		    fetch(h, SUM, b->sum + at, n, err) < 0 ||
		    fetch(h, PRECONDITION, from(b->precondition, at), n, err) <
			    0)
			return -1;
		for (size_t i = 0; i < n; i++) {
			float g = weight != 0 ? gradient[i] : 0;
			double q = b->precondition ? g / precondition[i] : g;

			sum[i] = weight * g + (first ? 0 : sum[i]);
			h->norms[b->norm] += q * q;
		}
		if (store(h, SUM, b->sum + at, n, err) < 0)
			return -1;
	}
	return 0;
}

/* One piece of n, all of it fetched. */
static void mean_of_piece(struct plx_cuda_host *h,
			  const struct plx_gpu_bucket *b, size_t n,
			  float factor)
{
	for (size_t i = 0; i < n; i++) {
		float g = factor * h->piece[SUM][i];
		double by = b->precondition ? h->piece[PRECONDITION][i] : 1;

		h->norms[b->norm] += g / by * (g / by);
		h->piece[GRADIENT][i] = g;
		if (!b->previous)
			continue;
		h->norms[b->norm + 1] += g / by * (h->piece[PREVIOUS][i] / by);
		h->piece[PREVIOUS][i] = g;
	}
}

int plx_cuda_host_mean(struct plx_cuda_host *h, const struct plx_gpu_bucket *b,
		       float factor, struct plx_error *err)
{
	for (size_t at = 0; at < b->n; at += PIECE) {
		size_t n = b->n - at < PIECE ? b->n - at : PIECE;
		float *previous = b->previous ? b->previous + at : NULL;

		if (fetch(h, SUM, b->sum + at, n, err) < 0 ||
		    fetch(h, PREVIOUS, previous, n, err) < 0 ||
		    fetch(h, PRECONDITION, from(b->precondition, at), n, err) <
			    0)
			return -1;
		mean_of_piece(h, b, n, factor);
		if (store(h, GRADIENT, b->gradient + at, n, err) < 0 ||
		    store(h, PREVIOUS, previous, n, err) < 0)
			return -1;
	}
	return 0;
}

void plx_cuda_host_norms(struct plx_cuda_host *h, double *norms)
{
	memcpy(norms, h->norms, (size_t) h->count * sizeof(*norms));
	memset(h->norms, 0, (size_t) h->count * sizeof(*norms));
}
