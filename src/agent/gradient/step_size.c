/* SPDX-License-Identifier: MIT */
/* step_size.c - how many samples a step has */
#include <config.h>

#include "agent/gradient/step_size.h"

uint64_t plx_step_total(const struct pollux *p)
{
	return plx_batch_total(&p->limits, p->shape.gpus, p->batch);
}

bool plx_step_whole(const struct pollux *p)
{
	return p->step.batch >= plx_step_total(p) ||
	       p->step.batch >= p->cursor.samples;
}
