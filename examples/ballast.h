/* SPDX-License-Identifier: MIT */
/*
 * ballast.h - state of any size, to see what it costs to save and move it
 *
 * Each optimiser step leaves its number in every megabyte, so that state of
 * another step, or mixed from two, shows.
 */
#ifndef TRAIN_BALLAST_H
#define TRAIN_BALLAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlp_cuda.h"

struct ballast {
	float *data; /* NULL: none */
	size_t n;
	struct mlp_cuda *cuda; /* data is there; NULL: on the host */
};

/*
 * So many megabytes, touched; on the GPU unless cuda is NULL. 0, or -1: memory
 * is out.
 */
int ballast_init(struct ballast *ballast, int mb, struct mlp_cuda *cuda);

/* This step, from 0, is done. -1: the GPU says in gpu_error() why not. */
int ballast_step(struct ballast *ballast, uint64_t step);

/* Is it what it was after so many steps? */
bool ballast_right(const struct ballast *ballast, uint64_t steps);

void ballast_release(struct ballast *ballast);

#endif
