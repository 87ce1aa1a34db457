/* SPDX-License-Identifier: MIT */
/*
 * train.h - pollux-train, a training program that uses only pollux.h
 *
 * train_main.c    the run: set up, loop, summary
 * train_options.c the command line
 * mlp.c           the model      data.c     what it learns from
 * mlp_cuda.c      the same on a GPU, which gpu.c opens
 * emulate.c       other hardware's pace, emulate_traces.c from recordings
 */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "mlp.h"
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

#endif
