/* SPDX-License-Identifier: MIT */
/* gradient.h - from gradients of passes to the mean over all samples */
#ifndef PLX_AGENT_GRADIENT_H
#define PLX_AGENT_GRADIENT_H

#include "agent/state/agent.h"

/* Memory for buckets that are known, before passes want it. */
int plx_gradient_open(struct pollux *p);
/* The step begins, or begins anew. */
void plx_gradient_begin(struct pollux *p);
void plx_gradient_release(struct pollux *p);

#endif
