/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * status_report.c - says what happens: to the user, to events.jsonl, to
 * slurmctld
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/events.h"
#include "launcher/rules/progress.h"
#include "launcher/loop/state.h"
#include "launcher/loop/terminal.h"

#define DRAW_EVERY_S 0.25 /* the line on the terminal */

void plx_say(const struct plx_launcher *l, enum plx_loudness least,
	     const char *fmt, ...)
{
	static const char name[] = "pollux-launch: ";
	char text[1024];
	va_list ap;

	if (l->settings->loudness < least)
		return;
	strcpy(text, name);
	va_start(ap, fmt);
	vsnprintf(text + sizeof(name) - 1, sizeof(text) - sizeof(name) + 1, fmt,
		  ap);
	va_end(ap);
	if (l->terminal)
		plx_terminal_say(l->terminal, text);
	else
		fprintf(stderr, "%s\n", text);
}

/* Said once for each reason: it may fail every time. */
static void write_event(struct plx_launcher *l, json_t *event)
{
	static int last;

	if (plx_event_write(l->settings, event)) {
		last = 0;
		return;
	}
	if (errno != last)
		plx_say(l, PLX_NORMAL, "cannot write the log of events: %s",
			strerror(errno));
	last = errno;
}

/* What a rank is called that has, or has not, a GPU of its own. */
static const char *unit_of(const struct plx_launcher *l)
{
	const char *devices = l->settings->devices;

	if (l->settings->registry && (!devices || !*devices))
		return "ranks";
	return l->now->step.layout.gpus ? "GPUs" : "ranks";
}

void plx_report_start(struct plx_launcher *l, const struct plx_generation *g)
{
	const char *changed = plx_script_changed(&l->script);

	if (changed)
		plx_say(l, PLX_NORMAL,
			"%s has been changed since the training began: ranks "
			"started from now on run what it is now",
			changed);
	/* Later ones are told by what they follow: a resize, a fault. */
	plx_say(l, g->step.number ? PLX_VERBOSE : PLX_NORMAL,
		"start %d: %d rank%s on %s", g->step.number,
		g->step.layout.ranks, g->step.layout.ranks == 1 ? "" : "s",
		g->where);
	write_event(
		l, json_pack("{s:s, s:i, s:I, s:b, s:i, s:i, s:s}", "event",
			     "start", "start", g->step.number, "generation",
			     (json_int_t) g->number, "warm", g->warm, "gpus",
			     g->step.layout.gpus ? g->step.layout.ranks : 0,
			     "ranks", g->step.layout.ranks, "nodes", g->where));
}

static json_t *pack_parts(const struct plx_pause *pause)
{
	json_t *parts = json_object();

	for (int i = 0; i < PLX_PARTS; i++)
		json_object_set_new(parts, plx_part_name(i),
				    json_real(pause->part_s[i]));
	return parts;
}

/* "save 0.01, start 0.31": what made up the pause, as far as it shows. */
static void name_parts(const struct plx_pause *pause, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = PLX_PART_SAVE; i < PLX_PARTS; i++) {
		const char *name = plx_part_name(i);
		int length = (int) strlen(name) - 2; /* without "_s" */

		if (pause->part_s[i] < 0.0005 || used >= size)
			continue;
		used += (size_t) snprintf(text + used, size - used,
					  "%s%.*s %.3f", used ? ", " : ": ",
					  length, name, pause->part_s[i]);
	}
}

void plx_report_resize(struct plx_launcher *l)
{
	struct plx_pause pause = plx_pause_of(&l->marks);
	const char *why = l->target.why[0] ? l->target.why : "no reason given";
	int to = l->now->step.layout.ranks;
	char parts[256];

	if (!l->target.serial)
		why = "Slurm changed its nodes";
	if (l->target.state != PLX_TARGET_REFUSED)
		l->status.resizes++;
	plx_pauses_add(&l->pauses, pause.total_s, NULL);
	l->status.pause_s[0] = plx_pauses_median(&l->pauses);
	l->status.pause_s[1] = plx_pauses_worst(&l->pauses);
	name_parts(&pause, parts, sizeof(parts));
	plx_say(l, PLX_NORMAL, "%d -> %d %s on %s (%s), pause %.3f s%s",
		l->from_ranks, to, unit_of(l), l->now->where, why,
		pause.total_s, parts);
	write_event(l, json_pack("{s:s, s:i, s:s, s:i, s:i, s:s, s:s, s:f, "
				 "s:o, s:s, s:s, s:s}",
				 "event", "resize", "serial",
				 (int) l->target.serial, "answer",
				 plx_target_state_name(l->target.state),
				 "from_gpus", l->from_ranks, "to_gpus", to,
				 "from", l->from, "to", l->now->where,
				 "pause_s", pause.total_s, "parts",
				 pack_parts(&pause), "saved_crc", l->crc,
				 "saved_samples", l->samples, "why", why));
}

void plx_report_parked(struct plx_launcher *l)
{
	plx_say(l, PLX_NORMAL, "%d -> 0 %s (%s), waiting for room",
		l->from_ranks, unit_of(l), l->job.target.why);
	write_event(l, json_pack("{s:s, s:i, s:i, s:s, s:s, s:s, s:s}", "event",
				 "park", "serial", (int) l->job.target.serial,
				 "from_gpus", l->from_ranks, "from", l->from,
				 "saved_crc", l->crc, "saved_samples",
				 l->samples, "why", l->job.target.why));
}

void plx_report_exit(const struct plx_launcher *l, enum plx_loudness least)
{
	const struct plx_exit *how = &l->foreign.exit;
	const char *line = how->lines;
	char text[512];

	if (!l->foreign.has_exit)
		return;
	plx_exit_say(how, text, sizeof(text));
	plx_say(l, least, "%s%s", text,
		*line		 ? "; its last lines:"
		: how->destroyed ? ""
				 : "; it said nothing");
	while (*line) {
		size_t length = strcspn(line, "\n");

		plx_say(l, least, "  | %.*s", (int) length, line);
		line += length;
		line += *line == '\n';
	}
}

static void pack_exit(const struct plx_launcher *l, json_t *event)
{
	const struct plx_exit *how = &l->foreign.exit;

	if (!event || !l->foreign.has_exit)
		return;
	json_object_set_new(event, "rank", json_integer(how->rank));
	json_object_set_new(event, "node", json_string(how->node));
	json_object_set_new(event, "signal", json_integer(how->signal));
	if (how->left)
		json_object_set_new(event, "left",
				    json_integer((json_int_t) how->step));
	/* NULL, and left out, if the program's words are no UTF-8. */
	json_object_set_new(event, "lines", json_string(how->lines));
}

void plx_report_fault(struct plx_launcher *l, int code, double wait_s)
{
	bool saved = l->now->said.saved && !l->foreign.has_exit;
	json_t *event;

	if (saved)
		plx_say(l, PLX_NORMAL,
			"ranks saved and left without being asked, starting "
			"again in %.1f s (restart %d of %d)",
			wait_s, l->fault.backoff.faults,
			l->settings->max_restarts);
	else if (l->foreign.rescued)
		plx_say(l, PLX_NORMAL,
			"ranks failed (exit code %d), starting again from step "
			"%.0f, which rank %d has saved, in %.1f s (restart %d "
			"of %d)",
			code, (double) l->foreign.rescue.step,
			l->foreign.rescue.rank, wait_s, l->fault.backoff.faults,
			l->settings->max_restarts);
	else
		plx_say(l, PLX_NORMAL,
			"ranks failed (exit code %d), starting again from the "
			"last checkpoint in %.1f s (restart %d of %d)",
			code, wait_s, l->fault.backoff.faults,
			l->settings->max_restarts);
	event = json_pack("{s:s, s:i, s:i, s:i, s:f, s:b}", "event", "fault",
			  "start", l->now->step.number, "code", code, "faults",
			  l->fault.backoff.faults, "wait_s", wait_s, "saved",
			  l->now->said.saved || l->foreign.rescued);
	pack_exit(l, event);
	write_event(l, event);
	l->foreign.has_exit = false;
}

void plx_report_sick(struct plx_launcher *l, const char *nodes, bool train_on)
{
	json_t *event = json_pack("{s:s, s:i, s:s, s:b}", "event", "sick",
				  "serial", (int) l->status.failed.serial,
				  "nodes", nodes, "trains_on", train_on);

	pack_exit(l, event);
	write_event(l, event);
}

static void report_nodes(struct plx_launcher *l, const char *what,
			 const char *nodes, double after_s)
{
	write_event(l, json_pack("{s:s, s:s, s:i, s:f}", "event", what, "nodes",
				 nodes, "start", l->now->step.number, "after_s",
				 after_s));
}

void plx_report_lost(struct plx_launcher *l, const char *nodes, double after_s)
{
	plx_say(l, PLX_NORMAL,
		"%s does not answer, and there was no step for %.1f s: going "
		"on without it",
		nodes, after_s);
	report_nodes(l, "lost", nodes, after_s);
}

void plx_report_found(struct plx_launcher *l, const char *nodes, double after_s)
{
	plx_say(l, PLX_NORMAL, "%s answers again, after %.0f s", nodes,
		after_s);
	report_nodes(l, "found", nodes, after_s);
}

void plx_report_kept(struct plx_launcher *l, const char *fields)
{
	double step = 0;
	double bytes = 0;
	double seconds = 0;

	plx_field_doubles(fields, "step", 0, 1e18, &step, 1, NULL);
	plx_field_doubles(fields, "bytes", 0, 1e18, &bytes, 1, NULL);
	plx_field_doubles(fields, "seconds", 0, 1e9, &seconds, 1, NULL);
	plx_say(l, PLX_VERBOSE, "checkpoint of step %.0f: %.1f MB in %.3f s",
		step, bytes / 1e6, seconds);
	write_event(l, json_pack("{s:s, s:I, s:I, s:f}", "event", "checkpoint",
				 "step", (json_int_t) step, "bytes",
				 (json_int_t) bytes, "seconds", seconds));
}

void plx_report_limit(struct plx_launcher *l, double left_s)
{
	plx_say(l, PLX_NORMAL,
		"the job's time limit is in %.0f s: saving, the training goes "
		"on until then",
		left_s);
	write_event(l, json_pack("{s:s, s:f}", "event", "limit", "left_s",
				 left_s));
}

/* What to do about a training that its time limit has ended. */
static void report_how_on(const struct plx_launcher *l)
{
	if (!l->limit.reached || l->now->said.done || l->limit.requeues)
		return;
	plx_say(l, PLX_NORMAL,
		"its state is in %s: submitted again with --checkpoint-dir=%s "
		"it goes on from there; with "
		"--scheduler-params=pollux,at-limit=requeue a job does so by "
		"itself",
		l->settings->folder, l->settings->folder);
}

void plx_report_done(struct plx_launcher *l)
{
	json_t *event;

	/* The others have been told already. */
	if (l->exit_code && l->settings->loudness == PLX_QUIET)
		plx_report_exit(l, PLX_QUIET);
	plx_say(l, PLX_NORMAL, "done, exit code %d, after %d start%s",
		l->exit_code, l->starts, l->starts == 1 ? "" : "s");
	report_how_on(l);
	event = json_pack("{s:s, s:i, s:i, s:i, s:b}", "event", "done", "code",
			  l->exit_code, "starts", l->starts, "resizes",
			  l->status.resizes, "limit", l->limit.reached);
	if (l->exit_code)
		pack_exit(l, event);
	if (event && l->exit_code && l->foreign.has_error)
		json_object_set_new(event, "error",
				    json_string(l->foreign.error.why));
	write_event(l, event);
}

void plx_report_progress(struct plx_launcher *l)
{
	double now_s = plx_now_s();
	char text[256];

	if (!l->terminal || now_s < l->drawn_s + DRAW_EVERY_S)
		return;
	l->drawn_s = now_s;
	l->status.phase = plx_stage_phase(l->stage);
	plx_progress_text(&l->status, l->now->step.layout.ranks, unit_of(l),
			  text, sizeof(text));
	plx_terminal_draw(l->terminal, text);
}

void plx_report_status(struct plx_launcher *l, double due_s)
{
	if (!l->publish_due_s || due_s < l->publish_due_s)
		l->publish_due_s = due_s;
}

static int write_status(struct plx_launcher *l, char fields[PLX_FIELDS_MAX],
			char bare[PLX_FIELDS_MAX], struct plx_error *err)
{
	struct plx_status shorter;

	l->status.phase = plx_stage_phase(l->stage);
	shorter = l->status;
	shorter.has_hint = false;
	if (plx_status_write(&shorter, bare, PLX_FIELDS_MAX, err) < 0)
		return -1;
	/* Whoever asked waits for the answer: rather without the measurements.
	 */
	if (plx_status_write(&l->status, fields, PLX_FIELDS_MAX, NULL) < 0)
		memcpy(fields, bare, PLX_FIELDS_MAX);
	return 0;
}

/*
 * A program that never spoke to us cannot save when told: without a status it
 * is never asked to. But one that came up nowhere has nothing to save.
 */
void plx_publish(struct plx_launcher *l)
{
	char fields[PLX_FIELDS_MAX];
	struct plx_error err;

	if (!l->publish_due_s || plx_now_s() < l->publish_due_s)
		return;
	l->publish_due_s = 0;
	if (!l->settings->params ||
	    (!l->ever_met && !l->status.ack && !l->status.failed.is))
		return;
	if (write_status(l, fields, l->told_bare, &err) < 0) {
		plx_say(l, PLX_NORMAL, "%s", err.text);
		return;
	}
	if (!strcmp(fields, l->told))
		return;
	strcpy(l->told, fields);
	plx_pace_written(&l->pace, l->status.has_hint ? &l->status.hint : NULL,
			 plx_now_s());
	l->told_number =
		plx_slurm_client_publish(l->client, l->told, l->told_bare);
	if ((l->stage == PLX_STAGE_AGREED || l->stage == PLX_STAGE_LENDING) &&
	    !l->ack_number)
		l->ack_number = l->told_number;
}
