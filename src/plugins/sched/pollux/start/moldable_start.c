/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moldable_start.c - moldable jobs are started in the shape that is best now */

#include <stdio.h>
#include <string.h>

#include "sched/pollux/locks.h"
#include "sched/pollux/look/snapshot_read.h"
#include "sched/pollux/look/moldable_jobs.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/resize_request.h"
#include "sched/pollux/resize/target_shape.h"
#include "sched/pollux/start/launch.h"
#include "sched/pollux/start/moldable_start.h"
#include "sched/pollux/tell/count.h"

/* For so long a job is not tried again with as many GPUs. */
#define REFUSED_S 60

struct refusal {
	uint32_t id;
	int most; /* GPUs it may be tried with */
	bool slurms;
	double until_s; /* monotonic clock */
};

/* The thread's own; the one that ends first gives way to another. */
static struct refusal refusals[POLLUX_PENDING_MAX];

static const struct refusal *_find(uint32_t id)
{
	double now_s = pollux_now_s();

	for (int i = 0; i < POLLUX_PENDING_MAX; i++) {
		if (refusals[i].id == id && now_s < refusals[i].until_s)
			return &refusals[i];
	}
	return NULL;
}

int pollux_moldable_most(uint32_t job_id)
{
	const struct refusal *refusal = _find(job_id);

	return refusal ? refusal->most : PLX_GPUS_MAX;
}

bool pollux_moldable_is_slurms(uint32_t job_id)
{
	const struct refusal *refusal = _find(job_id);

	return refusal && refusal->slurms;
}

void pollux_moldable_forget_all(void)
{
	memset(refusals, 0, sizeof(refusals));
}

static void _note_refusal(const struct pollux_job *job, int gpus,
			  const struct plx_error *why)
{
	struct refusal *at = &refusals[0];
	int least = MAX(job->options.min_gpus, 1);

	for (int i = 0; i < POLLUX_PENDING_MAX; i++) {
		if (refusals[i].id == job->id) {
			at = &refusals[i];
			break;
		}
		if (refusals[i].until_s < at->until_s)
			at = &refusals[i];
	}
	*at = (struct refusal){
		.id = job->id,
		.most = MAX(gpus / 2, least),
		.slurms = gpus <= least,
		.until_s = pollux_now_s() + REFUSED_S,
	};
	pollux_count_refusal(why->kind);
	pollux_info("sched/pollux: JobId=%u does not start on %d GPUs: %s",
		    job->id, gpus, why->text);
}

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
	struct pollux_track *track = pollux_track_get(job->job_id);
	int gpus = pollux_shape_gpus(shape);
	struct plx_error err;
	char why[PLX_WHY_SIZE];
	char *names = NULL;

	track->target =
		(struct plx_target){ .serial = seen->target.serial + 1 };
	if (pollux_target_shape_write(shape, &track->target, &names, &err) < 0)
		track->target.gpus_per_node = shape->gpus;
	xfree(names);
	snprintf(why, sizeof(why),
		 "starts on %d GPU%s, %d at least, as is "
		 "best now",
		 gpus, gpus == 1 ? "" : "s", MAX(seen->options.min_gpus, 1));
	pollux_announce(job, track, PLX_TARGET_DONE, why);
	pollux_track_hold(track, job->nodes, gpus, job->start_time);
	track->seen = true;
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
	if (pollux_launch(job, shape, err) == 0)
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
	if (!job || !part || !pollux_snapshot_same_nodes(snapshot) ||
	    !pollux_moldable_waits(job, time(NULL)))
		goto done;
	started = _start(job, part, &shape, &err) == 0;
	if (started)
		_announce(job, &shape, seen);
	else
		_note_refusal(seen, pollux_shape_gpus(&shape), &err);
done:
	pollux_unlock(POLLUX_STARTING);
	pollux_shape_release(&shape);
	return started;
}
