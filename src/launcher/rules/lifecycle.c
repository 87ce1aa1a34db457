/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lifecycle.c - what the launcher does next, as a table */

#include <stddef.h>

#include "launcher/rules/lifecycle.h"

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
	RULE(IDLE,     GPUS,     STARTING, START),
	RULE(IDLE,     REQUESTED,    AGREED,   ACK),
	RULE(IDLE,     STOP,     DONE,     FINISH),

	RULE(STARTING, BEGAN,    TRAINING, PUBLISH),
	RULE(STARTING, REQUESTED,    SAVING,   STOP),
	RULE(STARTING, SHAPE,    YIELDING, STOP),
	RULE(STARTING, SAVED,    IDLE,     RETRY),
	RULE(STARTING, FAILED,   IDLE,     RETRY),
	RULE(STARTING, FINISHED, DONE,     FINISH),
	RULE(STARTING, LATE,     STARTING, KILL),
	RULE(STARTING, STOP,     ENDING,   STOP),

	RULE(TRAINING, REQUESTED,    SAVING,   STOP),
	RULE(TRAINING, UNTRIED,  TRYING,   TRY),
	RULE(TRAINING, OFFERED,  LENDING,  OVERLAP),
	RULE(TRAINING, SHAPE,    YIELDING, STOP),
	RULE(TRAINING, SAVED,    IDLE,     RETRY),
	RULE(TRAINING, FAILED,   IDLE,     RETRY),
	RULE(TRAINING, FINISHED, DONE,     FINISH),
	RULE(TRAINING, STOP,     ENDING,   STOP),

	RULE(TRYING,   READY,    SAVING,   STOP),
	RULE(TRYING,   NO_NEXT,  SAVING,   STOP),
	RULE(TRYING,   AGAIN,    TRYING,   TRY),
	RULE(TRYING,   SICK,     RETURNING, RETURN),
	RULE(TRYING,   LATE,     SAVING,   STOP),
	RULE(TRYING,   KEPT,     TRAINING, KEEP),
	RULE(TRYING,   SHAPE,    YIELDING, STOP),
	RULE(TRYING,   SAVED,    IDLE,     RETRY),
	RULE(TRYING,   FAILED,   IDLE,     RETRY),
	RULE(TRYING,   FINISHED, DONE,     FINISH),
	RULE(TRYING,   STOP,     ENDING,   STOP),

	RULE(LENDING,  ANSWERED, WARMING,  WARM),
	RULE(LENDING,  KEPT,     TRAINING, KEEP),
	RULE(LENDING,  REQUESTED,    SAVING,   STOP),
	RULE(LENDING,  OFFERED,  LENDING,  OVERLAP),
	RULE(LENDING,  SHAPE,    YIELDING, STOP),
	RULE(LENDING,  SAVED,    AGREED,   ACK),
	RULE(LENDING,  FAILED,   AGREED,   LOST),
	RULE(LENDING,  FINISHED, DONE,     FINISH),
	RULE(LENDING,  STOP,     ENDING,   STOP),

	RULE(WARMING,  READY,    HANDING,  HAND),
	RULE(WARMING,  NO_NEXT,  SAVING,   GIVE_UP),
	RULE(WARMING,  AGAIN,    WARMING,  WARM),
	RULE(WARMING,  SICK,     RETURNING, RETURN),
	RULE(WARMING,  LATE,     SAVING,   GIVE_UP),
	RULE(WARMING,  SHAPE,    YIELDING, STOP),
	RULE(WARMING,  SAVED,    STARTING, ADOPT),
	RULE(WARMING,  FAILED,   STARTING, ADOPT),
	RULE(WARMING,  FINISHED, DONE,     FINISH),
	RULE(WARMING,  STOP,     ENDING,   STOP),

	RULE(HANDING,  HELD,     TAKING,   GO),
	RULE(HANDING,  NO_NEXT,  RESUMING, RESUME),
	RULE(HANDING,  SICK,     RESUMING, RESUME),
	RULE(HANDING,  LATE,     SAVING,   GIVE_UP),
	RULE(HANDING,  SHAPE,    YIELDING, STOP),
	RULE(HANDING,  SAVED,    STARTING, ADOPT),
	RULE(HANDING,  FAILED,   STARTING, ADOPT),
	RULE(HANDING,  FINISHED, DONE,     FINISH),
	RULE(HANDING,  STOP,     ENDING,   STOP),

	RULE(TAKING,   BEGAN,    TRAINING, PROMOTE),
	RULE(TAKING,   NO_NEXT,  RESUMING, RESUME),
	RULE(TAKING,   SICK,     RESUMING, RESUME),
	RULE(TAKING,   LATE,     RESUMING, RESUME),
	RULE(TAKING,   SHAPE,    YIELDING, STOP),
	RULE(TAKING,   SAVED,    STARTING, FOLLOW),
	RULE(TAKING,   FAILED,   STARTING, FOLLOW),
	RULE(TAKING,   FINISHED, STARTING, FOLLOW),
	RULE(TAKING,   STOP,     ENDING,   STOP),

	RULE(RESUMING, RESUMED,  SAVING,   STOP),
	RULE(RESUMING, SICK,     RETURNING, RETURN),
	RULE(RESUMING, LATE,     SAVING,   STOP),
	RULE(RESUMING, SHAPE,    YIELDING, STOP),
	RULE(RESUMING, SAVED,    AGREED,   ACK),
	RULE(RESUMING, FAILED,   AGREED,   LOST),
	RULE(RESUMING, FINISHED, DONE,     FINISH),
	RULE(RESUMING, STOP,     ENDING,   STOP),

	RULE(RETURNING, KEPT,    TRAINING, RETAIN),
	RULE(RETURNING, REQUESTED,   SAVING,   STOP),
	RULE(RETURNING, OFFERED, LENDING,  OVERLAP),
	RULE(RETURNING, SHAPE,   YIELDING, STOP),
	RULE(RETURNING, LATE,    SAVING,   GIVE_UP),
	RULE(RETURNING, SAVED,   IDLE,     RETRY),
	RULE(RETURNING, FAILED,  IDLE,     RETRY),
	RULE(RETURNING, FINISHED, DONE,    FINISH),
	RULE(RETURNING, STOP,    ENDING,   STOP),

	RULE(SAVING,   SAVED,    AGREED,   ACK),
	RULE(SAVING,   FAILED,   AGREED,   ACK),
	RULE(SAVING,   FINISHED, DONE,     FINISH),
	RULE(SAVING,   LATE,     SAVING,   KILL),
	RULE(SAVING,   STOP,     ENDING,   NONE),

	RULE(YIELDING, REQUESTED,    SAVING,   NONE),
	RULE(YIELDING, SAVED,    IDLE,     PUBLISH),
	RULE(YIELDING, FAILED,   IDLE,     PUBLISH),
	RULE(YIELDING, FINISHED, DONE,     FINISH),
	RULE(YIELDING, LATE,     YIELDING, KILL),
	RULE(YIELDING, STOP,     ENDING,   NONE),

	RULE(AGREED,   ANSWERED, STARTING, START),
	RULE(AGREED,   PARKED,   IDLE,     PARK),
	RULE(AGREED,   REQUESTED,    AGREED,   ACK),
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
	enum plx_phase phase; /* STARTING: not to be asked again at once */
	bool has_ranks;
	bool trains;
	bool hands_over;
} stages[] = {
	[PLX_STAGE_IDLE]     = { "idle",     PLX_PHASE_WAITING,  0, 0, 0 },
	[PLX_STAGE_STARTING] = { "starting", PLX_PHASE_STARTING, 1, 1, 0 },
	[PLX_STAGE_TRAINING] = { "training", PLX_PHASE_TRAINING, 1, 1, 0 },
	[PLX_STAGE_TRYING]   = { "trying",   PLX_PHASE_STARTING, 1, 1, 0 },
	[PLX_STAGE_LENDING]  = { "lending",  PLX_PHASE_TRAINING, 1, 1, 1 },
	[PLX_STAGE_WARMING]  = { "warming",  PLX_PHASE_STARTING, 1, 1, 1 },
	[PLX_STAGE_HANDING]  = { "handing",  PLX_PHASE_STARTING, 1, 1, 1 },
	[PLX_STAGE_TAKING]   = { "taking",   PLX_PHASE_STARTING, 1, 1, 1 },
	[PLX_STAGE_RESUMING] = { "resuming", PLX_PHASE_STARTING, 1, 1, 1 },
	[PLX_STAGE_RETURNING] = { "returning", PLX_PHASE_STARTING, 1, 1, 1 },
	[PLX_STAGE_SAVING]   = { "saving",   PLX_PHASE_SAVING,   1, 0, 0 },
	[PLX_STAGE_YIELDING] = { "yielding", PLX_PHASE_SAVING,   1, 0, 0 },
	[PLX_STAGE_AGREED]   = { "agreed",   PLX_PHASE_WAITING,  0, 0, 0 },
	[PLX_STAGE_ENDING]   = { "ending",   PLX_PHASE_SAVING,   1, 0, 0 },
	[PLX_STAGE_DONE]     = { "done",     PLX_PHASE_DONE,     0, 0, 0 },
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

bool plx_stage_trains(enum plx_stage stage)
{
	return stages[stage].trains;
}

bool plx_stage_hands_over(enum plx_stage stage)
{
	return stages[stage].hands_over;
}

const char *plx_stage_name(enum plx_stage stage)
{
	return stages[stage].name;
}
