/* SPDX-License-Identifier: MIT */
/*
 * beside.c - what ranks tell each other beside the step's gradient
 *
 * A second optimiser's gradients, and state that is not averaged. Messages of
 * their own, while no sum of the step is under way.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/device.h"

static int check(struct pollux *p, const char *call, const void *data)
{
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

static void weigh(const struct pollux *p, float *data, size_t count)
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
	weigh(p, host, count);
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
