/* SPDX-License-Identifier: GPL-2.0-or-later */
/* from_notes.c - what pollux-rank's notes say, as events */

#include "config.h"

#include <math.h>
#include <string.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/foreign.h"
#include "launcher/loop/state.h"

#define LOOK_S	   0.1 /* between looks for a note */
#define PROGRESS_S 600.0
#define DEAF_S	   20.0 /* a program that can be resized has said so by then */

static bool is_leaving(const struct plx_launcher *l)
{
	return plx_stage_has_ranks(l->stage) && !plx_stage_trains(l->stage);
}

static bool may_begin(const struct plx_launcher *l)
{
	return l->stage == PLX_STAGE_STARTING && !l->now->said.began;
}

double plx_from_notes_due_s(const struct plx_launcher *l)
{
	if (!plx_foreign_by_signal(l) || !(is_leaving(l) || may_begin(l)))
		return INFINITY;
	return l->foreign.look_s;
}

/* As if rank 0 had said hello and began. */
static void begin(struct plx_launcher *l)
{
	double now_s = plx_now_s();

	l->now->said.began = true;
	l->ever_met = true;
	l->deadline_s = 0;
	l->marks.hello_s = now_s;
	l->marks.first_s = now_s;
	plx_raise(l, PLX_EVENT_BEGAN);
	plx_sick_trained(l);
	if (l->resizing && l->stage == PLX_STAGE_TRAINING) {
		plx_report_resize(l);
		l->resizing = false;
	}
	plx_report_status(l, now_s);
}

/* Neither this nor that: once, or whoever waits for a resize never learns. */
static void say_deaf(struct plx_launcher *l)
{
	if (l->foreign.told || !l->settings->params ||
	    plx_now_s() - l->now->step.started_s < DEAF_S)
		return;
	l->foreign.told = true;
	plx_say(l, PLX_NORMAL,
		"so far the program has neither used libpollux nor caught "
		"signal SIG%s: until it does the job keeps its size",
		sigabbrev_np(l->settings->stop_signal));
}

void plx_from_notes(struct plx_launcher *l)
{
	double now_s = plx_now_s();

	if (now_s < plx_from_notes_due_s(l))
		return;
	if (is_leaving(l)) {
		plx_slurm_client_nudge(l->client, l->now->step.name);
		l->foreign.look_s = now_s + PLX_NUDGE_S;
		return;
	}
	l->foreign.look_s = now_s + LOOK_S;
	if (plx_note_is(l->settings->notes, PLX_NOTE_BEGAN,
			(int) l->now->step.generation))
		begin(l);
	else
		say_deaf(l);
}

void plx_from_notes_end(struct plx_launcher *l, struct plx_generation *g,
			int *code)
{
	int generation = (int) g->step.generation;
	const char *notes = l->settings->notes;
	struct plx_foreign *foreign = &l->foreign;

	foreign->has_exit = false;
	foreign->has_error = false;
	foreign->rescued = false;
	if (!notes) {
		if (g != l->old)
			plx_sick_find(l, g);
		return;
	}
	/* It sends no beats: that it ran long, or saved, is its progress. */
	if (g == l->now && g->said.began && !g->said.hello &&
	    g->step.ended_s - g->step.started_s > PROGRESS_S)
		l->fault.backoff.faults = 0;
	if (plx_note_is(notes, PLX_NOTE_SAVED, generation)) {
		g->said.saved = true;
		l->fault.backoff.faults = 0;
		/* When it trained last, only the program knows. */
		l->marks.last_s = l->marks.asked_s;
		l->marks.saved_s = g->step.ended_s;
	}
	foreign->has_exit =
		*code && plx_exit_read(notes, generation, &foreign->exit);
	foreign->rescued = plx_rank_word_read(notes, PLX_WORD_RESCUED,
					      generation, &foreign->rescue);
	foreign->has_error =
		*code && plx_rank_word_read(notes, PLX_WORD_ERROR, generation,
					    &foreign->error);
	if (foreign->has_exit) {
		*code = plx_exit_code(&foreign->exit);
		/* The program has told its error itself. */
		plx_report_exit(l, g == l->old || foreign->has_error
					   ? PLX_VERBOSE
					   : PLX_NORMAL);
	}
	if (g != l->old)
		plx_sick_find(l, g);
	plx_notes_clear(notes, generation);
}
