/* SPDX-License-Identifier: MIT */
/*
 * iterate.c - the loop of programs that are no trainings
 *
 * To the rest of the library a step is an epoch of one step with a batch that
 * never changes, so that speed on more ranks is what is measured and judged.
 */
#include <config.h>

#include <limits.h>
#include <string.h>

#include "agent/run/iterate.h"
#include "agent/state/agent.h"
#include "agent/state/call.h"

void plx_iterate_config(struct pollux *p)
{
	struct pollux_config *c = &p->config;

	c->samples = PLX_STEP_CELLS;
	c->epochs = c->steps < INT_MAX ? (int) c->steps : INT_MAX;
	c->seed = 0;
	c->order = POLLUX_SEQUENTIAL;
	c->counting = POLLUX_DATA;
	c->seek = NULL;
	c->batch = c->max_batch = PLX_STEP_CELLS;
	c->min_gpu_batch = 1;
	c->max_gpu_batch = 0;
	c->accumulate = false;
	c->lr = 1;
	c->lr_rule = NULL;
	c->lr_warmup_epochs = 0;
	c->noise_window = 1;
	strcpy(p->lr_scaling, "fixed");
}

int pollux_step(struct pollux *p)
{
	struct pollux_pass pass;
	int rc = 0;

	if (!p)
		return POLLUX_EINVAL;
	if (!p->config.steps) {
		plx_misuse(p, "pollux_step(), without config.steps,");
		return p->code;
	}
	if (p->stage == PLX_STAGE_PASS)
		rc = pollux_sync(p, 0);
	if (rc == 0 && p->stage == PLX_STAGE_SYNCED)
		rc = pollux_commit(p);
	return rc < 0 ? rc : pollux_next(p, &pass);
}
