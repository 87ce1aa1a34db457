/* SPDX-License-Identifier: MIT */
/* coll_self.c - collectives of one rank: next to nothing to do */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/comm/coll.h"

static int self_sum(struct plx_coll *coll, float *data, size_t count,
		    struct plx_error *err)
{
	(void) coll;
	(void) data;
	(void) count;
	(void) err;
	return 0;
}

static int self_sum_begin(struct plx_coll *coll, float *data, size_t count,
			  enum pollux_memory memory, struct plx_error *err)
{
	(void) coll;
	(void) data;
	(void) count;
	(void) memory;
	(void) err;
	return 0;
}

static int self_sum_wait(struct plx_coll *coll, const struct plx_seer *seer,
			 struct plx_error *err)
{
	(void) coll;
	(void) seer;
	(void) err;
	return 0;
}

static int self_spread(struct plx_coll *coll, void *data, size_t bytes,
		       struct plx_error *err)
{
	(void) coll;
	(void) data;
	(void) bytes;
	(void) err;
	return 0;
}

static int self_barrier(struct plx_coll *coll, struct plx_error *err)
{
	(void) coll;
	(void) err;
	return 0;
}

static int self_gather(struct plx_coll *coll, const void *data, size_t bytes,
		       void *out, struct plx_error *err)
{
	(void) coll;
	(void) err;
	if (bytes)
		memmove(out, data, bytes);
	return 0;
}

static void self_abort(struct plx_coll *coll, int code)
{
	(void) coll;
	(void) code;
}

static void self_destroy(struct plx_coll *coll)
{
	free(coll);
}

static const struct plx_coll_ops self_ops = {
	.name = "self",
	.sum = self_sum,
	.sum_begin = self_sum_begin,
	.sum_wait = self_sum_wait,
	.spread = self_spread,
	.barrier = self_barrier,
	.gather = self_gather,
	.spread_idle = self_spread,
	.abort = self_abort,
	.destroy = self_destroy,
};

struct plx_coll *plx_coll_self_create(struct plx_error *err)
{
	struct plx_coll *coll = calloc(1, sizeof(*coll));

	if (!coll) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	coll->ops = &self_ops;
	coll->ranks = 1;
	coll->nodes = 1;
	coll->local_ranks = 1;
	coll->timeout_s = PLX_COLL_TIMEOUT_S;
	return coll;
}
