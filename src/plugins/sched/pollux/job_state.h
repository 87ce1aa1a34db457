/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_state.h - what the plugin remembers of each elastic job
 *
 * Only what slurmctld does not keep: when slurmctld is restarted, all of it
 * is made anew from the job records. Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_JOB_STATE_H
#define SCHED_POLLUX_JOB_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/jobs/excuse.h"
#include "core/records/failed.h"
#include "core/jobs/lease.h"
#include "core/records/target.h"
#include "core/jobs/report_validation.h"

enum pollux_phase {
	POLLUX_IDLE,
	POLLUX_REQUESTED, /* the launcher has to answer */
	POLLUX_LENT,	  /* old and new shape at once, while it hands over */
	POLLUX_KILLED,	  /* it did not; its steps have to end */
	POLLUX_READIED,	  /* it has the shape; prologs run on new nodes */
	POLLUX_BACK,	  /* its new ranks failed: it gets what it had */
	POLLUX_MOVING,	  /* put back into the queue, to be started elsewhere */
};

/*
 * It was to give GPUs up, and one of its nodes did not confirm, or answer: so
 * often in a row, see resize/constrain.h.
 */
struct pollux_stuck {
	int tries;
	double since_s; /* the first of them, monotonic clock */
};

/*
 * A node that hangs for a while looks the same: so often, and for so long, and
 * the job is ended.
 */
#define POLLUX_STUCK_TRIES 3

/* Once more. Is that enough to end it? least_s: pollux_unconfirmed. */
static inline bool pollux_stuck_again(struct pollux_stuck *stuck, double now_s,
				      double least_s)
{
	if (!stuck->tries++)
		stuck->since_s = now_s;
	return stuck->tries >= POLLUX_STUCK_TRIES &&
	       now_s - stuck->since_s >= least_s;
}

/* What comes next is the first one again. */
static inline void pollux_stuck_clear(struct pollux_stuck *stuck)
{
	*stuck = (struct pollux_stuck){ 0 };
}

/* What a job had before a resize, see resize/before.h. */
struct pollux_before {
	int node_count; /* of the cluster, then */
	int count;	/* of the job's nodes */
	int *nodes;	/* [count] rising; NULL: nothing is known */
	int *gpus;	/* [count] */
};

void pollux_before_release(struct pollux_before *before);

/* A node that a job left, see rules/left_nodes.h. */
struct pollux_left_node {
	char *name;
	void *devices;	/* bitstr_t: that it had there */
	double until_s; /* monotonic clock */
	struct pollux_left_node *next;
};

void pollux_left_node_free(struct pollux_left_node *left);

struct pollux_job_state {
	uint32_t priority; /* moving: before Slurm had it in its queue */
	uint32_t job_id;
	bool seen; /* in the present look */

	/* The shape it holds; since 0: none known yet. */
	char *nodes;
	int gpus;
	time_t since;
	double service_s; /* GPU-seconds in the shapes before */
	int most_gpus;	  /* it was seen to hold */

	enum pollux_phase phase;
	struct plx_target target;   /* as last published */
	char *want;		    /* nodes asked for; NULL: any will do */
	struct plx_target from;	    /* moving: where it was, ... */
	char *from_nodes;	    /* ... there; NULL: not known */
	double departed_s;	    /* monotonic clock */
	double freed_s;		    /* its old nodes let it go; 0: not yet */
	uint32_t steps_before;	    /* lent: the ranks before are below */
	double timeout_s;	    /* for the answer */
	double busy_s;		    /* more, at most, while it is busy */
	struct plx_excuse excuse;   /* what it had of that */
	bool excused;		    /* it has more: logged */
	bool keeps;		    /* it cannot be resized, and need not */
	double kept_s;		    /* when that was so last; 0: never */
	double deadline_s;	    /* of the phase, monotonic clock */
	bool due;		    /* something is to be done about it */
	double woken_s;		    /* its launcher, last; monotonic clock */
	int wakes;		    /* again, since it was asked */
	bool changed;		    /* somebody else changed its shape */
	int from_gpus;		    /* it had before it was asked */
	int refusals;		    /* in a row */
	bool trains_on;		    /* it did, when it was resized last */
	double unconfirmed_s;	    /* ... and for so long, it is ended */
	struct pollux_stuck stuck;  /* see resize/constrain.h */
	char refused[PLX_WHY_SIZE]; /* reason of the last one; "": none */
	double told_s;		    /* last sentence on its record, monotonic */
	double still_until_s;	    /* no request before, monotonic clock */
	char *complaint;	    /* last one logged about its status */
	int complaints;		    /* logged so far */
	double complained_s;	    /* when last, monotonic clock */
	struct plx_validation validation; /* in what it says of itself */
	struct plx_lease lease;		  /* of what it has above its least */
	const char *lapse; /* why that is over; NULL: it is not */
	const char *fixed; /* why it keeps its shape, as logged */

	/* Its time limit: resize/extend.h, start/limit_requeue.h */
	double owed_s;	      /* to be given back to it */
	double unsaid_s;      /* given, and not logged yet */
	double speedup;	      /* by the last plan, of what it has; 0: unknown */
	bool parked;	      /* it was, when it was looked at last */
	time_t counted;	      /* what it is owed is known up to then */
	time_t settled;	      /* last try to give it back */
	time_t ends;	      /* then */
	uint32_t promised_to; /* a job that waits is to start ... */
	time_t promised;      /* ... then, where this one is; 0: none is */
	bool against;	      /* it was logged why it gets nothing */
	bool spent;	      /* the same, why it is not requeued again */

	/* gres_alloc.h: devices of steps whose records tell of none any more */
	void **outlived; /* bitstr_t: [outlived_count], NULL: none of a node */
	int outlived_count; /* of nodes then */

	struct pollux_left_node *left_nodes;

	/* noted.h */
	void *noted; /* bitstr_t */
	double noted_until_s;

	/* back.h */
	struct pollux_before back; /* the last resize */
	uint32_t back_step;	   /* the first one after it */
	struct plx_failed failed;  /* as last heard, see plan/sick_nodes.h */
	bool elsewhere;		   /* nodes were closed for that */
	char *shuns;		   /* moving: a node it is not to start on */

	/* prolog.h */
	struct pollux_before had; /* the resize that a prolog goes with */
	void *left;		  /* bitstr_t: nodes that it once gave up */
	char *fresh;		  /* nodes where a prolog runs */
	bool overlaps;		  /* readied: to hand over, not done yet */
	bool again;		  /* it has to be started again */
	double launched_s;	  /* monotonic clock */
	double ask_s;	  /* when to ping who has not answered; the same */
	double verdict_s; /* when it is known how it ended; 0: not yet */
};

/* Take over `outlived`, made with xcalloc(). */
void pollux_job_state_outlive(struct pollux_job_state *state, void **outlived,
			      int count);

struct pollux_job_state *pollux_job_state_find(uint32_t job_id);
/* Found or made. Valid until pollux_job_state_remove() of any job. */
struct pollux_job_state *pollux_job_state_get(uint32_t job_id);
/* The i-th of all, NULL after the last. */
struct pollux_job_state *pollux_job_state_at(int i);
void pollux_job_state_remove(struct pollux_job_state *state);
void pollux_job_state_remove_all(void);

/*
 * The job holds this shape since then; if that is another one than before,
 * the log says how long it held the last one. Takes no ownership.
 */
void pollux_job_state_hold(struct pollux_job_state *state, const char *nodes,
			   int gpus, time_t since);
/* The job ended then (or was requeued). */
void pollux_job_state_close(struct pollux_job_state *state, time_t end);
/* GPU-seconds that the job has had since it started. */
double pollux_job_state_service(const struct pollux_job_state *state,
				time_t now);

/* Go on with the move to this target that an earlier slurmctld began. */
void pollux_job_state_adopt(uint32_t job_id, const struct plx_target *target);

/* Is any job in the middle of a resize? */
bool pollux_job_state_any_busy(void);

#endif
