/* SPDX-License-Identifier: MIT */
/* coll_nccl_comm.c - a communicator of NCCL: waited for, broken, ended */
#include <config.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "agent/comm/coll_nccl.h"
#include "agent/comm/coll_wait.h"

#define ABORT_MS 2000 /* ncclCommAbort() is given that long */

/* ---- its end ---- */

/* In a thread of its own, which outlives its owner if need be. */
struct abortion {
	int device;
	ncclComm_t comm;
	__typeof__(&ncclCommAbort) abort;
	__typeof__(&cudaSetDevice) set_device;
	atomic_int parties; /* who holds this: the last one frees it */
	atomic_bool done;
};

static void let_go(struct abortion *a)
{
	if (atomic_fetch_sub(&a->parties, 1) == 1)
		free(a);
}

static void *abort_comm(void *arg)
{
	struct abortion *a = arg;

	(void) a->set_device(a->device);
	(void) a->abort(a->comm);
	atomic_store(&a->done, true);
	let_go(a);
	return NULL;
}

void plx_nccl_end_comm(struct plx_nccl *n)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	struct abortion *a = n->comm ? calloc(1, sizeof(*a)) : NULL;
	pthread_t thread;

	if (!a)
		return;
	a->device = n->device;
	a->comm = n->comm;
	a->abort = n->calls.abort;
	a->set_device = n->cuda->set_device;
	atomic_init(&a->parties, 2);
	n->comm = NULL;
	if (pthread_create(&thread, NULL, abort_comm, a) != 0) {
		free(a);
		return;
	}
	pthread_detach(thread);
	for (int ms = 0; ms < ABORT_MS && !atomic_load(&a->done); ms++)
		nanosleep(&moment, NULL);
	let_go(a);
}

int plx_nccl_broken(struct plx_nccl *n, struct plx_error *err)
{
	n->broken = true;
	plx_nccl_end_comm(n);
	return plx_fail(err, "%s", n->why.text);
}

/* ---- waiting ---- */

ncclResult_t plx_nccl_state(struct plx_nccl *n)
{
	ncclResult_t later = ncclSuccess;
	ncclResult_t code = n->calls.state(n->comm, &later);

	return code == ncclSuccess ? later : code;
}

int plx_nccl_failed(struct plx_nccl *n, ncclResult_t code, const char *what,
		    struct plx_error *err)
{
	plx_fail(&n->why, "%s failed: %s", what, n->calls.text(code));
	return plx_nccl_broken(n, err);
}

int plx_nccl_settle(struct plx_nccl *n, ncclResult_t code, const char *what,
		    struct plx_error *err)
{
	struct plx_wait w = { .coll = &n->coll, .what = what };

	while (code == ncclInProgress) {
		if (plx_wait_more(&w, &n->why) < 0)
			return plx_nccl_broken(n, err);
		code = plx_nccl_state(n);
	}
	return code == ncclSuccess ? 0 : plx_nccl_failed(n, code, what, err);
}
