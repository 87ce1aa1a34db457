/* SPDX-License-Identifier: MIT */
/*
 * mlp_cuda.h - the perceptron of mlp.h, on a GPU
 *
 * The same arithmetic in another order of additions: losses agree with the
 * host's to some five digits. Kernels are simple, one thread a number.
 */
#ifndef TRAIN_MLP_CUDA_H
#define TRAIN_MLP_CUDA_H

#include "gpu.h"
#include "mlp.h"

struct mlp_cuda {
	struct gpu *gpu;
	const struct mlp *mlp; /* sizes, and the weights to begin with */
	float *weights;	       /* all on the GPU, laid out as in mlp.h */
	float *momentum;
	float *gradient;
	float *values; /* of all units: [unit][sample of the batch] */
	float *errors;
	float *losses; /* [sample of the batch] */
	int *labels;
	float *result; /* on the host: losses */
	size_t room;   /* samples that fit */
	void *kernels[6];
};

/* With the host's weights. -1 with the sentence in gpu_error(). */
int mlp_cuda_init(struct mlp_cuda *m, const struct mlp *mlp);
void mlp_cuda_release(struct mlp_cuda *m);

/* Memory for passes of count samples; -1: the GPU has not so much. */
int mlp_cuda_fit(struct mlp_cuda *m, size_t count);

/* Values for a pass of count samples: inputs [count][features], labels. */
int mlp_cuda_forward(struct mlp_cuda *m, const float *inputs, const int *labels,
		     size_t count);

/* A layer's mean gradient, from the last layer to the first. */
int mlp_cuda_backward(struct mlp_cuda *m, int layer, size_t count);

/* Mean loss of the pass; waits for the GPU. */
int mlp_cuda_loss(struct mlp_cuda *m, size_t count, double *loss);

/* One optimiser step. */
int mlp_cuda_step(struct mlp_cuda *m, float lr, float momentum);

/* data[first], data[first + stride] and so on, below n, become value. */
int mlp_cuda_mark(struct mlp_cuda *m, float *data, size_t n, size_t stride,
		  size_t first, float value);

/* The weights, back to the host's. */
int mlp_cuda_fetch(struct mlp_cuda *m, struct mlp *mlp);

#endif
