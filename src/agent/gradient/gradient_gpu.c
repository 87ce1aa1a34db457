/* SPDX-License-Identifier: MIT */
/* gradient_gpu.c - buckets in device memory: what gradient.c does on the host
 */
#include <config.h>

#include <stddef.h>

#include "agent/gradient/gradient_gpu.h"
#include "agent/state/agent.h"
#include "agent/state/say.h"

/* Of norms of a group: a part's, the mean's, and its product with the last. */
enum { PART, MEAN, CROSS, PLACES };

/* Many times slower than on the GPU: nobody should have to find out. */
static void report_how(struct pollux *p)
{
	const char *why = plx_gpu_note(p->gpu);

	if (why && !p->gpu_told)
		plx_say(p,
			"gradients are added up by the host, which is slow: "
			"%s; with CUDA's NVRTC (libnvrtc.so) installed the GPU "
			"does it",
			why);
	p->gpu_told = true;
}

int plx_bucket_open(struct pollux *p, struct plx_bucket *b)
{
	bool alone = p->coll->ranks == 1;

	if (b->is.memory != POLLUX_CUDA)
		return 0;
	if (!p->gpu)
		p->gpu = plx_gpu_create(PLACES * p->groups, p->coll->local_rank,
					&p->err);
	/* Not there at all: no restart will help. */
	if (!p->gpu)
		return plx_fault(p, POLLUX_EINVAL);
	report_how(p);
	b->gpu_sum = plx_gpu_alloc(p->gpu, b->is.count, &p->err);
	if (b->gpu_sum && alone)
		b->gpu_previous = plx_gpu_alloc(p->gpu, b->is.count, &p->err);
	return b->gpu_sum && (b->gpu_previous || !alone) ? 0 : -1;
}

void plx_bucket_close(struct pollux *p)
{
	for (int i = 0; i < p->bucket_count && p->gpu; i++) {
		plx_gpu_free(p->gpu, p->buckets[i].gpu_sum);
		plx_gpu_free(p->gpu, p->buckets[i].gpu_previous);
	}
	plx_gpu_destroy(p->gpu);
}

int plx_bucket_sum(struct pollux *p, struct plx_bucket *b, float weight)
{
	const struct plx_gpu_bucket bucket = {
		.n = b->is.count,
		.gradient = b->data,
		.sum = b->gpu_sum,
		.precondition = b->is.precondition,
		.norm = PLACES * b->is.group + PART,
	};

	/* Of weight 0, it is not looked at what the program has there. */
	if (!p->step.count && p->step.pass > 0)
		return 0;
	return plx_gpu_add(p->gpu, &bucket, p->step.count ? weight : 0,
			   p->step.pass == 0, &p->err);
}

int plx_bucket_mean(struct pollux *p, struct plx_bucket *b, float factor,
		    bool differenced)
{
	const struct plx_gpu_bucket bucket = {
		.n = b->is.count,
		.gradient = b->data,
		.sum = b->gpu_sum,
		.previous = differenced ? b->gpu_previous : NULL,
		.precondition = b->is.precondition,
		.norm = PLACES * b->is.group + MEAN,
	};

	return plx_gpu_mean(p->gpu, &bucket, factor, &p->err);
}

static int read_norms(struct pollux *p, double norms[])
{
	return p->gpu ? plx_gpu_norms(p->gpu, norms, &p->err) : 0;
}

int plx_bucket_sum_norms(struct pollux *p)
{
	double norms[PLACES * POLLUX_GROUPS_MAX] = { 0 };
	double scale = p->loss_scale * p->loss_scale;

	if (read_norms(p, norms) < 0)
		return -1;
	for (int g = 0; g < p->groups; g++)
		p->step.own.sqr[g] += norms[PLACES * g + PART] / scale;
	return 0;
}

int plx_bucket_mean_norms(struct pollux *p)
{
	double norms[PLACES * POLLUX_GROUPS_MAX] = { 0 };

	if (read_norms(p, norms) < 0)
		return -1;
	for (int g = 0; g < p->groups; g++) {
		p->step.all.sqr_mean[g] += norms[PLACES * g + MEAN];
		p->step.cross[g] += norms[PLACES * g + CROSS];
	}
	return 0;
}

/* Without a GPU's clock the host's has been read. */
void plx_gpu_pass_begins(struct pollux *p)
{
	if (p->gpu)
		(void) plx_gpu_mark(p->gpu, PLX_GPU_BEGIN, NULL);
}

void plx_gpu_pass_ends(struct pollux *p)
{
	if (p->gpu)
		(void) plx_gpu_mark(p->gpu, PLX_GPU_END, NULL);
}

void plx_gpu_pass_time(struct pollux *p)
{
	double seconds = p->gpu ? plx_gpu_between(p->gpu) : -1;

	if (seconds >= 0)
		p->meter.pass_s = seconds;
}
