/* SPDX-License-Identifier: MIT */
/*
 * coll_nccl.c - sums over NCCL, the only file that includes CUDA or NCCL
 *
 * Both libraries are opened at run time, so that one build runs on machines
 * with and without GPUs: without a driver this answers with a sentence, and
 * MPI carries the gradients. They come from host memory and are staged
 * through one buffer on the GPU. Everything but sums stays with the base.
 *
 * Compiled only where the headers are. Written against NCCL 2.18 and later;
 * what runs in this project's tests is the refusal, not the sum.
 */
#include <config.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

/* Their headers are not held to our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <cuda_runtime_api.h>
#include <nccl.h>
#pragma GCC diagnostic pop

#include "agent/coll.h"

/* What we call, by the types of the headers. */
struct calls {
	__typeof__(&cudaGetDeviceCount) device_count;
	__typeof__(&cudaSetDevice) set_device;
	cudaError_t (*alloc)(void **, size_t);
	__typeof__(&cudaFree) release;
	__typeof__(&cudaMemcpyAsync) copy;
	__typeof__(&cudaStreamCreate) stream_create;
	__typeof__(&cudaStreamDestroy) stream_destroy;
	__typeof__(&cudaStreamSynchronize) wait;
	__typeof__(&cudaGetErrorString) cuda_text;
	__typeof__(&ncclGetUniqueId) unique_id;
	__typeof__(&ncclCommInitRank) init;
	__typeof__(&ncclAllReduce) all_reduce;
	__typeof__(&ncclCommDestroy) comm_destroy;
	__typeof__(&ncclCommAbort) comm_abort;
	__typeof__(&ncclGetErrorString) nccl_text;
};

struct nccl_coll {
	struct plx_coll coll;
	struct plx_coll *base; /* ours: rank numbers, spread, barrier */
	struct calls calls;
	void *cuda; /* from dlopen(); kept until the process ends */
	void *nccl;
	ncclComm_t comm;
	cudaStream_t stream;
	float *buffer; /* on the GPU */
	size_t room;   /* floats that fit */
};

static const char *const driver_names[] = { "libcuda.so.1", NULL };
static const char *const cuda_names[] = {
	"libcudart.so.13",
	"libcudart.so.12",
	"libcudart.so.11.0",
	"libcudart.so",
	NULL,
};
static const char *const nccl_names[] = { "libnccl.so.2", "libnccl.so", NULL };

static void *open_first(const char *const *names, struct plx_error *err)
{
	void *library = NULL;

	for (int i = 0; names[i] && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		plx_fail(err, "cannot open %s: %s", names[0], dlerror());
	return library;
}

static int find_calls(struct nccl_coll *n, struct plx_error *err)
{
	struct calls *c = &n->calls;
	const struct {
		void *library;
		const char *name;
		void *slot; /* of a function pointer */
	} wanted[] = {
		{ n->cuda, "cudaGetDeviceCount", &c->device_count },
		{ n->cuda, "cudaSetDevice", &c->set_device },
		{ n->cuda, "cudaMalloc", &c->alloc },
		{ n->cuda, "cudaFree", &c->release },
		{ n->cuda, "cudaMemcpyAsync", &c->copy },
		{ n->cuda, "cudaStreamCreate", &c->stream_create },
		{ n->cuda, "cudaStreamDestroy", &c->stream_destroy },
		{ n->cuda, "cudaStreamSynchronize", &c->wait },
		{ n->cuda, "cudaGetErrorString", &c->cuda_text },
		{ n->nccl, "ncclGetUniqueId", &c->unique_id },
		{ n->nccl, "ncclCommInitRank", &c->init },
		{ n->nccl, "ncclAllReduce", &c->all_reduce },
		{ n->nccl, "ncclCommDestroy", &c->comm_destroy },
		{ n->nccl, "ncclCommAbort", &c->comm_abort },
		{ n->nccl, "ncclGetErrorString", &c->nccl_text },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *symbol = dlsym(wanted[i].library, wanted[i].name);

		if (!symbol)
			return plx_fail(err, "no %s in the GPU libraries",
					wanted[i].name);
		/* POSIX allows it, ISO C has no cast for it. */
		*(void **) wanted[i].slot = symbol;
	}
	return 0;
}

static int cuda_ok(struct nccl_coll *n, cudaError_t code, const char *what,
		   struct plx_error *err)
{
	if (code == cudaSuccess)
		return 0;
	return plx_fail(err, "%s failed: %s", what, n->calls.cuda_text(code));
}

static int nccl_ok(struct nccl_coll *n, ncclResult_t code, const char *what,
		   struct plx_error *err)
{
	if (code == ncclSuccess)
		return 0;
	return plx_fail(err, "%s failed: %s", what, n->calls.nccl_text(code));
}

/* Slurm shows each rank its own GPU; without that, they take turns. */
static int choose_device(struct nccl_coll *n, struct plx_error *err)
{
	const char *local = getenv("SLURM_LOCALID");
	int number;
	int count = 0;

	if (!local)
		local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
	number = local ? atoi(local) : n->base->rank;
	if (cuda_ok(n, n->calls.device_count(&count), "cudaGetDeviceCount",
		    err) < 0)
		return -1;
	if (count < 1)
		return plx_fail(err, "there is no GPU");
	return cuda_ok(n, n->calls.set_device(number % count), "cudaSetDevice",
		       err);
}

/* All that a rank can find out alone. */
static int prepare(struct nccl_coll *n, struct plx_error *err)
{
	/* Asked first: without it, loading the rest would cost a start 0.1 s.
	 */
	if (!open_first(driver_names, err))
		return -1;
	n->cuda = open_first(cuda_names, err);
	if (!n->cuda)
		return -1;
	n->nccl = open_first(nccl_names, err);
	if (!n->nccl || find_calls(n, err) < 0 || choose_device(n, err) < 0)
		return -1;
	return cuda_ok(n, n->calls.stream_create(&n->stream),
		       "cudaStreamCreate", err);
}

/* True when all ranks are: one that is not makes the sum fall short. */
static bool all_ready(struct plx_coll *base, bool ready)
{
	float votes = ready ? 1 : 0;

	return base->ops->sum(base, &votes, 1, NULL) == 0 &&
	       (int) votes == base->ranks;
}

/* Rank 0's id, or its failure, reaches all: nobody waits for a lost rank. */
static int connect_ranks(struct nccl_coll *n, struct plx_error *err)
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
	return nccl_ok(n,
		       n->calls.init(&n->comm, n->base->ranks, key.id,
				     n->base->rank),
		       "ncclCommInitRank", err);
}

static int make_room(struct nccl_coll *n, size_t count, struct plx_error *err)
{
	void *buffer = NULL;

	if (count <= n->room)
		return 0;
	if (n->buffer)
		n->calls.release(n->buffer);
	n->buffer = NULL;
	n->room = 0;
	if (cuda_ok(n, n->calls.alloc(&buffer, count * sizeof(float)),
		    "cudaMalloc", err) < 0)
		return -1;
	n->buffer = buffer;
	n->room = count;
	return 0;
}

static int nccl_sum(struct plx_coll *coll, float *data, size_t count,
		    struct plx_error *err)
{
	struct nccl_coll *n = (struct nccl_coll *) coll;
	const struct calls *c = &n->calls;
	size_t bytes = count * sizeof(*data);

	if (make_room(n, count, err) < 0)
		return -1;
	if (cuda_ok(n,
		    c->copy(n->buffer, data, bytes, cudaMemcpyHostToDevice,
			    n->stream),
		    "copy to the GPU", err) < 0 ||
	    nccl_ok(n,
		    c->all_reduce(n->buffer, n->buffer, count, ncclFloat32,
				  ncclSum, n->comm, n->stream),
		    "ncclAllReduce", err) < 0 ||
	    cuda_ok(n,
		    c->copy(data, n->buffer, bytes, cudaMemcpyDeviceToHost,
			    n->stream),
		    "copy from the GPU", err) < 0)
		return -1;
	return cuda_ok(n, c->wait(n->stream), "cudaStreamSynchronize", err);
}

static int nccl_spread(struct plx_coll *coll, void *data, size_t bytes,
		       struct plx_error *err)
{
	struct plx_coll *base = ((struct nccl_coll *) coll)->base;

	return base->ops->spread(base, data, bytes, err);
}

static int nccl_barrier(struct plx_coll *coll, struct plx_error *err)
{
	struct plx_coll *base = ((struct nccl_coll *) coll)->base;

	return base->ops->barrier(base, err);
}

static int nccl_gather(struct plx_coll *coll, const void *data, size_t bytes,
		       void *out, struct plx_error *err)
{
	struct plx_coll *base = ((struct nccl_coll *) coll)->base;

	return base->ops->gather(base, data, bytes, out, err);
}

static int nccl_spread_idle(struct plx_coll *coll, void *data, size_t bytes,
			    struct plx_error *err)
{
	struct plx_coll *base = ((struct nccl_coll *) coll)->base;

	return base->ops->spread_idle(base, data, bytes, err);
}

static void nccl_abort(struct plx_coll *coll, int code)
{
	struct nccl_coll *n = (struct nccl_coll *) coll;

	if (n->comm)
		n->calls.comm_abort(n->comm);
	n->comm = NULL;
	n->base->ops->abort(n->base, code);
}

/* All but the base. */
static void release(struct nccl_coll *n)
{
	if (n->buffer)
		n->calls.release(n->buffer);
	if (n->comm)
		n->calls.comm_destroy(n->comm);
	if (n->stream)
		n->calls.stream_destroy(n->stream);
	free(n);
}

static void nccl_destroy(struct plx_coll *coll)
{
	struct plx_coll *base = ((struct nccl_coll *) coll)->base;

	release((struct nccl_coll *) coll);
	base->ops->destroy(base);
}

static const struct plx_coll_ops nccl_ops = {
	.name = "nccl",
	.sum = nccl_sum,
	.spread = nccl_spread,
	.barrier = nccl_barrier,
	.gather = nccl_gather,
	.spread_idle = nccl_spread_idle,
	.abort = nccl_abort,
	.destroy = nccl_destroy,
};

struct plx_coll *plx_coll_nccl_create(struct plx_coll *base,
				      struct plx_error *err)
{
	struct nccl_coll *n = calloc(1, sizeof(*n));
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
	if (n && n->comm)
		n->calls.comm_abort(n->comm); /* destroy would wait for all */
	if (n) {
		n->comm = NULL;
		release(n);
	}
	return NULL;
}
