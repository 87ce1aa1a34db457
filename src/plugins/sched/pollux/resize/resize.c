/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resize.c - give a running job other nodes and GPUs, in place */

#include "common/node_parts.h"
#include "sched/pollux/acct/acct.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/rules/limits.h"
#include "sched/pollux/rules/left_nodes.h"
#include "sched/pollux/rules/nodes.h"
#include "sched/pollux/resize/resize.h"
#include "sched/pollux/resize/constrain.h"
#include "sched/pollux/resize/gres_alloc.h"
#include "sched/pollux/resize/lost.h"
#include "sched/pollux/resize/request.h"
#include "sched/pollux/resize/commit.h"

/* Is what it has on nodes that it left lately all that it had there? */
static int _test_left(const job_record_t *job, struct plx_error *err)
{
	bitstr_t **has = NULL;
	int rc = 0;

	if (pollux_left_s(job->job_id) <= 0)
		return 0;
	has = pollux_gres_devices(job);
	rc = pollux_left_test(job, has, err);
	pollux_gres_devices_free(has);
	return rc;
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
	if (rc == 0)
		rc = _test_left(job, err);
	if (rc == 0 && commit)
		rc = pollux_constrain(job, held.devices, err);
	if (rc == 0 && commit && pollux_ending())
		rc = POLLUX_CONSTRAINING;
	if (rc != 0 || !commit) {
		pollux_gres_drop(job);
		goto back;
	}
	if (pollux_constrain_wanted())
		pollux_left_note(job->job_id, held.devices,
				 job->job_resrcs->node_bitmap);
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
	/* Who has parts of a GPU may have been forgotten since we planned. */
	pollux_parts_mend_all();
	return _resize(job, shape, true, err);
}

int pollux_resize_test(job_record_t *job, const struct pollux_shape *shape,
		       struct plx_error *err)
{
	return _resize(job, shape, false, err);
}
