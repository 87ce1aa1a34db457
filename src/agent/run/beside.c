/* SPDX-License-Identifier: MIT */
/*
 * beside.c - what ranks tell each other beside the step's gradient
 *
 * A second optimiser's gradients, and state that is not averaged. Messages of
 * their own, while no sum of the step is under way.
 */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/device.h"
#include "agent/state/agent.h"
#include "agent/state/call.h"
#include "agent/state/say.h"

static int check(struct pollux *p, const char *call, const void *data)
{
	if (!p)
		return POLLUX_EINVAL;
	if (p->stage != PLX_STAGE_PASS && p->stage != PLX_STAGE_SYNCED)
		return plx_misuse(p, call);
	if (!data || (p->stage == PLX_STAGE_PASS && p->step.begun)) {
		plx_fail(&p->err, "%s %s", call,
			 data ? "while the step's sum is under way"
			      : "without data");
		plx_fault(p, POLLUX_EINVAL);
		return plx_end(p);
	}
	return 0;
}

/* The data where the host can work on them; NULL with p->err set. */
static void *on_host(struct pollux *p, void *data, size_t bytes,
		     enum pollux_memory memory)
{
	void *host;

	if (memory == POLLUX_HOST)
		return data;
	host = malloc(bytes);
	if (!host)
		plx_fail(&p->err, "out of memory");
	else if (plx_device_read(host, data, bytes, memory, &p->err) == 0)
		return host;
	free(host);
	return NULL;
}

/* rc: whether it is to be written back. */
static int back(void *data, void *host, size_t bytes, enum pollux_memory memory,
		struct pollux *p, int rc)
{
	if (host == data)
		return rc;
	if (rc == 0)
		rc = plx_device_write(data, host, bytes, memory, &p->err);
	free(host);
	return rc;
}

static void scale(const struct pollux *p, float *data, size_t count)
{
	double by = (double) p->step.count /
		    ((double) p->step.batch * p->loss_scale);

	/* Of a pass without samples it is no mean, and perhaps not finite. */
	if (!p->step.count)
		memset(data, 0, count * sizeof(*data));
	for (size_t i = 0; i < count; i++)
		data[i] = (float) (by * (double) data[i]);
}

int pollux_mean(struct pollux *p, float *data, size_t count,
		enum pollux_memory memory)
{
	size_t bytes = count * sizeof(*data);
	int rc = check(p, "pollux_mean()", data);
	float *host;

	if (rc < 0)
		return rc;
	if (p->batch.accum) {
		plx_fail(&p->err, "pollux_mean() in a step of several passes: "
				  "set accumulate to false");
		plx_fault(p, POLLUX_EINVAL);
		return plx_end(p);
	}
	host = on_host(p, data, bytes, memory);
	if (!host)
		return plx_end(p);
	scale(p, host, count);
	rc = p->coll->ops->sum(p->coll, host, count, &p->err);
	if (rc < 0)
		plx_fault(p, POLLUX_ECOMM);
	return back(data, host, bytes, memory, p, rc) < 0 ? plx_end(p) : 0;
}

int pollux_spread(struct pollux *p, void *data, size_t bytes,
		  enum pollux_memory memory)
{
	int rc = check(p, "pollux_spread()", data);
	void *host;

	if (rc < 0)
		return rc;
	host = on_host(p, data, bytes, memory);
	if (!host)
		return plx_end(p);
	rc = p->coll->ops->spread(p->coll, host, bytes, &p->err);
	if (rc < 0)
		plx_fault(p, POLLUX_ECOMM);
	return back(data, host, bytes, memory, p, rc) < 0 ? plx_end(p) : 0;
}

/* ---- sums for the program ---- */

#define SUM_MOST 4096 /* numbers of a rank that rank 0 holds at a time */

/* May a message of our own be sent now, by all ranks alike? */
static bool is_free(const struct pollux *p)
{
	if (p->stage == PLX_STAGE_NEW || p->failed || p->stopped)
		return false;
	return p->stage != PLX_STAGE_PASS || !p->step.begun;
}

/* Ranks that sum different numbers of them would wait for ever, or worse. */
static int same_count(struct pollux *p, size_t count)
{
	const struct plx_coll_ops *ops = p->coll->ops;
	uint64_t own = count;
	uint64_t *all = NULL;
	struct {
		uint64_t count, of_rank;
		int rank;
	} other = { 0 };
	int rc = -1;

	if (p->coll->rank == 0) {
		all = calloc((size_t) p->coll->ranks, sizeof(*all));
		if (!all)
			return plx_fail(&p->err, "out of memory");
	}
	if (ops->gather(p->coll, &own, sizeof(own), all, &p->err) == 0) {
		for (int rank = 0; all && rank < p->coll->ranks; rank++) {
			if (all[rank] != count && !other.rank) {
				other.rank = rank;
				other.of_rank = all[rank];
				other.count = count;
			}
		}
		rc = ops->spread(p->coll, &other, sizeof(other), &p->err);
	}
	free(all);
	if (rc < 0)
		return plx_fault(p, POLLUX_ECOMM);
	if (!other.rank)
		return 0;
	plx_fail(&p->err,
		 "pollux_sum(): rank %d sums %" PRIu64
		 " numbers, rank 0 %" PRIu64,
		 other.rank, other.of_rank, other.count);
	return plx_fault(p, POLLUX_EINVAL);
}

/* In the order of ranks, so that the result does not depend on timing. */
static int sum_some(struct pollux *p, double *values, size_t count, double *all)
{
	const struct plx_coll_ops *ops = p->coll->ops;

	if (ops->gather(p->coll, values, count * sizeof(*values), all,
			&p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	for (size_t i = 0; all && i < count; i++) {
		values[i] = 0;
		for (int rank = 0; rank < p->coll->ranks; rank++)
			values[i] += all[(size_t) rank * count + i];
	}
	if (ops->spread(p->coll, values, count * sizeof(*values), &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	return 0;
}

int pollux_sum(struct pollux *p, double *values, size_t count)
{
	int rc = plx_given(p, "pollux_sum()", "values", values);
	double *all = NULL;

	if (rc < 0)
		return rc;
	if (!is_free(p))
		return plx_misuse(p, "pollux_sum()");
	if (p->coll->ranks == 1)
		return 0;
	if (p->coll->rank == 0) {
		all = calloc((size_t) p->coll->ranks * SUM_MOST, sizeof(*all));
		if (!all) {
			plx_fail(&p->err, "out of memory");
			return plx_end(p);
		}
	}
	rc = same_count(p, count);
	for (size_t at = 0; rc == 0 && at < count; at += SUM_MOST)
		rc = sum_some(p, values + at,
			      count - at < SUM_MOST ? count - at : SUM_MOST,
			      all);
	free(all);
	return rc < 0 ? plx_end(p) : 0;
}
