/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lifecycle.h - what the launcher does next, as a table
 *
 * Pure: no Slurm, no sockets, no clock. The launcher turns what it sees into
 * events, asks here, and does the action. docs/resize.md is the story.
 */
#ifndef PLX_LAUNCHER_LIFECYCLE_H
#define PLX_LAUNCHER_LIFECYCLE_H

#include "core/records/status.h"

enum plx_stage {
	PLX_STAGE_IDLE,	    /* no ranks: just begun, after a fault, parked */
	PLX_STAGE_STARTING, /* ranks started, no optimiser step yet */
	PLX_STAGE_TRAINING,
	PLX_STAGE_TRYING,   /* training; is what was edited fit to run? */
	PLX_STAGE_LENDING,  /* training; a target is to be had beside */
	PLX_STAGE_WARMING,  /* training; the next ranks start beside */
	PLX_STAGE_HANDING,  /* they wait: told to hand over */
	PLX_STAGE_TAKING,   /* old ranks hold their state, the next take it */
	PLX_STAGE_RESUMING, /* the next are lost: told to train on */
	/* training; what the next ones failed on is to go back */
	PLX_STAGE_RETURNING,
	PLX_STAGE_SAVING,   /* told to stop, for a new shape asked of us */
	PLX_STAGE_YIELDING, /* told to stop: the shape changed by itself */
	PLX_STAGE_AGREED,   /* acknowledged, waits for the answer */
	PLX_STAGE_ENDING,   /* told to stop, for good */
	PLX_STAGE_DONE,
};

enum plx_event {
	PLX_EVENT_REQUESTED, /* a target newer than our acknowledgement, or one
			    that is not to be had while ranks are there */
	PLX_EVENT_UNTRIED,   /* the same, of a program that was changed */
	PLX_EVENT_OFFERED,   /* a newer one, and the next ranks may start beside
			      */
	PLX_EVENT_ANSWERED,  /* the target was applied or refused; GPUs here */
	PLX_EVENT_KEPT,	     /* the target is off, ranks stay where they are */
	PLX_EVENT_PARKED,    /* the same, but no GPU is left */
	PLX_EVENT_GPUS,	     /* the job has GPUs, nothing hinders a start */
	PLX_EVENT_SHAPE,     /* the job's GPUs are not those of the ranks */
	PLX_EVENT_BEGAN,     /* first optimiser step of this start */
	PLX_EVENT_READY,     /* the next ranks wait for their turn */
	PLX_EVENT_HELD,	     /* all ranks hold their state in memory and wait */
	PLX_EVENT_NO_NEXT,   /* the next ranks are gone, or not to be had */
	PLX_EVENT_AGAIN,     /* the same, they may be started once more */
	PLX_EVENT_SICK,	     /* the same, for a node that is new to the job */
	PLX_EVENT_RESUMED,   /* ranks that waited train on */
	PLX_EVENT_SAVED,     /* all ranks left after saving */
	PLX_EVENT_FAILED,    /* ranks lost; they may be started again */
	PLX_EVENT_FINISHED,  /* ranks gone, and it is their last word */
	PLX_EVENT_LATE,	     /* this stage's time is up */
	PLX_EVENT_STOP,	     /* we are to end: a signal, or the job is over */
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
	PLX_ACTION_OVERLAP, /* acknowledge the target, ranks train on */
	PLX_ACTION_KEEP,    /* forget the target */
	PLX_ACTION_TRY,	    /* start one rank beside, to see whether it can */
	PLX_ACTION_WARM,    /* start the next ranks beside */
	PLX_ACTION_HAND,    /* ask rank 0 to hand over */
	PLX_ACTION_GO,	    /* the next ranks take the state */
	PLX_ACTION_PROMOTE, /* they train: the old ones may leave */
	PLX_ACTION_GIVE_UP, /* no next ranks after all; then as STOP */
	PLX_ACTION_RESUME,  /* no next ranks: the old ones train on */
	PLX_ACTION_RETURN,  /* the same; ask for their shape back */
	PLX_ACTION_RETAIN,  /* they have it */
	PLX_ACTION_ADOPT,   /* the old ones are gone: go from a checkpoint */
	PLX_ACTION_FOLLOW,  /* the same when they were told to go before */
	PLX_ACTION_LOST,    /* as ACK, after a fault */
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

/* Are they meant to train on? Those that go then have failed. */
bool plx_stage_trains(enum plx_stage stage);

/* Is a handover under way? */
bool plx_stage_hands_over(enum plx_stage stage);

const char *plx_stage_name(enum plx_stage stage);

#endif
