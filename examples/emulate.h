/* SPDX-License-Identifier: MIT */
/*
 * emulate.h - how long other hardware would take
 *
 * For trying out schedules without GPUs: a pass and its all-reduce are made
 * to last what a profile says; the arithmetic stays real. Either a profile
 * (a model in a few numbers, as in pollux(7)) or recorded traces.
 */
#ifndef TRAIN_EMULATE_H
#define TRAIN_EMULATE_H

#include <stddef.h>

#define EMULATE_ERROR_SIZE 256

/* Seconds of one pass, and of the part of its all-reduce that shows. */
struct emulated {
	double pass_s;
	double sync_s;
};

struct emulation; /* read once, constant afterwards */

/*
 * text: the name of a built-in profile, or a file (with a '/' or ending in
 * .profile). NULL with a sentence in error.
 */
struct emulation *emulation_profile(const char *text,
				    char error[EMULATE_ERROR_SIZE]);

/* placements.csv and scalability.csv of a folder. */
struct emulation *emulation_traces(const char *folder,
				   char error[EMULATE_ERROR_SIZE]);

void emulation_destroy(struct emulation *emulation); /* accepts NULL */

/* For ranks on nodes, with per_gpu samples a pass. */
struct emulated emulation_times(const struct emulation *emulation, int nodes,
				int gpus, int per_gpu);

/* "compute, fixed, network": for --help. */
const char *emulation_builtins(void);

#endif
