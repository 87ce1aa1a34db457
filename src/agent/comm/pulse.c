/* SPDX-License-Identifier: MIT */
/* pulse.c - each rank tells what it does while no step is committed */
#include <config.h>

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/comm/pulse.h"
#include "wire/env.h"
#include "wire/now.h"
#include "wire/rank_file.h"
#include "wire/thread.h"

#define TICK_S	  1.0
#define SILENT_S  10.0 /* in a step, before it is told */
#define BETWEEN_S 1.5  /* in what the program does between steps */
#define AGAIN_S	  5.0
#define WORKS	  0.02	 /* of a processor: it is in use */
#define QUIET_S	  1800.0 /* another rank that is busy may say nothing */

struct plx_pulser {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under the lock */
	int generation;
	char inner[PATH_MAX];
	_Atomic uint64_t moves; /* changes of stage */
	_Atomic uint64_t beats; /* pollux_beat() */
	_Atomic uint64_t step;
	_Atomic bool between;
	_Atomic bool hold;
	_Atomic bool waits;
	_Atomic bool busy;

	/* the thread's */
	struct plx_pulse pulse;
	uint64_t moves_seen;
	uint64_t beats_seen;
	double moved_s;
	double sign_s; /* of life, the last one */
	double ticked_s;
	double used_s; /* of processors by then */
	double told_s; /* 0: nothing is told */
	double hold_s; /* since when it holds, 0: it does not */

	/* the main one's */
	uint64_t summed; /* sums that this rank has taken part in, by steps */
	uint64_t others; /* sum of their beats when looked at last */
	double looked_s; /* who has ended its run */
};

/* ---- the thread ---- */

static double used_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static enum plx_pulse_at where(const struct plx_pulser *u)
{
	if (u->busy)
		return PLX_AT_BUSY;
	if (u->waits)
		return PLX_AT_WAITING;
	return u->between ? PLX_AT_BETWEEN : PLX_AT_STEP;
}

static void take_signs(struct plx_pulser *u, double now_s)
{
	uint64_t moves = u->moves;
	uint64_t beats = u->beats;
	double used = used_s();
	bool works = used - u->used_s >= WORKS * (now_s - u->ticked_s);

	if (moves != u->moves_seen)
		u->moved_s = now_s;
	if (moves != u->moves_seen || beats != u->beats_seen ||
	    (works && u->pulse.at != PLX_AT_WAITING))
		u->sign_s = now_s;
	u->moves_seen = moves;
	u->beats_seen = beats;
	u->used_s = used;
	u->ticked_s = now_s;
}

static bool is_due(const struct plx_pulser *u, double now_s)
{
	bool soon = u->hold_s || plx_pulse_is_busy(&u->pulse);
	double after_s = soon ? BETWEEN_S : SILENT_S;

	/* A rank that holds moves on: nobody else can know it. */
	if (now_s - (u->hold_s ? u->hold_s : u->moved_s) < after_s)
		return false;
	return !u->told_s || now_s >= u->told_s + AGAIN_S;
}

static void tick(struct plx_pulser *u)
{
	double now_s = plx_now_s();
	enum plx_pulse_at at = where(u);
	bool moved = u->moves != u->moves_seen || at != u->pulse.at;

	u->pulse.at = at;
	take_signs(u, now_s);
	if (!u->hold)
		u->hold_s = 0;
	else if (!u->hold_s)
		u->hold_s = now_s;
	if (moved && u->told_s && !u->hold_s) {
		plx_pulse_remove(u->inner, u->generation, u->pulse.rank);
		u->told_s = 0;
	}
	if (!is_due(u, now_s))
		return;
	u->pulse.since_s = now_s - u->moved_s;
	u->pulse.quiet_s = now_s - u->sign_s;
	u->pulse.hold_s = u->hold_s ? now_s - u->hold_s : 0;
	u->pulse.step = u->step;
	u->pulse.beat = (u->pulse.beat + 1) & INT_MAX;
	plx_pulse_write(u->inner, u->generation, &u->pulse);
	u->told_s = now_s;
}

static void *run(void *arg)
{
	struct plx_pulser *u = arg;
	struct timespec until;

	pthread_mutex_lock(&u->lock);
	clock_gettime(CLOCK_MONOTONIC, &until);
	while (!u->stop) {
		until.tv_sec += (time_t) TICK_S;
		if (pthread_cond_timedwait(&u->wake, &u->lock, &until) == 0 ||
		    u->stop)
			continue;
		pthread_mutex_unlock(&u->lock);
		tick(u);
		pthread_mutex_lock(&u->lock);
		clock_gettime(CLOCK_MONOTONIC, &until);
	}
	pthread_mutex_unlock(&u->lock);
	if (u->told_s)
		plx_pulse_remove(u->inner, u->generation, u->pulse.rank);
	return NULL;
}

/* ---- its life ---- */

static void init_lock(struct plx_pulser *u)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&u->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&u->wake, &attr);
	pthread_condattr_destroy(&attr);
}

static void release(struct plx_pulser *u)
{
	pthread_cond_destroy(&u->wake);
	pthread_mutex_destroy(&u->lock);
	free(u);
}

/* The launcher looks in its own folder, whichever the program has chosen. */
static bool find_inner(struct plx_pulser *u, const char *chosen)
{
	const char *given = getenv(PLX_ENV_CHECKPOINTS);
	const char *folder = given && *given ? given : chosen;
	int length = snprintf(u->inner, sizeof(u->inner), "%s" PLX_INNER_FOLDER,
			      folder);

	return *folder && length > 0 && (size_t) length < sizeof(u->inner);
}

static void place(struct plx_pulser *u, struct plx_pulse_place at)
{
	u->step = at.step;
	u->summed = at.step + at.summed;
	u->between = at.between;
}

struct plx_pulser *plx_pulse_begin(int rank, const char *folder,
				   struct plx_pulse_place at)
{
	const char *generation = getenv(PLX_ENV_GENERATION);
	const char *node = getenv("SLURMD_NODENAME");
	struct plx_pulser *u;

	if (!getenv(PLX_ENV_SOCKET) || !generation)
		return NULL;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	init_lock(u);
	u->generation = atoi(generation);
	u->pulse.rank = rank;
	place(u, at);
	snprintf(u->pulse.node, sizeof(u->pulse.node), "%s", node ? node : "");
	if (!node)
		gethostname(u->pulse.node, sizeof(u->pulse.node) - 1);
	u->moved_s = u->sign_s = u->ticked_s = plx_now_s();
	if (find_inner(u, folder) && plx_thread_begin(&u->thread, run, u) == 0)
		return u;
	release(u);
	return NULL;
}

void plx_pulse_end(struct plx_pulser *u)
{
	if (!u)
		return;
	pthread_mutex_lock(&u->lock);
	u->stop = true;
	pthread_cond_signal(&u->wake);
	pthread_mutex_unlock(&u->lock);
	pthread_join(u->thread, NULL);
	release(u);
}

/* ---- what it is told ---- */

void plx_pulse_moved(struct plx_pulser *u, struct plx_pulse_place at)
{
	if (!u)
		return;
	place(u, at);
	u->busy = false;
	u->waits = false;
	u->moves++;
}

void plx_pulse_hold(struct plx_pulser *u, bool hold)
{
	if (u)
		u->hold = hold;
}

void plx_pulse_beat(struct plx_pulser *u)
{
	if (!u)
		return;
	u->waits = false;
	u->busy = true;
	u->beats++;
}

void plx_pulse_waits(struct plx_pulser *u)
{
	if (!u)
		return;
	u->waits = true;
	u->busy = false;
}

void plx_pulse_rescued(struct plx_pulser *u, uint64_t step)
{
	if (u)
		(void) plx_rank_word_write(u->inner, PLX_WORD_RESCUED,
					   u->generation,
					   &(struct plx_rank_word){
						   .rank = u->pulse.rank,
						   .step = step,
					   });
}

void plx_pulse_ended(struct plx_pulser *u)
{
	struct plx_rank_word word = { 0 };

	/* After an error of the program it is no question who ends why. */
	if (!u ||
	    plx_rank_word_read(u->inner, PLX_WORD_ERROR, u->generation, &word))
		return;
	word.rank = u->pulse.rank;
	word.step = u->summed;
	snprintf(word.why, sizeof(word.why), "%s", u->pulse.node);
	(void) plx_rank_word_write(u->inner, PLX_WORD_ENDED, u->generation,
				   &word);
}

bool plx_pulse_misses(struct plx_pulser *u, struct plx_rank_word *who)
{
	double now_s = u ? plx_now_s() : 0;

	if (!u || now_s < u->looked_s + TICK_S)
		return false;
	u->looked_s = now_s;
	if (!plx_rank_word_read(u->inner, PLX_WORD_ENDED, u->generation, who) ||
	    who->step > u->summed)
		return false;
	(void) plx_rank_word_write(u->inner, PLX_WORD_MISSED, u->generation,
				   who);
	return true;
}

bool plx_pulse_others_busy(struct plx_pulser *u)
{
	struct plx_pulse *list;
	uint64_t sum = 0;
	int count = u ? plx_pulse_list(u->inner, u->generation, &list) : 0;

	for (int i = 0; i < count; i++) {
		if (plx_pulse_is_busy(&list[i]) && list[i].quiet_s < QUIET_S)
			sum += list[i].beat * (uint64_t) (list[i].rank + 1);
	}
	if (u)
		free(list);
	if (!count || !sum || sum == u->others)
		return false;
	u->others = sum;
	return true;
}
