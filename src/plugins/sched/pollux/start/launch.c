/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch.c - start a pending job in a shape of our choice */

#include <stdio.h>

#include "core/records/refusal.h"
#include "sched/pollux/guard.h"
#include "sched/pollux/resize/node_devices.h"
#include "sched/pollux/resize/request.h"
#include "sched/pollux/rules/left_nodes.h"
#include "sched/pollux/rules/nodes.h"
#include "sched/pollux/rules/partition.h"
#include "sched/pollux/start/launch.h"

/* What schedule() asks of a job before it looks for nodes. */
static int _may_start(job_record_t *job, const struct pollux_shape *shape,
		      struct plx_error *err)
{
	if (!IS_JOB_PENDING(job) || IS_JOB_COMPLETING(job) || !job->details ||
	    !job->part_ptr || job->details->prolog_running ||
	    (job->step_list && list_count(job->step_list)))
		return plx_fail_as(err, PLX_REFUSED_STEPS,
				   "its last run has not ended yet");
	if (!job->priority)
		return plx_fail(err, "it is held");
	if (!job_independent(job))
		return plx_fail(err, "it waits for another job, or its time");
	if (!job_array_start_test(job))
		return plx_fail(err, "as many of its array run as may");
	if (pollux_nodes_required(job, shape, err) < 0 ||
	    pollux_partition_test(job, shape, err) < 0)
		return -1;
	if (license_job_test(job, time(NULL), true) != SLURM_SUCCESS)
		return plx_fail_as(err, PLX_REFUSED_LIMITS,
				   "its licences are in use");
	return 0;
}

/* GPUs of other types are nobody's to choose meanwhile; NULL: there are none.
 */
static bitstr_t **_hide_others(const struct pollux_shape *shape,
			       const char *types)
{
	struct pollux_holding held = { NULL };
	bitstr_t **hidden = NULL;

	if (!types[0])
		return NULL;
	snprintf(held.types, sizeof(held.types), "%s", types);
	held.devices = xcalloc(node_record_count, sizeof(*held.devices));
	hidden = pollux_devices_hide(shape, &held, POLLUX_NEAR_ALL);
	xfree(held.devices);
	return hidden;
}

static int _select(job_record_t *job, const struct pollux_shape *shape,
		   const char *types, struct plx_error *err)
{
	bitstr_t **hidden = NULL;
	bitstr_t **left = NULL;
	int rc = 0;

	pollux_slurm_use_features(job);
	hidden = _hide_others(shape, types);
	if (pollux_left_hide(job, shape, &left, err) < 0) {
		rc = -1;
	} else {
		rc = pollux_guard_select(job, SLURMDB_JOB_FLAG_SCHED);
		if (rc != SLURM_SUCCESS)
			plx_fail(err, "%s", slurm_strerror(rc));
	}
	pollux_devices_show(left);
	pollux_devices_show(hidden);
	return rc;
}

int pollux_launch(job_record_t *job, const struct pollux_shape *shape,
		  const char *types, struct plx_error *err)
{
	struct pollux_request request;

	if (_may_start(job, shape, err) < 0)
		return -1;
	pollux_request_save(job, &request);
	if (pollux_request_write(job, shape, &request, err) < 0 ||
	    _select(job, shape, types, err) != SLURM_SUCCESS) {
		pollux_request_restore(job, &request);
		return -1;
	}
	pollux_request_keep(job, &request);
	last_job_update = last_node_update = time(NULL);
	if (job->batch_flag && !IS_JOB_CONFIGURING(job))
		launch_job(job);
	else if (!job->batch_flag)
		srun_allocate(job);
	rebuild_job_part_list(job);
	return 0;
}
