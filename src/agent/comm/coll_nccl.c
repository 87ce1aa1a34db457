/* SPDX-License-Identifier: MIT */
/*
 * coll_nccl.c - the life of sums over NCCL
 *
 * NCCL is opened at run time, like CUDA (cuda_calls.h), so that one build
 * runs on machines with and without GPUs: without a driver this answers with
 * a sentence, and MPI carries the gradients. Compiled only where the headers
 * are. See coll_nccl.h.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/comm/coll_nccl.h"

#define FINALIZE_S 10 /* for the orderly end */

/* ncclConfig_t of 2.14, which all later ones take: its size then. */
#define CONFIG_SIZE 24

static const char *const nccl_names[] = { "libnccl.so.2", "libnccl.so", NULL };

static int nccl_ok(struct plx_nccl *n, ncclResult_t code, const char *what,
		   struct plx_error *err)
{
	if (code == ncclSuccess)
		return 0;
	return plx_fail(err, "%s failed: %s", what, n->calls.text(code));
}

/* ---- what is the base's ---- */

/* It waits as long as we are told to wait. */
static struct plx_coll *base_of(struct plx_coll *coll)
{
	struct plx_coll *base = ((struct plx_nccl *) coll)->base;

	base->timeout_s = coll->timeout_s;
	base->leaving = coll->leaving;
	base->pulser = coll->pulser;
	return base;
}

static int nccl_spread(struct plx_coll *coll, void *data, size_t bytes,
		       struct plx_error *err)
{
	struct plx_coll *base = base_of(coll);

	return base->ops->spread(base, data, bytes, err);
}

static int nccl_spread_idle(struct plx_coll *coll, void *data, size_t bytes,
			    struct plx_error *err)
{
	struct plx_coll *base = base_of(coll);

	return base->ops->spread_idle(base, data, bytes, err);
}

static int nccl_barrier(struct plx_coll *coll, struct plx_error *err)
{
	struct plx_coll *base = base_of(coll);

	return base->ops->barrier(base, err);
}

static int nccl_gather(struct plx_coll *coll, const void *data, size_t bytes,
		       void *out, struct plx_error *err)
{
	struct plx_coll *base = base_of(coll);

	return base->ops->gather(base, data, bytes, out, err);
}

static void nccl_abort(struct plx_coll *coll, int code)
{
	struct plx_nccl *n = (struct plx_nccl *) coll;

	plx_nccl_end_comm(n);
	n->base->ops->abort(n->base, code);
}

/* All but the base. */
static void release(struct plx_nccl *n)
{
	plx_nccl_release_sums(n);
	n->coll.timeout_s = FINALIZE_S;
	if (n->comm && n->calls.finalize)
		(void) plx_nccl_settle(n, n->calls.finalize(n->comm),
				       "ncclCommFinalize", NULL);
	if (n->comm)
		(void) n->calls.destroy(n->comm);
	if (n->ready)
		(void) n->cuda->event_destroy(n->ready);
	if (n->stream)
		(void) n->cuda->stream_destroy(n->stream);
	free(n);
}

static void nccl_destroy(struct plx_coll *coll)
{
	struct plx_coll *base = base_of(coll);

	release((struct plx_nccl *) coll);
	base->ops->destroy(base);
}

static const struct plx_coll_ops nccl_ops = {
	.name = "nccl",
	.sum = plx_nccl_sum,
	.sum_begin = plx_nccl_sum_begin,
	.sum_wait = plx_nccl_sum_wait,
	.spread = nccl_spread,
	.barrier = nccl_barrier,
	.gather = nccl_gather,
	.spread_idle = nccl_spread_idle,
	.abort = nccl_abort,
	.destroy = nccl_destroy,
};

/* ---- the beginning ---- */

static int find_calls(struct plx_nccl_calls *c, struct plx_error *err)
{
	const struct plx_symbol needed[] = {
		{ "ncclGetUniqueId", &c->unique_id },
		{ "ncclCommInitRank", &c->init },
		{ "ncclAllReduce", &c->all_reduce },
		{ "ncclCommGetAsyncError", &c->state },
		{ "ncclCommDestroy", &c->destroy },
		{ "ncclCommAbort", &c->abort },
		{ "ncclGetErrorString", &c->text },
	};
	const struct plx_symbol newer[] = {
		{ "ncclCommInitRankConfig", &c->init_config },
		{ "ncclCommFinalize", &c->finalize },
	};
	void *library = plx_cuda_open(nccl_names, err);

	if (!library ||
	    plx_cuda_find(library, needed, sizeof(needed) / sizeof(needed[0]),
			  err) < 0)
		return -1;
	if (plx_cuda_find(library, newer, sizeof(newer) / sizeof(newer[0]),
			  NULL) < 0) {
		c->init_config = NULL;
		c->finalize = NULL;
	}
	return 0;
}

/* All that a rank can find out alone. */
static int prepare(struct plx_nccl *n, struct plx_error *err)
{
	n->cuda = plx_cuda_get(err);
	if (!n->cuda || find_calls(&n->calls, err) < 0 ||
	    plx_cuda_choose(n->base->local_rank, &n->device, err) < 0)
		return -1;
	if (plx_cuda_check(n->cuda->stream_create(&n->stream,
						  cudaStreamNonBlocking),
			   "cudaStreamCreateWithFlags", err) < 0)
		return -1;
	return plx_cuda_check(n->cuda->event_create(&n->ready,
						    cudaEventDisableTiming),
			      "cudaEventCreateWithFlags", err);
}

/* True when all ranks are: one that is not makes the sum fall short. */
static bool all_ready(struct plx_coll *base, bool ready)
{
	float votes = ready ? 1 : 0;

	return base->ops->sum(base, &votes, 1, NULL) == 0 &&
	       (int) votes == base->ranks;
}

static int join(struct plx_nccl *n, ncclUniqueId id, struct plx_error *err)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclResult_t code;

	config.size = CONFIG_SIZE;
	config.version = NCCL_VERSION(2, 14, 0);
	config.blocking = 0;
	if (n->calls.init_config)
		code = n->calls.init_config(&n->comm, n->base->ranks, id,
					    n->base->rank, &config);
	else
		code = n->calls.init(&n->comm, n->base->ranks, id,
				     n->base->rank);
	return plx_nccl_settle(n, code, "start of NCCL", err);
}

/* Rank 0's id, or its failure, reaches all: nobody waits for a lost rank. */
static int connect_ranks(struct plx_nccl *n, struct plx_error *err)
{
	struct {
		bool good;
		ncclUniqueId id;
	} key = { .good = true };

	if (n->base->rank == 0)
		key.good = nccl_ok(n, n->calls.unique_id(&key.id),
				   "ncclGetUniqueId", err) == 0;
	if (n->base->ops->spread(n->base, &key, sizeof(key), err) < 0 ||
	    !key.good)
		return -1;
	return join(n, key.id, err);
}

/* What hindered a rank. */
struct hindrance {
	bool is;
	struct plx_error why;
};

/*
 * All say what hindered the first that could not: that one may be ended by
 * the others' leaving before it has said so itself.
 */
static void share_hindrance(struct plx_coll *base, bool ready,
			    struct plx_error *why)
{
	struct hindrance own = { .is = !ready, .why = *why };
	struct hindrance *all = NULL;

	if (base->rank == 0)
		all = calloc((size_t) base->ranks, sizeof(*all));
	if ((base->rank == 0 && !all) ||
	    base->ops->gather(base, &own, sizeof(own), all, NULL) < 0)
		goto done;
	for (int i = base->ranks - 1; all && i >= 0; i--) {
		if (all[i].is)
			own = all[i];
	}
	if (base->ops->spread(base, &own, sizeof(own), NULL) == 0 && own.is)
		*why = own.why;
done:
	free(all);
}

struct plx_coll *plx_coll_nccl_create(struct plx_coll *base,
				      struct plx_error *err)
{
	struct plx_nccl *n = calloc(1, sizeof(*n));
	bool ready = false;

	plx_fail(err, "another rank cannot use NCCL");
	if (n) {
		n->coll = *base;
		n->coll.ops = &nccl_ops;
		n->base = base;
		ready = prepare(n, err) == 0;
	} else {
		plx_fail(err, "out of memory");
	}
	/* Two votes: those who cannot begin must not leave others waiting. */
	if (all_ready(base, ready)) {
		ready = connect_ranks(n, err) == 0;
		if (all_ready(base, ready))
			return &n->coll;
	}
	share_hindrance(base, ready, err);
	if (n) {
		plx_nccl_end_comm(n); /* an orderly end would wait for all */
		release(n);
	}
	return NULL;
}
