/* SPDX-License-Identifier: MIT */
/*
 * agent.h - struct pollux, which the files that implement pollux.h share
 *
 * What a file does with it is in that file's header, and who may call whom in
 * docs/layers.md: what is saved knows no gradients, and gradients know no loop.
 */
#ifndef PLX_AGENT_AGENT_H
#define PLX_AGENT_AGENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/cursor.h"
#include "agent/base/profile.h"
#include "agent/comm/coll.h"
#include "agent/comm/report.h"
#include "agent/disk/samplelog.h"
#include "agent/gpu/gradient_cuda.h"
#include "agent/pollux.h"
#include "agent/state/registered.h"
#include "core/model/lr_rule.h"

/* Which call is due. */
enum plx_call_stage {
	PLX_STAGE_NEW,	   /* pollux_start() */
	PLX_STAGE_BETWEEN, /* pollux_next(), at a step's boundary */
	PLX_STAGE_PASS,	   /* pollux_gradient(), pollux_sync() */
	PLX_STAGE_ADDED,   /* pollux_next(), inside a step */
	PLX_STAGE_SYNCED,  /* pollux_commit() */
	PLX_STAGE_ENDED,   /* pollux_destroy(): finished, stopped or failed */
};

/* A part of the gradient, and where this pass's is. */
struct plx_bucket {
	struct pollux_bucket is;
	size_t first;	/* of its numbers, in the step's sum */
	float *data;	/* the program's, of this pass; NULL: not there yet */
	size_t made;	/* numbers of this step's mean, from the first on */
	float *gpu_sum; /* of device memory, in place of the step's sum */
	float *gpu_previous;
};

/* What all ranks have to say about the step. */
struct plx_verdict {
	double parts;			     /* passes with samples */
	double sqr_parts[POLLUX_GROUPS_MAX]; /* sum of their squared norms */
	double sqr_mean[POLLUX_GROUPS_MAX];  /* squared norm of the mean */
	double loss;			     /* mean over the samples */
	bool full; /* a pass did not fit into memory: begin anew */
	bool bad;  /* the mean is not finite */
};

/* What one rank adds to that. */
struct plx_share {
	double parts;
	double sqr[POLLUX_GROUPS_MAX];
	double loss; /* sum over its samples */
	double samples;
	bool full;
	bool looked;	  /* the program, whether its gradient is finite, ... */
	bool bad;	  /* ... and it is not */
	bool unequal;	  /* it came with another size of the gradient: */
	size_t unequal_n; /* this one */
};

/* What is seen of the mean while it is made, before the verdict is in. */
struct plx_made {
	bool bad;		       /* a number is not finite */
	double sqr[POLLUX_GROUPS_MAX]; /* squared norm */
};

/* The optimiser step under way. */
struct plx_agent_step {
	uint64_t batch;	   /* samples in all */
	int pass;	   /* index of the pass given out last */
	uint64_t *numbers; /* its samples */
	size_t numbers_capacity;
	uint64_t *peeked; /* those of a later pass, pollux_peek() */
	size_t peeked_capacity;
	size_t count;	 /* its samples, how many */
	size_t n;	 /* numbers of all buckets */
	float *sum;	 /* [n] over passes; NULL: no memory yet */
	float *previous; /* [n] last step's gradient: noise on one GPU */
	bool has_previous;
	double previous_sqr[POLLUX_GROUPS_MAX];
	double cross[POLLUX_GROUPS_MAX]; /* its product with this one */
	int arrived;			 /* buckets of this pass */
	int begun;			 /* all-reduces under way */
	struct plx_share own;
	struct plx_made made;
	struct plx_verdict all;
	double lr;
	double factor[POLLUX_GROUPS_MAX]; /* on the learning rate */
	double gain;			  /* iterations at the base batch */
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
	double asked_s;	  /* last look for the launcher's wishes */
	double first_s;	  /* the first pass was given out, 0: none was */
	double samples_per_s;
	uint64_t changed; /* step of the last change of batch, 0: none */
	bool grew;	  /* it was to a larger one */
	bool told;	  /* the program gave pass_s and sync_s */
	int settling;	  /* steps not to be measured */
	double alone_s;	  /* others start beside until then: no measuring */
	double look_s;	  /* of this step, spent on norms */
};

/* How often the noise is looked at: rate.c. */
struct plx_watch {
	int every;     /* in one of so many steps, or a pair; 0: as it begins */
	int wanted;    /* agreed on, from the next step on */
	int advised;   /* rank 0's */
	double look_s; /* what a look costs, smoothed; rank 0 */
};

/* Memory of this rank's GPU, as measured last. */
struct plx_gpu_memory {
	double looked_s; /* when, 0: never */
	double unused;	 /* bytes, of ... */
	double all;	 /* ... so many; 0: no GPU, or it does not say */
	double at_full;	 /* unused when a pass did not fit, as all does */
	int tight;	 /* ranks whose GPU has no room for another rank */
	int cramped;	 /* ... no more than when a pass did not fit */
	int told;	 /* of them, to the launcher; rank 0 */
};

/* The last checkpoint written by this process, rank 0. */
struct plx_written {
	uint32_t crc; /* of the registered state */
	size_t bytes; /* of it */
	double seconds;
};

struct plx_sized;

struct pollux {
	struct pollux_config config;
	char collectives[16];
	char lr_scaling[16];
	char folder[PATH_MAX]; /* of checkpoints, "" for none */
	struct plx_error err;
	enum pollux_status code;   /* what kind of error, of the first one */
	struct plx_run_page *page; /* pollux-rank's, or NULL */
	_Atomic enum plx_call_stage stage; /* also read by the guard's thread */

	struct plx_coll *coll;
	struct plx_reporter *reporter; /* rank 0's */
	struct plx_pulser *pulser;     /* of pulse.h, or NULL */
	struct plx_samplelog *log;

	struct plx_registered registered;
	struct plx_bucket *buckets;
	int bucket_count;
	int groups;	     /* of parameters, 1 and more */
	int *order;	     /* [buckets] in which gradients come, ... */
	bool order_set;	     /* ... once a whole step has shown it */
	struct plx_gpu *gpu; /* arithmetic there, or NULL */
	bool gpu_told;	     /* who does the arithmetic */
	double loss_scale;   /* of this pass's gradients */
	double loss_scale_next;

	struct plx_limits limits;
	int allowed_per_gpu;	/* max_per_gpu before memory narrowed it */
	enum plx_growth growth; /* of the step model to be fitted */
	struct plx_shape shape;
	struct plx_batch batch;	 /* in use */
	struct plx_batch wanted; /* rank 0's for the next step */
	struct plx_cursor cursor;
	struct plx_profile profile;
	char gpu_type[PLX_TYPES_SIZE]; /* as the launcher says it; or "" */
	uint64_t flushed; /* step of the newest save that is surely on disk */
	struct plx_store *store;       /* of save.h, from plx_restore() on */
	struct plx_handover *handover; /* of handover.h, or NULL */
	bool restored;
	const char *restored_from; /* "resident", "rescue", "disk", "none" */
	struct plx_written saved;

	struct plx_agent_step step;
	struct plx_meter meter;
	struct plx_gpu_memory gpu_memory;
	struct plx_watch watch;
	enum plx_lr_rule rule;
	struct plx_range next; /* samples that would follow, and ... */
	uint64_t next_epoch;   /* ... of which epoch: see pollux_seek */
	uint64_t skipped;      /* steps without a finite gradient, in a row */
	unsigned int wishes;   /* enum plx_wish, agreed on by all ranks */
	bool save_asked;       /* pollux_checkpoint(), not told yet */
	bool measured;	       /* by rank 0, and others have not heard of it */
	bool told_rounding;    /* plx_alike() has said so */
	bool began;	       /* a step was committed since the start */
	bool failed;	       /* err says why */
	bool agreed;	       /* ... on all ranks: nobody waits for us */
	bool stopped;	       /* left before training has finished */
	_Atomic bool hold;     /* pollux_hold(), of this rank */
	bool held;	       /* by any rank, as of the last step */
};

#endif
