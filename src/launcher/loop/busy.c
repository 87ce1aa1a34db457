/* SPDX-License-Identifier: GPL-2.0-or-later */
/* busy.c - ranks that commit no step: what do they do? */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/loop/busy.h"
#include "launcher/rules/clock.h"
#include "launcher/loop/state.h"

#define FRESH_S	 30.0 /* one that changed so lately is of a rank that runs */
#define AGAIN_S	 1.0  /* between two looks whether it still is busy */
#define REPORT_S 2.0  /* in a stage, before slurmctld is told */
#define NAMED	 3    /* ranks, at most; of the others their number */

static const char *const does[PLX_AT_COUNT] = {
	[PLX_AT_STEP] = "works on",
	[PLX_AT_WAITING] = "waits in",
	[PLX_AT_BETWEEN] = "is between two steps, after",
	[PLX_AT_BUSY] = "is busy, after",
};

static const struct plx_busy_rank *find(const struct plx_busy *b, int rank)
{
	for (int i = 0; i < b->count; i++) {
		if (b->ranks[i].pulse.rank == rank)
			return &b->ranks[i];
	}
	return NULL;
}

static void look(struct plx_launcher *l)
{
	int generation = (int) l->now->step.generation;
	struct plx_busy_rank *ranks = NULL;
	struct plx_busy *b = &l->busy;
	struct plx_pulse *list = NULL;
	double now_s = plx_now_s();
	int count = 0;

	if (b->generation != generation)
		plx_busy_release(b);
	if (l->settings->notes)
		count = plx_pulse_list(l->settings->notes, generation, &list);
	if (count)
		ranks = calloc((size_t) count, sizeof(*ranks));
	if (!ranks)
		count = 0;
	for (int i = 0; i < count; i++) {
		const struct plx_busy_rank *before = find(b, list[i].rank);
		bool same = before && before->pulse.beat == list[i].beat;

		ranks[i].pulse = list[i];
		ranks[i].seen_s = same ? before->seen_s : now_s;
	}
	free(list);
	free(b->ranks);
	b->ranks = ranks;
	b->count = count;
	b->generation = generation;
}

static bool is_fresh(const struct plx_busy_rank *rank)
{
	return plx_now_s() < rank->seen_s + FRESH_S;
}

bool plx_busy_excuses(struct plx_launcher *l, double limit_s)
{
	look(l);
	for (int i = 0; i < l->busy.count; i++) {
		const struct plx_busy_rank *rank = &l->busy.ranks[i];

		if (is_fresh(rank) && plx_hang_excused(&rank->pulse, limit_s))
			return true;
	}
	return false;
}

static size_t append_rank(const struct plx_pulse *pulse, char *text,
			  size_t size)
{
	bool after = plx_pulse_is_busy(pulse);

	if (pulse->hold_s > 0 && !after)
		return (size_t) snprintf(text, size,
					 "rank %d on %.63s holds since %.0f s, "
					 "after step %" PRIu64,
					 pulse->rank, pulse->node,
					 pulse->hold_s, pulse->step);
	return (size_t) snprintf(text, size,
				 "rank %d on %.63s %s step %" PRIu64
				 " since %.0f s",
				 pulse->rank, pulse->node, does[pulse->at],
				 pulse->step + (after ? 0 : 1), pulse->since_s);
}

void plx_busy_late(const struct plx_launcher *l, char *text, size_t size)
{
	const struct plx_busy *b = &l->busy;
	int ranks = l->now->step.layout.ranks;
	size_t used = 0;
	int late = 0;

	text[0] = '\0';
	for (int rank = 0; b->count && rank < ranks; rank++) {
		const struct plx_busy_rank *r = find(b, rank);

		if (r && is_fresh(r) && r->pulse.at == PLX_AT_WAITING)
			continue;
		if (late++ >= NAMED || used >= size)
			continue;
		if (late > 1)
			used += (size_t) snprintf(text + used, size - used,
						  "; ");
		if (used < size && r && is_fresh(r))
			used += append_rank(&r->pulse, text + used,
					    size - used);
		else if (used < size)
			used += (size_t) snprintf(text + used, size - used,
						  "rank %d says nothing", rank);
	}
	if (late > NAMED && used < size)
		snprintf(text + used, size - used, "; and %d more",
			 late - NAMED);
	else if (b->count && !late)
		snprintf(text, size, "all ranks wait for each other");
}

/* Busy between two steps, or in the middle of what is not to be cut. */
static bool is_busy(const struct plx_launcher *l, const struct plx_pulse *pulse)
{
	double limit_s =
		plx_hang_limit_s(&l->fault.hang, l->settings->hang_timeout_s);

	return (plx_pulse_is_busy(pulse) && plx_hang_excused(pulse, 0)) ||
	       plx_hang_holds(pulse, limit_s);
}

static const struct plx_busy_rank *busy_rank(struct plx_launcher *l)
{
	look(l);
	for (int i = 0; i < l->busy.count; i++) {
		const struct plx_busy_rank *rank = &l->busy.ranks[i];

		if (is_fresh(rank) && is_busy(l, &rank->pulse))
			return rank;
	}
	return NULL;
}

static bool is_to_leave(const struct plx_launcher *l)
{
	return l->stage == PLX_STAGE_SAVING || l->stage == PLX_STAGE_YIELDING ||
	       l->stage == PLX_STAGE_ENDING || l->stage == PLX_STAGE_HANDING;
}

static void say(const struct plx_launcher *l, const struct plx_pulse *pulse)
{
	char text[160];

	append_rank(pulse, text, sizeof(text));
	plx_say(l, PLX_NORMAL, "%s: waiting for it%s", text,
		l->stage == PLX_STAGE_ENDING ? ", until somebody asks once more"
					     : "");
}

bool plx_busy_waits(struct plx_launcher *l)
{
	const struct plx_busy_rank *rank;

	if (!is_to_leave(l) || l->job.over || l->now->step.kills ||
	    !plx_generation_lives(l->now))
		return false;
	rank = busy_rank(l);
	if (rank && !l->busy.waited)
		say(l, &rank->pulse);
	if (rank) {
		l->busy.waited = true;
		l->deadline_s = plx_now_s() + AGAIN_S;
		return true;
	}
	if (!l->busy.waited)
		return false;
	/* Now that it is through, it has the time of all others. */
	l->busy.waited = false;
	l->deadline_s = plx_now_s() + l->settings->save_timeout_s;
	return true;
}

/* slurmctld knows nothing of other stages. */
static bool is_awaited(const struct plx_launcher *l)
{
	return (l->stage == PLX_STAGE_SAVING ||
		l->stage == PLX_STAGE_HANDING) &&
	       !l->status.busy && !l->now->step.kills &&
	       plx_generation_lives(l->now);
}

double plx_busy_due_s(const struct plx_launcher *l)
{
	if (!is_awaited(l))
		return INFINITY;
	return fmax(l->busy.look_s, l->stage_s + REPORT_S);
}

void plx_busy_watch(struct plx_launcher *l)
{
	double now_s = plx_now_s();

	if (now_s < plx_busy_due_s(l))
		return;
	l->busy.look_s = now_s + AGAIN_S;
	if (!busy_rank(l))
		return;
	l->status.busy = true;
	plx_report_status(l, now_s);
}

void plx_busy_through(struct plx_launcher *l)
{
	if (!l->status.busy)
		return;
	l->status.busy = false;
	plx_report_status(l, plx_now_s());
}

/* While the next ranks take over the old ones are not through. */
void plx_busy_anew(struct plx_launcher *l)
{
	l->busy.waited = false;
	if (l->stage != PLX_STAGE_SAVING && l->stage != PLX_STAGE_HANDING &&
	    l->stage != PLX_STAGE_TAKING && l->stage != PLX_STAGE_RESUMING)
		plx_busy_through(l);
}

void plx_busy_release(struct plx_busy *busy)
{
	free(busy->ranks);
	busy->ranks = NULL;
	busy->count = 0;
}
