/* SPDX-License-Identifier: GPL-2.0-or-later */
/* migrate.c - a whole job goes elsewhere, its batch script included */

#include <string.h>

#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/kept_types.h"
#include "sched/pollux/rules/left_nodes.h"
#include "sched/pollux/rules/switches.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/announce.h"
#include "sched/pollux/resize/constrain.h"
#include "sched/pollux/resize/gres_alloc.h"
#include "sched/pollux/resize/noted.h"
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
static void _note(const job_record_t *job, struct pollux_job_state *state)
{
	struct plx_target *target = &state->target;
	time_t left = job->end_time - time(NULL);

	state->priority = job->priority;
	/* Who waits in the queue may begin on any type. */
	target->types[0] = '\0';
	if (!pollux_evicts(target))
		pollux_kept_types(job, target->types);
	target->accrued = (int) job->details->accrue_time;
	target->left_s = 0;
	if (job->time_limit != INFINITE)
		target->left_s = (int) MIN(MAX(left, 1), INT32_MAX);
}

static void _note_place(const job_record_t *job, struct pollux_job_state *state)
{
	int *gpus = xcalloc(node_record_count, sizeof(*gpus));
	struct pollux_shape shape = { NULL };
	struct pollux_job_options asked;
	struct plx_error err;

	(void) pollux_job_options(job, &asked);
	pollux_record_gpus(job, gpus);
	shape = pollux_shape_of(gpus, node_record_count,
				bit_ffs(job->node_bitmap));
	pollux_shape_level(&shape, &asked.options.sizes);
	xfree(state->from_nodes);
	if (!shape.gpus ||
	    pollux_target_shape_write(&shape, &state->from, &state->from_nodes,
				      &err) < 0)
		state->from_nodes = NULL;
	pollux_shape_release(&shape);
	xfree(gpus);
}

static void _note_left(const job_record_t *job)
{
	bitstr_t **has = NULL;

	if (!pollux_constrain_wanted())
		return;
	has = pollux_gres_devices(job);
	pollux_left_note(job->job_id, has, NULL);
	pollux_gres_devices_free(has);
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
static void _shun(job_record_t *job, struct pollux_job_state *state)
{
	job_details_t *details = job->details;
	const node_record_t *node = NULL;

	if (state->shuns)
		node = find_node_record(state->shuns);
	if (!node)
		return;
	xstrfmtcat(details->exc_nodes, "%s%s", details->exc_nodes ? "," : "",
		   state->shuns);
	if (!details->exc_node_bitmap)
		details->exc_node_bitmap = bit_alloc(node_record_count);
	bit_set(details->exc_node_bitmap, node->index);
	xfree(state->shuns);
}

int pollux_migrate_depart(job_record_t *job, struct pollux_job_state *state,
			  struct plx_error *err)
{
	time_t now = time(NULL);
	int rc = 0;

	if (!pollux_record_may_requeue(job))
		return plx_fail(err, "it may not be requeued");
	_note(job, state);
	_note_place(job, state);
	_note_left(job);
	rc = _requeue(job);
	if (rc != SLURM_SUCCESS)
		return plx_fail(err, "it cannot be requeued: %s",
				slurm_strerror(rc));
	_shun(job, state);
	/* Still the same lock: what Slurm sees next can be had. */
	(void) pollux_requeue_shape(job);
	state->phase = POLLUX_MOVING;
	state->departed_s = pollux_now_s();
	state->freed_s = 0;
	state->deadline_s = 0;
	pollux_announce(job, state, PLX_TARGET_MOVING, NULL);
	pollux_info("sched/pollux: JobId=%u leaves %s for %s, serial %u",
		    job->job_id, state->nodes,
		    pollux_evicts(&state->target) ? "the queue" : state->want,
		    state->target.serial);
	pollux_job_state_close(state, now);
	return 0;
}

/*
 * Would nodes take the first steps of its next run for late ones? One that is
 * to wait in the queue waits there (pollux_requeue_let()).
 */
static bool _is_barred(const struct pollux_job_state *state)
{
	bitstr_t *nodes = NULL;
	bool barred = false;

	if (pollux_evicts(&state->target) || !state->want)
		return false;
	(void) pollux_slurm_nodes(state->want, &nodes);
	barred = pollux_noted_bars(state, nodes, pollux_now_s());
	FREE_NULL_BITMAP(nodes);
	return barred;
}

static bool _may_start(const job_record_t *job,
		       const struct pollux_job_state *state)
{
	return pollux_now_s() >= state->departed_s + CREDENTIAL_S &&
	       pollux_now_s() >= state->deadline_s &&
	       time(NULL) >= job->details->submit_time && !_is_barred(state);
}

bool pollux_migrate_due(const job_record_t *job,
			const struct pollux_job_state *state)
{
	if (job && IS_JOB_PENDING(job) && IS_JOB_COMPLETING(job))
		return false;
	if (!job || !IS_JOB_PENDING(job) || !job->details)
		return true;
	return job->resize_time || _may_start(job, state);
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
static int _start_elsewhere(job_record_t *job, struct pollux_job_state *state)
{
	struct plx_target *target = &state->target;
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
			    job->job_id, state->want, names);
		target->on[0] = '\0';
		if (strlen(names) < sizeof(target->on))
			strcpy(target->on, names);
	}
	xfree(names);
	FREE_NULL_BITMAP(nodes);
	return rc;
}

/* There, or after a while where it was, or where there is room. */
static int _start_somewhere(job_record_t *job, struct pollux_job_state *state,
			    struct plx_error *err)
{
	double passed_s = pollux_now_s() - state->freed_s;
	struct plx_target *target = &state->target;
	struct plx_error back;

	if (_start(job, target, state->want, target->types, err) == 0)
		return 0;
	if (passed_s < THERE_S)
		return -1;
	if (!state->from_nodes || _start(job, &state->from, state->from_nodes,
					 target->types, &back) < 0)
		return _start_elsewhere(job, state);
	pollux_info("sched/pollux: JobId=%u cannot start on %s and is back on "
		    "%s: %s",
		    job->job_id, state->want, state->from_nodes, err->text);
	target->nodes = state->from.nodes;
	target->gpus_per_node = state->from.gpus_per_node;
	strcpy(target->each, state->from.each);
	strcpy(target->on, state->from.on);
	return 0;
}

/* What is left of its time limit goes on counting. */
static void _done(job_record_t *job, struct pollux_job_state *state)
{
	struct plx_target *target = &state->target;
	int gpus = pollux_record_gpu_count(job);

	if (target->left_s && job->end_time > time(NULL) + target->left_s) {
		job->end_time = time(NULL) + target->left_s;
		job->end_time_exp = job->end_time;
	}
	target->accrued = 0;
	target->left_s = 0;
	target->types[0] = '\0';
	state->refusals = 0;
	state->refused[0] = '\0';
	pollux_stuck_clear(&state->stuck);
	state->phase = POLLUX_IDLE;
	pollux_count(POLLUX_DID_MOVE);
	pollux_announce(job, state, PLX_TARGET_DONE, NULL);
	pollux_info(
		"sched/pollux: JobId=%u has %d GPUs on %s, serial %u (moved in "
		"%.2f s)",
		job->job_id, gpus, job->nodes, target->serial,
		pollux_now_s() - state->departed_s);
	pollux_job_state_hold(state, job->nodes, gpus, job->start_time);
}

bool pollux_migrate_arrive(job_record_t *job, struct pollux_job_state *state)
{
	double now_s = pollux_now_s();
	struct plx_error err = { .text = "" };

	if (!job || !IS_JOB_PENDING(job) || !job->details) {
		/* Cancelled; or started by Slurm, in whatever shape. */
		state->phase = POLLUX_IDLE;
		if (job && IS_JOB_RUNNING(job))
			pollux_announce(job, state, PLX_TARGET_DONE, NULL);
		return false;
	}
	pollux_requeue_finish(job);
	/* Slurm leaves it; a cancel now would end the row of the old run. */
	job->resize_time = 0;
	if (!_may_start(job, state))
		return false;
	if (pollux_evicts(&state->target)) {
		pollux_evict(job, state);
		return true;
	}
	/* Its old run may take its time to end. */
	if (!state->freed_s)
		state->freed_s = now_s;
	if (!pollux_record_is_moldable(job))
		pollux_requeue_forget(&job->comment);
	pollux_requeue_unhold(job, state->priority);
	pollux_requeue_mend(job, &state->target);
	if (_start_somewhere(job, state, &err) == 0) {
		_done(job, state);
		return true;
	}
	state->deadline_s = now_s + AGAIN_S;
	/* Until then nobody else starts it, in its smallest shape. */
	job->details->begin_time = time(NULL) + 2 * BACK_S;
	if (now_s < state->freed_s + BACK_S && job->priority)
		return false;
	pollux_info("sched/pollux: JobId=%u cannot start on %s and waits: %s",
		    job->job_id, state->want, err.text);
	state->phase = POLLUX_IDLE;
	pollux_requeue_let(job);
	return true;
}

void pollux_migrate_claim(struct pollux_snapshot *snapshot)
{
	struct pollux_job_state *state = NULL;

	for (int i = 0; (state = pollux_job_state_at(i)); i++) {
		pollux_hostlist_t hosts = NULL;
		char *name = NULL;

		if (state->phase != POLLUX_MOVING)
			continue;
		hosts = hostlist_create(state->want);
		for (int k = 0; (name = hostlist_shift(hosts)); k++) {
			int n = pollux_snapshot_find(snapshot, name);

			if (n >= 0)
				snapshot->nodes[n].left.gpus -=
					MIN(plx_target_each(&state->target, k),
					    snapshot->nodes[n].left.gpus);
			free(name);
		}
		hostlist_destroy(hosts);
	}
}
