/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank_bind.h - a rank's cores and memory, near its GPU
 *
 * Bound is what is cheap to bind and surely right; everything else is left to
 * the kernel. Nothing here fails: a rank that cannot be bound runs unbound.
 */
#ifndef PLX_LAUNCHER_RANK_BIND_H
#define PLX_LAUNCHER_RANK_BIND_H

#include <stddef.h>

#include "launcher/rank/rank_place.h"

/*
 * Bind this process. Its share are the processors it may use that are local to
 * its GPU (without a GPU: all that it may use), divided evenly, by cores,
 * between the ranks of the node that have the same ones. A share of less than
 * two processors is not bound: the generation started beside this one, and
 * each rank's helper threads, need somewhere to run. What srun has bound
 * already, each task to its own, stays as it is.
 *
 * says: for a person, where it is bound or why it is not. Returns the number
 * of processors that this rank has to itself, at least 1.
 */
int plx_bind(const struct plx_place *place, char *says, size_t size);

/* The processors of a rank that is not to be bound. */
int plx_bind_none(const struct plx_place *place);

/*
 * The file that lists the processors near a GPU. gpu: an index, a UUID, or an
 * instance ("MIG-GPU-UUID/1/0", "MIG-UUID": not known), as in
 * CUDA_VISIBLE_DEVICES; root: "" or a folder that stands for the root, for
 * tests. 0, or -1 when there is no such GPU.
 */
int plx_bind_gpu_file(const char *root, const char *gpu, char *path,
		      size_t size);

/* Has srun given tasks of this node different masks? (SLURM_CPU_BIND_LIST) */
int plx_bind_masks_differ(const char *list);

#endif
