/* SPDX-License-Identifier: MIT */
/*
 * agent.h - inside of struct pollux, for the files that implement pollux.h
 *
 * pollux.c	life: create, destroy, stages and statuses; info.c
 * register.c	what the program registers; names.c
 * start.c	pollux_start()
 * step.c	the loop: next, commit
 * iterate.c	the loop of programs that are no trainings
 * pulse.c	what the rank does meanwhile, for the launcher
 * gradient.c	sums of gradients and what travels behind them; gradient_walk.c
 * rate.c	noise, learning rate, progress
 * memory.c	passes that do not fit
 * tune.c	rank 0 thinks: fit, batch size, hint
 * save.c	checkpoints of all that; alike.c
 * beside.c	what ranks tell each other beside the gradient
 */
#ifndef PLX_AGENT_AGENT_H
#define PLX_AGENT_AGENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/checkpoint.h"
#include "agent/coll.h"
#include "agent/cursor.h"
#include "agent/gradient_cuda.h"
#include "agent/names.h"
#include "agent/pollux.h"
#include "agent/profile.h"
#include "agent/report.h"
#include "agent/samplelog.h"
#include "agent/save.h"
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

/* A registered blob; its name is here. */
struct plx_blob {
	char name[PLX_NAME_SIZE];
	struct pollux_blob is;
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

	struct plx_tensor *tensors; /* registered */
	int tensor_count;
	struct plx_blob *blobs; /* registered */
	int blob_count;
	struct plx_names names;	     /* of both */
	struct pollux_domain domain; /* registered if its part() is set */
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
	bool told_rounding;    /* plx_alike() has said so */
	bool began;	       /* a step was committed since the start */
	bool failed;	       /* err says why */
	bool agreed;	       /* ... on all ranks: nobody waits for us */
	bool stopped;	       /* left before training has finished */
	_Atomic bool hold; /* pollux_hold(), of this rank; pulse.c reads it */
	bool held;	   /* by any rank, as of the last step */
};

/* A "pollux: ..." line on stderr by rank 0, unless quiet. */
void plx_say(const struct pollux *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Rank 0 tells the launcher that state is saved; held: "" or " held=1". */
void plx_say_saved(struct pollux *p, const char *held);

/*
 * Every change of stage. While it is PLX_STAGE_SYNCED the registered state is
 * being changed; at any other time it is that of the last commit.
 */
void plx_stage(struct pollux *p, enum plx_call_stage stage);

/* Remember what kind of error this is, unless one is known. Always -1. */
int plx_fault(struct pollux *p, enum pollux_status code);

/* The stage becomes ENDED. Always negative: what kind of error it was. */
int plx_end(struct pollux *p);

/* This call is not the one that is due. Negative, as plx_end(). */
int plx_misuse(struct pollux *p, const char *call);

/*
 * 0 if this call has a run and its argument `name`, whose address is `data`.
 * Else negative, as plx_end(); before pollux_start() the run goes on.
 */
int plx_given(struct pollux *p, const char *call, const char *name,
	      const void *data);

/*
 * The same for a struct of the program's, copied to *own as plx_sized_take()
 * does; and for one that is to be filled. Negative also where it does not fit.
 */
int plx_given_struct(struct pollux *p, const struct plx_sized *is,
		     const void *from, size_t size, void *own);
int plx_given_output(struct pollux *p, const struct plx_sized *is,
		     const void *to, size_t size);

/*
 * The step has all the samples it may have, so that its parts are alike: not
 * the smaller one at the end of an epoch of several steps.
 */
bool plx_step_whole(const struct pollux *p);

/* Samples of a full step, at the batch in use. */
uint64_t plx_step_total(const struct pollux *p);

/* ---- start.c ---- */

/* The run has finished, or left: the launcher, if there is one, knows. */
void plx_run_ended(void);

/* ---- iterate.c ---- */

/* "Samples" of a step of no training: so many ranks and factors of it. */
#define PLX_STEP_CELLS 2520

/* What such a run has in place of data set, batch and learning rate. */
void plx_iterate_config(struct pollux *p);

/* ---- register.c ---- */

int plx_bucket_add(struct pollux *p, const struct pollux_bucket *bucket);

/* ---- gradient.c ---- */

/* Memory for buckets that are known, before passes want it. */
int plx_gradient_open(struct pollux *p);
/* The step begins, or begins anew. */
void plx_gradient_begin(struct pollux *p);
void plx_gradient_release(struct pollux *p);

/* ---- gradient_gpu.c ---- */

/* Memory for a bucket on a GPU; nothing to do for others. */
int plx_bucket_open(struct pollux *p, struct plx_bucket *b);
void plx_bucket_close(struct pollux *p); /* of all */

/* Add the pass's gradient to the sum, and make it the mean, in the end. */
int plx_bucket_sum(struct pollux *p, struct plx_bucket *b, float weight);
int plx_bucket_mean(struct pollux *p, struct plx_bucket *b, float factor,
		    bool differenced);

/* Norms taken on the way are added to those of the host. */
int plx_bucket_sum_norms(struct pollux *p);
int plx_bucket_mean_norms(struct pollux *p);

/*
 * How long the GPU works on a pass, by its own clock: the host is done with a
 * pass when all is on the stream, long before the GPU is. pass_time() waits for
 * the pass's end and corrects p->meter.pass_s. Nothing to do without a GPU.
 */
void plx_gpu_pass_begins(struct pollux *p);
void plx_gpu_pass_ends(struct pollux *p);
void plx_gpu_pass_time(struct pollux *p);

/* ---- step_votes.c ---- */

/* How many numbers travel behind the gradient. */
size_t plx_step_votes_count(const struct pollux *p);
#define PLX_STEP_VOTES_MAX (17 + 2 * POLLUX_GROUPS_MAX)

/* What this rank has to say about the step, to be summed. */
void plx_step_votes_write(struct pollux *p, float *votes);

/* What all have said, summed. -1: they do not agree. */
int plx_step_votes_read(struct pollux *p, const float *votes);

/* ---- rate.c ---- */

/* The step's gradient is there: noise, learning rate and gain. */
void plx_rate_update(struct pollux *p);

/*
 * Is the noise estimated from this step's gradient? A walk through a large one
 * may cost more than it tells: then in one of so many steps that it costs
 * little. One rank compares two steps: in a pair of them.
 */
bool plx_rate_watches(const struct pollux *p);

/* Is the next step's to be compared with this one's? */
bool plx_rate_keeps(const struct pollux *p);

/* Steps in which one look, or a pair, costs little. */
int plx_rate_interval(double looks_s, double step_s);

/* Between two steps: what was agreed on holds from now on. */
void plx_rate_follow(struct pollux *p);

/* Noise of all parameters; false while it is unknown. */
bool plx_rate_noise(const struct pollux *p, struct plx_noise *noise);

/* Progress of a sample at this batch, against one of the base batch. */
double plx_rate_efficiency(const struct pollux *p, double total);

/* Share of the training done, 0 to 1, and whether it is all. */
double plx_rate_share(const struct pollux *p);
bool plx_rate_finished(const struct pollux *p);

/* Still to be trained on, at what one of the base batch is worth. */
double plx_rate_left(const struct pollux *p);

/* ---- alike.c ---- */

/*
 * Collective, between two steps: -1 with the name of the first array where
 * ranks have come apart by more than rounding.
 */
int plx_alike(struct pollux *p);

/* ---- memory.c ---- */

/* What is known of memory narrows the limits. */
void plx_memory_limit(struct pollux *p);

/* Passes of this size fit. */
void plx_memory_fits(struct pollux *p);

/*
 * They do not: choose a smaller batch, the same on all ranks. Collective. On
 * the rank where they do not, plx_memory_full() has been called.
 */
int plx_memory_shrink(struct pollux *p);
void plx_memory_full(struct pollux *p);

/*
 * What this rank's GPU says, measured once a second at most: has it no room
 * for a second rank like this one? No more than when a pass did not fit?
 */
bool plx_memory_tight(struct pollux *p);
bool plx_memory_cramped(struct pollux *p);

/* What all ranks' GPUs say: how many of them are tight, how many cramped. */
void plx_memory_heard(struct pollux *p, int tight, int cramped);

/* Between two steps: has that changed? Then limits may end. */
void plx_memory_follow(struct pollux *p);

/* ---- tune.c ---- */

/* Rank 0: fit if there is news, choose `wanted`, tell the launcher. */
void plx_tune(struct pollux *p, double now_s);

#endif
