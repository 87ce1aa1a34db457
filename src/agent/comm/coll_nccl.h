/* SPDX-License-Identifier: MIT */
/*
 * coll_nccl.h - inside of the collectives over NCCL
 *
 * coll_nccl.c       life: libraries, device, connect, destroy; operations
 * coll_nccl_sum.c   sums, of device memory in place, of host memory staged
 * coll_nccl_comm.c  a communicator: waited for, broken, ended
 *
 * Sums run on a stream of our own, after all that was put on the legacy
 * default stream before them, beside what is put there later. All else is
 * the base's. A communicator that fails or is late is aborted, which ends its
 * kernels, and never touched again.
 *
 * This project's tests have run it against a stand-in for the libraries
 * only, never yet on a GPU. Written for NCCL 2.18 and later; earlier ones
 * cannot be told when to give up connecting.
 */
#ifndef PLX_AGENT_COLL_NCCL_H
#define PLX_AGENT_COLL_NCCL_H

#include <stdbool.h>

#include "agent/comm/coll.h"
#include "agent/gpu/cuda_calls.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <nccl.h>
#pragma GCC diagnostic pop

/* What we call, by the types of the header. */
struct plx_nccl_calls {
	__typeof__(&ncclGetUniqueId) unique_id;
	__typeof__(&ncclCommInitRank) init;
	__typeof__(&ncclAllReduce) all_reduce;
	__typeof__(&ncclCommGetAsyncError) state;
	__typeof__(&ncclCommDestroy) destroy;
	__typeof__(&ncclCommAbort) abort;
	__typeof__(&ncclGetErrorString) text;
	/* Since 2.14, else NULL: nothing in NCCL blocks. */
	__typeof__(&ncclCommInitRankConfig) init_config;
	__typeof__(&ncclCommFinalize) finalize;
};

/* A sum under way. */
struct plx_nccl_sum {
	float *data;
	size_t count;
	enum pollux_memory memory;
	float *pinned;	  /* copy on the host that a GPU can reach, and */
	float *device;	  /* on the GPU; both of host memory only */
	cudaEvent_t done; /* on our stream */
	struct plx_nccl_sum *next;
};

struct plx_nccl {
	struct plx_coll coll;
	struct plx_coll *base; /* ours: rank numbers, spread, barrier */
	const struct plx_cuda *cuda;
	struct plx_nccl_calls calls;
	int device;
	ncclComm_t comm;
	cudaStream_t stream;
	cudaEvent_t ready; /* the program's stream, when a sum begins */
	struct plx_nccl_sum *first; /* in the order begun */
	struct plx_nccl_sum *last;
	struct plx_nccl_sum *spare; /* done, to be used again */
	bool broken;		    /* why says so */
	struct plx_error why;
};

/* ---- coll_nccl_comm.c ---- */

/*
 * End its kernels, so that the GPU can be used again, say to save what is in
 * its memory. It may hang as well: then it is left behind.
 */
void plx_nccl_end_comm(struct plx_nccl *n);

/* Broken from now on, for the reason in why; the communicator is ended. */
int plx_nccl_broken(struct plx_nccl *n, struct plx_error *err);

/* The same; the reason is that `what` returned code. Always -1. */
int plx_nccl_failed(struct plx_nccl *n, ncclResult_t code, const char *what,
		    struct plx_error *err);

/* NCCL's threads and kernels report here what went wrong later. */
ncclResult_t plx_nccl_state(struct plx_nccl *n);

/* -1 and broken, unless code is success, or in progress and then success. */
int plx_nccl_settle(struct plx_nccl *n, ncclResult_t code, const char *what,
		    struct plx_error *err);

/* ---- coll_nccl_sum.c ---- */

void plx_nccl_release_sums(struct plx_nccl *n);

/* For the table of operations. */
int plx_nccl_sum(struct plx_coll *coll, float *data, size_t count,
		 struct plx_error *err);
int plx_nccl_sum_begin(struct plx_coll *coll, float *data, size_t count,
		       enum pollux_memory memory, struct plx_error *err);
int plx_nccl_sum_wait(struct plx_coll *coll, const struct plx_seer *seer,
		      struct plx_error *err);

#endif
