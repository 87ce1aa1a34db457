/* SPDX-License-Identifier: MIT */
/* pollux.c - the life of a run: create, stages and statuses, destroy */
#include <config.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/device.h"
#include "agent/handover.h"
#include "agent/pulse.h"
#include "agent/sized.h"
#include "core/base/crc.h"
#include "wire/now.h"
#include "wire/run_page.h"

void plx_say(const struct pollux *p, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (p->config.quiet || (p->coll && p->coll->rank != 0))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "pollux: %s\n", text);
}

/* ---- stages and statuses ---- */

void plx_stage(struct pollux *p, enum plx_call_stage stage)
{
	if (stage == PLX_STAGE_SYNCED)
		plx_state_changing(p);
	else if (p->stage == PLX_STAGE_SYNCED && stage == PLX_STAGE_BETWEEN)
		plx_state_settled(p);
	p->stage = stage;
	plx_run_page_write(p->page, stage != PLX_STAGE_ENDED, p->cursor.step);
	plx_pulse_moved(p->pulser);
}

int plx_fault(struct pollux *p, enum pollux_status code)
{
	if (p->code == POLLUX_OK)
		p->code = code;
	return -1;
}

int plx_end(struct pollux *p)
{
	plx_stage(p, PLX_STAGE_ENDED);
	p->failed = true;
	/* What nobody has classified concerns state or files. */
	plx_fault(p, POLLUX_ESTATE);
	/* Before anybody aborts, which leaves no time to the others. */
	if (p->code == POLLUX_ECOMM)
		(void) plx_rescue(p);
	return p->code;
}

int plx_misuse(struct pollux *p, const char *call)
{
	static const char *const due[] = {
		[PLX_STAGE_NEW] = "pollux_start()",
		[PLX_STAGE_BETWEEN] = "pollux_next()",
		[PLX_STAGE_PASS] = "pollux_reduce() or pollux_sync()",
		[PLX_STAGE_ADDED] = "pollux_next()",
		[PLX_STAGE_SYNCED] = "pollux_commit()",
		[PLX_STAGE_ENDED] = "pollux_destroy()",
	};

	/* After a failure the first sentence is the one to be kept. */
	if (p->failed)
		return p->code;
	plx_fail(&p->err, "%s is called where %s is due", call, due[p->stage]);
	plx_fault(p, POLLUX_ECALL);
	return plx_end(p);
}

/* An argument is wrong, and why. */
static int wrong(struct pollux *p, const struct plx_error *why)
{
	/* After a failure the first sentence is the one to be kept. */
	if (p->failed)
		return p->code;
	p->err = *why;
	if (p->stage == PLX_STAGE_NEW)
		return POLLUX_EINVAL;
	plx_fault(p, POLLUX_EINVAL);
	return plx_end(p);
}

int plx_given(struct pollux *p, const char *call, const char *name,
	      const void *data)
{
	struct plx_error why;

	if (!p)
		return POLLUX_EINVAL;
	if (data)
		return 0;
	plx_fail(&why, "%s: %s is NULL", call, name);
	return wrong(p, &why);
}

int plx_given_struct(struct pollux *p, const struct plx_sized *is,
		     const void *from, size_t size, void *own)
{
	struct plx_error why;
	int rc = plx_given(p, is->call, is->name, from);

	if (rc == 0 && plx_sized_take(is, from, size, own, &why) < 0)
		rc = wrong(p, &why);
	return rc;
}

int plx_given_output(struct pollux *p, const struct plx_sized *is,
		     const void *to, size_t size)
{
	struct plx_error why;
	int rc = plx_given(p, is->call, is->name, to);

	if (rc == 0 && plx_sized_check(is, size, &why) < 0)
		rc = wrong(p, &why);
	return rc;
}

/* ---- create, destroy ---- */

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
	plx_pulse_end(p);
	plx_handover_release(p);
	plx_save_release(p);
	plx_samplelog_destroy(p->log);
	plx_reporter_destroy(p->reporter);
	plx_gradient_release(p);
	if (p->coll)
		p->coll->ops->destroy(p->coll);
	free(p->step.numbers);
	free(p->step.peeked);
	plx_names_release(&p->names);
	free(p->tensors);
	free(p->blobs);
	free(p);
}

const char *pollux_error(const struct pollux *p)
{
	if (!p)
		return "there is no run: its pointer is NULL";
	return p->err.text[0] ? p->err.text : "no error";
}

uint32_t pollux_crc(const struct pollux *p)
{
	uint32_t crc = 0;

	for (int i = 0; p && i < p->tensor_count; i++) {
		const struct plx_tensor *t = &p->tensors[i];

		(void) plx_device_crc(&crc, t->data, t->bytes, t->memory, NULL);
	}
	return crc;
}
