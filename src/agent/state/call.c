/* SPDX-License-Identifier: MIT */
/* call.c - a call of the program: is it due, is it given what it needs? */
#include <config.h>

#include "agent/comm/pulse.h"
#include "agent/state/call.h"
#include "agent/state/rescue.h"
#include "agent/state/say.h"
#include "wire/run_page.h"

static struct plx_pulse_place place_of(const struct pollux *p)
{
	return (struct plx_pulse_place){
		.step = p->cursor.step,
		.summed = p->stage == PLX_STAGE_SYNCED,
		.between = p->stage == PLX_STAGE_BETWEEN ||
			   p->stage == PLX_STAGE_ENDED,
	};
}

void plx_stage(struct pollux *p, enum plx_call_stage stage)
{
	if (stage == PLX_STAGE_SYNCED)
		plx_state_changing(p);
	else if (p->stage == PLX_STAGE_SYNCED && stage == PLX_STAGE_BETWEEN)
		plx_state_settled(p);
	p->stage = stage;
	plx_run_page_write(p->page, stage != PLX_STAGE_ENDED, p->cursor.step);
	plx_pulse_moved(p->pulser, place_of(p));
}

int plx_end(struct pollux *p)
{
	plx_stage(p, PLX_STAGE_ENDED);
	p->failed = true;
	/* What nobody has classified concerns state or files. */
	plx_fault(p, POLLUX_ESTATE);
	/* Before anybody aborts, which leaves no time to the others. */
	if (p->code == POLLUX_ECOMM)
		(void) plx_rescue(p);
	return p->code;
}

int plx_misuse(struct pollux *p, const char *call)
{
	static const char *const due[] = {
		[PLX_STAGE_NEW] = "pollux_start()",
		[PLX_STAGE_BETWEEN] = "pollux_next()",
		[PLX_STAGE_PASS] = "pollux_reduce() or pollux_sync()",
		[PLX_STAGE_ADDED] = "pollux_next()",
		[PLX_STAGE_SYNCED] = "pollux_commit()",
		[PLX_STAGE_ENDED] = "pollux_destroy()",
	};

	/* After a failure the first sentence is the one to be kept. */
	if (p->failed)
		return p->code;
	plx_fail(&p->err, "%s is called where %s is due", call, due[p->stage]);
	plx_fault(p, POLLUX_ECALL);
	return plx_end(p);
}

/* ---- what it is given ---- */

/* An argument is wrong, and why. */
static int wrong(struct pollux *p, const struct plx_error *why)
{
	/* After a failure the first sentence is the one to be kept. */
	if (p->failed)
		return p->code;
	p->err = *why;
	if (p->stage == PLX_STAGE_NEW)
		return POLLUX_EINVAL;
	plx_fault(p, POLLUX_EINVAL);
	return plx_end(p);
}

int plx_given(struct pollux *p, const char *call, const char *name,
	      const void *data)
{
	struct plx_error why;

	if (!p)
		return POLLUX_EINVAL;
	if (data)
		return 0;
	plx_fail(&why, "%s: %s is NULL", call, name);
	return wrong(p, &why);
}

int plx_given_struct(struct pollux *p, const struct plx_sized *is,
		     const void *from, size_t size, void *own)
{
	struct plx_error why;
	int rc = plx_given(p, is->call, is->name, from);

	if (rc == 0 && plx_sized_take(is, from, size, own, &why) < 0)
		rc = wrong(p, &why);
	return rc;
}

int plx_given_output(struct pollux *p, const struct plx_sized *is,
		     const void *to, size_t size)
{
	struct plx_error why;
	int rc = plx_given(p, is->call, is->name, to);

	if (rc == 0 && plx_sized_check(is, size, &why) < 0)
		rc = wrong(p, &why);
	return rc;
}
