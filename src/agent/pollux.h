/* SPDX-License-Identifier: MIT */
/*
 * pollux.h - elastic, goodput-optimal data-parallel training
 *
 * A training program links libpollux, says what it trains on (struct
 * pollux_config), registers its state, and then asks for one pass after the
 * other:
 *
 *	struct pollux_config config;
 *	struct pollux_pass pass;
 *	struct pollux *p;
 *
 *	pollux_config_init(&config);
 *	config.samples = ...; config.epochs = ...; config.batch = ...;
 *	p = pollux_create(&config);
 *	if (pollux_register(p, &weights) < 0 ||	 (and each other tensor)
 *	    pollux_start(p) < 0)
 *		die(pollux_error(p));
 *	while ((more = pollux_next(p, &pass)) > 0) {
 *		loss = forward_and_backward(pass.samples, pass.count, gradient);
 *		if (pollux_reduce(p, gradient, n, loss) < 0)
 *			die(pollux_error(p));
 *		if (!pass.sync)
 *			continue;
 *		if (!pollux_skipped(p))
 *			optimiser_step(gradient, pollux_lr(p));
 *		pollux_commit(p);
 *	}
 *	if (more < 0)
 *		die(pollux_error(p));
 *	pollux_destroy(p);
 *
 * One process is one rank and uses one GPU. The same program runs alone,
 * under mpirun, and under pollux-launch, which stops it at any step and
 * starts it again with another number of ranks. Order and number of samples
 * do not depend on that: each is used exactly once in each epoch.
 *
 * All functions are to be called by all ranks in the same order, from one
 * thread; there is no global state, but a process has one run at a time when
 * ranks talk over MPI. Functions that can fail return 0 (or a count) and a
 * negative enum pollux_status; pollux_error() then has the sentence, and the
 * only thing left to do is to destroy and exit non-zero: a launcher starts
 * the ranks again. Memory given to pollux_register() and pollux_bucket()
 * stays the program's and must outlive p; everything else is copied.
 *
 * Later releases add fields at the end of structs. Functions that take or fill
 * one have a form that is told its size, which is what programs call by the
 * name without _sized: those that were built with another pollux.h go on
 * working. Set the fields that you do not name to 0, as an initialiser does.
 *
 * Callable from C++ and, through ctypes, from any language; the caller needs
 * no MPI. pollux(3) has a page for each group of functions.
 */
#ifndef POLLUX_H
#define POLLUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pollux; /* one training run, as seen by one rank */

/* What a negative return value means. */
enum pollux_status {
	POLLUX_OK = 0,
	POLLUX_EINVAL = -1, /* a configuration, argument or variable */
	POLLUX_ECALL = -2,  /* a call out of order */
	POLLUX_ENOMEM = -3,
	POLLUX_ECOMM = -4,  /* other ranks are lost or late */
	POLLUX_ESTATE = -5, /* a checkpoint cannot be read or written */
	POLLUX_EGONE = -6,  /* the launcher is gone; state is saved */
};

/* In which order samples are used. */
enum pollux_order {
	POLLUX_SHUFFLED,   /* a permutation of (seed, epoch) */
	POLLUX_SEQUENTIAL, /* 0, 1, 2, ...: for streams, see seek */
};

/* What `epochs` counts. */
enum pollux_counting {
	POLLUX_DATA,	 /* passes over the data set */
	POLLUX_PROGRESS, /* as many scale-invariant iterations: see progress */
};

/* What a rule for the learning rate may look at. */
struct pollux_lr_state {
	double scale;	  /* batch of this step / base batch */
	double sqr;	  /* squared norm of the true gradient, group's */
	double var;	  /* its variance at the base batch, group's */
	double progress;  /* scale-invariant iterations so far */
	double batch;	  /* base batch, samples */
	uint64_t samples; /* in the data set */
	int group;	  /* of parameters */
};

/* Factor on the learning rate; not finite or negative counts as 1. */
typedef double pollux_lr_rule(const struct pollux_lr_state *state, void *user);

/*
 * Sequential order: this rank's next samples are first to first + count - 1 of
 * that epoch, and do not follow those it had last. 0, or -1 to fail.
 */
typedef int pollux_seek(void *user, int epoch, uint64_t first, uint64_t count);

/* What is trained, and within which limits its batch size may be chosen. */
struct pollux_config {
	size_t size;		 /* set by pollux_config_init(); leave it */
	uint64_t samples;	 /* in the data set, >= 1; no default */
	int epochs;		 /* >= 1; default 1 */
	uint64_t seed;		 /* of the order of samples; default 0 */
	enum pollux_order order; /* default POLLUX_SHUFFLED */
	enum pollux_counting counting; /* default POLLUX_DATA */
	pollux_seek *seek;	       /* default NULL */
	void *seek_user;

	/* Samples per optimiser step. --scheduler-params goes before these. */
	int batch;	   /* total batch that lr was tuned for; default 32 */
	int max_batch;	   /* largest total batch; default 0: batch, fixed */
	int min_gpu_batch; /* smallest part a rank can take; default 1 */
	int max_gpu_batch; /* largest that fits a GPU; default 0: max_batch */
	bool accumulate;   /* several passes a step allowed; default true */

	double lr; /* learning rate tuned for `batch`; default 0.1 */
	/*
	 * How it follows the batch: "adascale" (default), "adamscale",
	 * "linear", "sqrt", "legw" or "fixed"; lr_rule goes before it.
	 */
	const char *lr_scaling;
	double lr_warmup_epochs; /* of legw, at the base batch; default 0 */
	pollux_lr_rule *lr_rule;
	void *lr_user;

	/*
	 * How gradients travel: "self" (one rank), "mpi", "nccl", or "auto",
	 * the default: nccl when all ranks have it and a GPU, else mpi when
	 * started by mpirun or srun, else self.
	 */
	const char *collectives;
	double timeout_s; /* a rank so late is lost; default 600, 0: never */

	/*
	 * Folder of checkpoints, made if missing; it must be the user's own.
	 * Default NULL: the launcher's ($POLLUX_CHECKPOINT_DIR), none without
	 * one.
	 */
	const char *checkpoint_dir;
	/*
	 * Seconds between checkpoints: 0 only when stopped; default -1: from
	 * their measured cost and mtbf_s (Young 1974, Daly 2006).
	 */
	double checkpoint_every_s;
	double mtbf_s;	     /* between failures of a node; default 86400 */
	int checkpoint_keep; /* newest ones not removed; default 2 */
	bool quiet;	     /* no "pollux: ..." lines on stderr */
	/*
	 * Steps at `batch`, 1 or more, over which the noise of the gradient is
	 * averaged; default 1000, as published. In a training of a few
	 * thousand steps an average over fewer follows better.
	 */
	double noise_window;

	/*
	 * Not a training: so many steps of pollux_step(), in place of samples,
	 * epochs, batch and lr, which are not looked at. Default 0: a training.
	 */
	uint64_t steps;

	/*
	 * No gradient of this program is ever infinite or not a number: on one
	 * rank it then need not be read in each step to find out. Default
	 * false: it is, and such a step is skipped.
	 */
	bool finite;
};

/* Fill in the defaults. Call it first: later versions add fields. */
#define pollux_config_init(config)                                             \
	pollux_config_init_sized(config, sizeof(struct pollux_config))
/* The same for a caller that was built with another version: size is its. */
void pollux_config_init_sized(struct pollux_config *config, size_t size);

/*
 * A run, the caller's to destroy. NULL only when memory is out; what is wrong
 * with the configuration is told by pollux_start().
 */
struct pollux *pollux_create(const struct pollux_config *config);

/* Leave; accepts NULL. After a failure all other ranks are ended as well. */
void pollux_destroy(struct pollux *p);

/* The sentence about the last failure; the library's, never NULL. */
const char *pollux_error(const struct pollux *p);

/* "0.1.0", of the library in use. */
const char *pollux_version(void);

/* ---- state ---- */

#define POLLUX_DIMS_MAX 8
#define POLLUX_NAME_MAX 64 /* bytes of a tensor's name, with its NUL */

enum pollux_type {
	POLLUX_F32,
	POLLUX_F64,
	POLLUX_F16,
	POLLUX_BF16,
	POLLUX_I32,
	POLLUX_I64,
	POLLUX_U8,
};

enum pollux_memory {
	POLLUX_HOST,
	/* From cudaMalloc(); as it is after the legacy default stream's work.
	 */
	POLLUX_CUDA,
};

/* An array to be saved and restored. */
struct pollux_tensor {
	const char *name; /* unique; copied */
	void *data;	  /* borrowed until pollux_destroy() */
	enum pollux_type type;
	int dims; /* 0 (one number) to POLLUX_DIMS_MAX */
	uint64_t shape[POLLUX_DIMS_MAX];
	enum pollux_memory memory;
};

/*
 * Have this array saved with every checkpoint, and filled by pollux_start()
 * when there is one. Register all that the next step depends on: weights,
 * momentum, counters. Data-parallel: the same on all ranks.
 */
#define pollux_register(p, tensor)                                             \
	pollux_register_sized(p, tensor, sizeof(struct pollux_tensor))
int pollux_register_sized(struct pollux *p, const struct pollux_tensor *tensor,
			  size_t size);

/*
 * State that is no array: the program turns it into bytes and back. On some
 * ranks only, and in a rescue by another thread: save() waits for nobody.
 */
struct pollux_blob {
	const char *name;	    /* unique among tensors as well */
	size_t (*size)(void *user); /* bytes that save() will write */
	int (*save)(void *user, void *bytes, size_t size); /* 0 or -1 */
	int (*load)(void *user, const void *bytes, size_t size);
	void *user;
};

#define pollux_register_blob(p, blob)                                          \
	pollux_register_blob_sized(p, blob, sizeof(struct pollux_blob))
int pollux_register_blob_sized(struct pollux *p, const struct pollux_blob *blob,
			       size_t size);

/*
 * State that is spread over ranks, each with its part of a domain: rows of a
 * grid, tiles, particles. Parts have whatever size and form the program likes.
 * They go through checkpoints, also at a resize, and after a fault the last one
 * is gone on from: one rank alone cannot rescue what others have.
 */
struct pollux_domain_part {
	size_t size;	  /* of this struct */
	const void *data; /* as part() gave it; until redistribute() returns */
	size_t bytes;
	int part;  /* the rank that it was of, 0 to parts - 1 */
	int parts; /* the ranks that there were */
	int rank;  /* this process's now */
	int ranks; /* that there are now */
};

struct pollux_domain {
	/*
	 * Where this rank's part is, and how many bytes it has: borrowed until
	 * the next step. 0, or -1: it cannot be saved. By the main thread.
	 */
	int (*part)(void *user, const void **data, size_t *bytes);
	/*
	 * Copy what belongs to this rank now. In pollux_start(), where there is
	 * a checkpoint: on each rank, for each part in order; and again from
	 * part 0 if that one turns out to be damaged. 0, or -1 to fail.
	 */
	int (*redistribute)(void *user, const struct pollux_domain_part *part);
	void *user;
};

/* Before pollux_start(); one a run. Beside it, tensors are the same on all. */
#define pollux_register_domain(p, domain)                                      \
	pollux_register_domain_sized(p, domain, sizeof(struct pollux_domain))
int pollux_register_domain_sized(struct pollux *p,
				 const struct pollux_domain *domain,
				 size_t size);

/* CRC-32C of all registered tensors, in the order registered. */
uint32_t pollux_crc(const struct pollux *p);

/* ---- gradients ---- */

/*
 * A part of the gradient that is ready at one moment of the backward pass,
 * float32. One all-reduce a bucket, overlapped with the rest of the pass.
 */
struct pollux_bucket {
	size_t count;		   /* numbers, >= 1 */
	enum pollux_memory memory; /* where they are */
	int group; /* of parameters, 0 to POLLUX_GROUPS_MAX - 1: an own lr */
	/*
	 * Adam: what its step divides each number by (the root of the second
	 * moment plus epsilon), read at each step; NULL: SGD, all 1.
	 */
	const float *precondition;
};

#define POLLUX_GROUPS_MAX 16

/* Before pollux_start(). Its number, from 0, or a negative status. */
#define pollux_bucket(p, bucket)                                               \
	pollux_bucket_sized(p, bucket, sizeof(struct pollux_bucket))
int pollux_bucket_sized(struct pollux *p, const struct pollux_bucket *bucket,
			size_t size);

/*
 * Initialise collectives, connect to the launcher if there is one, restore
 * the newest good checkpoint. After that all ranks hold the same state. A
 * process started ahead of its turn waits here.
 */
int pollux_start(struct pollux *p);

/* ---- training ---- */

/* What a rank is to do now: one forward and backward pass. */
struct pollux_pass {
	const uint64_t *samples; /* their numbers; valid until the next call */
	size_t count;		 /* may be 0 at the end of an epoch */
	uint64_t first; /* position of the first in the epoch's order */
	bool sync;	/* last pass of its optimiser step */
	int index;	/* of the pass in its step, from 0 */
	int per_gpu;	/* samples of a full pass */
	int epoch;	/* from 0 */
	uint64_t step;	/* optimiser steps committed so far */
};

/*
 * 1: *pass is filled. 0: no more, because training has finished or, if
 * pollux_stopped(), because the launcher wants the GPUs: exit with code 0
 * either way. Negative: failed. Checkpoints are taken here, after a commit.
 */
#define pollux_next(p, pass)                                                   \
	pollux_next_sized(p, pass, sizeof(struct pollux_pass))
int pollux_next_sized(struct pollux *p, struct pollux_pass *pass, size_t size);

/*
 * To read ahead, after pollux_next(): what this rank will be given `ahead`
 * passes after that one (0: itself), if neither batch nor ranks change. 1:
 * *pass is filled, its samples valid until the next pollux_peek(). 0: none,
 * the data end before. pollux_next() may say something else.
 */
#define pollux_peek(p, ahead, pass)                                            \
	pollux_peek_sized(p, ahead, pass, sizeof(struct pollux_pass))
int pollux_peek_sized(struct pollux *p, int ahead, struct pollux_pass *pass,
		      size_t size);

/* The last pollux_next() returned 0 although training has not finished. */
bool pollux_stopped(const struct pollux *p);

/*
 * This bucket of the pass's gradient is there: the mean over pass.count
 * samples (not looked at if 0), times the loss scale. Each bucket once a pass;
 * not to be touched until pollux_sync(). Sums over ranks follow the order of
 * rank 0's first step, so keep to one.
 *
 * Device memory is taken as it will be after all work that is on CUDA's legacy
 * default stream by now: what other streams do must be finished, or joined to
 * that one. After pollux_sync() every stream sees the mean.
 */
int pollux_gradient(struct pollux *p, int bucket, float *data);

/*
 * The pass is done; loss is the mean over its samples. After a sync pass the
 * buckets hold the mean over all samples of the step, over all passes and
 * ranks, the loss scale divided out; after others they are as they were.
 */
int pollux_sync(struct pollux *p, double loss);

/* For a gradient in one piece of host memory: bucket, gradient and sync. */
int pollux_reduce(struct pollux *p, float *gradient, size_t n, double loss);

/*
 * The pass does not fit into memory: call it in place of pollux_sync(), also
 * after some of pollux_gradient(), then go on as after that. The step begins
 * anew with smaller passes, whose limit is remembered; no sample counts as
 * used. The other ranks learn it when they end the step: see
 * pollux_skipped(). Fails when not even min_gpu_batch fits. With several ranks
 * the gradient's size must be known: call pollux_bucket() at the beginning.
 */
int pollux_out_of_memory(struct pollux *p);

/*
 * Gradients come multiplied by this (mixed precision); from the next pass. The
 * same on all ranks.
 */
int pollux_loss_scale(struct pollux *p, double scale);

/*
 * Between pollux_next() and pollux_sync(): the program has looked by itself
 * whether all numbers of this pass's gradient are finite, as for a norm that it
 * takes anyway, or while it made them. If not, all ranks skip the step. If they
 * are, one rank with a gradient in host memory and one pass a step does not
 * read it for that: where there is little arithmetic that is a quarter of a
 * step.
 */
int pollux_finite(struct pollux *p, bool finite);

/*
 * The step's gradient was not finite, or a rank's pass did not fit into memory:
 * do not apply it, but commit. Valid after a sync pass.
 */
bool pollux_skipped(const struct pollux *p);

/*
 * Learning rate of this step (group 0's), and the factor on a group's. Valid
 * after a sync pass.
 */
double pollux_lr(const struct pollux *p);
double pollux_lr_factor(const struct pollux *p, int group);

/*
 * Iterations at the base batch that would have brought training as far
 * (AdaScale's count). Let schedules follow it, whatever the batch.
 */
double pollux_progress(const struct pollux *p);

/*
 * Beside the step's own gradient, after pollux_next() and before the commit;
 * not between the first pollux_gradient() and pollux_sync(). Each is a message
 * of its own, so all ranks call them alike.
 *
 * pollux_mean(): of what each rank has as a mean over the samples of its pass,
 * times the loss scale, the mean over the step's samples. For gradients of a
 * second optimiser; steps of one pass only (config.accumulate is false).
 *
 * pollux_spread(): rank 0's bytes, for all.
 */
int pollux_mean(struct pollux *p, float *data, size_t count,
		enum pollux_memory memory);
int pollux_spread(struct pollux *p, void *data, size_t bytes,
		  enum pollux_memory memory);

/*
 * Sum over ranks, in place, in double precision and in the order of ranks: the
 * same bits on all of them. For metrics and evaluation, between steps, before
 * the first pollux_gradient() of a pass and after its pollux_sync(), and when
 * training has finished. All ranks call it alike, with as many numbers.
 */
int pollux_sum(struct pollux *p, double *values, size_t count);

/* The optimiser step is done: its samples count as used. */
int pollux_commit(struct pollux *p);

/*
 * Training has come far enough, on all ranks alike: a last checkpoint is
 * written, and the launcher told that it is done. Between two steps; also after
 * pollux_next(), whose samples then count as not used.
 */
int pollux_finish(struct pollux *p);

/*
 * Have a checkpoint written after the step whose gradients are summed next, on
 * one rank after this step. One rank that asks is enough.
 */
int pollux_checkpoint(struct pollux *p);

/*
 * For a blob's save(): does this rank save the last commit on its own, as
 * others are lost or it is told to leave? What the program has begun since is
 * not over then, on this rank or another.
 */
bool pollux_rescuing(const struct pollux *p);

/*
 * Alive, but busy with something else than steps: validating, say. Until the
 * next call of another function this rank is not taken for one that hangs
 * (call it again, at least each half hour), and resizes wait for it. By the
 * program's main thread.
 */
int pollux_beat(struct pollux *p);

/*
 * The program would like this number of GPUs from now on, and has no use for
 * more: a wish to the scheduler, within the job's min= and max=. It may come
 * later, or as fewer, as others need them too; more than one has measured is
 * given step by step. 0: as many as are of use, as at first. Without Slurm
 * (pollux-launch --local) the run is resized to it. It stands until the job
 * ends, or is started anew by Slurm. All ranks call it alike; costs nothing.
 */
int pollux_request(struct pollux *p, int gpus);

/*
 * To be called before this process ends by an error of the program's own,
 * which starting the ranks again would not mend: the launcher then ends the
 * job, and tells `why` (one line, may be NULL). At any time, also without a
 * run. 1: another rank has told one already; else 0.
 */
int pollux_program_error(const char *why);

/*
 * For programs that know better than the host's clock (emulated hardware, work
 * on other streams than the default one; where buckets are in device memory,
 * the GPU's own clock is read without this): what the pass just reduced took,
 * and the exposed part of its all-reduce (0 unless sync), seconds. Call it
 * between pollux_sync() and pollux_commit() or pollux_next().
 */
void pollux_timing(struct pollux *p, double pass_s, double sync_s);

/* ---- programs that are no trainings: config.steps ---- */

/*
 * The step before this call, if any, is done: its state is what is saved now,
 * if it is time. 1: do the next one; 0: no more, as of pollux_next(); negative:
 * failed. Each call is one small message over all ranks. State may change at
 * any time between two calls, so no rank rescues it after a fault. Programs
 * that find out when they are done call pollux_finish().
 */
int pollux_step(struct pollux *p);

/*
 * Not now: while a rank holds, from the next step that all make, steps go on,
 * and the run is neither saved nor resized nor stopped. A launcher that has
 * asked waits, as it does for pollux_beat(), while steps go on. Trainings too.
 */
int pollux_hold(struct pollux *p, bool hold);

/* ---- what is going on ---- */

struct pollux_info {
	size_t size;		 /* set by pollux_info(); leave it */
	int rank;		 /* of this process, 0 to gpus - 1 */
	int gpus;		 /* ranks */
	int nodes;		 /* nodes that hold them */
	const char *collectives; /* in use; the library's */
	bool restored;		 /* pollux_start() found a checkpoint */
	int epoch;
	uint64_t step;	       /* optimiser steps committed */
	uint64_t samples_used; /* committed, over all epochs */
	int batch;	       /* total batch in use, samples */
	int per_gpu;	       /* m: samples of a pass */
	int accum;	       /* s: passes before the one that synchronises */
	double lr;	       /* of the last step */
	double loss;	       /* mean over the last step's samples */
	double samples_per_s;  /* of late, wall clock */
	double goodput;	       /* samples_per_s times statistical efficiency */
	double noise_scale;    /* samples; 0 while unknown */
	bool profiled;	       /* the step model is fitted */
	double progress;       /* scale-invariant iterations, pollux_progress */
	double efficiency;     /* statistical, 0 to 1 */
	double remaining_s;    /* at the present speed; 0: unknown */
	double restart_s;      /* what the last restart cost, 0: unknown */
	double checkpoint_s;   /* what the last checkpoint took, to its end */
};

#define pollux_info(p, info)                                                   \
	pollux_info_sized(p, info, sizeof(struct pollux_info))
void pollux_info_sized(const struct pollux *p, struct pollux_info *info,
		       size_t size);

#ifdef __cplusplus
}
#endif

#endif
