/* SPDX-License-Identifier: GPL-2.0-or-later */
/* epilog.c - the epilog on nodes that a running job gives up */

#include <stdio.h>

#include "sched/pollux/locks.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/epilog.h"
#include "sched/pollux/resize/node_jobs.h"

/* How long nobody starts there when nobody can tell: see _untold_s(). */
#define NEVER_TOLD_S 10
#define NOT_TOLD_S   60
#define NONE_S	     1
/* In slurmctld's StateSaveLocation; a line "JOB NODE NODES" each. */
#define STATE_FILE "pollux_epilogs"
#define LINE_SIZE  4096
/* After a second request: for a second answer to come. */
#define QUIET_S 3

/* One node that one job gave up. Of those of a node, the first is sent. */
struct leaving {
	uint32_t job_id;
	char *node;
	char *nodes;	  /* given up at the same time, as the epilog is told */
	List gres;	  /* what the job held, on these in their order */
	uint32_t *others; /* jobs on it then */
	int other_count;
	double sent_s;	 /* monotonic clock; 0: it waits for its turn */
	bool again;	 /* not for the first time */
	bool heard;	 /* an answer has come since */
	bool counted;	 /* as a completing job of the node: see _count() */
	double untold_s; /* since when no word can come; 0: one can */
};

static struct leaving *entries; /* the thread's own */
static int entry_count;
static bool unsaved; /* they are not those of the file, ... */
static char *path;   /* ... which is this one */

bool pollux_epilog_any(void)
{
	return entry_count > 0;
}

/*
 * The end of the epilog before would open the node until we look, and Slurm
 * starts jobs at once. With one that completes it stays closed, and is idle
 * instead; but where jobs run it is not, and nobody would hear.
 */
static void _count(struct leaving *it, node_record_t *node)
{
	if (it->counted || node->run_job_cnt)
		return;
	node->comp_job_cnt++;
	it->counted = true;
}

/* Is one counted, so that the end of an epilog leaves the node idle? */
static bool _is_counted(const char *node)
{
	for (int i = 0; i < entry_count; i++) {
		if (entries[i].counted && !xstrcmp(entries[i].node, node))
			return true;
	}
	return false;
}

static void _uncount(struct leaving *it)
{
	node_record_t *node = it->counted ? find_node_record(it->node) : NULL;

	if (node && node->comp_job_cnt)
		node->comp_job_cnt--;
	it->counted = false;
}

static void _remove(int i)
{
	_uncount(&entries[i]);
	xfree(entries[i].node);
	xfree(entries[i].nodes);
	xfree(entries[i].others);
	FREE_NULL_LIST(entries[i].gres);
	unsaved = true;
	entries[i] = entries[--entry_count];
	if (!entry_count)
		xfree(entries);
}

void pollux_epilog_check(void)
{
	for (int i = 0; POLLUX_SLURM_HEARS_EPILOG && i < entry_count; i++) {
		entries[i].again = true;
		entries[i].sent_s = 0;
		entries[i].counted = false;
	}
}

static struct leaving *_add(uint32_t job_id, const char *node)
{
	struct leaving *it = NULL;

	xrecalloc(entries, entry_count + 1, sizeof(*entries));
	it = &entries[entry_count++];
	/* One that was removed may have been there. */
	*it = (struct leaving){ .job_id = job_id };
	it->node = xstrdup(node);
	unsaved = true;
	return it;
}

/* All at once, or as it was. */
static int _write(void)
{
	char *draft = xstrdup_printf("%s.new", path);
	FILE *file = fopen(draft, "w");
	int rc = file ? 0 : -1;

	for (int i = 0; file && i < entry_count; i++)
		fprintf(file, "%u %s %.*s\n", entries[i].job_id,
			entries[i].node, LINE_SIZE / 2, entries[i].nodes);
	if (file && (ferror(file) | fclose(file)))
		rc = -1;
	if (rc == 0)
		rc = rename(draft, path);
	xfree(draft);
	return rc;
}

static void _save(void)
{
	static bool told;

	unsaved = false;
	if (_write() == 0)
		told = false;
	else if (!told) {
		error("sched/pollux: cannot write %s: %m", path);
		told = true;
	}
}

void pollux_epilog_load(void)
{
	FILE *file = NULL;
	char line[LINE_SIZE];
	char node[LINE_SIZE];
	char nodes[LINE_SIZE];
	unsigned job_id = 0;

	path = xstrdup_printf("%s/" STATE_FILE, slurm_conf.state_save_location);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		struct leaving *it = NULL;

		if (sscanf(line, "%u %s %s", &job_id, node, nodes) != 3)
			continue;
		it = _add(job_id, node);
		it->nodes = xstrdup(nodes);
		it->again = true;
	}
	if (file)
		fclose(file);
	unsaved = false;
}

void pollux_epilog_forget_all(void)
{
	if (unsaved)
		_save();
	while (entry_count)
		_remove(entry_count - 1);
	unsaved = false;
	xfree(path);
	pollux_node_jobs_forget();
}

/* Of a job's nodes, those given up come first, in their order. */
static void _move_up(gres_job_state_t *entry, bitstr_t *had, bitstr_t *nodes)
{
	uint32_t offset = 0;
	uint32_t first = 0;

	for (int n = 0; n < node_record_count && offset < entry->node_cnt;
	     n++) {
		uint32_t at = offset;
		bitstr_t *bits = NULL;

		if (!bit_test(had, n))
			continue;
		offset++;
		if (!bit_test(nodes, n))
			continue;
		if (entry->gres_bit_alloc) {
			bits = entry->gres_bit_alloc[first];
			entry->gres_bit_alloc[first] =
				entry->gres_bit_alloc[at];
			entry->gres_bit_alloc[at] = bits;
		}
		if (entry->gres_cnt_node_alloc)
			entry->gres_cnt_node_alloc[first] =
				entry->gres_cnt_node_alloc[at];
		first++;
	}
}

/* What it held there; NULL: nothing. The caller's to free. */
static List _gres(const job_record_t *job, const struct pollux_holding *held,
		  bitstr_t *nodes)
{
	List gres = NULL;
	ListIterator iter = NULL;
	gres_state_t *state = NULL;

	if (!held->gres_list_alloc)
		return NULL;
	gres = gres_job_state_list_dup(held->gres_list_alloc);
	iter = list_iterator_create(gres);
	while ((state = list_next(iter)))
		_move_up(state->gres_data, job->job_resrcs->node_bitmap, nodes);
	list_iterator_destroy(iter);
	return gres;
}

/* As make_node_comp() leaves it, but that no job is counted. */
static void _close(node_record_t *node)
{
	uint32_t flags = node->node_state & NODE_STATE_FLAGS;

	/* Slurm opens an idle one when its slurmd registers. */
	node->node_state = NODE_STATE_ALLOCATED | flags | NODE_STATE_COMPLETING;
	bit_set(cg_node_bitmap, node->index);
	bit_clear(idle_node_bitmap, node->index);
	last_node_update = time(NULL);
}

static void _send(job_record_t *job, node_record_t *node, struct leaving *it)
{
	_uncount(it);
	xfree(it->others);
	it->others = pollux_node_jobs(node, it->job_id, &it->other_count);
	it->again = it->again || it->sent_s > 0;
	it->heard = false;
	it->sent_s = pollux_now_s();
	_close(node);
	/* Also of those that were read from the file. */
	for (int i = 0; i < entry_count; i++) {
		if (!entries[i].sent_s && !xstrcmp(entries[i].node, it->node))
			_count(&entries[i], node);
	}
	pollux_send(pollux_slurm_end_on_node(job, node, it->nodes, it->gres));
}

/* Is another job's epilog on the node sent, and not over? */
static bool _is_busy(const char *node)
{
	for (int i = 0; i < entry_count; i++) {
		if (entries[i].sent_s && !xstrcmp(entries[i].node, node))
			return true;
	}
	return false;
}

static void _begin(job_record_t *job, node_record_t *node, bitstr_t *nodes,
		   List gres)
{
	bool busy = POLLUX_SLURM_HEARS_EPILOG && _is_busy(node->name);
	struct leaving *it = NULL;

	it = _add(job->job_id, node->name);
	it->nodes = bitmap2node_name_sortable(nodes, false);
	it->gres = gres ? gres_job_state_list_dup(gres) : NULL;
	if (busy) {
		_count(it, node);
		_close(node);
	} else {
		_send(job, node, it);
	}
}

/* Is there a slurmd to end the job, and to run an epilog? */
static bool _is_up(const node_record_t *node)
{
	return !IS_NODE_DOWN(node) && !IS_NODE_POWERED_DOWN(node) &&
	       !IS_NODE_POWERING_UP(node);
}

/*
 * Slurm counts the jobs of a node that share it with nobody, and takes one off
 * when it ends, but not when it gives the node up.
 */
static void _share_again(const job_record_t *job, node_record_t *node)
{
	if (!job->details || job->details->share_res != 0)
		return;
	if (node->no_share_job_cnt)
		node->no_share_job_cnt--;
	if (!node->no_share_job_cnt)
		bit_set(share_node_bitmap, node->index);
}

void pollux_epilog_leave(job_record_t *job, const struct pollux_holding *held,
			 bitstr_t *nodes)
{
	List gres = _gres(job, held, nodes);

	for (int n = pollux_slurm_first_node(nodes); n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n)) {
		node_record_t *node = node_record_table_ptr[n];

		/* A draining one is drained when the epilog is over. */
		node->comp_job_cnt++;
		make_node_idle(node, job);
		node->comp_job_cnt--;
		_share_again(job, node);
		if (_is_up(node))
			_begin(job, node, nodes, gres);
		else
			make_node_idle(node, NULL);
	}
	FREE_NULL_LIST(gres);
}

/* Does Slurm hear of the epilog's end, with the job as it is? */
static bool _is_told(const job_record_t *job)
{
	return POLLUX_SLURM_HEARS_EPILOG && job && job->node_bitmap &&
	       job->job_resrcs &&
	       (!IS_JOB_PENDING(job) || IS_JOB_COMPLETING(job));
}

/* Another job's end on the node clears its flag just as well. */
static bool _has_any_left(const struct leaving *it, const node_record_t *node)
{
	for (int i = 0; i < it->other_count; i++) {
		const job_record_t *job = find_job_record(it->others[i]);

		if (!job || !job->node_bitmap ||
		    !(IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job) ||
		      IS_JOB_COMPLETING(job)) ||
		    !bit_test(job->node_bitmap_cg ? job->node_bitmap_cg
						  : job->node_bitmap,
			      node->index))
			return true;
	}
	return false;
}

/* As Slurm asks again for a job that has ended. */
static double _again_s(void)
{
	return slurm_conf.kill_wait + 2.0 * slurm_conf.msg_timeout;
}

static bool _is_due(const struct leaving *it, double now_s)
{
	const node_record_t *node = find_node_record(it->node);

	return !node || !_is_up(node) || !IS_NODE_COMPLETING(node) ||
	       !IS_NODE_ALLOCATED(node) ||
	       (it->sent_s && (!_is_told(find_job_record(it->job_id)) ||
			       (it->heard && now_s - it->sent_s >= QUIET_S) ||
			       now_s - it->sent_s >= _again_s())) ||
	       (!it->sent_s && !_is_busy(it->node));
}

/* Of a job that was requeued meanwhile, or from a Slurm that never tells. */
static double _untold_s(void)
{
	if (!slurm_conf.epilog)
		return NONE_S;
	return POLLUX_SLURM_HEARS_EPILOG ? NOT_TOLD_S : NEVER_TOLD_S;
}

/* Nobody will tell: True when it has been waited for long enough. */
static bool _is_untold_long(struct leaving *it, node_record_t *node,
			    double now_s)
{
	if (!it->untold_s)
		it->untold_s = POLLUX_SLURM_HEARS_EPILOG || !it->sent_s
				       ? now_s
				       : it->sent_s;
	if (now_s - it->untold_s >= _untold_s())
		return true;
	_close(node);
	return false;
}

/* An answer, or one that another job's end may have been taken for. */
static bool _answered(job_record_t *job, node_record_t *node,
		      struct leaving *it, double now_s)
{
	if (_has_any_left(it, node)) {
		_send(job, node, it);
		return false;
	}
	it->heard = true;
	_close(node);
	return !it->again || now_s - it->sent_s >= QUIET_S;
}

/* True when it is over, or is not to be waited for any more. WRITE locks. */
static bool _look(struct leaving *it, double now_s)
{
	node_record_t *node = find_node_record(it->node);
	job_record_t *job = find_job_record(it->job_id);

	if (!node || !_is_up(node))
		return true;
	if (!_is_told(job))
		return _is_untold_long(it, node, now_s);
	it->untold_s = 0;
	if (!it->sent_s) {
		if (_is_busy(it->node))
			_close(node);
		else
			_send(job, node, it);
		return false;
	}
	if (!IS_NODE_COMPLETING(node) ||
	    (IS_NODE_IDLE(node) && _is_counted(it->node)))
		return _answered(job, node, it, now_s);
	_close(node);
	if (it->heard)
		return now_s - it->sent_s >= QUIET_S;
	if (now_s - it->sent_s >= _again_s())
		_send(job, node, it);
	return false;
}

static bool _any_due(double now_s)
{
	bool due = false;

	pollux_lock(POLLUX_JUDGE);
	for (int i = 0; i < entry_count && !due; i++)
		due = _is_due(&entries[i], now_s);
	pollux_unlock(POLLUX_JUDGE);
	return due;
}

/* Others that gave the node up go on with theirs. */
static void _open(char *name)
{
	node_record_t *node = find_node_record(name);

	if (!node)
		return;
	make_node_idle(node, NULL);
	for (int i = 0; i < entry_count; i++) {
		if (!xstrcmp(entries[i].node, name))
			_close(node);
	}
}

/* Of those that were sent, or of those that wait for their turn. */
static bool _end_due(bool sent, double now_s)
{
	bool opened = false;
	int i = 0;

	while (i < entry_count) {
		char *name = NULL;

		if ((entries[i].sent_s > 0) != sent ||
		    !_is_due(&entries[i], now_s) ||
		    !_look(&entries[i], now_s)) {
			i++;
			continue;
		}
		pollux_verbose("sched/pollux: JobId=%u has left %s, its epilog "
			       "is over",
			       entries[i].job_id, entries[i].node);
		name = xstrdup(entries[i].node);
		_remove(i);
		_open(name);
		xfree(name);
		opened = true;
	}
	return opened;
}

/*
 * Slurm clears a flag of the node when the epilog that was sent is over. To let
 * go one that waits sets the flag again, for the others. So the one that was
 * sent is looked at first, or its answer would be lost.
 */
static bool _tick(void)
{
	double now_s = pollux_now_s();
	bool opened = false;

	if (!entry_count || !_any_due(now_s))
		return false;
	pollux_lock(POLLUX_TOUCH);
	opened = _end_due(true, now_s);
	opened = _end_due(false, now_s) || opened;
	pollux_unlock(POLLUX_TOUCH);
	return opened;
}

bool pollux_epilog_tick(void)
{
	bool opened = _tick();

	if (unsaved)
		_save();
	return opened;
}
