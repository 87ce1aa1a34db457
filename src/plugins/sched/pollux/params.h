/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * params.h - what the administrator sets: SchedulerParameters=pollux_*
 *
 * Documented in sched_pollux(5). Other words of SchedulerParameters belong
 * to Slurm and to the backfill scheduler; see backfill/terms.h.
 */
#ifndef SCHED_POLLUX_PARAMS_H
#define SCHED_POLLUX_PARAMS_H

#include <stdbool.h>

#include "sched/pollux/backfill/terms.h"

#define POLLUX_FOLDER_SIZE 256

struct pollux_range {
	double low, high;
};

/* What makes some jobs go before others. */
enum pollux_weights {
	POLLUX_WEIGHTS_NO,	/* nothing: all weigh the same */
	POLLUX_WEIGHTS_SERVICE, /* how little they have had */
	POLLUX_WEIGHTS_LEFT,	/* how little they have left, where told */
};

/* As many GPUs on each of a job's nodes? */
enum pollux_uniform {
	POLLUX_UNIFORM_NO,
	POLLUX_UNIFORM_YES,
	POLLUX_UNIFORM_MOSTLY, /* but where GPUs would idle */
};

/* What of a job's time does not count for its time limit? */
enum pollux_back {
	POLLUX_BACK_NO,	    /* nothing */
	POLLUX_BACK_PARKED, /* that without any GPU */
	POLLUX_BACK_SHARE,  /* also what it lost below its fair share */
};

struct pollux_params {
	double interval_s;    /* between cycles when nothing happens */
	double min_gap_s;     /* between cycles when a lot happens */
	double ack_timeout_s; /* for a launcher to answer */
	double lease_s;	      /* of GPUs above its least, to a job that does not
				 train; 0: for ever */
	double busy_s;	      /* more to answer, for who is busy; 0: none */
	double unconfirmed_s; /* until a job is ended of which a node does not
				 confirm what it gave up */
	double reservation_timeout_s; /* until a job starts */
	double preempt_wait_s; /* for elastic jobs, until Slurm preempts them */
	double sick_s;	       /* a node where ranks failed is left alone */
	double requeue_min_s;  /* between requeues of a moldable job */
	double fairness;       /* p of FITNESS_p; -INFINITY: min */
	enum pollux_uniform uniform;
	double switch_cost; /* per cent of an all-reduce, each further switch */
	bool interference;  /* keep multi-node jobs off each other's nodes */
	enum pollux_weights weights;
	enum pollux_back time_back;
	struct pollux_range utility; /* band; 0: nodes are not our business */
	struct pollux_range scale_nodes;  /* high 0: all there are */
	double scale_window_s;		  /* before nodes are let go */
	bool enabled;			  /* false: watch, but resize nothing */
	bool backfill;			  /* run Slurm's backfill beside */
	struct pollux_terms terms;	  /* of that backfill */
	char dump[POLLUX_FOLDER_SIZE];	  /* where decisions go; "": nowhere */
	char metrics[POLLUX_FOLDER_SIZE]; /* file; "no": none, "": default */
};

/*
 * Set every parameter, to its default where text (may be NULL) does not say
 * otherwise. One error line for each unknown pollux_ key and bad value; its
 * default is then used.
 */
void pollux_params_read(const char *text, struct pollux_params *params);

#endif
