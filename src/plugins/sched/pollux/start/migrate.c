/* SPDX-License-Identifier: GPL-2.0-or-later */
/* migrate.c - a whole job goes elsewhere, its batch script included */

#include <string.h>

#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/kept_types.h"
#include "sched/pollux/rules/switches.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/announce.h"
#include "sched/pollux/resize/target_shape.h"
#include "sched/pollux/start/evict.h"
#include "sched/pollux/start/launch.h"
#include "sched/pollux/start/migrate.h"
#include "sched/pollux/start/requeue.h"
#include "sched/pollux/report/count.h"
#include "sched/pollux/guard.h"
#include "sched/pollux/locks.h"

/* slurmd refuses credentials from the second in which it was told to kill. */
#define CREDENTIAL_S 1.05
/* Between tries, and how long it is tried there, then where it was. */
#define AGAIN_S 0.5
#define THERE_S 3
#define BACK_S	10

/* What the requeue would make it forget. */
static void _note(const job_record_t *job, struct pollux_track *track)
{
	struct plx_target *target = &track->target;
	time_t left = job->end_time - time(NULL);

	track->priority = job->priority;
	/* Who waits in the queue may begin on any type. */
	target->types[0] = '\0';
	if (!pollux_evicts(target))
		pollux_kept_types(job, target->types);
	target->accrued = (int) job->details->accrue_time;
	target->left_s = 0;
	if (job->time_limit != INFINITE)
		target->left_s = (int) MIN(MAX(left, 1), INT32_MAX);
}

static void _note_place(const job_record_t *job, struct pollux_track *track)
{
	int *gpus = xcalloc(node_record_count, sizeof(*gpus));
	struct pollux_shape shape = { NULL };
	struct pollux_asked asked;
	struct plx_error err;

	(void) pollux_asked(job, &asked);
	pollux_record_gpus(job, gpus);
	shape = pollux_shape_of(gpus, node_record_count,
				bit_ffs(job->node_bitmap));
	pollux_shape_level(&shape, &asked.options.sizes);
	xfree(track->from_nodes);
	if (!shape.gpus ||
	    pollux_target_shape_write(&shape, &track->from, &track->from_nodes,
				      &err) < 0)
		track->from_nodes = NULL;
	pollux_shape_release(&shape);
	xfree(gpus);
}

/* To its user this is no requeue but a resize: nobody gets a mail. */
static int _requeue(job_record_t *job)
{
	uint16_t mail_type = job->mail_type;
	int rc = 0;

	job->mail_type = 0;
	rc = pollux_slurm_requeue(job);
	job->mail_type = mail_type;
	return rc;
}

/* As by --exclude. */
static void _shun(job_record_t *job, struct pollux_track *track)
{
	job_details_t *details = job->details;
	const node_record_t *node = NULL;

	if (track->shuns)
		node = find_node_record(track->shuns);
	if (!node)
		return;
	xstrfmtcat(details->exc_nodes, "%s%s", details->exc_nodes ? "," : "",
		   track->shuns);
	if (!details->exc_node_bitmap)
		details->exc_node_bitmap = bit_alloc(node_record_count);
	bit_set(details->exc_node_bitmap, node->index);
	xfree(track->shuns);
}

int pollux_migrate_depart(job_record_t *job, struct pollux_track *track,
			  struct plx_error *err)
{
	time_t now = time(NULL);
	int rc = 0;

	if (!pollux_record_may_requeue(job))
		return plx_fail(err, "it may not be requeued");
	_note(job, track);
	_note_place(job, track);
	rc = _requeue(job);
	if (rc != SLURM_SUCCESS)
		return plx_fail(err, "it cannot be requeued: %s",
				slurm_strerror(rc));
	_shun(job, track);
	/* Still the same lock: what Slurm sees next can be had. */
	(void) pollux_requeue_shape(job);
	track->phase = POLLUX_MOVING;
	track->departed_s = pollux_now_s();
	track->freed_s = 0;
	track->deadline_s = 0;
	pollux_announce(job, track, PLX_TARGET_MOVING, NULL);
	pollux_info("sched/pollux: JobId=%u leaves %s for %s, serial %u",
		    job->job_id, track->nodes,
		    pollux_evicts(&track->target) ? "the queue" : track->want,
		    track->target.serial);
	pollux_track_close(track, now);
	return 0;
}

static bool _may_start(const job_record_t *job,
		       const struct pollux_track *track)
{
	return pollux_now_s() >= track->departed_s + CREDENTIAL_S &&
	       pollux_now_s() >= track->deadline_s &&
	       time(NULL) >= job->details->submit_time;
}

bool pollux_migrate_due(const job_record_t *job,
			const struct pollux_track *track)
{
	if (job && IS_JOB_PENDING(job) && IS_JOB_COMPLETING(job))
		return false;
	if (!job || !IS_JOB_PENDING(job) || !job->details)
		return true;
	return job->resize_time || _may_start(job, track);
}

/* Of the types that it had, also where a node has others. */
static int _start(job_record_t *job, const struct plx_target *target,
		  char *nodes, const char *types, struct plx_error *err)
{
	uint16_t mail_type = job->mail_type;
	struct pollux_shape shape = { NULL };
	int rc = -1;

	job->mail_type = 0;
	if (pollux_target_shape_read(target, nodes, &shape, err) == 0)
		rc = pollux_launch(job, &shape, types, err);
	job->mail_type = mail_type;
	pollux_shape_release(&shape);
	return rc;
}

/* As many nodes with as many GPUs as it is to have, wherever they are free. */
static bitstr_t *_other_nodes(const job_record_t *job,
			      const struct plx_target *target)
{
	bitstr_t *nodes = bit_alloc(node_record_count);
	bitstr_t *excluded = job->details->exc_node_bitmap;
	int count = 0;

	for (int n = 0; n < node_record_count && count < target->nodes; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		/* Room that is being made there is for somebody. */
		if (!node || !bit_test(avail_node_bitmap, n) ||
		    pollux_guard_has(n) ||
		    !bit_test(job->part_ptr->node_bitmap, n) ||
		    (excluded && bit_test(excluded, n)) ||
		    pollux_node_free(pollux_node_gpus(node), target->types) <
			    target->gpus_per_node)
			continue;
		bit_set(nodes, n);
		count++;
	}
	if (count < target->nodes || pollux_switches_over(job, nodes))
		FREE_NULL_BITMAP(nodes);
	return nodes;
}

/* The same shape on others, where somebody was faster. */
static int _start_elsewhere(job_record_t *job, struct pollux_track *track)
{
	struct plx_target *target = &track->target;
	bitstr_t *nodes = _other_nodes(job, target);
	struct plx_error err;
	char *names = NULL;
	int rc = -1;

	if (!nodes)
		return -1;
	names = bitmap2node_name(nodes);
	rc = _start(job, target, names, target->types, &err);
	if (rc == 0) {
		pollux_info("sched/pollux: JobId=%u found %s taken and is on "
			    "%s",
			    job->job_id, track->want, names);
		target->on[0] = '\0';
		if (strlen(names) < sizeof(target->on))
			strcpy(target->on, names);
	}
	xfree(names);
	FREE_NULL_BITMAP(nodes);
	return rc;
}

/* There, or after a while where it was, or where there is room. */
static int _start_somewhere(job_record_t *job, struct pollux_track *track,
			    struct plx_error *err)
{
	double passed_s = pollux_now_s() - track->freed_s;
	struct plx_target *target = &track->target;
	struct plx_error back;

	if (_start(job, target, track->want, target->types, err) == 0)
		return 0;
	if (passed_s < THERE_S)
		return -1;
	if (!track->from_nodes || _start(job, &track->from, track->from_nodes,
					 target->types, &back) < 0)
		return _start_elsewhere(job, track);
	pollux_info("sched/pollux: JobId=%u cannot start on %s and is back on "
		    "%s: %s",
		    job->job_id, track->want, track->from_nodes, err->text);
	target->nodes = track->from.nodes;
	target->gpus_per_node = track->from.gpus_per_node;
	strcpy(target->each, track->from.each);
	strcpy(target->on, track->from.on);
	return 0;
}

/* What is left of its time limit goes on counting. */
static void _done(job_record_t *job, struct pollux_track *track)
{
	struct plx_target *target = &track->target;
	int gpus = pollux_record_gpu_count(job);

	if (target->left_s && job->end_time > time(NULL) + target->left_s) {
		job->end_time = time(NULL) + target->left_s;
		job->end_time_exp = job->end_time;
	}
	target->accrued = 0;
	target->left_s = 0;
	target->types[0] = '\0';
	track->refusals = 0;
	track->refused[0] = '\0';
	track->phase = POLLUX_IDLE;
	pollux_count(POLLUX_DID_MOVE);
	pollux_announce(job, track, PLX_TARGET_DONE, NULL);
	pollux_info(
		"sched/pollux: JobId=%u has %d GPUs on %s, serial %u (moved in "
		"%.2f s)",
		job->job_id, gpus, job->nodes, target->serial,
		pollux_now_s() - track->departed_s);
	pollux_track_hold(track, job->nodes, gpus, job->start_time);
}

bool pollux_migrate_arrive(job_record_t *job, struct pollux_track *track)
{
	double now_s = pollux_now_s();
	struct plx_error err = { .text = "" };

	if (!job || !IS_JOB_PENDING(job) || !job->details) {
		/* Cancelled; or started by Slurm, in whatever shape. */
		track->phase = POLLUX_IDLE;
		if (job && IS_JOB_RUNNING(job))
			pollux_announce(job, track, PLX_TARGET_DONE, NULL);
		return false;
	}
	pollux_requeue_finish(job);
	/* Slurm leaves it; a cancel now would end the row of the old run. */
	job->resize_time = 0;
	if (!_may_start(job, track))
		return false;
	if (pollux_evicts(&track->target)) {
		pollux_evict(job, track);
		return true;
	}
	/* Its old run may take its time to end. */
	if (!track->freed_s)
		track->freed_s = now_s;
	if (!pollux_record_is_moldable(job))
		pollux_requeue_forget(&job->comment);
	pollux_requeue_unhold(job, track->priority);
	pollux_requeue_mend(job, &track->target);
	if (_start_somewhere(job, track, &err) == 0) {
		_done(job, track);
		return true;
	}
	track->deadline_s = now_s + AGAIN_S;
	/* Until then nobody else starts it, in its smallest shape. */
	job->details->begin_time = time(NULL) + 2 * BACK_S;
	if (now_s < track->freed_s + BACK_S && job->priority)
		return false;
	pollux_info("sched/pollux: JobId=%u cannot start on %s and waits: %s",
		    job->job_id, track->want, err.text);
	track->phase = POLLUX_IDLE;
	pollux_requeue_let(job);
	return true;
}

void pollux_migrate_claim(struct pollux_snapshot *snapshot)
{
	struct pollux_track *track = NULL;

	for (int i = 0; (track = pollux_track_at(i)); i++) {
		pollux_hostlist_t hosts = NULL;
		char *name = NULL;

		if (track->phase != POLLUX_MOVING)
			continue;
		hosts = hostlist_create(track->want);
		for (int k = 0; (name = hostlist_shift(hosts)); k++) {
			int n = pollux_snapshot_find(snapshot, name);

			if (n >= 0)
				snapshot->nodes[n].gpus_free -=
					MIN(plx_target_each(&track->target, k),
					    snapshot->nodes[n].gpus_free);
			free(name);
		}
		hostlist_destroy(hosts);
	}
}
