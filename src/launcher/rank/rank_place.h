/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank_place.h - which rank is this process, as srun or mpirun tells it
 *
 * Pure: reads no environment itself, so that tests can give it any.
 */
#ifndef PLX_LAUNCHER_RANK_PLACE_H
#define PLX_LAUNCHER_RANK_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct plx_place {
	int rank;
	int ranks;
	int local; /* its number on its node */
	int locals;
	int node; /* number of its node in the step */
	int nodes;
};

/* getenv() or what stands for it. */
typedef char *plx_getenv(const char *name);

/* A process that nobody started as a rank is the only one: 0 of 1. */
int plx_place_find(struct plx_place *place, plx_getenv *get,
		   struct plx_error *err);

/* Tasks of the node-th node in a text like "2(x3),1"; 0: no such node. */
int plx_place_tasks(const char *text, int node);

/*
 * The GPU of this rank: a number or a UUID, as the kernel knows it, or the name
 * of an instance; -1: it is not told.
 */
int plx_place_gpu(const struct plx_place *place, plx_getenv *get, char *gpu,
		  size_t size);

/* Is it an instance of a GPU (MIG), as CUDA calls it? */
bool plx_place_is_instance(const char *device);

/*
 * Set what torchrun sets for its workers, LOCAL_RANK as the number of the
 * rank's GPU among those of CUDA_VISIBLE_DEVICES; OMP_NUM_THREADS to threads,
 * if the user has not set it. Of instances of GPUs CUDA_VISIBLE_DEVICES is left
 * with the rank's own, as CUDA sees the first one alone. The launcher sets
 * those that are alike on all ranks (MASTER_ADDR, MASTER_PORT,
 * TORCHELASTIC_RUN_ID and the counts of restarts).
 */
int plx_place_export(const struct plx_place *place, int threads,
		     struct plx_error *err);

#endif
