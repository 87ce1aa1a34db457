/* SPDX-License-Identifier: MIT */
/*
 * train.h - pollux-train, a training program that uses only pollux.h
 *
 * train_main.c    the run: set up, loop, summary
 * train_gpu.c     its passes on a GPU
 * train_options.c the command line
 * mlp.c           the model      data.c     what it learns from
 * mlp_cuda.c      the same on a GPU, which gpu.c opens
 * emulate.c       other hardware's pace, emulate_traces.c from recordings
 */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "ballast.h"
#include "data.h"
#include "emulate.h"
#include "mlp.h"
#include "mlp_cuda.h"
#include "pollux.h"

struct train_options {
	struct pollux_config config; /* samples, epochs, batch, lr, seed... */
	int features;
	int hidden[MLP_LAYERS_MAX - 1]; /* units of each hidden layer */
	int hidden_count;
	double momentum;
	int memory; /* samples of a pass that fit into a rank's, 0: any */
	const char *images; /* IDX files, both or none */
	const char *labels;
	const char *profile; /* --emulate-gpu */
	const char *traces;  /* --emulate-traces */
	double time_scale;   /* emulated seconds that pass in a second */
	int ballast_mb;	     /* state that is not trained */
	bool cuda;	     /* --device=cuda */
	bool json;
};

/* Fill options from the command line; leaves with a message if it is wrong. */
void train_options_parse(struct train_options *options, int argc, char **argv);

struct train {
	struct train_options options;
	struct data data;
	struct mlp mlp;
	struct mlp_cuda cuda;	     /* --device=cuda */
	struct ballast ballast;	     /* --ballast-mb */
	struct emulation *emulation; /* NULL: this machine's own pace */
	float *input;		     /* one sample; for a GPU, of a pass */
	int *labels;		     /* for a GPU, of a pass */
	size_t room;		     /* samples in those two */
	double epoch[2]; /* saved: sum of losses, samples; of this epoch */
	struct pollux *pollux;
};

/* Say so on stderr. Always -1. */
int train_complain(const char *sentence);

/* ---- train_gpu.c ---- */

/* --device=cuda */
bool train_on_gpu(const struct train *t);

/* The gradient's buckets, before pollux_start(). */
int train_add_buckets(struct train *t);

/* A pass on the GPU, up to pollux_sync(). */
int train_gpu_learn(struct train *t, const struct pollux_pass *pass);

/* The optimiser's step, wherever the weights are. */
int train_step(struct train *t);

#endif
