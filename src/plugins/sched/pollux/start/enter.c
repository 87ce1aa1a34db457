/* SPDX-License-Identifier: GPL-2.0-or-later */
/* enter.c - jobs start in the room made for them, at once */

#include "common/slurm_compat.h"
#include "sched/pollux/look/waiting.h"
#include "sched/pollux/record.h"
#include "sched/pollux/start/enter.h"
#include "sched/pollux/held.h"

/* After a start that Slurm refused; then twice that, and so on. */
#define AGAIN_S	     0.5
#define AGAIN_MOST_S 30
/* Jobs, in a cycle, that others may have to leave nodes to. */
#define CLEARS_MAX 10

struct room {
	uint32_t id;
	char *partition;
	char *nodes;
	bitstr_t *bits; /* the same, until nodes are configured anew */
	int gpus;	/* on each */
	bool whole;	/* and nobody else there */
	double cpus;
	double again_s;	     /* between tries */
	double not_before_s; /* monotonic clock */
};

/* The thread's own. */
static struct {
	struct room at[POLLUX_PENDING_MAX];
	int count;
} rooms;

static void _release(struct room *room)
{
	xfree(room->partition);
	xfree(room->nodes);
	FREE_NULL_BITMAP(room->bits);
	memset(room, 0, sizeof(*room));
}

void pollux_enter_forget_all(void)
{
	for (int i = 0; i < rooms.count; i++)
		_release(&rooms.at[i]);
	rooms.count = 0;
}

bool pollux_enter_any(void)
{
	return rooms.count > 0;
}

static struct room *_find(uint32_t id)
{
	for (int i = 0; i < rooms.count; i++) {
		if (rooms.at[i].id == id)
			return &rooms.at[i];
	}
	return NULL;
}

static bitstr_t *_bits(const struct pollux_view *view, const bool *nodes)
{
	bitstr_t *bits = bit_alloc(view->node_count);

	for (int n = 0; n < view->node_count; n++) {
		if (nodes[n])
			bit_set(bits, n);
	}
	return bits;
}

/* By the view: no lock is held, and slurmctld's table may be rebuilt. */
static char *_names(const struct pollux_view *view, bitstr_t *bits)
{
	pollux_hostlist_t names = hostlist_create(NULL);
	char *text = NULL;

	for (int n = 0; n < view->node_count; n++) {
		if (bit_test(bits, n) && view->nodes[n].name)
			hostlist_push_host(names, view->nodes[n].name);
	}
	hostlist_sort(names);
	text = hostlist_ranged_string_xmalloc(names);
	hostlist_destroy(names);
	return text;
}

void pollux_enter_note(const struct pollux_view *view,
		       const struct plx_grant *grants)
{
	struct room kept[POLLUX_PENDING_MAX];
	int count = 0;

	for (int i = 0; i < view->waiting_count; i++) {
		const struct pollux_waiting *waiting = &view->waiting[i];
		const struct room *before = _find(waiting->id);
		bitstr_t *bits = NULL;

		if (!grants[i].granted || !(grants[i].displaces || before))
			continue;
		bits = _bits(view, grants[i].nodes);
		kept[count++] = (struct room){
			.id = waiting->id,
			.partition = xstrdup(waiting->partition),
			.nodes = _names(view, bits),
			.bits = bits,
			.gpus = waiting->gpus_per_node,
			.whole = waiting->whole_nodes,
			.cpus = waiting->cpus,
			.again_s = before ? before->again_s : AGAIN_S,
			.not_before_s = before ? before->not_before_s : 0,
		};
	}
	pollux_enter_forget_all();
	memcpy(rooms.at, kept, sizeof(kept[0]) * (size_t) count);
	rooms.count = count;
}

/* Are the GPUs given up? Read lock on nodes. */
static bool _is_free(const struct room *room, bitstr_t *nodes)
{
	for (int n = 0; n < node_record_count; n++) {
		const gres_node_state_t *gpus = NULL;
		const node_record_t *node = node_record_table_ptr[n];

		if (!bit_test(nodes, n))
			continue;
		if (!node ||
		    (room->whole && (node->run_job_cnt || node->comp_job_cnt)))
			return false;
		if (!room->gpus)
			continue;
		gpus = pollux_node_gpus(node);
		if (pollux_node_free(gpus, NULL) < room->gpus)
			return false;
	}
	return true;
}

/* What Slurm's schedulers ask before they look for nodes. Write lock. */
static bool _may_start(job_record_t **job)
{
	if ((*job)->fed_details || (*job)->burst_buffer ||
	    (*job)->preempt_in_progress)
		return false;
	if (((*job)->array_recs || (*job)->array_task_id != NO_VAL) &&
	    !job_array_start_test(*job))
		return false;
	return job_limits_check(job, true) == WAIT_NO_REASON &&
	       license_job_test(*job, time(NULL), true) == SLURM_SUCCESS &&
	       job_independent(*job) &&
	       !(((*job)->deadline && (*job)->deadline != NO_VAL) &&
		 !deadline_ok(*job, (char *) "pollux"));
}

/* Nodes other than these are out of the question, for the while of it. */
static int _select(job_record_t *job, bitstr_t *nodes)
{
	bitstr_t *others = bit_copy(nodes);
	bitstr_t *excluded = job->details->exc_node_bitmap;
	uint32_t id = job->job_id;
	int rc = SLURM_ERROR;

	bit_not(others);
	if (excluded)
		bit_or(others, excluded);
	job->details->exc_node_bitmap = others;
	pollux_slurm_use_features(job);
	rc = pollux_slurm_select_nodes(job, SLURMDB_JOB_FLAG_BACKFILL);
	/* The rest of an array has become a record that was copied from it. */
	if (job->array_job_id) {
		job_record_t *rest = find_job_record(job->array_job_id);

		if (rest && rest->job_id != id && rest != job &&
		    rest->details && IS_JOB_PENDING(rest)) {
			FREE_NULL_BITMAP(rest->details->exc_node_bitmap);
			if (excluded)
				rest->details->exc_node_bitmap =
					bit_copy(excluded);
		}
	}
	if (job->details) {
		FREE_NULL_BITMAP(job->details->exc_node_bitmap);
		job->details->exc_node_bitmap = excluded;
	}
	return rc;
}

static void _launch(job_record_t *job)
{
	last_job_update = time(NULL);
	pollux_info(
		"sched/pollux: JobId=%u starts on %s in the room made for it",
		job->job_id, job->nodes);
	if (!job->batch_flag)
		srun_allocate(job);
	else if (!IS_JOB_CONFIGURING(job))
		launch_job(job);
	rebuild_job_part_list(job);
}

static void _wait_longer(struct room *room, double now_s, int rc)
{
	debug("sched/pollux: JobId=%u does not start on %s: %s", room->id,
	      room->nodes, slurm_strerror(rc));
	room->not_before_s = now_s + room->again_s;
	room->again_s = MIN(2 * room->again_s, AGAIN_MOST_S);
}

/* Would Slurm start it on free nodes of the partition? Write lock. */
static bool _could_start(job_record_t *job, part_record_t *part)
{
	part_record_t *before = job->part_ptr;
	bool could = false;

	job->part_ptr = part;
	could = _may_start(&job) && pollux_slurm_within_limits(job) &&
		acct_policy_job_runnable_pre_select(job, false);
	job->part_ptr = before;
	return could;
}

/* Might a job that yields be in its way? */
static bool _wants_nodes(const struct pollux_view *view,
			 const struct pollux_waiting *waiting)
{
	bool any = false;

	if (waiting->ignored || waiting->limited || waiting->blocked)
		return false;
	for (int j = 0; j < view->job_count && !any; j++)
		any = view->jobs[j].yields &&
		      view->jobs[j].priority < waiting->priority;
	for (int n = 0; n < view->node_count && any; n++) {
		if (waiting->allowed[n] &&
		    waiting->gpus_per_node >= view->nodes[n].gpus &&
		    view->nodes[n].gpus)
			return true;
	}
	return any && waiting->whole_nodes;
}

void pollux_enter_clear(struct pollux_view *view)
{
	int asked[CLEARS_MAX];
	int count = 0;

	for (int i = 0; i < view->waiting_count && count < CLEARS_MAX; i++) {
		if (_wants_nodes(view, &view->waiting[i]))
			asked[count++] = i;
	}
	if (!count)
		return;
	pollux_lock(POLLUX_CLEARING);
	for (int i = 0; i < count; i++) {
		struct pollux_waiting *waiting = &view->waiting[asked[i]];
		job_record_t *job = find_job_record(waiting->id);
		part_record_t *part = find_part_record(waiting->partition);

		waiting->clears = job && part &&
				  pollux_waits_for_room(job, time(NULL)) &&
				  _could_start(job, part);
		pollux_breathe(POLLUX_CLEARING);
	}
	pollux_unlock(POLLUX_CLEARING);
}

/* Under the write locks. */
static bool _start(struct room *room, double now_s)
{
	job_record_t *job = find_job_record(room->id);
	part_record_t *part = find_part_record(room->partition);
	part_record_t *before = NULL;
	bitstr_t *nodes = NULL;
	int rc = ESLURM_NODES_BUSY;

	if (!job || !part || !pollux_waits_for_room(job, time(NULL)) ||
	    pollux_slurm_nodes(room->nodes, &nodes) != SLURM_SUCCESS ||
	    !bit_set_count(nodes) || !_is_free(room, nodes))
		goto done;
	before = job->part_ptr;
	job->part_ptr = part;
	if (_may_start(&job))
		rc = _select(job, nodes);
	if (rc == SLURM_SUCCESS) {
		_launch(job);
	} else {
		job->part_ptr = before;
		_wait_longer(room, now_s, rc);
	}
done:
	FREE_NULL_BITMAP(nodes);
	return rc == SLURM_SUCCESS;
}

/* Is there anything to be done? */
static bool _any_due(double now_s)
{
	bool due = false;

	if (!rooms.count)
		return false;
	pollux_lock(POLLUX_ROOMS);
	for (int i = 0; i < rooms.count && !due; i++) {
		const struct room *room = &rooms.at[i];

		due = now_s >= room->not_before_s &&
		      bit_size(room->bits) == node_record_count &&
		      _is_free(room, room->bits);
	}
	pollux_unlock(POLLUX_ROOMS);
	return due;
}

int pollux_enter(double now_s)
{
	int started = 0;

	if (!_any_due(now_s))
		return 0;
	pollux_lock(POLLUX_STARTING);
	for (int i = 0; i < rooms.count; i++) {
		if (now_s < rooms.at[i].not_before_s)
			continue;
		started += _start(&rooms.at[i], now_s);
		pollux_breathe(POLLUX_STARTING);
	}
	pollux_unlock(POLLUX_STARTING);
	return started;
}
