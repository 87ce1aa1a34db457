/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_snapshot.c - what is in slurmctld, copied under a read lock */

#include <string.h>

#include "core/jobs/moldable.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/fingerprint.h"
#include "sched/pollux/rules/job_limits.h"
#include "sched/pollux/rules/decay.h"
#include "sched/pollux/rules/nodes.h"
#include "sched/pollux/rules/slurmds.h"
#include "sched/pollux/rules/switches.h"
#include "sched/pollux/snapshot/snapshot_fill.h"
#include "sched/pollux/snapshot/moldable_jobs.h"
#include "sched/pollux/snapshot/deadlines.h"
#include "sched/pollux/snapshot/node_arrays.h"
#include "sched/pollux/snapshot/cpu_limits.h"
#include "sched/pollux/snapshot/rigid_allocs.h"
#include "sched/pollux/snapshot/comment_cache.h"
#include "sched/pollux/snapshot/lost_node.h"
#include "sched/pollux/snapshot/read_ahead.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/snapshot/waiting.h"

static void _add_number(uint64_t *fingerprint, uint64_t number)
{
	*fingerprint =
		pollux_fingerprint(*fingerprint, &number, sizeof(number));
}

/* So many are few enough to plan without them: one in twenty. */
#define UNHEARD_PART 20

void pollux_snapshot_forget_all(void)
{
	pollux_snapshot_jobs_forget();
	pollux_node_arrays_forget();
	pollux_comment_cache_forget_all();
}

/*
 * Who is not heard yet after slurmctld's start is not lost: its jobs stay. Who
 * has registered since is.
 */
static bool _is_silent(const node_record_t *node)
{
	return pollux_slurmds_unheard(node) && !pollux_slurmds_awaited(node);
}

static bool _usable(const node_record_t *node)
{
	return !IS_NODE_DOWN(node) && !IS_NODE_DRAIN(node) &&
	       !IS_NODE_FAIL(node) && !_is_silent(node) &&
	       !IS_NODE_FUTURE(node) && !IS_NODE_POWERED_DOWN(node) &&
	       !IS_NODE_POWERING_DOWN(node) && !IS_NODE_POWERING_UP(node);
}

/*
 * It was put back into the queue before, and has not run for long since: a
 * minute after the first time, then twice that, up to an hour.
 */
#define CALM_S	   60
#define CALM_STEPS 6

static bool _is_calm(const job_record_t *record, const struct pollux_job *job)
{
	int steps = 0;

	if (!record->restart_cnt)
		return true;
	steps = MIN(record->restart_cnt - 1, CALM_STEPS);
	return job->age_s >= MIN(CALM_S << steps, 3600);
}

/* An epilog that takes longer may hang, and others go on meanwhile. */
#define CLOSING_S 30

/* When nodes were first seen with the end of a job; the thread's own. */
static struct {
	time_t *since; /* [count]; 0: it has none */
	int count;
} closing;

static bool _is_closing(const struct pollux_snapshot *snapshot, int n)
{
	time_t *since = NULL;

	if (closing.count != snapshot->node_count) {
		xfree(closing.since);
		closing.count = snapshot->node_count;
		closing.since =
			xcalloc(closing.count + 1, sizeof(*closing.since));
	}
	since = &closing.since[n];
	if (!bit_test(cg_node_bitmap, n))
		*since = 0;
	else if (!*since)
		*since = snapshot->now;
	return *since && snapshot->now - *since < CLOSING_S;
}

static void _fill_nodes(struct pollux_snapshot *snapshot,
			const struct pollux_rules *rules)
{
	int usable = 0;
	int unheard = 0;

	for (int n = 0; n < snapshot->node_count; n++) {
		const node_record_t *record = node_record_table_ptr[n];
		struct pollux_node *node = &snapshot->nodes[n];
		const gres_node_state_t *gpus = NULL;
		bool closes = _is_closing(snapshot, n);

		if (!record)
			continue; /* a hole left by a deleted node */
		gpus = pollux_node_gpus(record);
		node->name = xstrdup(record->name);
		node->usable = _usable(record);
		unheard += node->usable && pollux_slurmds_unheard(record);
		usable += node->usable;
		node->leave = pollux_deadlines_due(record, n, snapshot->now);
		node->waking = IS_NODE_POWERING_UP(record) ||
			       (record->node_state & NODE_STATE_POWER_UP);
		node->asleep = IS_NODE_POWERED_DOWN(record) && !node->waking &&
			       !IS_NODE_DOWN(record) && !IS_NODE_DRAIN(record);
		node->cpus = record->cpus_efctv;
		node->left.cpus = record->cpus_efctv;
		node->left.memory = (double) record->real_memory -
				    (double) record->mem_spec_limit;
		if (gpus) {
			node->gpus = pollux_node_count(gpus, NULL);
			node->left.gpus = pollux_node_free(gpus, NULL);
			snapshot->node_gpus_max =
				MAX(snapshot->node_gpus_max, node->gpus);
		}
		if (pollux_node_open(rules, n))
			continue;
		if (node->usable && closes)
			node->gpus_closing = (int) node->left.gpus;
		node->left.gpus = 0;
	}
	snapshot->gathers = unheard * UNHEARD_PART > usable;
}

/* CPUs and memory of the job are not left to others. */
static void _take_held(const job_record_t *record, bool elastic,
		       struct pollux_snapshot *snapshot)
{
	int node_count = snapshot->node_count;
	const job_resources_t *held = record->job_resrcs;
	bitstr_t *nodes = held ? held->node_bitmap : NULL;
	int offset = 0;

	if (!nodes || !held->cpus)
		return;
	for (int n = pollux_slurm_next_bit(nodes, 0, node_count);
	     n < node_count;
	     n = pollux_slurm_next_bit(nodes, n + 1, node_count)) {
		struct pollux_node *node = &snapshot->nodes[n];

		node->left.cpus -= held->cpus[offset];
		node->cpus_rigid += elastic ? 0 : held->cpus[offset];
		if (held->memory_allocated)
			node->left.memory -=
				(double) held->memory_allocated[offset];
		offset++;
	}
}

static bool _holds_resources(const job_record_t *record)
{
	return record->job_resrcs && record->node_bitmap &&
	       (IS_JOB_RUNNING(record) || IS_JOB_SUSPENDED(record));
}

static void _read_texts(job_record_t *record, struct pollux_job *job)
{
	job->told = pollux_comment_cache_read(record, job);
	if (pollux_is_moldable(job))
		pollux_moldable_status(record, job);
	else
		job->runs = job->runs && job->told;
}

/* Where its own type is short it is told of one that is not. */
static void _see_unlike(struct pollux_rules *rules, bitstr_t *unlike,
			struct pollux_job *job)
{
	pollux_rules_idle(rules, unlike);
	if (bit_ffs(unlike) >= 0)
		pollux_rules_best_type(rules, unlike, job->unlike);
}

static void _ask_rules(struct pollux_rules *rules, const job_record_t *record,
		       struct pollux_snapshot *snapshot, struct pollux_job *job)
{
	pollux_barred_t barred = { 0 };
	bitstr_t *unlike = bit_alloc(node_record_count);
	bitstr_t *allowed =
		pollux_nodes_allowed(rules, record, &barred, unlike);
	bitstr_t *listed = pollux_nodes_listed(record);
	bitstr_t *asleep = pollux_nodes_asleep(rules, record);

	pollux_snapshot_kind(snapshot, record, rules, allowed, job);
	_see_unlike(rules, unlike, job);
	FREE_NULL_BITMAP(unlike);
	job->unreserved = pollux_cpu_limit_unreserved(snapshot, &barred);
	job->allowed_count = bit_set_count(allowed);
	job->allowed_set = pollux_snapshot_set(snapshot, allowed);
	job->required_set = listed ? pollux_snapshot_set(snapshot, listed) : -1;
	for (int n = 0; asleep && n < snapshot->node_count; n++)
		snapshot->nodes[n].asked |= bit_test(asleep, n);
	FREE_NULL_BITMAP(asleep);
	job->fixed = pollux_nodes_fixed(rules, record);
	job->bound = pollux_nodes_unreached(rules, record);
	job->runs = job->runs && !job->fixed && !job->bound;
}

/* What keeps it in its shape, whatever its launcher says; NULL: nothing. */
static const char *_bound(const job_record_t *record,
			  const struct pollux_job *job)
{
	if (job->fixed || job->bound)
		return job->fixed ? job->fixed : job->bound;
	if (IS_JOB_SUSPENDED(record))
		return "it is suspended";
	if (!record->priority)
		return "it is held";
	if (pollux_is_moldable(job) && !pollux_record_may_requeue(record))
		return "it may not be requeued";
	return pollux_record_runs(record) ? NULL : "its nodes are not ready";
}

/*
 * Slurm says "no GPU of this node" by an empty set of its devices, and one
 * node is one node, also for the script.
 */
static bool _roams(const struct pollux_job *job)
{
	const node_record_t *node = NULL;
	const gres_node_state_t *gpus = NULL;

	if (job->batch_host < 0 || job->max_nodes == 1 ||
	    pollux_is_moldable(job))
		return false;
	node = node_record_table_ptr[job->batch_host];
	gpus = node ? pollux_node_gpus(node) : NULL;
	return gpus && gpus->gres_bit_alloc;
}

static void _fill_job(job_record_t *record,
		      const struct pollux_job_options *asked,
		      struct pollux_rules *rules,
		      struct pollux_snapshot *snapshot)
{
	struct pollux_job *job = pollux_snapshot_next(snapshot);

	snapshot->job_count++;
	job->id = record->job_id;
	job->uid = record->user_id;
	job->options = asked->options;
	pollux_snapshot_node_range(record, asked, job);
	job->runs = pollux_record_runs(record);
	_read_texts(record, job);
	job->batch_host = pollux_record_batch_host(record, &job->status);
	job->runs = job->runs && job->batch_host >= 0 && record->priority;
	if (job->batch_host >= 0)
		snapshot->nodes[job->batch_host].batch_hosts++;
	job->whole_gpus = MAX(pollux_nodes_whole(record), 0);
	job->roams = !job->whole_gpus && _roams(job);
	job->moves = job->runs && pollux_record_may_requeue(record);
	if (pollux_is_moldable(job))
		job->runs = job->moves;
	job->priority = pollux_priority(record, record->part_ptr);
	pollux_job_ends(record, snapshot->now, job);
	job->age_s = snapshot->now > record->start_time
			     ? snapshot->now - record->start_time
			     : 0;
	job->here_s = MAX(snapshot->now - record->details->submit_time, 0);
	job->yields =
		job->moves && !pollux_is_moldable(job) && _is_calm(record, job);
	job->shape = xstrdup(record->nodes);
	job->since = pollux_record_since(record);
	pollux_node_arrays_note(snapshot, record, job);
	pollux_snapshot_needs(record, job);
	job->cpu_limit = pollux_cpu_limit_of(snapshot, record->part_ptr);
	pollux_job_limits_node(snapshot, record, job);
	_ask_rules(rules, record, snapshot, job);
	job->bound = _bound(record, job);
}

/* Jobs that hold something. */
struct holders {
	job_record_t **at;
	int count;
};

/* What is found of them. */
struct walk {
	struct pollux_snapshot *snapshot;
	struct pollux_rules *rules;
	struct holders rigid; /* those that are not elastic */
};

static void _see_holder(job_record_t *record, struct walk *walk)
{
	struct pollux_snapshot *snapshot = walk->snapshot;
	struct pollux_job_options asked;
	bool elastic = record->details && record->part_ptr &&
		       record->part_ptr->node_bitmap &&
		       pollux_job_options(record, &asked);

	snapshot->lost_node_count += pollux_has_lost_node(record);
	_take_held(record, elastic, snapshot);
	pollux_cpu_limit_take(snapshot, record);
	if (elastic)
		_fill_job(record, &asked, walk->rules, snapshot);
	else if (pollux_holds_rigid_alloc(record))
		walk->rigid.at[walk->rigid.count++] = record;
}

/* The list is locked meanwhile: nothing is called that may walk over it too. */
static int _add_holder(void *x, void *arg)
{
	job_record_t *record = x;
	struct holders *holders = arg;

	if (!IS_JOB_PENDING(record) && _holds_resources(record))
		holders->at[holders->count++] = record;
	return 0;
}

static void _find_holders(struct holders *holders)
{
	*holders = (struct holders){
		.at = xcalloc(list_count(job_list) + 1, sizeof(*holders->at)),
	};
	list_for_each_ro(job_list, _add_holder, holders);
}

/* Those that are not elastic are the caller's to free. */
static struct holders _fill_jobs(struct pollux_snapshot *snapshot,
				 const struct holders *holders,
				 struct pollux_rules *rules)
{
	struct walk walk = {
		.snapshot = snapshot,
		.rules = rules,
		.rigid.at = xcalloc(holders->count + 1, sizeof(*walk.rigid.at)),
	};

	for (int i = 0; i < holders->count; i++)
		_see_holder(holders->at[i], &walk);
	pollux_cpu_limits_settle(snapshot, holders->at, holders->count);
	return walk.rigid;
}

/* backlog: of those that wait; NULL: they have to be looked for. */
static void _fill_waiting(struct pollux_snapshot *snapshot,
			  const struct pollux_terms *terms,
			  struct pollux_rules *rules,
			  struct plx_backlog *backlog)
{
	struct pollux_preempts *preempts = pollux_preempts_create(snapshot);
	struct plx_backlog *own = NULL;

	if (!backlog) {
		own = plx_backlog_create(pollux_waiting_most(terms));
		pollux_read_pending(snapshot, preempts, own);
	}
	pollux_waiting_fill(backlog ? backlog : own, preempts, terms, snapshot,
			    rules);
	pollux_preempts_destroy(preempts);
	plx_backlog_destroy(own);
	pollux_moldable_jobs_fill(snapshot, rules);
}

/*
 * Where some jobs may preempt elastic ones, these have to be known before any
 * that waits is left out: NULL. The same when there is no memory, or it
 * took too long.
 */
static struct plx_backlog *_read_ahead(struct pollux_snapshot *snapshot,
				       const struct pollux_terms *terms)
{
	struct plx_backlog *backlog = NULL;

	if (!pollux_preempts_possible())
		backlog = plx_backlog_create(pollux_waiting_most(terms));
	if (pollux_read_ahead(snapshot, backlog) == 0)
		return backlog;
	plx_backlog_destroy(backlog);
	return NULL;
}

/* Under the lock POLLUX_LOOK. */
static void _fill(struct pollux_snapshot *snapshot,
		  const struct pollux_terms *terms, struct plx_backlog *backlog)
{
	struct pollux_rules *rules = NULL;
	struct holders holders;
	struct holders rigid;

	snapshot->node_count = node_record_count;
	snapshot->counts_memory = slurm_conf.select_type_param & CR_MEMORY;
	snapshot->nodes =
		xcalloc(snapshot->node_count, sizeof(*snapshot->nodes));
	_find_holders(&holders);
	rules = pollux_rules_create_with(holders.at, holders.count);
	_fill_nodes(snapshot, rules);
	snapshot->switches = pollux_switches_read();
	rigid = _fill_jobs(snapshot, &holders, rules);
	_fill_waiting(snapshot, terms, rules, backlog);
	if (pollux_waiting_is_ours(snapshot))
		pollux_rigid_allocs_fill(rigid.at, rigid.count, snapshot);
	pollux_job_limits_fill(snapshot);
	pollux_rules_destroy(rules);
	xfree(rigid.at);
	xfree(holders.at);
}

/* What, when it changes, is worth a cycle before its time. */
static uint64_t _fingerprint(const struct pollux_snapshot *snapshot)
{
	uint64_t fingerprint = POLLUX_FINGERPRINT_FROM;

	for (int n = 0; n < snapshot->node_count; n++) {
		_add_number(&fingerprint, snapshot->nodes[n].usable);
		_add_number(&fingerprint, snapshot->nodes[n].leave);
		_add_number(&fingerprint,
			    (uint64_t) snapshot->nodes[n].left.gpus);
	}
	for (int i = 0; i < snapshot->licence_count; i++)
		_add_number(&fingerprint, (uint64_t) snapshot->licences[i]);
	for (int i = 0; i < snapshot->job_count; i++) {
		const struct pollux_job *job = &snapshot->jobs[i];

		_add_number(&fingerprint, job->id);
		_add_number(&fingerprint, job->runs);
		_add_number(&fingerprint, (uint64_t) job->allowed_count);
		_add_number(&fingerprint, job->exempt_s > 0);
		_add_number(&fingerprint, (uint64_t) job->min_nodes);
		_add_number(&fingerprint, (uint64_t) job->max_nodes);
		_add_number(&fingerprint, job->target.serial);
		_add_number(&fingerprint, job->target.state);
		_add_number(&fingerprint, job->status.has_hint);
		_add_number(&fingerprint, job->unlike_model);
		_add_number(&fingerprint,
			    (uint64_t) job->status.hint.profiled.gpus);
		_add_number(&fingerprint,
			    job->saved_s >= 0 &&
				    job->saved_s < PLX_MOLDABLE_RECENT_S);
	}
	for (int i = 0; i < snapshot->waiting_count; i++) {
		_add_number(&fingerprint, snapshot->waiting[i].id);
		_add_number(&fingerprint, snapshot->waiting[i].priority);
		_add_number(&fingerprint, snapshot->waiting[i].moldable >= 0);
	}
	return fingerprint;
}

struct pollux_snapshot *pollux_snapshot_create(const struct pollux_terms *terms)
{
	struct pollux_snapshot *snapshot = xmalloc(sizeof(*snapshot));
	struct plx_backlog *backlog = NULL;

	pollux_decay_read();
	snapshot->now = time(NULL);
	backlog = _read_ahead(snapshot, terms);
	pollux_lock(POLLUX_LOOK);
	pollux_decay_find();
	snapshot->now = time(NULL);
	_fill(snapshot, terms, backlog);
	pollux_unlock(POLLUX_LOOK);
	plx_backlog_destroy(backlog);
	pollux_comment_cache_sweep();
	pollux_node_arrays_fill(snapshot);
	pollux_snapshot_sets_fill(snapshot);
	snapshot->fingerprint = _fingerprint(snapshot);
	return snapshot;
}

void pollux_snapshot_destroy(struct pollux_snapshot *snapshot)
{
	if (!snapshot)
		return;
	pollux_job_limits_release(snapshot);
	for (int n = 0; n < snapshot->node_count; n++)
		xfree(snapshot->nodes[n].name);
	for (int i = 0; i < snapshot->job_count + snapshot->moldable_count; i++)
		xfree(snapshot->jobs[i].shape);
	pollux_node_arrays_return(snapshot);
	pollux_snapshot_sets_release(snapshot);
	for (int i = 0; i < snapshot->waiting_count; i++) {
		xfree(snapshot->waiting[i].allowed);
		xfree(snapshot->waiting[i].partition);
		xfree(snapshot->waiting[i].told);
		xfree(snapshot->waiting[i].draws);
		xfree(snapshot->waiting[i].preempts);
	}
	for (int i = 0; i < snapshot->kind_count; i++) {
		xfree(snapshot->kinds[i].free);
		xfree(snapshot->kinds[i].all);
	}
	xfree(snapshot->kinds);
	xfree(snapshot->requeued);
	pollux_cpu_limits_release(snapshot);
	xfree(snapshot->allocs);
	xfree(snapshot->licences);
	xfree(snapshot->switches);
	xfree(snapshot->nodes);
	pollux_snapshot_jobs_release(snapshot);
	xfree(snapshot->waiting);
	xfree(snapshot);
}
