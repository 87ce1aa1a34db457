/* SPDX-License-Identifier: MIT */
/* mlp.c - a multi-layer perceptron that learns classes */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "mlp.h"

size_t mlp_offset(const struct mlp *mlp, int layer)
{
	size_t at = 0;

	for (int l = 0; l < layer; l++)
		at += (size_t) mlp->sizes[l + 1] * ((size_t) mlp->sizes[l] + 1);
	return at;
}

static size_t units(const struct mlp *mlp)
{
	size_t sum = 0;

	for (int l = 0; l <= mlp->layers; l++)
		sum += (size_t) mlp->sizes[l];
	return sum;
}

/* He's initialisation, uniform: keeps values in range through the layers. */
static void randomise(struct mlp *mlp, uint64_t seed)
{
	for (int l = 0; l < mlp->layers; l++) {
		size_t inputs = (size_t) mlp->sizes[l];
		size_t count = inputs * (size_t) mlp->sizes[l + 1];
		size_t at = mlp_offset(mlp, l);
		double range = sqrt(6.0 / (double) inputs);

		for (size_t i = 0; i < count; i++)
			mlp->weights[at + i] =
				(float) (range * chance(seed, at + i));
	}
}

int mlp_init(struct mlp *mlp, const int *sizes, int layers, uint64_t seed)
{
	*mlp = (struct mlp){ .layers = layers };
	memcpy(mlp->sizes, sizes, ((size_t) layers + 1) * sizeof(*sizes));
	mlp->n = mlp_offset(mlp, layers);
	mlp->weights = calloc(mlp->n, sizeof(float));
	mlp->momentum = calloc(mlp->n, sizeof(float));
	mlp->gradient = calloc(mlp->n, sizeof(float));
	mlp->work = calloc(2 * units(mlp), sizeof(float));
	if (!mlp->weights || !mlp->momentum || !mlp->gradient || !mlp->work) {
		mlp_release(mlp);
		return -1;
	}
	randomise(mlp, seed);
	return 0;
}

void mlp_release(struct mlp *mlp)
{
	free(mlp->weights);
	free(mlp->momentum);
	free(mlp->gradient);
	free(mlp->work);
	*mlp = (struct mlp){ 0 };
}

void mlp_begin(struct mlp *mlp)
{
	memset(mlp->gradient, 0, mlp->n * sizeof(float));
}

/* out = W in + b, rectified unless it is the last layer. */
static void layer_forward(const struct mlp *mlp, int layer, const float *in,
			  float *out)
{
	const int inputs = mlp->sizes[layer];
	const int outputs = mlp->sizes[layer + 1];
	const float *w = mlp->weights + mlp_offset(mlp, layer);
	const float *b = w + (size_t) inputs * (size_t) outputs;

	for (int o = 0; o < outputs; o++) {
		float sum = b[o];

		for (int i = 0; i < inputs; i++)
			sum += w[(size_t) o * (size_t) inputs + (size_t) i] *
			       in[i];
		if (layer + 1 < mlp->layers && sum < 0)
			sum = 0;
		out[o] = sum;
	}
}

/* Values of all layers into work; the last layer's are returned. */
static float *forward(struct mlp *mlp, const float *input)
{
	float *values = mlp->work;

	memcpy(values, input, (size_t) mlp->sizes[0] * sizeof(float));
	for (int l = 0; l < mlp->layers; l++) {
		layer_forward(mlp, l, values, values + mlp->sizes[l]);
		values += mlp->sizes[l];
	}
	return values;
}

/* Turn scores into probabilities; the cross-entropy of label. */
static double softmax(float *scores, int count, int label)
{
	float top = scores[0];
	double sum = 0;

	for (int i = 1; i < count; i++)
		top = scores[i] > top ? scores[i] : top;
	for (int i = 0; i < count; i++) {
		scores[i] = expf(scores[i] - top);
		sum += scores[i];
	}
	for (int i = 0; i < count; i++)
		scores[i] = (float) (scores[i] / sum);
	return -log(fmax(scores[label], 1e-30));
}

/*
 * Add one layer's share of the gradient; in_error, unless NULL, becomes the
 * error at its inputs (which are outputs of a rectified layer).
 */
static void layer_backward(struct mlp *mlp, int layer, const float *in,
			   const float *out_error, float *in_error)
{
	const size_t inputs = (size_t) mlp->sizes[layer];
	const size_t outputs = (size_t) mlp->sizes[layer + 1];
	const size_t at = mlp_offset(mlp, layer);
	const float *w = mlp->weights + at;
	float *dw = mlp->gradient + at;
	float *db = dw + inputs * outputs;

	for (size_t o = 0; o < outputs; o++) {
		for (size_t i = 0; i < inputs; i++)
			dw[o * inputs + i] += out_error[o] * in[i];
		db[o] += out_error[o];
	}
	if (!in_error)
		return;
	for (size_t i = 0; i < inputs; i++) {
		float sum = 0;

		for (size_t o = 0; o < outputs; o++)
			sum += w[o * inputs + i] * out_error[o];
		in_error[i] = in[i] > 0 ? sum : 0;
	}
}

double mlp_learn(struct mlp *mlp, const float *input, int label, float scale)
{
	const size_t total = units(mlp);
	const int classes = mlp->sizes[mlp->layers];
	float *values = forward(mlp, input);
	float *errors = values + total; /* same places, second half of work */
	double loss = softmax(values, classes, label);

	for (int c = 0; c < classes; c++)
		errors[c] = scale * (values[c] - (c == label ? 1.0f : 0.0f));
	for (int l = mlp->layers - 1; l >= 0; l--) {
		float *below = errors - mlp->sizes[l];

		values -= mlp->sizes[l];
		layer_backward(mlp, l, values, errors, l ? below : NULL);
		errors = below;
	}
	return loss;
}

double mlp_judge(struct mlp *mlp, const float *input, int label, int *right)
{
	const int classes = mlp->sizes[mlp->layers];
	float *scores = forward(mlp, input);
	int best = 0;

	for (int c = 1; c < classes; c++)
		best = scores[c] > scores[best] ? c : best;
	*right = best == label;
	return softmax(scores, classes, label);
}

void mlp_step(struct mlp *mlp, float lr, float momentum)
{
	for (size_t i = 0; i < mlp->n; i++) {
		mlp->momentum[i] =
			momentum * mlp->momentum[i] + mlp->gradient[i];
		mlp->weights[i] -= lr * mlp->momentum[i];
	}
}
