/* SPDX-License-Identifier: MIT */
/*
 * train_gpu.c - passes of pollux-train on a GPU
 *
 * One bucket a layer: while one's gradient travels, that of the layer below
 * is computed.
 */
#include <stdlib.h>

#include "train.h"

bool train_on_gpu(const struct train *t)
{
	return t->cuda.gpu != NULL;
}

/* In one piece, or one a layer: their numbers are the layers'. */
int train_add_buckets(struct train *t)
{
	struct pollux_bucket bucket = { .count = t->mlp.n };

	if (!train_on_gpu(t))
		return pollux_bucket(t->pollux, &bucket);
	bucket.memory = POLLUX_CUDA;
	for (int l = 0; l < t->mlp.layers; l++) {
		bucket.count =
			mlp_offset(&t->mlp, l + 1) - mlp_offset(&t->mlp, l);
		if (pollux_bucket(t->pollux, &bucket) < 0)
			return -1;
	}
	return 0;
}

static int make_room(struct train *t, size_t count)
{
	size_t bytes = (size_t) t->data.features * sizeof(*t->input);
	float *input;
	int *labels;

	if (count <= t->room)
		return 0;
	input = realloc(t->input, count * bytes);
	if (input)
		t->input = input;
	labels = realloc(t->labels, count * sizeof(*labels));
	if (labels)
		t->labels = labels;
	if (!input || !labels)
		return train_complain("out of memory");
	t->room = count;
	return 0;
}

int train_gpu_learn(struct train *t, const struct pollux_pass *pass)
{
	size_t features = (size_t) t->data.features;
	double loss;

	if (make_room(t, pass->count) < 0)
		return -1;
	if (mlp_cuda_fit(&t->cuda, pass->count) < 0)
		return pollux_out_of_memory(t->pollux);
	for (size_t i = 0; i < pass->count; i++)
		t->labels[i] = data_get(&t->data, pass->samples[i],
					t->input + i * features);
	if (mlp_cuda_forward(&t->cuda, t->input, t->labels, pass->count) < 0)
		return train_complain(gpu_error());
	for (int l = t->mlp.layers - 1; l >= 0; l--) {
		float *gradient = t->cuda.gradient + mlp_offset(&t->mlp, l);

		if (mlp_cuda_backward(&t->cuda, l, pass->count) < 0)
			return train_complain(gpu_error());
		if (pollux_gradient(t->pollux, l, gradient) < 0)
			return -1;
	}
	if (mlp_cuda_loss(&t->cuda, pass->count, &loss) < 0)
		return train_complain(gpu_error());
	return pollux_sync(t->pollux, loss);
}

int train_step(struct train *t)
{
	float lr = (float) pollux_lr(t->pollux);
	float momentum = (float) t->options.momentum;

	/* A gradient that is none must not reach the weights. */
	if (pollux_skipped(t->pollux))
		return 0;
	if (!train_on_gpu(t))
		mlp_step(&t->mlp, lr, momentum);
	else if (mlp_cuda_step(&t->cuda, lr, momentum) < 0)
		return train_complain(gpu_error());
	return 0;
}
