/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watch.c - the end of ranks, signals and time, as events */

#include <math.h>
#include <signal.h>
#include <string.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/handover_acts.h"
#include "launcher/loop/state.h"

#define HINT_S	    1.0 /* at least, between looks at one that waits */
#define TWICE_S	    2.0 /* two signals within it are one */
#define SIGNAL_CODE 128 /* exit codes above it: killed */

static enum plx_event classify(struct plx_launcher *l, int code)
{
	if (l->now->said.done)
		return PLX_EVENT_FINISHED;
	if (l->now->said.saved)
		return PLX_EVENT_SAVED;
	if (plx_lost_ended(&l->lost, l->now->number))
		return PLX_EVENT_FAILED;
	if (plx_fault_is_programs(l, code))
		return PLX_EVENT_FINISHED;
	/* Ranks that went because we wanted it have not failed. */
	if (!plx_stage_trains(l->stage) && code)
		return PLX_EVENT_FAILED;
	if (code && plx_sick_now(l, code))
		return PLX_EVENT_FAILED;
	if (!code || !plx_fault_may_restart(l, code))
		return PLX_EVENT_FINISHED;
	return PLX_EVENT_FAILED;
}

/* The ranks that train, or are to, are gone. */
static void lose_now(struct plx_launcher *l, int code)
{
	enum plx_event event;

	code = plx_lost_code(l, plx_fault_code(l, code));
	l->marks.left_s = l->now->step.ended_s;
	if (!l->now->said.saved && !l->now->said.held)
		l->marks.last_s = l->marks.asked_s;
	event = classify(l, code);
	l->exit_code = code == PLX_SRUN_FAILED ? 1 : code;
	plx_say(l, PLX_VERBOSE, "ranks left, exit code %d%s", code,
		l->now->said.saved ? ", state saved" : "");
	plx_raise(l, event);
	plx_polls_at_once(&l->polls);
}

static void lose_next(struct plx_launcher *l, int code)
{
	plx_say(l, PLX_NORMAL,
		"the next ranks have ended before they took over, exit code "
		"%d",
		code);
	l->next = NULL;
	/* An error of the program is no node's. */
	if (!l->foreign.has_error && plx_sick_next(l))
		plx_raise(l, PLX_EVENT_SICK);
	else
		plx_raise(l, plx_sick_broken(l));
}

static void watch_step(struct plx_launcher *l, struct plx_generation *g)
{
	int code;

	plx_relay_reap(&g->relay);
	if (!plx_step_ended(&g->step, &code))
		return;
	/* What rank 0 said comes before the news that it is gone. */
	plx_from_rank(l, g);
	if (plx_lost_unverified(l, g, code))
		return;
	plx_step_reap(&g->step);
	plx_from_notes_end(l, g, &code);
	plx_generation_close(g);
	if (g == l->next) {
		lose_next(l, code);
	} else if (g == l->old) {
		plx_say(l, PLX_VERBOSE, "old ranks left, exit code %d", code);
		l->old = NULL;
		plx_polls_at_once(&l->polls);
	} else {
		lose_now(l, code);
	}
	plx_handover_give_back(l);
}

static void watch_steps(struct plx_launcher *l)
{
	for (int i = 0; i < PLX_GENERATIONS; i++)
		watch_step(l, &l->slots[i]);
}

void plx_watch_signal(struct plx_launcher *l, int signal, bool own)
{
	if (signal == SIGURG) {
		plx_polls_at_once(&l->polls);
		return;
	}
	if (signal == SIGCHLD) {
		watch_steps(l);
		return;
	}
	if (signal == SIGUSR1) {
		l->fault.usr1_s = plx_now_s();
		plx_foreign_checkpoint(l);
		return;
	}
	/* Slurm and srun both tell us; only who asks later is in a hurry. */
	if (l->stage == PLX_STAGE_ENDING && (l->signal || own) &&
	    plx_now_s() - l->stage_s < TWICE_S)
		return;
	/* An end that was asked for is a success, if the ranks make it one. */
	if (!l->signal && !own)
		l->signal = signal;
	if (!own)
		plx_limit_signal(l);
	plx_say(l, PLX_NORMAL, "%s: %s",
		own ? "asked to end" : strsignal(signal),
		l->stage == PLX_STAGE_ENDING ? "killing the ranks"
					     : "saving, then leaving");
	l->exit_code = own ? 0 : SIGNAL_CODE + signal;
	plx_raise(l, PLX_EVENT_STOP);
}

void plx_watch_time(struct plx_launcher *l)
{
	double now_s = plx_now_s();

	if (l->deadline_s && now_s >= l->deadline_s &&
	    plx_stage_has_ranks(l->stage) && !plx_busy_waits(l))
		plx_raise(l,
			  plx_sick_late(l) ? PLX_EVENT_SICK : PLX_EVENT_LATE);
	if (l->lost.unverified == l->now->number)
		watch_step(l, l->now);
	if (l->stage == PLX_STAGE_IDLE)
		plx_consider(l);
	plx_busy_watch(l);
	plx_lost_watch(l);
	plx_fault_watch(l);
	plx_limit_watch(l);
	plx_from_notes(l);
	plx_handover_see_off(l);
	if (now_s >= plx_poll_again_s(l))
		plx_polls_at_once(&l->polls);
	if (plx_polls_begin(&l->polls, now_s))
		plx_slurm_client_poll(l->client);
	if (l->hint_waits && now_s >= l->hint_due_s) {
		l->hint_due_s =
			now_s + fmax(l->settings->hint_interval_s, HINT_S);
		if (plx_pace_due(&l->pace, &l->status.hint, now_s)) {
			l->hint_waits = false;
			plx_report_status(l, now_s);
		}
	}
	plx_publish(l);
	plx_report_progress(l);
}
