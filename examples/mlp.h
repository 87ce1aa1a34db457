/* SPDX-License-Identifier: MIT */
/*
 * mlp.h - a multi-layer perceptron that learns classes
 *
 * Rectified hidden layers, softmax and cross-entropy at the end, stochastic
 * gradient descent with momentum. All weights lie in one array, layer by
 * layer, weights then biases; so do gradient and momentum.
 */
#ifndef TRAIN_MLP_H
#define TRAIN_MLP_H

#include <stddef.h>
#include <stdint.h>

#define MLP_LAYERS_MAX 8

struct mlp {
	int layers;
	int sizes[MLP_LAYERS_MAX + 1]; /* inputs, hidden..., classes */
	size_t n;		       /* weights in all */
	float *weights;		       /* [n] */
	float *momentum;	       /* [n] */
	float *gradient;	       /* [n] */
	float *work;		       /* values and errors of all units */
};

/* Random weights from seed. 0, or -1 when memory is out. */
int mlp_init(struct mlp *mlp, const int *sizes, int layers, uint64_t seed);
void mlp_release(struct mlp *mlp);

/* Where a layer's weights [out][in] and then biases [out] begin. */
size_t mlp_offset(const struct mlp *mlp, int layer);

/* Set the gradient to zero. */
void mlp_begin(struct mlp *mlp);

/*
 * Cross-entropy of one sample, its gradient times scale added to the
 * gradient.
 */
double mlp_learn(struct mlp *mlp, const float *input, int label, float scale);

/* The same without gradient. *right: is the likeliest class the label? */
double mlp_judge(struct mlp *mlp, const float *input, int label, int *right);

/* One optimiser step. */
void mlp_step(struct mlp *mlp, float lr, float momentum);

#endif
