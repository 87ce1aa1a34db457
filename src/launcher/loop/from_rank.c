/* SPDX-License-Identifier: GPL-2.0-or-later */
/* from_rank.c - what rank 0 says, as events */

#include <limits.h>
#include <string.h>

#include "core/records/options.h"
#include "launcher/rules/clock.h"
#include "launcher/loop/handover_acts.h"
#include "launcher/loop/start_time.h"
#include "launcher/loop/state.h"
#include "wire/message.h"

static void take_hint(struct plx_launcher *l, struct plx_generation *g,
		      const char *fields)
{
	struct plx_error err = { .text = "it is empty" };
	struct plx_hint hint;

	if (g == l->old)
		return;
	if (plx_hint_read(fields, &hint, &err) <= 0) {
		plx_say(l, PLX_VERBOSE, "rank 0 sent a bad hint: %s", err.text);
		return;
	}
	l->status.hint = hint;
	l->status.has_hint = true;
	l->hint_waits = true;
}

/* Seconds ago that what it tells of has happened. */
static double idle_of(const char *fields)
{
	double idle = 0;

	plx_field_doubles(fields, "idle", 0, 1e6, &idle, 1, NULL);
	return idle;
}

/* All ranks leave now, or hold their state in memory and wait. */
static void take_saved(struct plx_launcher *l, struct plx_generation *g,
		       const char *fields)
{
	int held = 0;

	if (g != l->now)
		return;
	plx_field_int(fields, "held", 0, 1, &held, NULL);
	if (held <= 0)
		plx_limit_learn(l, fields);
	l->marks.saved_s = plx_now_s();
	l->marks.last_s = l->marks.saved_s - idle_of(fields);
	plx_field_text(fields, "crc", l->crc, sizeof(l->crc));
	plx_field_text(fields, "samples", l->samples, sizeof(l->samples));
	if (held <= 0) {
		g->said.saved = true;
		return;
	}
	g->said.held = true;
	/* Nobody waits for it any more. */
	if (l->stage != PLX_STAGE_HANDING)
		plx_handover_release(l);
	plx_raise(l, PLX_EVENT_HELD);
}

static void take_ready(struct plx_launcher *l, struct plx_generation *g)
{
	g->said.ready = true;
	if (g != l->next)
		return;
	plx_start_learn(l, g);
	plx_script_runs(&l->script);
	l->marks.ready_s = plx_now_s();
	plx_raise(l, PLX_EVENT_READY);
}

static void take_hello(struct plx_launcher *l, struct plx_generation *g)
{
	g->said.hello = true;
	if (!g->said.ready) /* else it waited */
		plx_start_learn(l, g);
	l->ever_met = true;
	if (g == l->now)
		plx_fault_hello(l);
	l->marks.hello_s = plx_now_s();
	if (l->stage == PLX_STAGE_STARTING)
		l->deadline_s = 0;
	plx_report_status(l, plx_now_s());
}

static void take_began(struct plx_launcher *l, struct plx_generation *g,
		       const char *fields)
{
	bool resized = l->resizing;

	if (g == l->old)
		return;
	g->said.began = true;
	l->marks.first_s = plx_now_s() - idle_of(fields);
	plx_pace_anew(&l->pace);
	plx_raise(l, PLX_EVENT_BEGAN);
	if (l->stage == PLX_STAGE_TRAINING)
		plx_sick_trained(l);
	if (resized && l->stage == PLX_STAGE_TRAINING) {
		plx_report_resize(l);
		l->resizing = false;
	}
}

static void take_beat(struct plx_launcher *l, struct plx_generation *g,
		      const char *fields)
{
	double step = 0;
	int busy = 0;

	plx_field_doubles(fields, "step", 0, 1e18, &step, 1, NULL);
	plx_field_int(fields, "busy", 0, 1, &busy, NULL);
	if (g != l->now)
		return;
	if (busy > 0)
		plx_fault_busy(l);
	else
		plx_fault_beat(l, (uint64_t) step);
}

/* Its wish is in the status, also of ranks to come. */
static void take_request(struct plx_launcher *l, struct plx_generation *g,
			 const char *fields)
{
	int gpus = 0;

	if (g == l->old ||
	    plx_field_int(fields, "gpus", 0, PLX_GPUS_MAX, &gpus, NULL) <= 0 ||
	    gpus == l->status.want)
		return;
	l->status.want = gpus;
	if (gpus)
		plx_say(l, PLX_NORMAL, "the program asks for %d rank%s", gpus,
			gpus == 1 ? "" : "s");
	else
		plx_say(l, PLX_NORMAL,
			"the program asks for as many ranks as are of use");
	plx_report_status(l, plx_now_s());
}

static void take_tight(struct plx_generation *g, const char *fields)
{
	struct plx_said *said = &g->said;

	said->tight = said->used_mib = said->unused_mib = 0;
	plx_field_int(fields, "ranks", 0, INT_MAX, &said->tight, NULL);
	plx_field_int(fields, "used", 0, INT_MAX, &said->used_mib, NULL);
	plx_field_int(fields, "unused", 0, INT_MAX, &said->unused_mib, NULL);
}

static void take_kept(struct plx_launcher *l, const char *fields)
{
	plx_limit_learn(l, fields);
	plx_report_kept(l, fields);
}

static void take_line(struct plx_launcher *l, struct plx_generation *g,
		      const char *line)
{
	const char *fields;

	if (plx_message(line, PLX_MSG_HELLO))
		take_hello(l, g);
	else if (plx_message(line, PLX_MSG_READY))
		take_ready(l, g);
	else if ((fields = plx_message(line, PLX_MSG_BEGAN)))
		take_began(l, g, fields);
	else if ((fields = plx_message(line, PLX_MSG_HINT)))
		take_hint(l, g, fields);
	else if ((fields = plx_message(line, PLX_MSG_SAVED)))
		take_saved(l, g, fields);
	else if (plx_message(line, PLX_MSG_RESUMED))
		plx_raise(l,
			  l->ill.pending ? PLX_EVENT_SICK : PLX_EVENT_RESUMED);
	else if ((fields = plx_message(line, PLX_MSG_REQUEST)))
		take_request(l, g, fields);
	else if ((fields = plx_message(line, PLX_MSG_KEPT)))
		take_kept(l, fields);
	else if (plx_message(line, PLX_MSG_DONE))
		g->said.done = true;
	else if ((fields = plx_message(line, PLX_MSG_BEAT)))
		take_beat(l, g, fields);
	else if ((fields = plx_message(line, PLX_MSG_TIGHT)))
		take_tight(g, fields);
	else if (plx_message(line, PLX_MSG_RESTORED))
		return; /* the training lives */
	else
		plx_say(l, PLX_VERBOSE, "rank 0 said something unknown");
}

void plx_from_rank(struct plx_launcher *l, struct plx_generation *g)
{
	char line[PLX_LINE_MAX];
	struct plx_error err;

	while (plx_peer_receive(&g->peer, line, &err))
		take_line(l, g, line);
}

void plx_watch_peers(struct plx_launcher *l)
{
	for (int i = 0; i < PLX_GENERATIONS; i++)
		plx_from_rank(l, &l->slots[i]);
}
