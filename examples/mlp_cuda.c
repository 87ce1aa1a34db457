/* SPDX-License-Identifier: MIT */
/*
 * mlp_cuda.c - the perceptron of mlp.h, on a GPU
 *
 * Tried with what stands in for CUDA only (tests/unit/fake_cuda.h), never yet
 * on a GPU.
 */
#include <stdlib.h>
#include <string.h>

#include "mlp_cuda.h"

enum kernel { FORWARD, SOFTMAX, WEIGHTS, INPUTS, STEP, MARK, KERNELS };

static const char *const names[KERNELS] = { "mlp_forward", "mlp_softmax",
					    "mlp_weights", "mlp_inputs",
					    "mlp_step",	   "mlp_mark" };

/* clang-format off */
static const char source[] =
"typedef unsigned long long number;\n"
"static __device__ number thread()\n"
"{\n"
"	return (number) blockIdx.x * blockDim.x + threadIdx.x;\n"
"}\n"
/* out = W in + b for each sample, rectified unless it is the last layer. */
"extern \"C\" __global__ void mlp_forward(const float *w, const float *in,\n"
"	float *out, int inputs, int outputs, int count, int rectify)\n"
"{\n"
"	number t = thread();\n"
"	if (t >= (number) outputs * count)\n"
"		return;\n"
"	int o = (int) (t / count);\n"
"	int s = (int) (t % count);\n"
"	float sum = w[(number) outputs * inputs + o];\n"
"	for (int i = 0; i < inputs; i++)\n"
"		sum += w[(number) o * inputs + i] * in[(number) i * count + s];\n"
"	out[t] = rectify && sum < 0 ? 0 : sum;\n"
"}\n"
/* Scores to losses and errors. */
"extern \"C\" __global__ void mlp_softmax(const float *scores,\n"
"	const int *labels, float *errors, float *losses, int classes,\n"
"	int count)\n"
"{\n"
"	number s = thread();\n"
"	if (s >= count)\n"
"		return;\n"
"	float top = scores[s];\n"
"	double sum = 0;\n"
"	for (int c = 1; c < classes; c++)\n"
"		top = fmaxf(top, scores[(number) c * count + s]);\n"
"	for (int c = 0; c < classes; c++)\n"
"		sum += expf(scores[(number) c * count + s] - top);\n"
"	for (int c = 0; c < classes; c++) {\n"
"		number at = (number) c * count + s;\n"
"		float p = (float) (expf(scores[at] - top) / sum);\n"
"		bool right = c == labels[s];\n"
"		errors[at] = (p - (right ? 1.0f : 0.0f)) / count;\n"
"		if (right)\n"
"			losses[s] = (float) -log(fmax((double) p, 1e-30));\n"
"	}\n"
"}\n"
/* Gradient of a layer: weights [out][in], then biases [out]. */
"extern \"C\" __global__ void mlp_weights(const float *in,\n"
"	const float *errors, float *gradient, int inputs, int outputs,\n"
"	int count)\n"
"{\n"
"	number t = thread();\n"
"	number weights = (number) outputs * inputs;\n"
"	if (t >= weights + outputs)\n"
"		return;\n"
"	bool bias = t >= weights;\n"
"	number o = bias ? t - weights : t / inputs;\n"
"	number i = bias ? 0 : t % inputs;\n"
"	float sum = 0;\n"
"	for (int s = 0; s < count; s++)\n"
"		sum += errors[o * count + s] *\n"
"		       (bias ? 1 : in[i * count + s]);\n"
"	gradient[t] = sum;\n"
"}\n"
/* Errors at the inputs of a layer, which are rectified outputs. */
"extern \"C\" __global__ void mlp_inputs(const float *w, const float *in,\n"
"	const float *errors, float *out, int inputs, int outputs, int count)\n"
"{\n"
"	number t = thread();\n"
"	if (t >= (number) inputs * count)\n"
"		return;\n"
"	int i = (int) (t / count);\n"
"	int s = (int) (t % count);\n"
"	float sum = 0;\n"
"	for (int o = 0; o < outputs; o++)\n"
"		sum += w[(number) o * inputs + i] *\n"
"		       errors[(number) o * count + s];\n"
"	out[t] = in[t] > 0 ? sum : 0;\n"
"}\n"
"extern \"C\" __global__ void mlp_step(float *w, float *momentum,\n"
"	const float *gradient, number n, float lr, float keep)\n"
"{\n"
"	number t = thread();\n"
"	if (t >= n)\n"
"		return;\n"
"	momentum[t] = keep * momentum[t] + gradient[t];\n"
"	w[t] -= lr * momentum[t];\n"
"}\n"
"extern \"C\" __global__ void mlp_mark(float *data, number n, number stride,\n"
"	number first, float value)\n"
"{\n"
"	number i = first + stride * thread();\n"
"	if (i < n)\n"
"		data[i] = value;\n"
"}\n";
/* clang-format on */

static size_t units_before(const struct mlp *mlp, int layer)
{
	size_t sum = 0;

	for (int l = 0; l < layer; l++)
		sum += (size_t) mlp->sizes[l];
	return sum;
}

/* ---- life ---- */

static float *copy_of(struct mlp_cuda *m, const float *data)
{
	size_t bytes = m->mlp->n * sizeof(float);
	float *copy = gpu_alloc(m->gpu, bytes);

	if (copy && gpu_write(m->gpu, copy, data, bytes) < 0)
		return NULL;
	return copy;
}

int mlp_cuda_init(struct mlp_cuda *m, const struct mlp *mlp)
{
	*m = (struct mlp_cuda){ .mlp = mlp, .gpu = gpu_open(source) };
	if (!m->gpu)
		return -1;
	for (int k = 0; k < KERNELS; k++) {
		m->kernels[k] = gpu_kernel(m->gpu, names[k]);
		if (!m->kernels[k])
			return -1;
	}
	m->weights = copy_of(m, mlp->weights);
	m->momentum = m->weights ? copy_of(m, mlp->momentum) : NULL;
	m->gradient = m->momentum ? copy_of(m, mlp->gradient) : NULL;
	return m->gradient ? 0 : -1;
}

static void release_batch(struct mlp_cuda *m)
{
	gpu_free(m->gpu, m->values);
	gpu_free(m->gpu, m->errors);
	gpu_free(m->gpu, m->losses);
	gpu_free(m->gpu, m->labels);
	free(m->result);
	m->values = m->errors = m->losses = m->result = NULL;
	m->labels = NULL;
	m->room = 0;
}

void mlp_cuda_release(struct mlp_cuda *m)
{
	if (!m->gpu)
		return;
	release_batch(m);
	gpu_free(m->gpu, m->weights);
	gpu_free(m->gpu, m->momentum);
	gpu_free(m->gpu, m->gradient);
	gpu_close(m->gpu);
	m->gpu = NULL;
}

int mlp_cuda_fit(struct mlp_cuda *m, size_t count)
{
	size_t units = units_before(m->mlp, m->mlp->layers + 1);
	size_t bytes = units * count * sizeof(float);

	if (count <= m->room)
		return 0;
	release_batch(m);
	m->values = gpu_alloc(m->gpu, bytes);
	m->errors = m->values ? gpu_alloc(m->gpu, bytes) : NULL;
	m->losses = m->errors ? gpu_alloc(m->gpu, count * sizeof(float)) : NULL;
	m->labels = m->losses ? gpu_alloc(m->gpu, count * sizeof(int)) : NULL;
	m->result = malloc(count * sizeof(float));
	if (!m->labels || !m->result) {
		release_batch(m); /* others may do with it */
		return -1;
	}
	m->room = count;
	return 0;
}

/* ---- a pass ---- */

/* Units follow each other, each with its value for all samples. */
static int write_inputs(struct mlp_cuda *m, const float *inputs, size_t count)
{
	size_t features = (size_t) m->mlp->sizes[0];
	float *turned = malloc(features * count * sizeof(*turned));
	int rc = -1;

	if (!turned)
		return -1;
	for (size_t s = 0; s < count; s++) {
		for (size_t i = 0; i < features; i++)
			turned[i * count + s] = inputs[s * features + i];
	}
	rc = gpu_write(m->gpu, m->values, turned,
		       features * count * sizeof(*turned));
	free(turned);
	return rc;
}

static int softmax(struct mlp_cuda *m, size_t count)
{
	int layers = m->mlp->layers;
	size_t at = units_before(m->mlp, layers) * count;
	float *scores = m->values + at;
	float *errors = m->errors + at;
	int classes = m->mlp->sizes[layers];
	int samples = (int) count;
	void *arguments[] = { &scores,	  &m->labels, &errors,
			      &m->losses, &classes,   &samples };

	return gpu_run(m->gpu, m->kernels[SOFTMAX], count, arguments);
}

int mlp_cuda_forward(struct mlp_cuda *m, const float *inputs, const int *labels,
		     size_t count)
{
	const struct mlp *mlp = m->mlp;

	if (!count)
		return 0;
	if (mlp_cuda_fit(m, count) < 0 || write_inputs(m, inputs, count) < 0 ||
	    gpu_write(m->gpu, m->labels, labels, count * sizeof(*labels)) < 0)
		return -1;
	for (int l = 0; l < mlp->layers; l++) {
		float *w = m->weights + mlp_offset(mlp, l);
		float *in = m->values + units_before(mlp, l) * count;
		float *out = m->values + units_before(mlp, l + 1) * count;
		int from = mlp->sizes[l];
		int to = mlp->sizes[l + 1];
		int samples = (int) count;
		int rectify = l + 1 < mlp->layers;
		void *arguments[] = { &w,  &in,	     &out,    &from,
				      &to, &samples, &rectify };

		if (gpu_run(m->gpu, m->kernels[FORWARD], (size_t) to * count,
			    arguments) < 0)
			return -1;
	}
	return softmax(m, count);
}

int mlp_cuda_backward(struct mlp_cuda *m, int layer, size_t count)
{
	const struct mlp *mlp = m->mlp;
	float *w = m->weights + mlp_offset(mlp, layer);
	float *gradient = m->gradient + mlp_offset(mlp, layer);
	float *in = m->values + units_before(mlp, layer) * count;
	float *errors = m->errors + units_before(mlp, layer + 1) * count;
	float *below = m->errors + units_before(mlp, layer) * count;
	int from = mlp->sizes[layer];
	int to = mlp->sizes[layer + 1];
	int samples = (int) count;
	void *of_weights[] = { &in, &errors, &gradient, &from, &to, &samples };
	void *of_inputs[] = { &w, &in, &errors, &below, &from, &to, &samples };

	if (!count)
		return 0;
	if (gpu_run(m->gpu, m->kernels[WEIGHTS],
		    (size_t) to * ((size_t) from + 1), of_weights) < 0)
		return -1;
	if (layer == 0)
		return 0;
	return gpu_run(m->gpu, m->kernels[INPUTS], (size_t) from * count,
		       of_inputs);
}

int mlp_cuda_loss(struct mlp_cuda *m, size_t count, double *loss)
{
	*loss = 0;
	if (!count)
		return 0;
	if (gpu_read(m->gpu, m->result, m->losses, count * sizeof(float)) < 0)
		return -1;
	for (size_t s = 0; s < count; s++)
		*loss += (double) m->result[s] / (double) count;
	return 0;
}

int mlp_cuda_step(struct mlp_cuda *m, float lr, float momentum)
{
	unsigned long long n = m->mlp->n;
	void *arguments[] = { &m->weights, &m->momentum, &m->gradient,
			      &n,	   &lr,		 &momentum };

	return gpu_run(m->gpu, m->kernels[STEP], m->mlp->n, arguments);
}

int mlp_cuda_mark(struct mlp_cuda *m, float *data, size_t n, size_t stride,
		  size_t first, float value)
{
	unsigned long long numbers[] = { n, stride, first };
	void *arguments[] = { &data, &numbers[0], &numbers[1], &numbers[2],
			      &value };

	return gpu_run(m->gpu, m->kernels[MARK], (n + stride - 1) / stride,
		       arguments);
}

int mlp_cuda_fetch(struct mlp_cuda *m, struct mlp *mlp)
{
	return gpu_read(m->gpu, mlp->weights, m->weights,
			mlp->n * sizeof(float));
}
