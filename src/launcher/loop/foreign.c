/* SPDX-License-Identifier: GPL-2.0-or-later */
/* foreign.c - what programs that do not link libpollux are told */

#include "config.h"

#include "launcher/loop/foreign.h"
#include "launcher/rules/clock.h"
#include "launcher/loop/state.h"
#include "wire/message.h"

bool plx_foreign_by_signal(const struct plx_launcher *l)
{
	const struct plx_generation *g = l->now;

	if (l->settings->on_resize == PLX_ON_RESIZE_LIBPOLLUX ||
	    !l->settings->notes || !plx_generation_lives(g))
		return false;
	return l->settings->on_resize == PLX_ON_RESIZE_SIGNAL || !g->peer.met;
}

bool plx_foreign_listens(const struct plx_launcher *l)
{
	return plx_foreign_by_signal(l) && l->now->said.began;
}

void plx_foreign_stop(struct plx_launcher *l)
{
	const struct plx_settings *s = l->settings;
	struct plx_error err;

	if (!plx_foreign_by_signal(l))
		return;
	if (plx_note_write(s->notes, PLX_NOTE_STOP,
			   (int) l->now->step.generation, NULL, &err) < 0)
		plx_say(l, PLX_NORMAL, "%s", err.text);
	plx_slurm_client_nudge(l->client, l->now->step.name);
	l->foreign.look_s = plx_now_s() + PLX_NUDGE_S;
}

void plx_foreign_checkpoint(struct plx_launcher *l)
{
	if (!l->now->said.hello || !plx_stage_trains(l->stage)) {
		plx_say(l, PLX_NORMAL,
			"no checkpoint: the training cannot be asked for one "
			"now");
		return;
	}
	plx_say(l, PLX_VERBOSE, "asking for a checkpoint");
	plx_peer_send(&l->now->peer, PLX_MSG_SAVE);
}
