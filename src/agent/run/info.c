/* SPDX-License-Identifier: MIT */
/* info.c - what is going on, for the program to ask */
#include <config.h>

#include <string.h>

#include "agent/gradient/rate.h"
#include "agent/gradient/step_size.h"
#include "agent/state/agent.h"

bool pollux_stopped(const struct pollux *p)
{
	return p && p->stopped;
}

const char *pollux_version(void)
{
	return PACKAGE_VERSION;
}

uint32_t pollux_crc(const struct pollux *p)
{
	return p ? plx_registered_crc(&p->registered) : 0;
}

static void fill_rates(const struct pollux *p, struct pollux_info *info)
{
	double total = p->coll ? (double) plx_step_total(p) : 0;
	struct plx_noise noise;

	info->batch = (int) total;
	info->efficiency = plx_rate_efficiency(p, total);
	info->goodput = info->samples_per_s * info->efficiency;
	if (plx_rate_noise(p, &noise))
		info->noise_scale =
			p->limits.base_batch * noise.var / noise.sqr;
	if (info->goodput > 0)
		info->remaining_s = plx_rate_left(p) / info->goodput;
}

static void fill_info(const struct pollux *p, struct pollux_info *info)
{
	*info = (struct pollux_info){
		.rank = p->coll ? p->coll->rank : 0,
		.gpus = p->shape.gpus,
		.nodes = p->shape.nodes,
		.collectives = p->coll ? p->coll->ops->name : "",
		.restored = p->restored,
		.epoch = (int) p->cursor.epoch,
		.step = p->cursor.step,
		.samples_used = plx_cursor_used(&p->cursor),
		.per_gpu = p->batch.per_gpu,
		.accum = p->batch.accum,
		.lr = p->step.lr,
		.loss = p->step.all.loss,
		.samples_per_s = p->meter.samples_per_s,
		.profiled = p->profile.has_model,
		.progress = pollux_progress(p),
		.restart_s = p->profile.restart_s,
		.checkpoint_s = p->saved.seconds,
	};
	fill_rates(p, info);
}

void pollux_info_sized(const struct pollux *p, struct pollux_info *info,
		       size_t size)
{
	struct pollux_info full = { 0 };

	if (!info)
		return;
	if (p)
		fill_info(p, &full);
	full.size = size;
	memset(info, 0, size);
	memcpy(info, &full, size < sizeof(full) ? size : sizeof(full));
}
