/* SPDX-License-Identifier: MIT */
/* pollux.c - the life of a run: create and destroy */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/comm/pulse.h"
#include "agent/gradient/gradient.h"
#include "agent/run/iterate.h"
#include "agent/state/agent.h"
#include "agent/state/handover.h"
#include "agent/state/save.h"
#include "wire/now.h"
#include "wire/run_page.h"

void pollux_config_init_sized(struct pollux_config *config, size_t size)
{
	const struct pollux_config defaults = {
		.size = size,
		.epochs = 1,
		.batch = 32,
		.min_gpu_batch = 1,
		.accumulate = true,
		.lr = 0.1,
		.lr_scaling = "adascale",
		.collectives = "auto",
		.timeout_s = 600,
		.checkpoint_every_s = -1,
		.mtbf_s = 86400,
		.checkpoint_keep = 2,
		.noise_window = PLX_NOISE_WINDOW,
	};

	if (!config)
		return;
	memset(config, 0, size);
	memcpy(config, &defaults,
	       size < sizeof(defaults) ? size : sizeof(defaults));
}

/* A text of the program's; too long: known by its having no end. */
static void keep_text(char *copy, size_t size, const char *text,
		      const char *absent)
{
	strncpy(copy, text ? text : absent, size);
}

struct pollux *pollux_create(const struct pollux_config *config)
{
	struct pollux *p = calloc(1, sizeof(*p));
	struct pollux_config *own;

	if (!p)
		return NULL;
	own = &p->config;
	/* A caller built with fewer members means the defaults of others. */
	pollux_config_init(own);
	/* pollux_start() will tell of none, as of one that was not filled. */
	own->size = config ? config->size : 0;
	if (config)
		memcpy(own, config,
		       config->size < sizeof(*own) ? config->size
						   : sizeof(*own));
	keep_text(p->collectives, sizeof(p->collectives), own->collectives,
		  "auto");
	keep_text(p->lr_scaling, sizeof(p->lr_scaling), own->lr_scaling,
		  "adascale");
	keep_text(p->folder, sizeof(p->folder), own->checkpoint_dir, "");
	own->collectives = p->collectives;
	own->lr_scaling = p->lr_scaling;
	own->checkpoint_dir = p->folder;
	if (own->steps)
		plx_iterate_config(p);
	p->meter.created_s = plx_now_s();
	p->restored_from = "none";
	p->groups = 1;
	p->loss_scale_next = 1;
	for (int g = 0; g < POLLUX_GROUPS_MAX; g++)
		p->step.factor[g] = 1;
	plx_profile_init(&p->profile);
	return p;
}

static void end_pulse(struct pollux *p)
{
	struct plx_pulser *pulser = p->pulser;

	p->pulser = NULL;
	if (p->coll)
		p->coll->pulser = NULL;
	plx_pulse_end(pulser);
}

void pollux_destroy(struct pollux *p)
{
	if (!p)
		return;
	/* The other ranks may wait for us in a collective for ever. */
	if (p->coll && p->failed && !p->agreed)
		p->coll->ops->abort(p->coll, EXIT_FAILURE);
	plx_run_page_write(p->page, false, p->cursor.step);
	if (p->stage != PLX_STAGE_NEW && p->stage != PLX_STAGE_ENDED)
		plx_pulse_ended(p->pulser);
	end_pulse(p);
	plx_handover_release(p);
	plx_save_release(p);
	plx_samplelog_destroy(p->log);
	plx_reporter_destroy(p->reporter);
	plx_gradient_release(p);
	if (p->coll)
		p->coll->ops->destroy(p->coll);
	free(p->step.numbers);
	free(p->step.peeked);
	plx_registered_release(&p->registered);
	free(p);
}

const char *pollux_error(const struct pollux *p)
{
	if (!p)
		return "there is no run: its pointer is NULL";
	return p->err.text[0] ? p->err.text : "no error";
}
