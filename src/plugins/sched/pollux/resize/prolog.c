/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prolog.c - the prolog on nodes that a running job gains */

#include <string.h>

#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/resize.h"
#include "sched/pollux/resize/before.h"
#include "sched/pollux/resize/prolog.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/snapshot/hosts.h"

/* From slurmd's word that a prolog has ended to the one that it failed. */
#define VERDICT_S 0.5
/*
 * When a prolog fails, slurmd also asks for the job to be requeued and held:
 * for the heterogeneous job it is part of, if it is. No job has this number,
 * so ours runs on. The prolog sees it as SLURM_HET_JOB_ID.
 */
#define NOBODY 0x03fffffe
/*
 * slurmd keeps a job that left it in mind, and runs no prolog when it comes
 * back: the first request only makes it forget, two seconds later at most.
 */
#define FORGET_S 2.5
/*
 * A prolog may take long, and a node may have died: Slurm itself sees that when
 * it pings, a minute or two after the node's last answer, and calls it down
 * after SlurmdTimeout. So nodes that are waited for are asked.
 */
#define ASK_S	    5
#define ASK_AGAIN_S 30
/* Why a node is drained where it fails, as slurmctld says. */
#define REASON "Prolog"

static bool _is_wanted(void)
{
	return slurm_conf.prolog || (slurm_conf.prolog_flags &
				     (PROLOG_FLAG_ALLOC | PROLOG_FLAG_CONTAIN));
}

void pollux_prolog_before(const job_record_t *job,
			  struct pollux_job_state *state)
{
	pollux_before_release(&state->had);
	xfree(state->fresh);
	state->verdict_s = 0;
	/* What a parked job has is its batch host, though no GPU there. */
	if (_is_wanted())
		pollux_before_note(job, &state->had);
}

/* Does it come back to a node it once gave up? And which does it give up now?
 */
static bool _comes_back(const job_record_t *job, struct pollux_job_state *state,
			bitstr_t *gained)
{
	bitstr_t *left = state->left;
	bool back = false;

	if (left && bit_size(left) != node_record_count)
		FREE_NULL_BITMAP(left);
	if (!left)
		left = bit_alloc(node_record_count);
	state->left = left;
	back = gained && bit_overlap_any(left, gained);
	for (int i = 0; i < state->had.count; i++) {
		if (!bit_test(job->node_bitmap, state->had.nodes[i]))
			bit_set(left, state->had.nodes[i]);
	}
	return back;
}

/* Those that it did not have; NULL: none. */
static bitstr_t *_gained(const job_record_t *job,
			 const struct pollux_job_state *state)
{
	bitstr_t *gained = bit_copy(job->node_bitmap);

	for (int i = 0; i < state->had.count; i++)
		bit_clear(gained, state->had.nodes[i]);
	if (bit_ffs(gained) < 0)
		FREE_NULL_BITMAP(gained);
	return gained;
}

static void _end_step_on(const slurm_step_id_t *id, int first, int last)
{
	step_complete_msg_t message = {
		.step_id = *id,
		.range_first = first,
		.range_last = last,
	};
	uint32_t code = 0;
	int rest = 0;

	(void) step_partial_comp(&message, slurm_conf.slurm_user_id, true,
				 &rest, &code);
}

/* Where it has ended already, Slurm would take it for an error. */
static void _end_step(const step_record_t *step)
{
	slurm_step_id_t id = step->step_id;
	bitstr_t *ended = step->exit_node_bitmap;

	if (!ended || bit_clear_count(ended) == 0) {
		_end_step_on(&id, 0,
			     (ended ? bit_size(ended)
				    : bit_set_count(step->step_node_bitmap)) -
				     1);
		return;
	}
	/* With the last one the record is gone. */
	ended = bit_copy(ended);
	for (int i = 0; i < bit_size(ended); i++) {
		if (!bit_test(ended, i))
			_end_step_on(&id, i, i);
	}
	FREE_NULL_BITMAP(ended);
}

/*
 * Under PrologFlags=Contain each launch makes a record of the external step, of
 * all nodes. It takes the place of the one before: that is at its end, though
 * its processes on nodes that the job keeps are not.
 */
static void _end_extern(job_record_t *job)
{
	slurm_step_id_t id = {
		.job_id = job->job_id,
		.step_id = SLURM_EXTERN_CONT,
		.step_het_comp = NO_VAL,
	};

	if (!(slurm_conf.prolog_flags & PROLOG_FLAG_CONTAIN) || !job->step_list)
		return;
	for (int i = list_count(job->step_list); i > 0; i--) {
		const step_record_t *step = find_step_record(job, &id);

		if (!step || !step->step_node_bitmap)
			return;
		_end_step(step);
	}
}

/*
 * On all nodes, as if it had been started in its present shape: those that
 * ran it for this job do not run it again, and the others learn their place.
 */
static void _launch(job_record_t *job, bitstr_t *gained)
{
	_end_extern(job);
	pollux_slurm_launch_prolog(job, NOBODY);
	/* Slurm clears a bit when the node says that it is done. */
	FREE_NULL_BITMAP(job->node_bitmap_pr);
	job->node_bitmap_pr = gained;
}

bool pollux_prolog_after(job_record_t *job, struct pollux_job_state *state)
{
	bitstr_t *gained = NULL;

	if (!pollux_before_known(&state->had))
		return false;
	gained = _gained(job, state);
	state->again = _comes_back(job, state, gained);
	if (!gained)
		return false;
	state->launched_s = pollux_now_s();
	state->ask_s = state->launched_s + ASK_S;
	state->fresh = bitmap2node_name(gained);
	_launch(job, gained);
	pollux_verbose("sched/pollux: JobId=%u: the prolog runs on %s",
		       job->job_id, state->fresh);
	return true;
}

void pollux_prolog_again(job_record_t *job, struct pollux_job_state *state)
{
	bitstr_t *nodes = NULL;

	state->again = false;
	state->verdict_s = 0;
	(void) pollux_slurm_nodes(state->fresh, &nodes);
	bit_and(nodes, job->node_bitmap);
	_launch(job, nodes);
}

static bool _is_lost(const node_record_t *node)
{
	return !node || IS_NODE_DOWN(node) || IS_NODE_DRAIN(node) ||
	       IS_NODE_FAIL(node) || IS_NODE_NO_RESPOND(node);
}

/* Nodes that the job has just gained, and on which it failed. */
static bitstr_t *_failed(const struct pollux_job_state *state)
{
	bitstr_t *failed = NULL;

	/* One that is no node any more is left out. */
	(void) pollux_slurm_nodes(state->fresh, &failed);
	for (int n = 0; n < node_record_count; n++) {
		if (bit_test(failed, n) && !_is_lost(node_record_table_ptr[n]))
			bit_clear(failed, n);
	}
	return failed;
}

char *pollux_prolog_failed(const struct pollux_job_state *state)
{
	bitstr_t *failed = _failed(state);
	char *names = NULL;

	/* One may have been drained by an operator meanwhile. */
	for (int n = 0; n < node_record_count; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		if (bit_test(failed, n) &&
		    (!node ||
		     xstrncasecmp(node->reason, REASON, strlen(REASON))))
			bit_clear(failed, n);
	}
	names = bitmap2node_name(failed);
	FREE_NULL_BITMAP(failed);
	return names;
}

static void _ask(bitstr_t *nodes, struct pollux_job_state *state)
{
	double now_s = pollux_now_s();

	if (now_s < state->ask_s)
		return;
	state->ask_s = now_s + ASK_AGAIN_S;
	pollux_hosts_ask(nodes, REQUEST_PING);
}

enum pollux_prolog pollux_prolog_look(const job_record_t *job,
				      struct pollux_job_state *state)
{
	bitstr_t *failed = _failed(state);
	bool lost = bit_ffs(failed) >= 0;

	FREE_NULL_BITMAP(failed);
	if (lost)
		return POLLUX_PROLOG_FAILED;
	if (job->node_bitmap_pr && bit_ffs(job->node_bitmap_pr) >= 0) {
		_ask(job->node_bitmap_pr, state);
		return POLLUX_PROLOG_RUNS;
	}
	if (state->again)
		return pollux_now_s() < state->launched_s + FORGET_S
			       ? POLLUX_PROLOG_RUNS
			       : POLLUX_PROLOG_AGAIN;
	if (!state->verdict_s)
		state->verdict_s = pollux_now_s() + VERDICT_S;
	return pollux_now_s() < state->verdict_s ? POLLUX_PROLOG_RUNS
						 : POLLUX_PROLOG_ENDED;
}

/* gpus[node_record_count], -1 where it is not to have the node. */
static struct pollux_shape _shape(const int *gpus)
{
	struct pollux_shape shape = {
		.nodes = bit_alloc(node_record_count),
		.counts = xcalloc(node_record_count, sizeof(int)),
	};

	for (int n = 0; n < node_record_count; n++) {
		if (gpus[n] < 0)
			continue;
		bit_set(shape.nodes, n);
		shape.counts[n] = gpus[n];
		if (gpus[n] && (!shape.gpus || gpus[n] < shape.gpus))
			shape.gpus = gpus[n];
	}
	if (!shape.gpus)
		xfree(shape.counts); /* parked */
	return shape;
}

/* What it has, without those nodes. */
static void _without(const job_record_t *job, bitstr_t *failed, int *gpus)
{
	pollux_record_gpus(job, gpus);
	for (int n = 0; n < node_record_count; n++) {
		if (!bit_test(job->node_bitmap, n) || bit_test(failed, n))
			gpus[n] = -1;
	}
}

int pollux_prolog_undo(job_record_t *job, const struct pollux_job_state *state,
		       struct plx_error *err)
{
	int *gpus = pollux_before_gpus(&state->had);
	struct pollux_shape shape = { NULL };
	bitstr_t *failed = _failed(state);
	int rc = -1;

	if (pollux_before_known(&state->had)) {
		shape = _shape(gpus);
		shape.back = true;
		rc = pollux_resize(job, &shape, err);
		pollux_shape_release(&shape);
	}
	if (rc < 0) {
		_without(job, failed, gpus);
		shape = _shape(gpus);
		rc = pollux_resize(job, &shape, err);
		pollux_shape_release(&shape);
	}
	FREE_NULL_BITMAP(failed);
	xfree(gpus);
	return rc;
}
