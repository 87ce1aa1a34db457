/* SPDX-License-Identifier: MIT */
/* gradient_gpu.h - buckets in device memory */
#ifndef PLX_AGENT_GRADIENT_GPU_H
#define PLX_AGENT_GRADIENT_GPU_H

#include "agent/state/agent.h"

/* Memory for a bucket on a GPU; nothing to do for others. */
int plx_bucket_open(struct pollux *p, struct plx_bucket *b);
void plx_bucket_close(struct pollux *p); /* of all */

/* Add the pass's gradient to the sum, and make it the mean, in the end. */
int plx_bucket_sum(struct pollux *p, struct plx_bucket *b, float weight);
int plx_bucket_mean(struct pollux *p, struct plx_bucket *b, float factor,
		    bool differenced);

/* Norms taken on the way are added to those of the host. */
int plx_bucket_sum_norms(struct pollux *p);
int plx_bucket_mean_norms(struct pollux *p);

/*
 * How long the GPU works on a pass, by its own clock: the host is done with a
 * pass when all is on the stream, long before the GPU is. pass_time() waits for
 * the pass's end and corrects p->meter.pass_s. Nothing to do without a GPU.
 */
void plx_gpu_pass_begins(struct pollux *p);
void plx_gpu_pass_ends(struct pollux *p);
void plx_gpu_pass_time(struct pollux *p);

#endif
