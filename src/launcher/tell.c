/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tell.c - says what happens: to the user, to events.jsonl, to slurmctld
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/clock.h"
#include "launcher/state.h"

void plx_say(const struct plx_launcher *l, enum plx_loudness least,
	     const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (l->settings->loudness < least)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "pollux-launch: %s\n", text);
}

/* Append one line; a full disk must not end the training. event is taken. */
static void write_event(struct plx_launcher *l, json_t *event)
{
	char path[4096];
	char *text = NULL;
	char *line = NULL;
	int length = -1;
	int fd = -1;

	if (event) {
		json_object_set_new(event, "time", json_real(plx_wall_s()));
		text = json_dumps(event,
				  JSON_COMPACT | JSON_REAL_PRECISION(16));
	}
	snprintf(path, sizeof(path), "%s/events.jsonl", l->settings->folder);
	if (text)
		length = asprintf(&line, "%s\n", text);
	if (length > 0)
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			  0666);
	if (fd < 0 || write(fd, line, (size_t) length) != length)
		plx_say(l, PLX_VERBOSE, "cannot write %s: %s", path,
			strerror(errno));
	if (fd >= 0)
		close(fd);
	if (length >= 0)
		free(line);
	free(text);
	json_decref(event);
}

void plx_tell_start(struct plx_launcher *l, const struct plx_generation *g)
{
	plx_say(l, PLX_VERBOSE, "start %d: %d ranks on %s", g->step.number,
		g->step.layout.ranks, g->where);
	write_event(l, json_pack("{s:s, s:i, s:i, s:i, s:s}", "event", "start",
				 "start", g->step.number, "gpus",
				 g->step.layout.gpus ? g->step.layout.ranks : 0,
				 "ranks", g->step.layout.ranks, "nodes",
				 g->where));
}

static json_t *pack_parts(const struct plx_pause *pause)
{
	json_t *parts = json_object();

	for (int i = 0; i < PLX_PARTS; i++)
		json_object_set_new(parts, plx_part_name(i),
				    json_real(pause->part_s[i]));
	return parts;
}

void plx_tell_resize(struct plx_launcher *l)
{
	struct plx_pause pause = plx_pause_of(&l->marks);
	const char *why = l->target.why[0] ? l->target.why : "no reason given";
	int to = l->now->step.layout.ranks;

	if (!l->target.serial)
		why = "Slurm changed its nodes";
	if (l->target.state != PLX_TARGET_REFUSED)
		l->status.resizes++;
	plx_pauses_add(&l->pauses, pause.total_s, NULL);
	l->status.pause_s[0] = plx_pauses_median(&l->pauses);
	l->status.pause_s[1] = plx_pauses_worst(&l->pauses);
	plx_say(l, PLX_NORMAL, "%d -> %d GPUs on %s (%s), pause %.2f s",
		l->from_ranks, to, l->now->where, why, pause.total_s);
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

void plx_tell_parked(struct plx_launcher *l)
{
	plx_say(l, PLX_NORMAL, "%d -> 0 GPUs (%s), waiting for room",
		l->from_ranks, l->job.target.why);
	write_event(l,
		    json_pack("{s:s, s:i, s:i, s:s, s:s, s:s}", "event", "park",
			      "serial", (int) l->job.target.serial, "from_gpus",
			      l->from_ranks, "from", l->from, "saved_crc",
			      l->crc, "saved_samples", l->samples));
}

void plx_tell_fault(struct plx_launcher *l, int code, double wait_s)
{
	plx_say(l, PLX_NORMAL,
		"ranks failed (exit code %d), starting again from the last "
		"checkpoint in %.1f s (restart %d of %d)",
		code, wait_s, l->fault.backoff.faults,
		l->settings->max_restarts);
	write_event(l, json_pack("{s:s, s:i, s:i, s:i}", "event", "fault",
				 "start", l->now->step.number, "code", code,
				 "faults", l->fault.backoff.faults));
}

void plx_tell_done(struct plx_launcher *l)
{
	plx_say(l, PLX_VERBOSE, "done, exit code %d", l->exit_code);
	write_event(l, json_pack("{s:s, s:i, s:i, s:i}", "event", "done",
				 "code", l->exit_code, "starts", l->starts,
				 "resizes", l->status.resizes));
}

void plx_tell_status(struct plx_launcher *l, double due_s)
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
	return plx_status_write(&l->status, fields, PLX_FIELDS_MAX, err);
}

/*
 * A program that never spoke to us cannot save when told: without a status it
 * is never asked to.
 */
void plx_publish(struct plx_launcher *l)
{
	char fields[PLX_FIELDS_MAX];
	struct plx_error err;

	if (!l->publish_due_s || plx_now_s() < l->publish_due_s)
		return;
	l->publish_due_s = 0;
	if (!l->settings->params || (!l->ever_met && !l->status.ack))
		return;
	if (write_status(l, fields, l->told_bare, &err) < 0) {
		plx_say(l, PLX_NORMAL, "%s", err.text);
		return;
	}
	if (!strcmp(fields, l->told))
		return;
	strcpy(l->told, fields);
	l->told_number = plx_clerk_publish(l->clerk, l->told, l->told_bare);
	if ((l->stage == PLX_STAGE_AGREED || l->stage == PLX_STAGE_LENDING) &&
	    !l->ack_number)
		l->ack_number = l->told_number;
}
