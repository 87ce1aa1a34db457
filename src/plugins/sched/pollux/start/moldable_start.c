/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moldable_start.c - moldable jobs are started in the shape that is best now */

#include <stdio.h>

#include "sched/pollux/locks.h"
#include "sched/pollux/snapshot/moldable_refusals.h"
#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/snapshot/moldable_jobs.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/announce.h"
#include "sched/pollux/resize/target_shape.h"
#include "sched/pollux/start/launch.h"
#include "sched/pollux/start/moldable_start.h"
#include "sched/pollux/report/count.h"

/* The partition in which there is room for it. */
static part_record_t *_partition(const struct pollux_snapshot *snapshot, int j,
				 const struct plx_grant *grants)
{
	for (int i = 0; i < snapshot->waiting_count; i++) {
		if (snapshot->waiting[i].moldable == j && grants[i].granted)
			return find_part_record(snapshot->waiting[i].partition);
	}
	return NULL;
}

/* Its record says so, and a slurmctld that comes after knows it from there. */
static void _announce(job_record_t *job, const struct pollux_shape *shape,
		      const struct pollux_job *seen)
{
	struct pollux_job_state *state = pollux_job_state_get(job->job_id);
	int gpus = pollux_shape_gpus(shape);
	struct plx_error err;
	char why[PLX_WHY_SIZE];
	char *names = NULL;

	state->target =
		(struct plx_target){ .serial = seen->target.serial + 1 };
	if (pollux_target_shape_write(shape, &state->target, &names, &err) < 0)
		state->target.gpus_per_node = shape->gpus;
	xfree(names);
	snprintf(why, sizeof(why),
		 "starts on %d GPU%s, %d at least, as is "
		 "best now",
		 gpus, gpus == 1 ? "" : "s", MAX(seen->options.min_gpus, 1));
	pollux_announce(job, state, PLX_TARGET_DONE, why);
	pollux_job_state_hold(state, job->nodes, gpus, job->start_time);
	state->seen = true;
	pollux_count_resize(PLX_RESIZE_START);
	pollux_info("sched/pollux: JobId=%u starts on %d GPUs on %s, as is "
		    "best now",
		    job->job_id, gpus, job->nodes);
}

/* Under the write locks. */
static int _start(job_record_t *job, part_record_t *part,
		  const struct pollux_shape *shape, struct plx_error *err)
{
	part_record_t *before = job->part_ptr;

	if (!shape->gpus)
		return plx_fail(err, "of its sizes none is even there");
	job->part_ptr = part;
	if (pollux_launch(job, shape, "", err) == 0)
		return 0;
	job->part_ptr = before;
	return -1;
}

bool pollux_moldable_start(const struct pollux_snapshot *snapshot, int j,
			   const int *gpus, const struct plx_grant *grants)
{
	const struct pollux_job *seen = &snapshot->jobs[j];
	struct pollux_shape shape =
		pollux_shape_of(gpus, snapshot->node_count, 0);
	struct plx_error err = { .text = "" };
	part_record_t *part = NULL;
	job_record_t *job = NULL;
	bool started = false;

	pollux_shape_level(&shape, &seen->options.sizes);
	pollux_lock(POLLUX_STARTING);
	job = find_job_record(seen->id);
	part = _partition(snapshot, j, grants);
	if (pollux_ending() || !job || !part ||
	    !pollux_snapshot_same_nodes(snapshot) ||
	    !pollux_moldable_waits(job, time(NULL)))
		goto done;
	started = _start(job, part, &shape, &err) == 0;
	if (started)
		_announce(job, &shape, seen);
	else
		pollux_moldable_refused(seen, pollux_shape_gpus(&shape), &err);
done:
	pollux_unlock(POLLUX_STARTING);
	pollux_shape_release(&shape);
	return started;
}
