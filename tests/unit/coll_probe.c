/* SPDX-License-Identifier: MIT */
/*
 * coll_probe.c - one rank of a test of what ranks do together
 *
 *	coll_probe sums KIND [host|cuda]      every operation, checked
 *	coll_probe late KIND HOW TIMEOUT_S    the last rank HOW (hang, exit,
 *told) coll_probe gradient                   arithmetic on a GPU, checked
 *
 * Exit code 0: all right; 1 with a sentence; 3 with the sentence of a sum
 * that failed, as it should under `late`. For tests/test_coll.t.
 */
#include <config.h>

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/comm/coll.h"
#include "agent/gpu/device.h"
#include "agent/gpu/gradient_cuda.h"

static struct plx_error err;
static volatile sig_atomic_t leaving;

static int wrong(const char *what)
{
	printf("%s is wrong\n", what);
	return -1;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* ---- sums ---- */

enum { SUMS = 5, LARGE = 300000 };

static const size_t counts[SUMS] = { 1, 9, 1000, LARGE, 4097 };

/* What rank has at i of the k-th array. */
static float value(int rank, int k, size_t i)
{
	return (float) ((size_t) (rank + 1) * (i % 100 + (size_t) k + 1));
}

static bool are_sums(const struct plx_coll *c, const float *data, int k,
		     size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		float want = 0;

		for (int r = 0; r < c->ranks; r++)
			want += value(r, k, i);
		if (data[i] != want)
			return false;
	}
	return true;
}

static bool is_sum(const struct plx_coll *c, const float *data, int k)
{
	return are_sums(c, data, k, 0, counts[k]);
}

static void fill(const struct plx_coll *c, float *data, int k)
{
	for (size_t i = 0; i < counts[k]; i++)
		data[i] = value(c->rank, k, i);
}

static int sum_on_host(struct plx_coll *c)
{
	float *data = calloc(LARGE, sizeof(*data));

	for (int k = 0; k < SUMS; k++) {
		fill(c, data, k);
		if (c->ops->sum(c, data, counts[k], &err) < 0)
			return -1;
		if (!is_sum(c, data, k))
			return wrong("a sum");
	}
	free(data);
	return c->ops->sum(c, NULL, 0, &err);
}

/* What has been seen of a sum, in parts. */
struct seen {
	const struct plx_coll *coll;
	const float *data;
	int k;
	size_t count;
	bool wrong;
};

static void see(void *arg, size_t first, size_t count)
{
	struct seen *s = arg;

	s->wrong |= first != s->count || !count ||
		    !are_sums(s->coll, s->data, s->k, first, count);
	s->count += count;
}

/* Each part is whole when it is seen; who has parts leaves none out. */
static int wait_and_see(struct plx_coll *c, const float *data, int k)
{
	struct seen seen = { .coll = c, .data = data, .k = k };
	const struct plx_seer seer = { see, &seen };

	if (c->ops->sum_wait(c, &seer, &err) < 0)
		return -1;
	return seen.wrong || (seen.count && seen.count != counts[k]) ||
			       (c->ranks > 1 && !strcmp(c->ops->name, "mpi") &&
				seen.count != counts[k])
		       ? wrong("what is seen of a sum")
		       : 0;
}

/* All under way at once, twice: the second time with memory of the first. */
static int sums_begun(struct plx_coll *c)
{
	float *data[SUMS];

	for (int k = 0; k < SUMS; k++)
		data[k] = calloc(counts[k], sizeof(float));
	for (int round = 0; round < 2; round++) {
		for (int k = 0; k < SUMS; k++) {
			fill(c, data[k], k);
			if (c->ops->sum_begin(c, data[k], counts[k],
					      POLLUX_HOST, &err) < 0)
				return -1;
		}
		for (int k = 0; k < SUMS; k++) {
			if (wait_and_see(c, data[k], k) < 0)
				return -1;
			if (!is_sum(c, data[k], k))
				return wrong("a sum that was begun");
		}
	}
	for (int k = 0; k < SUMS; k++)
		free(data[k]);
	if (c->ranks > 1 && c->ops->sum_wait(c, NULL, &err) == 0)
		return wrong("a wait for nothing");
	return 0;
}

/* What the default stream is still to make is summed, nothing else. */
static int begin_on_device(struct plx_coll *c, struct plx_gpu *gpu,
			   const struct plx_gpu_bucket *buckets)
{
	for (int k = 0; k < SUMS; k++) {
		if (plx_gpu_add(gpu, &buckets[k], 1, true, &err) < 0 ||
		    c->ops->sum_begin(c, buckets[k].sum, counts[k], POLLUX_CUDA,
				      &err) < 0)
			return -1;
	}
	return 0;
}

static int sums_of_device(struct plx_coll *c)
{
	struct plx_gpu *gpu = plx_gpu_create(1, c->local_rank, &err);
	float *host = calloc(LARGE, sizeof(*host));
	struct plx_gpu_bucket b[SUMS] = { 0 };

	for (int k = 0; k < SUMS; k++) {
		b[k].n = counts[k];
		b[k].gradient = gpu ? plx_gpu_alloc(gpu, b[k].n, &err) : NULL;
		b[k].sum = gpu ? plx_gpu_alloc(gpu, b[k].n, &err) : NULL;
		fill(c, host, k);
		if (!b[k].sum || plx_device_write(b[k].gradient, host,
						  b[k].n * sizeof(float),
						  POLLUX_CUDA, &err) < 0)
			return -1;
	}
	if (begin_on_device(c, gpu, b) < 0)
		return -1;
	for (int k = 0; k < SUMS; k++) {
		if (c->ops->sum_wait(c, NULL, &err) < 0 ||
		    plx_device_read(host, b[k].sum, b[k].n * sizeof(float),
				    POLLUX_CUDA, &err) < 0)
			return -1;
		if (!is_sum(c, host, k))
			return wrong("a sum of device memory");
		plx_gpu_free(gpu, b[k].gradient);
		plx_gpu_free(gpu, b[k].sum);
	}
	plx_gpu_destroy(gpu);
	free(host);
	return 0;
}

/* ---- the rest ---- */

static int words(struct plx_coll *c)
{
	int mine[2] = { c->rank, 7 };
	int *all = calloc((size_t) c->ranks, sizeof(mine));
	int word = c->rank == 0 ? 42 : 0;

	if (c->ops->gather(c, mine, sizeof(mine), c->rank ? NULL : all, &err) <
	    0)
		return -1;
	for (int r = 0; r < c->ranks && c->rank == 0; r++) {
		if (all[2 * r] != r || all[2 * r + 1] != 7)
			return wrong("what was gathered");
	}
	free(all);
	if (c->ops->spread(c, &word, sizeof(word), &err) < 0)
		return -1;
	if (word != 42)
		return wrong("what was spread");
	word = c->rank == 0 ? 43 : 0;
	if (c->rank == 0)
		usleep(50000);
	if (c->ops->spread_idle(c, &word, sizeof(word), &err) < 0)
		return -1;
	if (word != 43)
		return wrong("what was spread to sleepers");
	return c->ops->barrier(c, &err);
}

static int sums(struct plx_coll *c, bool cuda)
{
	if (sum_on_host(c) < 0 || sums_begun(c) < 0 || words(c) < 0 ||
	    (cuda && sums_of_device(c) < 0))
		return -1;
	printf("rank %d of %d over %s, node %d of %d, local %d of %d\n",
	       c->rank, c->ranks, c->ops->name, c->node, c->nodes,
	       c->local_rank, c->local_ranks);
	return 0;
}

/* ---- a rank that is lost ---- */

static void misbehave(const char *how)
{
	if (!strcmp(how, "hang"))
		raise(SIGSTOP);
	if (!strcmp(how, "exit"))
		_exit(0);
	while (!strcmp(how, "told"))
		pause();
}

/* Rank 0 hears of it as from srun: by a signal that sets a flag. */
static void be_told(int signal)
{
	(void) signal;
	leaving = 1;
}

/* What is in its memory can be saved, whatever became of the others. */
static bool gpu_can_be_read(void)
{
	struct plx_gpu *gpu = plx_gpu_create(1, 0, &err);
	float *data = gpu ? plx_gpu_alloc(gpu, 1, &err) : NULL;
	float number = 1;

	if (!data || plx_device_read(&number, data, sizeof(number), POLLUX_CUDA,
				     &err) < 0)
		return false;
	printf("the GPU can be read\n");
	fflush(stdout);
	plx_gpu_destroy(gpu);
	return number == 0;
}

static int late(struct plx_coll *c, const char *how)
{
	float data[100] = { 0 };
	double begin_s = now_s();

	c->leaving = &leaving;
	signal(SIGALRM, be_told);
	signal(SIGTERM, be_told); /* mpirun's, of one that has left */
	for (int step = 0; step < 20; step++) {
		if (step == 10 && c->rank == c->ranks - 1)
			misbehave(how);
		if (step == 10 && !strcmp(how, "told"))
			alarm(1);
		if (c->ops->sum_begin(c, data, 100, POLLUX_HOST, &err) == 0 &&
		    c->ops->sum_wait(c, NULL, &err) == 0)
			continue;
		printf("after %.0f s: %s\n", now_s() - begin_s, err.text);
		fflush(stdout);
		if (!strcmp(c->ops->name, "nccl") && !gpu_can_be_read())
			return wrong("the GPU after an abort");
		if (c->ops->barrier(c, &err) == 0 &&
		    !strcmp(c->ops->name, "mpi"))
			return wrong("a barrier after a failure");
		usleep(300000); /* until all have said so */
		c->ops->abort(c, 3);
		return wrong("abort(), which returned");
	}
	return wrong("a sum without a rank");
}

/* ---- arithmetic on a GPU ---- */

enum { N = 70001 };

struct arrays {
	struct plx_gpu_bucket on; /* the GPU */
	float *gradient;	  /* on the host, as are */
	float *sum;
	float *previous;
	float *precondition;
};

static float *array(struct plx_gpu *gpu, float **host, int k)
{
	float *data = plx_gpu_alloc(gpu, N, &err);

	*host = calloc(N, sizeof(float));
	for (size_t i = 0; i < N; i++)
		(*host)[i] = (float) (1 + (i * 7 + (size_t) k) % 13) / 8;
	if (data && plx_device_write(data, *host, N * sizeof(float),
				     POLLUX_CUDA, &err) < 0)
		return NULL;
	return data;
}

static bool close_to(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b);
}

static bool agrees(const float *data, const float *want)
{
	float *got = calloc(N, sizeof(*got));
	bool same = plx_device_read(got, data, N * sizeof(float), POLLUX_CUDA,
				    &err) == 0;

	for (size_t i = 0; i < N && same; i++)
		same = close_to((double) got[i], (double) want[i]);
	free(got);
	return same;
}

/* Two passes, then their mean, as gradient.c does it. */
static int step(struct plx_gpu *gpu, struct arrays *a)
{
	double want[3] = { 0 };
	double got[3];

	if (plx_gpu_add(gpu, &a->on, 3, true, &err) < 0 ||
	    plx_gpu_add(gpu, &a->on, 2, false, &err) < 0)
		return -1;
	a->on.norm = 1;
	if (plx_gpu_mean(gpu, &a->on, 0.25f, &err) < 0 ||
	    plx_gpu_norms(gpu, got, &err) < 0)
		return -1;
	for (size_t i = 0; i < N; i++) {
		double by = a->precondition ? (double) a->precondition[i] : 1;
		double g = (double) a->gradient[i] / by;

		want[0] += 2 * g * g;
		a->sum[i] = 5 * a->gradient[i];
		a->gradient[i] = 0.25f * a->sum[i];
		g = (double) a->gradient[i] / by;
		want[1] += g * g;
		want[2] += g * (double) a->previous[i] / by;
		a->previous[i] = a->gradient[i];
	}
	for (int i = 0; i < 3; i++) {
		if (!close_to(got[i], want[i]))
			return wrong("a norm");
	}
	if (!agrees(a->on.sum, a->sum) ||
	    !agrees(a->on.gradient, a->gradient) ||
	    !agrees(a->on.previous, a->previous))
		return wrong("an array");
	a->on.norm = 0;
	return 0;
}

/* Where a rank has no samples, NaN is not looked at. */
static int nothing(struct plx_gpu *gpu, struct arrays *a)
{
	double norms[3];

	a->gradient[5] = NAN;
	if (plx_device_write(a->on.gradient, a->gradient, N * sizeof(float),
			     POLLUX_CUDA, &err) < 0 ||
	    plx_gpu_add(gpu, &a->on, 0, true, &err) < 0 ||
	    plx_gpu_norms(gpu, norms, &err) < 0)
		return -1;
	memset(a->sum, 0, N * sizeof(float));
	if (norms[0] != 0 || !agrees(a->on.sum, a->sum))
		return wrong("nothing");
	/* ... and elsewhere it shows. */
	if (plx_gpu_add(gpu, &a->on, 1, true, &err) < 0 ||
	    plx_gpu_norms(gpu, norms, &err) < 0)
		return -1;
	return isnan(norms[0]) ? 0 : wrong("not a number");
}

static int gradient(void)
{
	struct plx_gpu *gpu = plx_gpu_create(3, 0, &err);
	struct arrays a = { .on = { .n = N } };
	float *idle;

	if (!gpu)
		return -1;
	a.on.gradient = array(gpu, &a.gradient, 1);
	a.on.sum = array(gpu, &a.sum, 2);
	a.on.previous = array(gpu, &a.previous, 3);
	a.on.precondition = array(gpu, &a.precondition, 4);
	idle = a.precondition;
	if (!a.on.precondition || step(gpu, &a) < 0)
		return -1;
	a.on.precondition = NULL;
	a.precondition = NULL;
	if (step(gpu, &a) < 0 || nothing(gpu, &a) < 0)
		return -1;
	printf("gradients agree, on the %s%s\n",
	       plx_gpu_note(gpu) ? "host, for " : "GPU",
	       plx_gpu_note(gpu) ? plx_gpu_note(gpu) : "");
	plx_gpu_destroy(gpu);
	free(idle);
	return 0;
}

/* For the real NVRTC where there is no GPU. */
static int compile(void)
{
	struct plx_gpu *gpu = plx_gpu_create(3, 0, &err);

	if (!gpu)
		return -1;
	if (plx_gpu_note(gpu))
		return plx_fail(&err, "%s", plx_gpu_note(gpu));
	plx_gpu_destroy(gpu);
	return 0;
}

/* What needs no other rank. */
static int alone(int rc)
{
	if (rc < 0)
		printf("%s\n", err.text);
	return rc < 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct plx_coll *c;
	int rc = -1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(err.text, sizeof(err.text), "usage: see coll_probe.c");
	if (!strcmp(what, "gradient"))
		return alone(gradient());
	if (!strcmp(what, "compile"))
		return alone(compile());
	c = argc > 2 ? plx_coll_create(argv[2], &err) : NULL;
	if (c && !strcmp(what, "sums"))
		rc = sums(c, argc > 3 && !strcmp(argv[3], "cuda"));
	if (c && !strcmp(what, "late") && argc > 4) {
		c->timeout_s = atof(argv[4]);
		rc = late(c, argv[3]);
	}
	if (rc < 0)
		printf("%s\n", err.text);
	if (c && rc < 0)
		c->ops->abort(c, 1);
	if (c)
		c->ops->destroy(c);
	return rc < 0;
}
