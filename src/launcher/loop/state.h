/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.h - the launcher's state, shared by the files that make it up
 *
 *	launcher.c        the loop: waits, hands out what happened
 *	from_slurm.c      turns what slurmctld says into events,
 *	from_rank.c       what rank 0 says,
 *	from_notes.c      what pollux-rank notes of ranks that say nothing,
 *	watch.c           and the end of ranks, signals and time
 *	act.c             does what the lifecycle table says,
 *	handover_acts.c   also from one generation of ranks to the next
 *	start_order.c     knows what the next start is to be
 *	foreign.c         tells programs that do not link libpollux
 *	time_limit.c      saves before the job's time limit
 *	sick_ranks.c      and back from a node where ranks fail
 *	busy.c            knows what they do that commit no step
 *	node_failure.c    and goes on without one that does not answer
 *	status_report.c   says it: to the user, to events.jsonl, to slurmctld
 */
#ifndef PLX_LAUNCHER_STATE_H
#define PLX_LAUNCHER_STATE_H

#include <jansson.h>

#include "core/base/fields.h"
#include "launcher/loop/foreign.h"
#include "launcher/loop/busy.h"
#include "launcher/job/slurm_client.h"
#include "launcher/loop/fault.h"
#include "launcher/ranks/generation.h"
#include "launcher/loop/launcher.h"
#include "launcher/rules/lifecycle.h"
#include "launcher/loop/time_limit.h"
#include "launcher/rules/polls.h"
#include "launcher/loop/node_failure.h"
#include "launcher/rules/pace.h"
#include "launcher/rules/pauses.h"
#include "launcher/loop/script.h"
#include "launcher/loop/sick_ranks.h"
#include "launcher/loop/folder_lock.h"
#include "wire/secret.h"

#define PLX_GENERATIONS 2 /* that live at once */

struct plx_launcher {
	const struct plx_settings *settings;
	enum plx_stage stage;
	double stage_s;	     /* when it began */
	double deadline_s;   /* of the stage, 0: none */
	double not_before_s; /* of the next start */
	int exit_code;
	int signals; /* descriptor they come from */
	int signal;  /* that asked us to end, 0: none */

	/* slurmctld's side */
	struct plx_slurm_client *client;
	struct plx_job_seen job; /* as last seen */
	bool has_job;
	double looked_s;	      /* when that look began */
	struct plx_polls polls;	      /* the next ones */
	char trouble[PLX_ERROR_SIZE]; /* last told, to tell it once */

	/* the ranks' side */
	struct plx_generation slots[PLX_GENERATIONS];
	struct plx_generation *now;  /* trains, or will; never NULL */
	struct plx_generation *next; /* warm beside it, NULL: none */
	struct plx_generation *old;  /* on its way out, NULL: none */
	struct plx_step_order order;
	char key[PLX_SECRET_SIZE]; /* of this run, handed down to ranks */
	uint64_t newest;	   /* generation's number, so far */
	double cool_until_s;	   /* no handover before */
	int failed_handovers;	   /* in a row */
	double longest_start_s;	   /* until ranks had met, or were ready */
	char crc[32];		   /* of the state last saved */
	char samples[32];	   /* trained when it was */
	bool ever_met;		   /* the training speaks to us */
	int starts;		   /* so far */
	struct plx_foreign foreign;
	struct plx_terminal *terminal; /* NULL: none */
	double drawn_s;		       /* its line */
	struct plx_faults fault;
	struct plx_busy busy;
	struct plx_limit limit;
	struct plx_illness ill;
	struct plx_lost lost;
	struct plx_script script;
	struct plx_folder_lock folder_lock; /* of the folder of checkpoints */

	/* what is told */
	struct plx_status status;
	char told[PLX_FIELDS_MAX];	/* the status last handed out */
	char told_bare[PLX_FIELDS_MAX]; /* its short form */
	unsigned int told_number;
	unsigned int ack_number; /* of the publication that carries ack */
	double publish_due_s;	 /* 0: nothing to publish */
	double hint_due_s;	 /* no hint before this time */
	bool hint_waits;
	struct plx_pace pace; /* of hints */
	bool shortened;	      /* and said so */
	struct plx_marks marks;
	struct plx_pauses pauses;
	struct plx_target target; /* that the present resize follows */
	int from_ranks;		  /* before it */
	char from[PLX_WHERE_SIZE];
	bool resizing;
};

/* from_slurm.c, from_rank.c, from_notes.c, watch.c: these raise events. */
void plx_consider(struct plx_launcher *l); /* the job as last seen */
void plx_from_rank(struct plx_launcher *l, struct plx_generation *g);
void plx_from_slurm(struct plx_launcher *l);
/* Ranks that do not speak to us: can they be told by now? Have all been told?
 */
void plx_from_notes(struct plx_launcher *l);
/* When that is due next; INFINITY: never. */
double plx_from_notes_due_s(const struct plx_launcher *l);
/*
 * A generation is gone: learn from its notes how. *code becomes that of the
 * rank that failed first; srun only knows the last one's.
 */
void plx_from_notes_end(struct plx_launcher *l, struct plx_generation *g,
			int *code);
void plx_watch_peers(struct plx_launcher *l);
/* own: we sent it ourselves, as somebody asked us to. */
void plx_watch_signal(struct plx_launcher *l, int signal, bool own);
void plx_watch_time(struct plx_launcher *l);
/* from_slurm.c: when to look at the job before something is acted on; INFINITY:
 * no need. */
double plx_poll_again_s(const struct plx_launcher *l);

/* act.c: change stage and do what is to be done. */
void plx_raise(struct plx_launcher *l, enum plx_event event);

/* start_order.c: what the next start is to be, on the job's present shape. */
void plx_order_generation(struct plx_launcher *l,
			  struct plx_generation_order *order);

/* status_report.c */
void plx_say(const struct plx_launcher *l, enum plx_loudness least,
	     const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void plx_report_start(struct plx_launcher *l, const struct plx_generation *g);
void plx_report_resize(struct plx_launcher *l);
void plx_report_parked(struct plx_launcher *l);
void plx_report_fault(struct plx_launcher *l, int code, double wait_s);
/* Ranks failed on these nodes ("": not known), and that costs nothing. */
void plx_report_sick(struct plx_launcher *l, const char *nodes, bool train_on);
/* Which rank failed first, and its last lines, if it left word. */
void plx_report_exit(const struct plx_launcher *l, enum plx_loudness least);
/* Nodes do not answer (any more), or do again, after so many seconds. */
void plx_report_lost(struct plx_launcher *l, const char *nodes, double after_s);
void plx_report_found(struct plx_launcher *l, const char *nodes,
		      double after_s);
/* A checkpoint is written, the training goes on. */
void plx_report_kept(struct plx_launcher *l, const char *fields);
void plx_report_done(struct plx_launcher *l);
/* The time limit is near: its state is being saved. */
void plx_report_limit(struct plx_launcher *l, double left_s);
/* Draw the line on the terminal, if it is time to. */
void plx_report_progress(struct plx_launcher *l);
/* Have the status written at due_s at the latest. */
void plx_report_status(struct plx_launcher *l, double due_s);
/* Write it if it is due. */
void plx_publish(struct plx_launcher *l);

#endif
