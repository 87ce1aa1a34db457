/* SPDX-License-Identifier: MIT */
/*
 * agent.h - inside of struct pollux, for the files that implement pollux.h
 *
 * pollux.c  life: create, register, start, destroy, info
 * step.c	   the loop: next, reduce, commit
 * tune.c	   rank 0 thinks: fit, batch size, hint
 * save.c	   checkpoints of all that
 */
#ifndef PLX_AGENT_AGENT_H
#define PLX_AGENT_AGENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/checkpoint.h"
#include "agent/coll.h"
#include "agent/cursor.h"
#include "agent/pollux.h"
#include "agent/profile.h"
#include "agent/report.h"
#include "agent/samplelog.h"
#include "agent/save.h"

/* Which call is due. */
enum plx_stage {
	PLX_STAGE_NEW,	   /* pollux_start() */
	PLX_STAGE_BETWEEN, /* pollux_next(), at a step's boundary */
	PLX_STAGE_PASS,	   /* pollux_reduce() */
	PLX_STAGE_ADDED,   /* pollux_next(), inside a step */
	PLX_STAGE_SYNCED,  /* pollux_commit() */
	PLX_STAGE_ENDED,   /* pollux_destroy(): finished, stopped or failed */
};

/* The optimiser step under way. */
struct plx_step {
	uint64_t batch;	   /* samples in all */
	int pass;	   /* index of the pass given out last */
	uint64_t *numbers; /* its samples */
	size_t numbers_room;
	size_t count;	     /* its samples, how many */
	float *sum;	     /* n gradient sums, then PLX_EXTRA_COUNT numbers */
	size_t n;	     /* 0 before the first pollux_reduce() */
	float *previous;     /* last step's gradient: noise on one GPU */
	double previous_sqr; /* its squared norm, 0: none */
	double lr;
	double loss;
};

/* Clock readings and what they say, seconds. */
struct plx_meter {
	double created_s; /* pollux_create() */
	double pass_begin_s;
	double pass_s;	  /* of the pass under way or just reduced */
	double sync_s;	  /* exposed time of its all-reduce */
	double commit_s;  /* of the last step, 0: none */
	double flushed_s; /* end of the last save that was flushed */
	double advised_s; /* last look for a better batch */
	double samples_per_s;
	bool told;    /* the program gave pass_s and sync_s */
	int settling; /* steps not to be measured */
};

/* The last checkpoint written by this process, rank 0. */
struct plx_written {
	uint32_t crc; /* of the registered state */
	size_t bytes; /* of it */
	double seconds;
};

struct pollux {
	struct pollux_config config;
	char collectives[16];
	char folder[PATH_MAX]; /* of checkpoints, "" for none */
	struct plx_error err;
	enum plx_stage stage;

	struct plx_coll *coll;
	struct plx_reporter *reporter; /* rank 0's */
	struct plx_samplelog *log;

	struct plx_tensor *tensors; /* registered */
	int tensor_count;

	struct plx_limits limits;
	enum plx_growth growth; /* of the step model to be fitted */
	struct plx_shape shape;
	struct plx_batch batch;	 /* in use */
	struct plx_batch wanted; /* rank 0's for the next step */
	struct plx_cursor cursor;
	struct plx_profile profile;
	uint64_t flushed; /* step of the newest save that is surely on disk */
	struct plx_store *store; /* of save.h, from plx_restore() on */
	bool restored;
	struct plx_written saved;

	struct plx_step step;
	struct plx_meter meter;
	bool began;   /* a step was committed since the start */
	bool save;    /* all ranks agreed: save before the next step */
	bool stop;    /* ... and then leave, for the launcher wants it */
	bool gone;    /* ... or because it is gone */
	bool failed;  /* err says why */
	bool stopped; /* left before training has finished */
};

/* Seconds of a clock that never goes back. */
double plx_now_s(void);

/* A "pollux: ..." line on stderr by rank 0, unless quiet. */
void plx_say(const struct pollux *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The stage becomes ENDED. Always -1. */
int plx_end(struct pollux *p);

/*
 * The step has all the samples it may have, so that its parts are alike: not
 * the smaller one at the end of an epoch of several steps.
 */
bool plx_step_whole(const struct pollux *p);

/* ---- tune.c ---- */

/* Rank 0: fit if there is news, choose `wanted`, tell the launcher. */
void plx_tune(struct pollux *p);

/* The step just reduced says something about noise. All ranks. */
void plx_tune_noise(struct pollux *p, const float *mean, double sqr_parts,
		    double parts);

#endif
