/* SPDX-License-Identifier: MIT */
/*
 * alike.c - do all ranks still have the same state?
 *
 * A checkpoint has a part of each rank's state, so before one is written a
 * piece of each array is compared, another piece each time: a checksum to rank
 * 0, and one word back. Only where they differ is more looked at. Rounding
 * may differ between processors, or with their number (a norm of gradients
 * that is clipped by); that is told once and goes on. Ranks that train apart
 * end with the name of the first array.
 */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/device.h"
#include "agent/state/agent.h"
#include "agent/state/alike.h"
#include "agent/state/say.h"
#include "agent/state/store.h"
#include "core/base/crc.h"

#define PIECE  ((size_t) 65536)
#define APART  1e-2 /* of an array's size: no rounding any more */
#define NOBODY (-1)

/* What rank 0 has found. */
struct finding {
	int tensor; /* NOBODY: all are alike */
	int rank;
	double apart; /* INFINITY: not a matter of size */
};

/* ---- a piece of each array ---- */

static size_t piece_size(const struct plx_tensor *t)
{
	return t->bytes < PIECE ? t->bytes : PIECE;
}

/* Its bytes into piece. Pieces move on with the steps. */
static int read_piece(struct pollux *p, int tensor, unsigned char *piece)
{
	const struct plx_tensor *t = &p->registered.tensors[tensor];
	size_t size = piece_size(t);
	size_t pieces = size ? t->bytes / size : 1;
	size_t at = (size_t) (p->cursor.step % pieces) * size;

	if (!size)
		return 0;
	return plx_device_read(piece, (const char *) t->data + at, size,
			       t->memory, &p->err);
}

static int sum_up(struct pollux *p, uint32_t *crcs)
{
	unsigned char *piece = malloc(PIECE);
	int rc = 0;

	if (!piece)
		return plx_fail(&p->err, "out of memory");
	for (int i = 0; rc == 0 && i < p->registered.tensor_count; i++) {
		rc = read_piece(p, i, piece);
		crcs[i] = plx_crc32c(0, piece,
				     piece_size(&p->registered.tensors[i]));
	}
	free(piece);
	return rc;
}

/* ---- how far apart ---- */

static double half(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	double mantissa = bits & 1023;
	double value = exponent ? ldexp(1024 + mantissa, exponent - 25)
				: ldexp(mantissa, -24);

	return bits >> 15 ? -value : value;
}

static double number(const char *dtype, const unsigned char *piece, size_t i)
{
	uint16_t bits;
	uint32_t wide;
	float single;
	double value;

	if (!strcmp(dtype, "F64")) {
		memcpy(&value, piece + 8 * i, 8);
		return value;
	}
	if (!strcmp(dtype, "F32")) {
		memcpy(&single, piece + 4 * i, 4);
		return (double) single;
	}
	memcpy(&bits, piece + 2 * i, 2);
	if (!strcmp(dtype, "F16"))
		return half(bits);
	wide = (uint32_t) bits << 16;
	memcpy(&single, &wide, 4);
	return (double) single;
}

/* Of their size; INFINITY for what has none, or is not finite. */
static double distance(const struct plx_tensor *t, const unsigned char *a,
		       const unsigned char *b)
{
	size_t bytes = !strcmp(t->dtype, "F64")	  ? 8
		       : !strcmp(t->dtype, "F32") ? 4
						  : 2;
	double apart = 0;
	double size = 0;

	if (memcmp(a, b, PIECE) == 0)
		return 0;
	if (!strchr(t->dtype, 'F'))
		return INFINITY;
	for (size_t i = 0; i < piece_size(t) / bytes; i++) {
		double x = number(t->dtype, a, i);
		double y = number(t->dtype, b, i);

		if (x == y)
			continue;
		apart += (x - y) * (x - y);
		size += x * x;
	}
	apart = sqrt(apart / size);
	return isfinite(apart) ? apart : INFINITY;
}

/* ---- together ---- */

static int share(struct pollux *p, struct finding *f)
{
	if (p->coll->ops->spread(p->coll, f, sizeof(*f), &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	return 0;
}

/* bytes of each rank, at rank 0; the caller's to free, elsewhere NULL. */
static int collect(struct pollux *p, const void *own, size_t bytes,
		   unsigned char **all)
{
	*all = NULL;
	if (p->coll->rank == 0) {
		*all = malloc((size_t) p->coll->ranks * bytes);
		if (!*all)
			return plx_fail(&p->err, "out of memory");
	}
	if (p->coll->ops->gather(p->coll, own, bytes, *all, &p->err) == 0)
		return 0;
	free(*all);
	*all = NULL;
	return plx_fault(p, POLLUX_ECOMM);
}

/* The first array whose checksum is another than rank 0's. */
static int find_first(struct pollux *p, const uint32_t *crcs, struct finding *f)
{
	size_t bytes = (size_t) p->registered.tensor_count * sizeof(*crcs);
	unsigned char *all;

	if (collect(p, crcs, bytes, &all) < 0)
		return -1;
	for (int i = 0; all && i < p->registered.tensor_count; i++) {
		for (int r = 1; f->tensor == NOBODY && r < p->coll->ranks;
		     r++) {
			const unsigned char *of_rank = all + (size_t) r * bytes;

			if (memcmp(of_rank + (size_t) i * sizeof(*crcs),
				   crcs + i, sizeof(*crcs)) != 0)
				*f = (struct finding){ i, r, 0 };
		}
	}
	free(all);
	return share(p, f);
}

/* ... and the rank that is farthest from rank 0. */
static int find_farthest(struct pollux *p, struct finding *f)
{
	const struct plx_tensor *t = &p->registered.tensors[f->tensor];
	unsigned char *own = calloc(1, PIECE);
	unsigned char *all = NULL;
	int rc = -1;

	if (!own)
		plx_fail(&p->err, "out of memory");
	else if (read_piece(p, f->tensor, own) == 0)
		rc = collect(p, own, PIECE, &all);
	for (int r = 1; all && r < p->coll->ranks; r++) {
		double apart = distance(t, own, all + (size_t) r * PIECE);

		if (apart > f->apart)
			*f = (struct finding){ f->tensor, r, apart };
	}
	free(all);
	free(own);
	return rc < 0 ? -1 : share(p, f);
}

static int judge(struct pollux *p, const struct finding *f)
{
	const char *name = p->registered.tensors[f->tensor].name;

	if (f->apart <= APART) {
		if (!p->told_rounding)
			plx_say(p,
				"step %" PRIu64 ": \"%s\" of rank %d and rank "
				"0 differ by %.1g of its size: rounding of "
				"unlike processors, or it is trained apart",
				p->cursor.step, name, f->rank, f->apart);
		p->told_rounding = true;
		return 0;
	}
	/* Nor is it rescued, by any rank: one that leaves ends the others. */
	pthread_mutex_lock(&p->store->lock);
	p->store->has_commit = false;
	pthread_mutex_unlock(&p->store->lock);
	if (p->coll->ops->barrier(p->coll, &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	plx_fail(&p->err,
		 "\"%s\" differs between rank 0 and rank %d at step %" PRIu64
		 ": the ranks train apart, and this is not saved",
		 name, f->rank, p->cursor.step);
	return plx_fault(p, POLLUX_EINVAL);
}

static int compare(struct pollux *p, const uint32_t *crcs)
{
	size_t bytes = (size_t) p->registered.tensor_count * sizeof(*crcs);
	uint32_t own = plx_crc32c(0, crcs, bytes);
	struct finding f = { .tensor = NOBODY };
	unsigned char *all;

	if (collect(p, &own, sizeof(own), &all) < 0)
		return -1;
	for (int r = 1; all && r < p->coll->ranks; r++) {
		if (memcmp(all + (size_t) r * sizeof(own), &own, sizeof(own)))
			f.rank = r;
	}
	free(all);
	if (share(p, &f) < 0)
		return -1;
	if (!f.rank)
		return 0;
	if (find_first(p, crcs, &f) < 0 || find_farthest(p, &f) < 0)
		return -1;
	return judge(p, &f);
}

int plx_alike(struct pollux *p)
{
	uint32_t *crcs;
	int rc;

	if (p->coll->ranks == 1 || !p->registered.tensor_count)
		return 0;
	crcs = calloc((size_t) p->registered.tensor_count, sizeof(*crcs));
	if (!crcs)
		return plx_fail(&p->err, "out of memory");
	rc = sum_up(p, crcs);
	if (rc == 0)
		rc = compare(p, crcs);
	free(crcs);
	return rc;
}
