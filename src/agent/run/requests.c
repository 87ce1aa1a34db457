/* SPDX-License-Identifier: MIT */
/* requests.c - what the program says meanwhile: save, more GPUs, hold, busy */
#include <config.h>

#include "agent/comm/pulse.h"
#include "agent/state/call.h"
#include "agent/state/say.h"
#include "core/records/options.h"
#include "wire/message.h"
#include "wire/now.h"

/*
 * Ranks need not ask at the same moment: the next sum tells them all. One that
 * is alone need not wait for it.
 */
int pollux_checkpoint(struct pollux *p)
{
	if (!p)
		return POLLUX_EINVAL;
	if (p->stage == PLX_STAGE_NEW || p->stage == PLX_STAGE_ENDED)
		return plx_misuse(p, "pollux_checkpoint()");
	if (p->coll->ranks == 1)
		p->wishes |= PLX_WISH_SAVE;
	else
		p->save_asked = true;
	return 0;
}

/* Rank 0 has the launcher's ear; its status says it from then on. */
int pollux_request(struct pollux *p, int gpus)
{
	if (!p)
		return POLLUX_EINVAL;
	if (p->stage == PLX_STAGE_NEW || p->stage == PLX_STAGE_ENDED)
		return plx_misuse(p, "pollux_request()");
	if (gpus < 0 || gpus > PLX_GPUS_MAX) {
		plx_fail(&p->err, "pollux_request() gets %d GPUs, want 0 to %d",
			 gpus, PLX_GPUS_MAX);
		plx_fault(p, POLLUX_EINVAL);
		return plx_end(p);
	}
	plx_reporter_say(p->reporter, PLX_MSG_REQUEST " gpus=%d", gpus);
	return 0;
}

int pollux_hold(struct pollux *p, bool hold)
{
	if (!p)
		return POLLUX_EINVAL;
	p->hold = hold;
	plx_pulse_hold(p->pulser, hold);
	return 0;
}

int pollux_beat(struct pollux *p)
{
	if (!p)
		return POLLUX_EINVAL;
	if (p->stage == PLX_STAGE_NEW || p->stage == PLX_STAGE_ENDED)
		return plx_misuse(p, "pollux_beat()");
	plx_reporter_busy(p->reporter, p->cursor.step, plx_now_s());
	plx_pulse_beat(p->pulser);
	return 0;
}
