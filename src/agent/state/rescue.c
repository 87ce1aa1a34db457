/* SPDX-License-Identifier: MIT */
/*
 * rescue.c - one rank, on its own, saves the last commit
 *
 * Data-parallel: any survivor has all of the state. It holds the fence's lock
 * all the while, so other survivors wait, see that it is done and leave, and
 * the next generation does not look for checkpoints before that.
 */
#include <config.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/comm/pulse.h"
#include "agent/disk/folder.h"
#include "agent/state/background.h"
#include "agent/state/rescue.h"
#include "agent/state/store.h"

#define SETTLE_S   2 /* that an optimiser step may go on */
#define PREPARE_AT 5 /* commits after the start, which is busy enough */

/* ---- is the state that of the last commit? ---- */

/* Not while a rescue reads the state. */
static void lock(struct plx_store *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->rescuing)
		pthread_cond_wait(&s->moved, &s->lock);
}

void plx_state_changing(struct pollux *p)
{
	struct plx_store *s = p->store;

	if (!s)
		return;
	lock(s);
	s->changing = true;
	pthread_mutex_unlock(&s->lock);
}

void plx_state_settled(struct pollux *p)
{
	struct plx_store *s = p->store;

	if (!s)
		return;
	lock(s);
	s->changing = false;
	s->has_commit = true;
	s->cursor = p->cursor;
	s->profile = p->profile;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
	if (++s->commits == PREPARE_AT && p->folder[0] &&
	    p->config.checkpoint_every_s != 0)
		plx_background_prepare(p);
}

/* From now on it is, until we say that we are done. */
static int hold_state(struct plx_store *s, struct plx_error *err)
{
	struct timespec until;
	int code = 0;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += SETTLE_S;
	pthread_mutex_lock(&s->lock);
	while (s->rescuing)
		pthread_cond_wait(&s->moved, &s->lock);
	while (s->changing && code == 0)
		code = pthread_cond_timedwait(&s->moved, &s->lock, &until);
	if (s->changing)
		rc = plx_fail(err, "the state is being changed");
	else
		s->rescuing = true;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

bool pollux_rescuing(const struct pollux *p)
{
	return p && p->store && p->store->rescuing;
}

static void free_state(struct plx_store *s)
{
	pthread_mutex_lock(&s->lock);
	s->rescuing = false;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
}

/* ---- saving ---- */

/* Another survivor, or a save before it, was as far. */
static bool is_there(const struct pollux *p, uint64_t step)
{
	struct plx_folder_entry *list = NULL;
	int count = plx_folder_list(p->folder, &list, NULL);
	bool there = false;

	for (int i = 0; i < count && !there; i++)
		there = !list[i].foreign && list[i].step >= step;
	free(list);
	return there;
}

static int write_it(struct plx_ckpt_write *job, struct plx_error *err)
{
	plx_job_write(job);
	/* What is old is left to those who know what else there is. */
	if (plx_job_seal(job, &job->report, err) == 0 &&
	    plx_folder_commit(job->folder, job->tmp, job->facts.step, false,
			      err) == 0)
		return 0;
	plx_job_drop(job);
	return -1;
}

static void report_saved(const struct pollux *p)
{
	const uint64_t step = p->store->cursor.step;
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };

	plx_pulse_rescued(p->pulser, step);
	/* Others wait for the folder: who reads stderr may be gone. */
	if (!p->config.quiet && poll(&out, 1, 0) > 0 && out.revents & POLLOUT)
		dprintf(STDERR_FILENO,
			"pollux: rank %d rescued step %" PRIu64
			" before it leaves\n",
			p->coll->rank, step);
}

/*
 * It is told before the next one has the folder: who finds the step there
 * leaves, and Slurm then kills all others.
 */
static int save_alone(struct pollux *p, struct plx_error *err)
{
	const struct plx_ckpt_order alone =
		plx_store_order(p, (struct plx_writer_rank){ 0, 1 });
	struct plx_store *s = p->store;
	struct plx_facts facts = plx_store_facts(p, &s->cursor, false);
	struct plx_ckpt_write job;
	char kind[32];
	int lock = plx_fence_enter(&s->fence, err);
	int rc = 0;

	if (lock < 0)
		return -1;
	if (!is_there(p, s->cursor.step)) {
		facts.rescue = true;
		(void) plx_job_init(&job, &p->registered, &alone, &facts,
				    &s->profile);
		snprintf(kind, sizeof(kind), "r%d.", p->coll->rank);
		plx_store_tag(s, kind, job.tag);
		rc = write_it(&job, err);
		plx_job_release(&job);
		if (rc == 0)
			report_saved(p);
	}
	plx_fence_leave(lock);
	return rc;
}

int plx_rescue(struct pollux *p)
{
	struct plx_store *s = p->store;
	struct plx_error err = { .text = "" };
	int rc = -1;

	/*
	 * Programs that are no trainings change their state at any time in a
	 * step, and of a domain one rank has a part only.
	 */
	if (!s || !p->folder[0] || !s->has_commit || p->config.steps ||
	    p->registered.domain.part)
		return 0;
	if (hold_state(s, &err) == 0) {
		rc = save_alone(p, &err);
		free_state(s);
	}
	if (rc < 0 && !p->config.quiet)
		fprintf(stderr, "pollux: rank %d leaves without a rescue: %s\n",
			p->coll->rank, err.text);
	return rc;
}
