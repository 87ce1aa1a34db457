/* SPDX-License-Identifier: MIT */
/*
 * options.h - what a user may ask: --scheduler-params=pollux[,key=value...]
 *
 * Keys: min, max (GPUs of the job), sizes, step (which numbers of GPUs:
 * sizes.h; numbers that follow sizes=, separated by commas, belong to it),
 * batch (M0: total batch size the user tuned for), max-batch (largest total
 * batch), min-gpu-batch and max-gpu-batch (samples a GPU takes in one pass);
 * mode (can it be resized while it runs?), checkpoint (seconds of training that
 * a requeue may lose), at-limit (what becomes of it at its time limit) and mix
 * (may it have GPUs of several types at once?). A word without a value: pack
 * (start on as few nodes as possible). Driven by one table, which also makes
 * the help text.
 */
#ifndef PLX_CORE_OPTIONS_H
#define PLX_CORE_OPTIONS_H

#include "core/base/error.h"
#include "core/records/sizes.h"

#define PLX_GPUS_MAX  4096     /* of one job */
#define PLX_BATCH_MAX 16777216 /* samples */

#define PLX_CHECKPOINT_MAX_S 86400

enum plx_mode {
	PLX_MODE_LIVE,	  /* pollux-launch resizes it */
	PLX_MODE_REQUEUE, /* its shape changes by a requeue: see moldable.h */
};

enum plx_at_limit {
	PLX_LIMIT_END,	   /* saved, then ended as Slurm ends it */
	PLX_LIMIT_REQUEUE, /* saved, and put back into the queue: limit.h */
};

struct plx_options {
	int min_gpus; /* default 1; one of its sizes */
	int max_gpus; /* 0: as many as the cluster has; one of its sizes */
	struct plx_sizes sizes; /* those from min_gpus to max_gpus */
	int base_batch;		/* 0: the program's own */
	int max_batch;		/* 0: the program's own */
	int min_gpu_batch;	/* 0: the program's own */
	int max_gpu_batch;	/* 0: the program's own */
	int mode;		/* enum plx_mode */
	int checkpoint_s;	/* of a moldable job; 0: nothing is known */
	int at_limit;		/* enum plx_at_limit */
	int pack; /* 1: its least GPUs lie on as few nodes as can be */
	int mix;  /* 1: it may have GPUs of several types at once */
};

/*
 * text begins with "pollux". On failure the sentence names the key, what was
 * wrong and what is allowed, e.g.
 * "max=0: want GPUs from 1 to 4096", "mox: unknown key, did you mean max?"
 */
int plx_options_parse(const char *text, struct plx_options *options,
		      struct plx_error *err);

/* Help for --help pages: lines "key=VALUE  meaning", the library's to keep. */
const char *plx_options_help(void);

#endif
