/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lifecycle.h - what the launcher does next, as a table
 *
 * Pure: no Slurm, no sockets, no clock. The launcher turns what it sees into
 * events, asks here, and does the action. docs/resize.md is the story.
 */
#ifndef PLX_LAUNCHER_LIFECYCLE_H
#define PLX_LAUNCHER_LIFECYCLE_H

#include "core/status.h"

enum plx_stage {
	PLX_STAGE_IDLE,	    /* no ranks: just begun, after a fault, parked */
	PLX_STAGE_STARTING, /* ranks started, no optimiser step yet */
	PLX_STAGE_TRAINING,
	PLX_STAGE_SAVING,   /* told to stop, for a new shape asked of us */
	PLX_STAGE_YIELDING, /* told to stop: the shape changed by itself */
	PLX_STAGE_AGREED,   /* acknowledged, waits for the answer */
	PLX_STAGE_ENDING,   /* told to stop, for good */
	PLX_STAGE_DONE,
};

enum plx_event {
	PLX_EVENT_ASKED,    /* a target newer than our acknowledgement */
	PLX_EVENT_ANSWERED, /* the target was applied or refused; GPUs here */
	PLX_EVENT_PARKED,   /* the same, but no GPU is left */
	PLX_EVENT_ROOM,	    /* the job has GPUs, nothing hinders a start */
	PLX_EVENT_SHAPE,    /* the job's GPUs are not those of the ranks */
	PLX_EVENT_BEGAN,    /* first optimiser step of this start */
	PLX_EVENT_SAVED,    /* all ranks left after saving */
	PLX_EVENT_FAILED,   /* ranks lost; they may be started again */
	PLX_EVENT_FINISHED, /* ranks gone, and it is their last word */
	PLX_EVENT_LATE,	    /* this stage's time is up */
	PLX_EVENT_STOP,	    /* we are to end: a signal, or the job is over */
};

enum plx_action {
	PLX_ACTION_NONE,
	PLX_ACTION_START,   /* ranks on the job's present shape */
	PLX_ACTION_STOP,    /* ask rank 0 to save and leave */
	PLX_ACTION_KILL,    /* the step, harder each time */
	PLX_ACTION_ACK,	    /* acknowledge the target: all ranks are gone */
	PLX_ACTION_PUBLISH, /* tell the new phase */
	PLX_ACTION_PARK,    /* no GPU is left: wait until there is one */
	PLX_ACTION_RETRY,   /* start again soon, from the last checkpoint */
	PLX_ACTION_FINISH,  /* write the last status and leave */
};

struct plx_step_to {
	enum plx_stage stage;
	enum plx_action action;
};

/* Events without a rule leave the stage as it is and do nothing. */
struct plx_step_to plx_lifecycle_next(enum plx_stage now, enum plx_event event);

/* What the status calls it. */
enum plx_phase plx_stage_phase(enum plx_stage stage);

/* Are there ranks in this stage? */
bool plx_stage_has_ranks(enum plx_stage stage);

const char *plx_stage_name(enum plx_stage stage);

#endif
