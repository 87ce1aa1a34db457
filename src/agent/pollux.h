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
 *	pollux_register(p, &weights);	   (each tensor of model and optimiser)
 *	if (pollux_start(p) < 0)
 *		die(pollux_error(p));
 *	while ((more = pollux_next(p, &pass)) > 0) {
 *		loss = forward_and_backward(pass.samples, pass.count, gradient);
 *		if (pollux_reduce(p, gradient, n, loss) < 0)
 *			die(pollux_error(p));
 *		if (!pass.sync)
 *			continue;
 *		optimiser_step(gradient, pollux_lr(p));
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
 * thread. Functions that can fail return -1; pollux_error() then has the
 * sentence, and the only thing left to do is to destroy and exit non-zero.
 * Memory given to pollux_register() stays the program's and must outlive p;
 * everything else is copied.
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

/* What is trained, and within which limits its batch size may be chosen. */
struct pollux_config {
	uint64_t samples; /* in the dataset, >= 1; no default */
	int epochs;	  /* >= 1; default 1 */
	uint64_t seed;	  /* of the order of samples; default 0 */

	/* Samples per optimiser step. --scheduler-params goes before these. */
	int batch;	   /* total batch that lr was tuned for; default 32 */
	int max_batch;	   /* largest total batch; default 0: batch, fixed */
	int min_gpu_batch; /* smallest part a rank can take; default 1 */
	int max_gpu_batch; /* largest that fits a GPU; default 0: max_batch */
	bool accumulate;   /* several passes a step allowed; default true */
	double lr;	   /* learning rate tuned for `batch`; default 0.1 */

	/*
	 * How gradients travel: "self" (one rank), "mpi", "nccl", or "auto",
	 * the default: nccl when all ranks have it and a GPU, else mpi when
	 * started by mpirun or srun, else self.
	 */
	const char *collectives;

	/*
	 * Folder of checkpoints, made if missing. Default NULL: the launcher's
	 * ($POLLUX_CHECKPOINT_DIR), none without one.
	 */
	const char *checkpoint_dir;
	double checkpoint_every_s; /* 0: only when stopped; default 30 */
	bool quiet;		   /* no "pollux: ..." lines on stderr */
};

/* Fill in the defaults. Call it first: later versions add fields. */
void pollux_config_init(struct pollux_config *config);

/*
 * A run, the caller's to destroy. NULL only when memory is out; what is wrong
 * with the configuration is told by pollux_start().
 */
struct pollux *pollux_create(const struct pollux_config *config);

/* Leave; accepts NULL. After a failure all other ranks are ended as well. */
void pollux_destroy(struct pollux *p);

/* The sentence about the last failure; the library's, never NULL. */
const char *pollux_error(const struct pollux *p);

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

/* An array to be saved and restored, in the program's (host) memory. */
struct pollux_tensor {
	const char *name; /* unique; copied */
	void *data;	  /* borrowed until pollux_destroy() */
	enum pollux_type type;
	int dims; /* 0 (one number) to POLLUX_DIMS_MAX */
	uint64_t shape[POLLUX_DIMS_MAX];
};

/*
 * Have this array saved with every checkpoint, and filled by pollux_start()
 * when there is one. Register all that the next step depends on: weights,
 * momentum, counters. Data-parallel: the same on all ranks; rank 0's is saved.
 */
int pollux_register(struct pollux *p, const struct pollux_tensor *tensor);

/* CRC-32C of all registered arrays, in the order registered. */
uint32_t pollux_crc(const struct pollux *p);

/*
 * Initialise collectives, connect to the launcher if there is one, restore
 * the newest good checkpoint. After that all ranks hold rank 0's state.
 */
int pollux_start(struct pollux *p);

/* ---- training ---- */

/* What a rank is to do now: one forward and backward pass. */
struct pollux_pass {
	const uint64_t *samples; /* their numbers; valid until the next call */
	size_t count;		 /* may be 0 at the end of an epoch */
	bool sync;		 /* last pass of its optimiser step */
	int index;		 /* of the pass in its step, from 0 */
	int per_gpu;		 /* samples of a full pass */
	int epoch;		 /* from 0 */
	uint64_t step;		 /* optimiser steps committed so far */
};

/*
 * 1: *pass is filled. 0: no more, because training has finished or, if
 * pollux_stopped(), because the launcher wants the GPUs: exit with code 0
 * either way. -1: failed. Checkpoints are taken here, after a commit.
 */
int pollux_next(struct pollux *p, struct pollux_pass *pass);

/* The last pollux_next() returned 0 although training has not finished. */
bool pollux_stopped(const struct pollux *p);

/*
 * Give the pass's gradient: the mean over pass.count samples (ignored if 0),
 * n floats in host memory, n the same in each call; and the mean loss. In a
 * sync pass, gradient becomes the mean over all samples of the step, over
 * all passes and ranks; in others it is left as it is.
 */
int pollux_reduce(struct pollux *p, float *gradient, size_t n, double loss);

/* Learning rate of this step, by AdaScale. Valid after a sync pass. */
double pollux_lr(const struct pollux *p);

/* The optimiser step is done: its samples count as used. */
int pollux_commit(struct pollux *p);

/*
 * For programs that know better than the host's clock (GPU events, emulated
 * hardware): what the pass just reduced took, and the exposed part of its
 * all-reduce (0 unless sync), seconds. Call it between pollux_reduce() and
 * pollux_commit() or pollux_next().
 */
void pollux_timing(struct pollux *p, double pass_s, double sync_s);

/* ---- what is going on ---- */

struct pollux_info {
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
};

void pollux_info(const struct pollux *p, struct pollux_info *info);

#ifdef __cplusplus
}
#endif

#endif
