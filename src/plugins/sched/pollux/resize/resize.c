/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resize.c - give a running job other nodes and GPUs, in place */

#include "sched/pollux/acct/acct.h"
#include "sched/pollux/rules/limits.h"
#include "sched/pollux/rules/nodes.h"
#include "sched/pollux/resize/constrain.h"
#include "sched/pollux/resize/lost.h"
#include "sched/pollux/resize/request.h"
#include "sched/pollux/resize/commit.h"

struct pollux_shape pollux_shape_of(const int *gpus, int node_count, int home)
{
	struct pollux_shape shape = { .nodes = bit_alloc(node_count) };
	bool differ = false;

	for (int n = 0; n < node_count; n++) {
		if (gpus[n] <= 0)
			continue;
		differ = differ || (shape.gpus && shape.gpus != gpus[n]);
		if (!shape.gpus || gpus[n] < shape.gpus)
			shape.gpus = gpus[n];
		bit_set(shape.nodes, n);
	}
	if (!shape.gpus)
		bit_set(shape.nodes, home);
	if (differ) {
		shape.counts = xcalloc(node_count, sizeof(*shape.counts));
		for (int n = 0; n < node_count; n++)
			shape.counts[n] = MAX(gpus[n], 0);
	}
	return shape;
}

int pollux_shape_gpus(const struct pollux_shape *shape)
{
	int sum = 0;

	for (int n = 0; n < node_record_count; n++)
		sum += pollux_shape_on(shape, n);
	return sum;
}

int pollux_shape_on(const struct pollux_shape *shape, int n)
{
	if (!bit_test(shape->nodes, n))
		return 0;
	return shape->counts ? shape->counts[n] : shape->gpus;
}

int pollux_shape_cpus_for(const struct pollux_shape *shape, int n)
{
	return shape->lean ? shape->lean[n] : pollux_shape_on(shape, n);
}

void pollux_shape_level(struct pollux_shape *shape,
			const struct plx_sizes *sizes)
{
	int *gpus = NULL;
	int best = 0;
	int nodes = 0;

	if (!shape->counts)
		return;
	gpus = xcalloc(node_record_count, sizeof(*gpus));
	for (int n = 0; n < node_record_count; n++)
		gpus[n] = pollux_shape_on(shape, n);
	best = plx_sizes_level(sizes, gpus, node_record_count, &nodes);
	for (int n = 0; n < node_record_count; n++) {
		if (!best || gpus[n] < best || nodes-- <= 0)
			bit_clear(shape->nodes, n);
	}
	shape->gpus = best;
	xfree(shape->counts);
	xfree(gpus);
}

void pollux_shape_release(struct pollux_shape *shape)
{
	xfree(shape->lean);
	FREE_NULL_BITMAP(shape->nodes);
	xfree(shape->counts);
}

static int _resize(job_record_t *job, const struct pollux_shape *shape,
		   bool commit, struct plx_error *err)
{
	struct pollux_request request;
	struct pollux_holding held = { NULL };
	struct plx_error lost;
	int rc = -1;

	if (pollux_nodes_test(job, shape, &held.barred, err) < 0)
		goto done;
	if (commit)
		pollux_acct_note(job);
	pollux_gres_take_out(job, &held);
	pollux_request_save(job, &request);
	if (pollux_request_write(job, shape, &request, err) < 0 ||
	    pollux_gres_new(job, shape, &held, &request, err) < 0)
		goto back;
	rc = pollux_limits_test(job, err);
	if (rc == 0 && commit)
		rc = pollux_constrain(job, held.devices, err);
	if (rc != 0 || !commit) {
		pollux_gres_drop(job);
		goto back;
	}
	pollux_resize_commit(job, &held, request.total_cpus);
	pollux_request_keep(job, &request);
	goto done;
back:
	pollux_request_restore(job, &request);
	if (pollux_gres_put_back(job, &held, &lost) < 0)
		pollux_lost_note(job, &lost);
done:
	pollux_holding_release(&held);
	return rc;
}

int pollux_resize(job_record_t *job, const struct pollux_shape *shape,
		  struct plx_error *err)
{
	if (pollux_constrain_busy(job->job_id))
		return POLLUX_CONSTRAINING;
	return _resize(job, shape, true, err);
}

int pollux_resize_test(job_record_t *job, const struct pollux_shape *shape,
		       struct plx_error *err)
{
	return _resize(job, shape, false, err);
}
