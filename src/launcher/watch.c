/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watch.c - turns what happened into events */

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "launcher/clock.h"
#include "launcher/state.h"
#include "wire/message.h"

#define WAIT_POLL_S	0.02 /* between looks while an answer is due */
#define TROUBLE_POLL_S	1.0  /* while slurmctld does not answer */
#define SRUN_PATIENCE_S 30.0 /* with an srun that cannot start ranks */
#define SIGNAL_CODE	128  /* exit codes above it: killed */

/* A target that we have not acknowledged. Serials may fall: slurmctld can
 * come back with an older state. */
static bool is_asked(const struct plx_launcher *l)
{
	return l->job.target.state == PLX_TARGET_ASKED &&
	       l->job.target.serial != l->status.ack;
}

static void consider_start(struct plx_launcher *l)
{
	/* Only a look after the ranks were gone tells where to start. */
	if (l->looked_s < l->stage_s)
		return;
	if (is_asked(l))
		plx_raise(l, PLX_EVENT_ASKED);
	else if (l->job.layout.ranks > 0 && plx_now_s() >= l->not_before_s)
		plx_raise(l, PLX_EVENT_ROOM);
}

static void consider_ranks(struct plx_launcher *l)
{
	if (is_asked(l))
		plx_raise(l, PLX_EVENT_ASKED);
	else if (l->looked_s > l->now->step.started_s &&
		 !plx_layout_equal(&l->job.layout, &l->now->step.layout))
		plx_raise(l, PLX_EVENT_SHAPE);
}

static void consider_answer(struct plx_launcher *l)
{
	const struct plx_target *target = &l->job.target;

	if (is_asked(l)) {
		plx_raise(l, PLX_EVENT_ASKED);
		return;
	}
	if (target->state == PLX_TARGET_ASKED) {
		if (l->looked_s > l->deadline_s)
			plx_raise(l, PLX_EVENT_LATE);
		return;
	}
	/* Another serial: slurmctld has forgotten what it asked for. */
	if (target->serial != l->status.ack &&
	    (!l->marks.acked_s || l->looked_s < l->marks.acked_s))
		return;
	l->target = *target;
	l->marks.answered_s = plx_now_s();
	plx_raise(l, l->job.layout.ranks > 0 ? PLX_EVENT_ANSWERED
					     : PLX_EVENT_PARKED);
}

/* What the job's record, as last seen, means in this stage. */
static void consider(struct plx_launcher *l)
{
	if (!l->has_job)
		return;
	if (l->job.over) {
		if (l->stage != PLX_STAGE_ENDING &&
		    l->stage != PLX_STAGE_DONE) {
			plx_say(l, PLX_NORMAL, "job %u has ended",
				l->settings->job_id);
			l->exit_code = l->exit_code ? l->exit_code : 1;
			plx_raise(l, PLX_EVENT_STOP);
		}
		return;
	}
	if (l->stage == PLX_STAGE_IDLE)
		consider_start(l);
	else if (l->stage == PLX_STAGE_AGREED)
		consider_answer(l);
	else if (plx_stage_has_ranks(l->stage))
		consider_ranks(l);
}

/* The first look: what was settled before our time needs no answer. */
static void settle(struct plx_launcher *l)
{
	l->has_job = true;
	if (l->job.target.state != PLX_TARGET_ASKED)
		l->status.ack = l->job.target.serial;
}

static void take_job(struct plx_launcher *l, struct plx_news *news)
{
	plx_job_release(&l->job);
	l->job = news->job;
	l->looked_s = news->looked_s;
	l->looking = false;
	l->look_due_s = plx_now_s() + l->settings->poll_s;
	if (l->stage == PLX_STAGE_AGREED)
		l->look_due_s = plx_now_s() + WAIT_POLL_S;
	if (l->job.bad_target)
		plx_say(l, PLX_VERBOSE, "the target of job %u is unreadable",
			l->settings->job_id);
	if (!l->has_job)
		settle(l);
}

/*
 * Does the record still hold what we wrote? slurmctld may have come back with
 * an older state, or the user has set another comment.
 */
static void check_status(struct plx_launcher *l, const struct plx_news *news)
{
	const char *told = news->shortened ? l->told_bare : l->told;

	if (!l->told[0] || news->published != l->told_number ||
	    news->looked_s < news->published_s || l->job.over ||
	    !strcmp(told, l->job.status))
		return;
	plx_say(l, PLX_VERBOSE, "the job's comment has lost our status");
	l->told[0] = '\0';
	plx_tell_status(l, plx_now_s());
}

void plx_watch_news(struct plx_launcher *l)
{
	struct plx_news news;

	plx_clerk_take(l->clerk, &news);
	if (l->ack_number && news.published >= l->ack_number &&
	    !l->marks.acked_s) {
		l->marks.acked_s = news.published_s;
		l->look_due_s = 0;
	}
	if (news.shortened && !l->shortened) {
		l->shortened = true;
		plx_say(l, PLX_NORMAL,
			"the job's comment is too long for the hint: the "
			"scheduler does not see how this job scales");
	}
	if (news.is_trouble && strcmp(news.trouble.text, l->trouble) != 0) {
		snprintf(l->trouble, sizeof(l->trouble), "%s",
			 news.trouble.text);
		plx_say(l, PLX_NORMAL, "%s, trying again", l->trouble);
	}
	if (news.is_trouble) {
		l->looking = false;
		l->look_due_s = plx_now_s() + TROUBLE_POLL_S;
	}
	if (!news.has_job)
		return;
	take_job(l, &news);
	check_status(l, &news);
	if (!news.is_trouble)
		l->trouble[0] = '\0';
	consider(l);
}

static void take_hint(struct plx_launcher *l, const char *fields)
{
	struct plx_hint hint;
	struct plx_error err;

	if (plx_hint_read(fields, &hint, &err) <= 0) {
		plx_say(l, PLX_VERBOSE, "rank 0 sent a bad hint: %s", err.text);
		return;
	}
	l->status.hint = hint;
	l->status.has_hint = true;
	l->hint_waits = true;
	l->progress = hint.progress;
	if (hint.progress > l->fault_progress)
		l->faults = 0;
}

static void take_saved(struct plx_launcher *l, const char *fields)
{
	double seconds = 0;
	double idle = 0;

	l->now->said.saved = true;
	l->marks.saved_s = plx_now_s();
	plx_field_doubles(fields, "seconds", 0, 1e6, &seconds, 1, NULL);
	plx_field_doubles(fields, "idle", 0, 1e6, &idle, 1, NULL);
	l->marks.last_s = l->marks.saved_s - idle;
	plx_field_text(fields, "crc", l->crc, sizeof(l->crc));
	plx_field_text(fields, "samples", l->samples, sizeof(l->samples));
}

static void take_hello(struct plx_launcher *l)
{
	l->now->said.hello = true;
	l->ever_met = true;
	l->srun_trouble_s = 0;
	l->marks.hello_s = plx_now_s();
	if (l->stage == PLX_STAGE_STARTING)
		l->deadline_s = 0;
	plx_tell_status(l, plx_now_s());
}

static void take_began(struct plx_launcher *l)
{
	bool resized = l->resizing;

	l->now->said.began = true;
	l->marks.began_s = plx_now_s();
	plx_raise(l, PLX_EVENT_BEGAN);
	if (resized && l->stage == PLX_STAGE_TRAINING) {
		plx_tell_resize(l);
		l->resizing = false;
	}
}

static void take_line(struct plx_launcher *l, const char *line)
{
	const char *fields;

	if (plx_message(line, PLX_MSG_HELLO))
		take_hello(l);
	else if (plx_message(line, PLX_MSG_BEGAN))
		take_began(l);
	else if ((fields = plx_message(line, PLX_MSG_HINT)))
		take_hint(l, fields);
	else if ((fields = plx_message(line, PLX_MSG_SAVED)))
		take_saved(l, fields);
	else if (plx_message(line, PLX_MSG_DONE))
		l->now->said.done = true;
	else
		plx_say(l, PLX_VERBOSE, "rank 0 said something unknown");
}

void plx_watch_peers(struct plx_launcher *l)
{
	char line[PLX_LINE_MAX];
	struct plx_error err;

	while (plx_peer_receive(&l->now->peer, line, &err))
		take_line(l, line);
}

/* Once srun fails for too long, the fault is not a passing one. */
static bool may_try_srun(struct plx_launcher *l)
{
	if (!l->srun_trouble_s)
		l->srun_trouble_s = l->now->step.started_s;
	if (plx_now_s() - l->srun_trouble_s < SRUN_PATIENCE_S)
		return true;
	plx_say(l, PLX_QUIET, "srun could not start the ranks for %g s",
		SRUN_PATIENCE_S);
	return false;
}

/* May ranks that ended like this be started again? */
static bool may_restart(struct plx_launcher *l, int code)
{
	if (code == PLX_SRUN_FAILED && !l->now->peer.met)
		return may_try_srun(l);
	l->srun_trouble_s = 0;
	/* The program's own words, before it ever spoke to us. */
	if (!l->ever_met && code <= SIGNAL_CODE)
		return false;
	if (l->faults >= l->settings->max_restarts) {
		plx_say(l, PLX_QUIET,
			"ranks failed (exit code %d) after %d restarts without "
			"progress, giving up",
			code, l->faults);
		return false;
	}
	l->faults++;
	l->fault_progress = l->progress;
	return true;
}

static enum plx_event classify(struct plx_launcher *l, int code)
{
	if (l->now->said.done)
		return PLX_EVENT_FINISHED;
	if (l->now->said.saved)
		return PLX_EVENT_SAVED;
	/* Ranks that went because we wanted it have not failed. */
	if (l->stage != PLX_STAGE_STARTING && l->stage != PLX_STAGE_TRAINING &&
	    code)
		return PLX_EVENT_FAILED;
	if (!code || !may_restart(l, code))
		return PLX_EVENT_FINISHED;
	return PLX_EVENT_FAILED;
}

void plx_watch_steps(struct plx_launcher *l)
{
	enum plx_event event;
	int code;

	plx_relay_reap(&l->now->relay);
	if (!plx_step_reap(&l->now->step, &code))
		return;
	plx_watch_peers(l);
	plx_generation_close(l->now);
	l->marks.left_s = l->now->step.ended_s;
	if (!l->now->said.saved)
		l->marks.last_s = l->marks.asked_s;
	event = classify(l, code);
	l->exit_code = code == PLX_SRUN_FAILED ? 1 : code;
	plx_say(l, PLX_VERBOSE, "ranks left, exit code %d%s", code,
		l->now->said.saved ? ", state saved" : "");
	plx_raise(l, event);
	if (!l->looking)
		l->look_due_s = 0;
}

void plx_watch_signal(struct plx_launcher *l, int signal)
{
	if (signal == SIGURG) {
		l->look_due_s = 0;
		return;
	}
	if (signal == SIGCHLD) {
		plx_watch_steps(l);
		return;
	}
	if (!l->signal)
		l->signal = signal;
	plx_say(l, PLX_NORMAL, "%s: %s", strsignal(signal),
		l->stage == PLX_STAGE_ENDING ? "killing the ranks"
					     : "saving, then leaving");
	l->exit_code = SIGNAL_CODE + signal;
	plx_raise(l, PLX_EVENT_STOP);
}

/* An answer looked for before it could be there costs nothing but a look. */
static void look(struct plx_launcher *l)
{
	l->looking = true;
	l->look_due_s = INFINITY;
	plx_clerk_look(l->clerk);
}

void plx_watch_time(struct plx_launcher *l)
{
	double now_s = plx_now_s();

	if (l->deadline_s && now_s >= l->deadline_s &&
	    plx_stage_has_ranks(l->stage))
		plx_raise(l, PLX_EVENT_LATE);
	if (l->stage == PLX_STAGE_IDLE)
		consider(l);
	if (now_s >= l->look_due_s)
		look(l);
	if (l->hint_waits && now_s >= l->hint_due_s) {
		l->hint_waits = false;
		l->hint_due_s = now_s + l->settings->hint_interval_s;
		plx_tell_status(l, now_s);
	}
	plx_publish(l);
}
