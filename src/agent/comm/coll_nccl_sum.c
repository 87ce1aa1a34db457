/* SPDX-License-Identifier: MIT */
/* coll_nccl_sum.c - sums over NCCL, and how long they are waited for */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/comm/coll_nccl.h"
#include "agent/comm/coll_wait.h"

#define TESTS_PER_QUESTION 64 /* of the event, before NCCL is asked */

/* ---- errors and waiting ---- */

static int usable(struct plx_nccl *n, struct plx_error *err)
{
	if (!n->broken)
		return 0;
	return plx_fail(err, "%s", n->why.text);
}

static int cuda_ok(struct plx_nccl *n, cudaError_t code, const char *what,
		   struct plx_error *err)
{
	if (plx_cuda_check(code, what, &n->why) == 0)
		return 0;
	return plx_nccl_broken(n, err);
}

/* Until the GPU has come to the event. */
static int await(struct plx_nccl *n, cudaEvent_t event, struct plx_error *err)
{
	static const char what[] = "sum over ranks by NCCL";
	struct plx_wait w = { .coll = &n->coll, .what = what };

	for (unsigned int tests = 1;; tests++) {
		cudaError_t code = n->cuda->event_query(event);

		if (code != cudaErrorNotReady)
			return cuda_ok(n, code, what, err);
		/* Nor should it be the program's last error. */
		(void) n->cuda->forget();
		if (tests % TESTS_PER_QUESTION == 0) {
			ncclResult_t later = plx_nccl_state(n);

			if (later != ncclSuccess && later != ncclInProgress)
				return plx_nccl_failed(n, later, what, err);
		}
		if (plx_wait_more(&w, &n->why) < 0)
			return plx_nccl_broken(n, err);
	}
}

/* ---- memory ---- */

static void destroy_sum(struct plx_nccl *n, struct plx_nccl_sum *s)
{
	if (s->done)
		(void) n->cuda->event_destroy(s->done);
	if (s->device)
		(void) n->cuda->release(s->device);
	if (s->pinned)
		(void) n->cuda->host_release(s->pinned);
	free(s);
}

static void destroy_sums(struct plx_nccl *n, struct plx_nccl_sum *s)
{
	while (s) {
		struct plx_nccl_sum *next = s->next;

		destroy_sum(n, s);
		s = next;
	}
}

void plx_nccl_release_sums(struct plx_nccl *n)
{
	/* Freeing waits for the GPU, which might not come to an end. */
	if (!n->broken) {
		destroy_sums(n, n->first);
		destroy_sums(n, n->spare);
	}
	n->first = n->last = n->spare = NULL;
}

static struct plx_nccl_sum *take_spare(struct plx_nccl *n, size_t count,
				       enum pollux_memory memory)
{
	for (struct plx_nccl_sum **at = &n->spare; *at; at = &(*at)->next) {
		struct plx_nccl_sum *s = *at;

		if (s->count == count && s->memory == memory) {
			*at = s->next;
			s->next = NULL;
			return s;
		}
	}
	return NULL;
}

static int get_staging(struct plx_nccl *n, struct plx_nccl_sum *s)
{
	size_t bytes = s->count * sizeof(float);
	void *pinned = NULL;
	void *device = NULL;

	if (plx_cuda_check(n->cuda->host_alloc(&pinned, bytes,
					       cudaHostAllocDefault),
			   "cudaHostAlloc", &n->why) < 0)
		return -1;
	s->pinned = pinned;
	if (plx_cuda_check(n->cuda->alloc(&device, bytes), "cudaMalloc",
			   &n->why) < 0)
		return -1;
	s->device = device;
	return 0;
}

static struct plx_nccl_sum *create_sum(struct plx_nccl *n, size_t count,
				       enum pollux_memory memory,
				       struct plx_error *err)
{
	struct plx_nccl_sum *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		plx_fail(&n->why, "out of memory");
		plx_nccl_broken(n, err);
		return NULL;
	}
	s->count = count;
	s->memory = memory;
	rc = plx_cuda_check(n->cuda->event_create(&s->done,
						  cudaEventDisableTiming),
			    "cudaEventCreateWithFlags", &n->why);
	if (rc == 0 && memory == POLLUX_HOST && count)
		rc = get_staging(n, s);
	if (rc == 0)
		return s;
	destroy_sum(n, s);
	/* The others would wait for us in this sum: it is the end for all. */
	plx_nccl_broken(n, err);
	return NULL;
}

/* ---- sums ---- */

/* What it needs to be on our stream before NCCL. */
static int bring(struct plx_nccl *n, struct plx_nccl_sum *s,
		 struct plx_error *err)
{
	const struct plx_cuda *c = n->cuda;
	size_t bytes = s->count * sizeof(*s->data);

	if (s->memory == POLLUX_HOST) {
		memcpy(s->pinned, s->data, bytes);
		return cuda_ok(n,
			       c->copy_async(s->device, s->pinned, bytes,
					     cudaMemcpyHostToDevice, n->stream),
			       "copy to the GPU", err);
	}
	if (cuda_ok(n, c->event_record(n->ready, cudaStreamLegacy),
		    "cudaEventRecord", err) < 0)
		return -1;
	return cuda_ok(n, c->stream_after(n->stream, n->ready, 0),
		       "cudaStreamWaitEvent", err);
}

static int launch(struct plx_nccl *n, struct plx_nccl_sum *s,
		  struct plx_error *err)
{
	const struct plx_cuda *c = n->cuda;
	float *at = s->memory == POLLUX_HOST ? s->device : s->data;
	ncclResult_t code;

	if (bring(n, s, err) < 0)
		return -1;
	code = n->calls.all_reduce(at, at, s->count, ncclFloat32, ncclSum,
				   n->comm, n->stream);
	/* Not until it is on the stream may anything follow it there. */
	if (plx_nccl_settle(n, code, "ncclAllReduce", err) < 0)
		return -1;
	if (s->memory == POLLUX_HOST &&
	    cuda_ok(n,
		    c->copy_async(s->pinned, s->device,
				  s->count * sizeof(*s->data),
				  cudaMemcpyDeviceToHost, n->stream),
		    "copy from the GPU", err) < 0)
		return -1;
	return cuda_ok(n, c->event_record(s->done, n->stream),
		       "cudaEventRecord", err);
}

/* NULL with err set, and broken. Ended by end_sum(). */
static struct plx_nccl_sum *begin_sum(struct plx_nccl *n, float *data,
				      size_t count, enum pollux_memory memory,
				      struct plx_error *err)
{
	struct plx_nccl_sum *s;

	if (usable(n, err) < 0)
		return NULL;
	s = take_spare(n, count, memory);
	if (!s)
		s = create_sum(n, count, memory, err);
	if (!s)
		return NULL;
	s->data = data;
	if (!count || launch(n, s, err) == 0)
		return s;
	/* Left alone: the GPU may still write to it. */
	return NULL;
}

static int end_sum(struct plx_nccl *n, struct plx_nccl_sum *s,
		   struct plx_error *err)
{
	if (s->count && await(n, s->done, err) < 0)
		return -1;
	if (s->count && s->memory == POLLUX_HOST)
		memcpy(s->data, s->pinned, s->count * sizeof(*s->data));
	s->next = n->spare;
	n->spare = s;
	return 0;
}

int plx_nccl_sum_begin(struct plx_coll *coll, float *data, size_t count,
		       enum pollux_memory memory, struct plx_error *err)
{
	struct plx_nccl *n = (struct plx_nccl *) coll;
	struct plx_nccl_sum *s = begin_sum(n, data, count, memory, err);

	if (!s)
		return -1;
	if (n->last)
		n->last->next = s;
	else
		n->first = s;
	n->last = s;
	return 0;
}

int plx_nccl_sum_wait(struct plx_coll *coll, const struct plx_seer *seer,
		      struct plx_error *err)
{
	struct plx_nccl *n = (struct plx_nccl *) coll;
	struct plx_nccl_sum *s = n->first;

	(void) seer;
	if (usable(n, err) < 0)
		return -1;
	if (!s)
		return plx_fail(err, "no sum is under way");
	n->first = s->next;
	if (!n->first)
		n->last = NULL;
	return end_sum(n, s, err);
}

int plx_nccl_sum(struct plx_coll *coll, float *data, size_t count,
		 struct plx_error *err)
{
	struct plx_nccl *n = (struct plx_nccl *) coll;
	struct plx_nccl_sum *s = begin_sum(n, data, count, POLLUX_HOST, err);

	return s ? end_sum(n, s, err) : -1;
}
