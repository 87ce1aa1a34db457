/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sick_nodes.c - nodes where the ranks of jobs failed */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/plan/sick_nodes.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/resize_request.h"
#include "sched/pollux/resize/before.h"
#include "sched/pollux/report/count.h"

#define STARTS_MOST 3 /* that a job has on other nodes, for no rank came up */

static struct {
	struct plx_sick sick;
	double next_s; /* a node opens then; 0: none */
	double wait_s; /* as the administrator has it */
} known;

static const char *const whom[] = {
	[PLX_CLOSED_NOT] = "nobody",
	[PLX_CLOSED_JOB] = "this job",
	[PLX_CLOSED_OWNER] = "all elastic jobs of its user",
	[PLX_CLOSED_ALL] = "all elastic jobs",
};

/* True when there is a node less for the job. */
static bool _complain(const struct plx_sick_claim *claim, const char *what)
{
	double until_s = 0;
	enum plx_closed closed = PLX_CLOSED_NOT;

	pollux_count(POLLUX_WAS_SICK);
	if (claim->wait_s <= 0)
		return false;
	closed = plx_sick_complain(&known.sick, claim, &until_s);
	pollux_info("sched/pollux: JobId=%u: %s failed on %s, which is closed "
		    "to %s for %.0f s",
		    claim->job, what, claim->node, whom[closed],
		    closed ? until_s - claim->now_s : 0);
	return closed != PLX_CLOSED_NOT;
}

/* More GPUs there than before the resize. */
static bool _gained(const struct pollux_job *job,
		    const struct pollux_job_state *state, int n)
{
	return job->gpus[n] > MAX(pollux_before_on(&state->back, n), 0);
}

static bool _is_new(const struct pollux_job *job,
		    const struct pollux_job_state *state, int n)
{
	return job->gpus[n] > 0 && pollux_before_on(&state->back, n) <= 0;
}

/* What the launcher names, as far as the job has it. */
static bool _is_named(const struct pollux_snapshot *snapshot,
		      const struct pollux_job *job, int n)
{
	return snapshot->nodes[n].name && job->gpus[n] > 0 &&
	       plx_failed_names(&job->status.failed, snapshot->nodes[n].name);
}

/* GPUs that are left without the nodes that were named. */
static int _gpus_left(const struct pollux_snapshot *snapshot,
		      const struct pollux_job *job)
{
	int gpus = 0;

	for (int n = 0; n < snapshot->node_count; n++)
		gpus += _is_named(snapshot, job, n) ? 0 : job->gpus[n];
	return gpus;
}

/* Would the job as it was not have what failed? */
static bool _can_go_back(const struct pollux_snapshot *snapshot,
			 const struct pollux_job *job,
			 const struct pollux_job_state *state)
{
	bool any = false;
	bool named = false;

	/* What it had is not known: then without these nodes. */
	if (!state->back.nodes &&
	    _gpus_left(snapshot, job) < MAX(job->options.min_gpus, 1))
		return false;
	for (int n = 0; n < snapshot->node_count; n++) {
		if (_is_named(snapshot, job, n)) {
			named = true;
			any = any || _gained(job, state, n);
		}
	}
	for (int n = 0; !named && state->back.nodes && n < snapshot->node_count;
	     n++)
		any = any || _gained(job, state, n);
	return any && job->target.serial &&
	       job->target.serial == job->status.failed.serial &&
	       (job->target.state == PLX_TARGET_DONE ||
		job->target.state == PLX_TARGET_LENT);
}

/* Nodes to be told apart from those where it has trained. */
static bool _complain_about(const struct pollux_snapshot *snapshot,
			    const struct pollux_job *job,
			    const struct pollux_job_state *state, bool back)
{
	struct plx_sick_claim claim = {
		.job = job->id,
		.owner = job->uid,
		.now_s = pollux_now_s(),
		.wait_s = known.wait_s,
		.cluster = snapshot->node_count,
	};
	bool closed = false;
	int fresh = 0;

	for (int n = 0; n < snapshot->node_count; n++)
		fresh += _is_new(job, state, n);
	for (int n = 0; n < snapshot->node_count; n++) {
		bool named = _is_named(snapshot, job, n);

		/* A batch host that has to keep a GPU cannot be left. */
		if ((n == job->batch_host && !(named && job->roams)) ||
		    !(back ? _is_new(job, state, n) : named) ||
		    (back && job->status.failed.nodes[0] && !named))
			continue;
		claim.node = snapshot->nodes[n].name;
		claim.sure = named || fresh == 1;
		closed |= _complain(&claim, "its ranks");
	}
	return closed;
}

/* Nodes that were closed for what this job said alone. */
static int _own_complaints(const struct pollux_snapshot *snapshot,
			   const struct pollux_job *job)
{
	int count = 0;

	for (int n = 0; n < snapshot->node_count; n++)
		count += snapshot->nodes[n].name &&
			 plx_sick_closed(&known.sick, snapshot->nodes[n].name,
					 job->id, job->uid,
					 pollux_now_s()) == PLX_CLOSED_JOB;
	return count;
}

/* GPUs that it could have, some day, on other nodes than its script's. */
static int _gpus_away(const struct pollux_snapshot *snapshot,
		      const struct pollux_job *job)
{
	int gpus = 0;

	for (int n = 0; n < snapshot->node_count; n++) {
		if (n != job->batch_host && job->allowed[n])
			gpus += snapshot->nodes[n].gpus;
	}
	return gpus;
}

/*
 * Slurm started it where nothing comes up: nothing is lost when it starts
 * again elsewhere. Not for ever: it may be the job.
 */
static bool _never_began(const struct pollux_snapshot *snapshot,
			 const struct pollux_job *job)
{
	return !job->status.failed.serial && !job->status.has_hint &&
	       job->status.launcher != PLX_WAKE_NONE && job->batch_host >= 0 &&
	       !xstrcmp(job->status.failed.nodes,
			snapshot->nodes[job->batch_host].name) &&
	       known.wait_s > 0 && job->moves &&
	       _own_complaints(snapshot, job) < STARTS_MOST &&
	       _gpus_away(snapshot, job) >= MAX(job->options.min_gpus, 1);
}

static void _start_elsewhere(const struct pollux_snapshot *snapshot, int j,
			     struct pollux_job_state *state)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	const char *batch_host = snapshot->nodes[job->batch_host].name;
	int *none = xcalloc(snapshot->node_count + 1, sizeof(*none));
	char why[PLX_WHY_SIZE];
	struct plx_sick_claim claim = {
		.node = batch_host,
		.job = job->id,
		.owner = job->uid,
		.sure = true,
		.now_s = pollux_now_s(),
		.wait_s = known.wait_s,
		.cluster = snapshot->node_count,
	};

	(void) _complain(&claim, "its start");
	snprintf(why, sizeof(why),
		 "nothing started on %s, it is to start elsewhere", batch_host);
	xfree(state->shuns);
	state->shuns = xstrdup(batch_host);
	if (!pollux_migrate_at_once(snapshot, j, none, why))
		xfree(state->shuns);
	xfree(none);
}

void pollux_sick_prolog(const job_record_t *job, const char *nodes)
{
	pollux_hostlist_t hosts = hostlist_create(nodes);
	char *name = NULL;
	struct plx_sick_claim claim = {
		.job = job->job_id,
		.owner = job->user_id,
		.sure = true,
		.now_s = pollux_now_s(),
		.wait_s = known.wait_s,
		.cluster = node_record_count,
	};

	while ((name = hostlist_shift(hosts))) {
		claim.node = name;
		(void) _complain(&claim, "the prolog");
		free(name);
	}
	hostlist_destroy(hosts);
}

/* Ranks that were started after a complaint train: it is out of date. */
static void _hear_well(const struct pollux_snapshot *snapshot,
		       const struct pollux_job *job,
		       const struct pollux_job_state *state)
{
	double began_s = pollux_now_s() - (double) (snapshot->now - job->since);

	if (!known.sick.count || state->phase != POLLUX_IDLE ||
	    job->target.state != PLX_TARGET_DONE || !job->status.has_hint ||
	    job->status.phase != PLX_PHASE_TRAINING)
		return;
	for (int n = 0; n < snapshot->node_count; n++) {
		if (job->gpus[n] > 0 &&
		    plx_sick_well(&known.sick, snapshot->nodes[n].name,
				  began_s))
			info("sched/pollux: JobId=%u trains on %s: what was "
			     "said against it is forgotten",
			     job->id, snapshot->nodes[n].name);
	}
}

void pollux_sick_hear(const struct pollux_snapshot *snapshot, int j,
		      struct pollux_job_state *state,
		      const struct pollux_params *params)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	const struct plx_failed *failed = &job->status.failed;
	bool back = false;

	known.wait_s = params->sick_s;
	if (!failed->is) {
		_hear_well(snapshot, job, state);
		state->failed = *failed;
		return;
	}
	if (plx_failed_equal(failed, &state->failed))
		return;
	state->failed = *failed;
	if (_never_began(snapshot, job)) {
		_start_elsewhere(snapshot, j, state);
		return;
	}
	back = _can_go_back(snapshot, job, state);
	known.next_s = pollux_now_s(); /* there is something to decide */
	/* A program that fails everywhere is no node's. */
	state->elsewhere = (failed->nodes[0] || !failed->why[0]) &&
			   _complain_about(snapshot, job, state, back);
	if (!back ||
	    (state->phase != POLLUX_IDLE && state->phase != POLLUX_LENT))
		return;
	/* Of a slurmctld that was started since, nothing but that is known. */
	if (state->phase == POLLUX_IDLE)
		state->target = job->target;
	state->phase = POLLUX_BACK;
	state->deadline_s = pollux_now_s() + params->ack_timeout_s;
}

/* GPUs that it has, or could have, where it is not to leave. */
static int _gpus_elsewhere(const struct pollux_snapshot *snapshot,
			   const struct pollux_job *job)
{
	int gpus = 0;

	for (int n = 0; n < snapshot->node_count; n++) {
		if (job->shunned[n])
			continue;
		gpus += job->gpus[n];
		if (job->allowed[n] && snapshot->nodes[n].usable)
			gpus += snapshot->nodes[n].left.gpus;
	}
	return gpus;
}

static void _close(const struct pollux_snapshot *snapshot,
		   struct pollux_job *job, double now_s)
{
	for (int n = 0; n < snapshot->node_count; n++) {
		enum plx_closed closed = PLX_CLOSED_NOT;

		if (snapshot->nodes[n].name)
			closed = plx_sick_closed(&known.sick,
						 snapshot->nodes[n].name,
						 job->id, job->uid, now_s);
		/* Who is there already, and says nothing, may stay. */
		if (closed == PLX_CLOSED_NOT ||
		    (closed != PLX_CLOSED_JOB && job->gpus[n] > 0))
			continue;
		if (!job->shunned)
			job->shunned =
				xcalloc(snapshot->node_count, sizeof(bool));
		job->shunned[n] = true;
	}
	/* Better on a doubtful node than nowhere. */
	if (!job->shunned ||
	    _gpus_elsewhere(snapshot, job) >= MAX(job->options.min_gpus, 1))
		return;
	for (int n = 0; n < snapshot->node_count; n++)
		job->shunned[n] = job->shunned[n] && job->gpus[n] <= 0;
}

void pollux_sick_apply(struct pollux_snapshot *snapshot, double now_s)
{
	const char *opened = NULL;

	while ((opened = plx_sick_opened(&known.sick, now_s)))
		info("sched/pollux: %s is open to elastic jobs again, to see "
		     "whether it is well",
		     opened);
	plx_sick_forget(&known.sick, now_s, MAX(known.wait_s, 1));
	known.next_s = plx_sick_next_s(&known.sick, now_s);
	for (int j = 0; known.sick.count && known.wait_s > 0 &&
			j < snapshot->job_count + snapshot->moldable_count;
	     j++)
		_close(snapshot, &snapshot->jobs[j], now_s);
}

void pollux_sick_release(struct pollux_snapshot *snapshot)
{
	for (int j = 0; j < snapshot->job_count + snapshot->moldable_count; j++)
		xfree(snapshot->jobs[j].shunned);
}

bool pollux_sick_due(double now_s)
{
	return known.next_s && now_s >= known.next_s;
}

int pollux_sick_count(double now_s)
{
	return plx_sick_out_count(&known.sick, now_s);
}

void pollux_sick_of(const char *node, double now_s, char *text, size_t size)
{
	uint32_t jobs[2] = { 0 };

	text[0] = '\0';
	if (plx_sick_out_s(&known.sick, node, now_s) <= 0)
		return;
	plx_sick_jobs(&known.sick, node, jobs);
	snprintf(text, size,
		 "closed to elastic jobs for a while: ranks of jobs %u and %u "
		 "failed here",
		 jobs[0], jobs[1]);
}

void pollux_sick_why(const struct pollux_snapshot *snapshot, int j, char *text,
		     size_t size)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	size_t used = 0;

	text[0] = '\0';
	for (int n = 0; job->shunned && n < snapshot->node_count; n++) {
		if (!job->shunned[n] || used >= size)
			continue;
		used += (size_t) snprintf(text + used, size - used, "%s%s",
					  used ? ", " : "ranks failed on ",
					  snapshot->nodes[n].name);
	}
	if (used && used < size)
		snprintf(text + used, size - used,
			 ", not offered to it for a while");
}

void pollux_sick_forget_all(void)
{
	memset(&known, 0, sizeof(known));
}
