/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lifecycle.c - what the launcher does next, as a table */

#include <stddef.h>

#include "launcher/lifecycle.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct rule {
	enum plx_stage now;
	enum plx_event event;
	struct plx_step_to next;
};

/* clang-format off */
#define RULE(now, event, next, action)					\
	{ PLX_STAGE_##now, PLX_EVENT_##event,				\
	  { PLX_STAGE_##next, PLX_ACTION_##action } }

static const struct rule rules[] = {
	RULE(IDLE,     ROOM,     STARTING, START),
	RULE(IDLE,     ASKED,    AGREED,   ACK),
	RULE(IDLE,     STOP,     DONE,     FINISH),

	RULE(STARTING, BEGAN,    TRAINING, PUBLISH),
	RULE(STARTING, ASKED,    SAVING,   STOP),
	RULE(STARTING, SHAPE,    YIELDING, STOP),
	RULE(STARTING, SAVED,    IDLE,     RETRY),
	RULE(STARTING, FAILED,   IDLE,     RETRY),
	RULE(STARTING, FINISHED, DONE,     FINISH),
	RULE(STARTING, LATE,     STARTING, KILL),
	RULE(STARTING, STOP,     ENDING,   STOP),

	RULE(TRAINING, ASKED,    SAVING,   STOP),
	RULE(TRAINING, SHAPE,    YIELDING, STOP),
	RULE(TRAINING, SAVED,    IDLE,     RETRY),
	RULE(TRAINING, FAILED,   IDLE,     RETRY),
	RULE(TRAINING, FINISHED, DONE,     FINISH),
	RULE(TRAINING, STOP,     ENDING,   STOP),

	RULE(SAVING,   SAVED,    AGREED,   ACK),
	RULE(SAVING,   FAILED,   AGREED,   ACK),
	RULE(SAVING,   FINISHED, DONE,     FINISH),
	RULE(SAVING,   LATE,     SAVING,   KILL),
	RULE(SAVING,   STOP,     ENDING,   NONE),

	RULE(YIELDING, ASKED,    SAVING,   NONE),
	RULE(YIELDING, SAVED,    IDLE,     PUBLISH),
	RULE(YIELDING, FAILED,   IDLE,     PUBLISH),
	RULE(YIELDING, FINISHED, DONE,     FINISH),
	RULE(YIELDING, LATE,     YIELDING, KILL),
	RULE(YIELDING, STOP,     ENDING,   NONE),

	RULE(AGREED,   ANSWERED, STARTING, START),
	RULE(AGREED,   PARKED,   IDLE,     PARK),
	RULE(AGREED,   ASKED,    AGREED,   ACK),
	RULE(AGREED,   LATE,     IDLE,     PUBLISH),
	RULE(AGREED,   STOP,     DONE,     FINISH),

	RULE(ENDING,   SAVED,    DONE,     FINISH),
	RULE(ENDING,   FAILED,   DONE,     FINISH),
	RULE(ENDING,   FINISHED, DONE,     FINISH),
	RULE(ENDING,   LATE,     ENDING,   KILL),
	RULE(ENDING,   STOP,     ENDING,   KILL),
};

static const struct {
	const char *name;
	enum plx_phase phase;
	bool has_ranks;
} stages[] = {
	[PLX_STAGE_IDLE]     = { "idle",     PLX_PHASE_WAITING,  false },
	[PLX_STAGE_STARTING] = { "starting", PLX_PHASE_STARTING, true  },
	[PLX_STAGE_TRAINING] = { "training", PLX_PHASE_TRAINING, true  },
	[PLX_STAGE_SAVING]   = { "saving",   PLX_PHASE_SAVING,   true  },
	[PLX_STAGE_YIELDING] = { "yielding", PLX_PHASE_SAVING,   true  },
	[PLX_STAGE_AGREED]   = { "agreed",   PLX_PHASE_WAITING,  false },
	[PLX_STAGE_ENDING]   = { "ending",   PLX_PHASE_SAVING,   true  },
	[PLX_STAGE_DONE]     = { "done",     PLX_PHASE_DONE,     false },
};
/* clang-format on */

struct plx_step_to plx_lifecycle_next(enum plx_stage now, enum plx_event event)
{
	for (size_t i = 0; i < COUNT(rules); i++) {
		if (rules[i].now == now && rules[i].event == event)
			return rules[i].next;
	}
	return (struct plx_step_to){ now, PLX_ACTION_NONE };
}

enum plx_phase plx_stage_phase(enum plx_stage stage)
{
	return stages[stage].phase;
}

bool plx_stage_has_ranks(enum plx_stage stage)
{
	return stages[stage].has_ranks;
}

const char *plx_stage_name(enum plx_stage stage)
{
	return stages[stage].name;
}
