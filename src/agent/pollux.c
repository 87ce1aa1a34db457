/* SPDX-License-Identifier: MIT */
/* pollux.c - the life of a run: create, register, start, destroy */
#include <config.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "core/crc.h"

#define OWN_PREFIX "pollux." /* names of tensors that are the library's */

static const struct {
	const char *dtype; /* as safetensors calls it */
	size_t bytes;
} types[] = {
	[POLLUX_F32] = { "F32", 4 }, [POLLUX_F64] = { "F64", 8 },
	[POLLUX_F16] = { "F16", 2 }, [POLLUX_BF16] = { "BF16", 2 },
	[POLLUX_I32] = { "I32", 4 }, [POLLUX_I64] = { "I64", 8 },
	[POLLUX_U8] = { "U8", 1 },
};

double plx_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

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

int plx_end(struct pollux *p)
{
	p->stage = PLX_STAGE_ENDED;
	p->failed = true;
	return -1;
}

void pollux_config_init_sized(struct pollux_config *config, size_t size)
{
	const struct pollux_config defaults = {
		.size = size,
		.epochs = 1,
		.batch = 32,
		.min_gpu_batch = 1,
		.accumulate = true,
		.lr = 0.1,
		.collectives = "auto",
		.checkpoint_every_s = 30,
	};

	memset(config, 0, size);
	memcpy(config, &defaults,
	       size < sizeof(defaults) ? size : sizeof(defaults));
}

struct pollux *pollux_create(const struct pollux_config *config)
{
	struct pollux *p = calloc(1, sizeof(*p));
	const char *kind = config->collectives;

	if (!p)
		return NULL;
	memcpy(&p->config, config,
	       config->size < sizeof(p->config) ? config->size
						: sizeof(p->config));
	snprintf(p->collectives, sizeof(p->collectives), "%s",
		 kind ? kind : "auto");
	snprintf(p->folder, sizeof(p->folder), "%s",
		 config->checkpoint_dir ? config->checkpoint_dir : "");
	p->config.collectives = p->collectives;
	p->config.checkpoint_dir = p->folder;
	p->meter.created_s = plx_now_s();
	plx_profile_init(&p->profile);
	return p;
}

void pollux_destroy(struct pollux *p)
{
	if (!p)
		return;
	/* The other ranks may wait for us in a collective for ever. */
	if (p->coll && p->failed)
		p->coll->ops->abort(p->coll, EXIT_FAILURE);
	plx_samplelog_destroy(p->log);
	plx_reporter_destroy(p->reporter);
	if (p->coll)
		p->coll->ops->destroy(p->coll);
	free(p->step.numbers);
	free(p->step.sum);
	free(p->step.previous);
	free(p->tensors);
	free(p);
}

const char *pollux_error(const struct pollux *p)
{
	return p->err.text[0] ? p->err.text : "no error";
}

static bool name_taken(const struct pollux *p, const char *name)
{
	for (int i = 0; i < p->tensor_count; i++) {
		if (!strcmp(p->tensors[i].name, name))
			return true;
	}
	return false;
}

static int check_tensor(struct pollux *p, const struct pollux_tensor *t)
{
	const char *name = t->name ? t->name : "";

	if (p->stage != PLX_STAGE_NEW)
		return plx_fail(&p->err, "pollux_register() is called after "
					 "pollux_start()");
	if (!*name || strlen(name) >= POLLUX_NAME_MAX)
		return plx_fail(&p->err,
				"a tensor's name has 1 to %d bytes: \"%.80s\"",
				POLLUX_NAME_MAX - 1, name);
	if (!strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) || name[0] == '_')
		return plx_fail(&p->err, "tensor name \"%s\" is reserved",
				name);
	if (name_taken(p, name))
		return plx_fail(&p->err, "tensor \"%s\" is registered twice",
				name);
	if ((unsigned int) t->type >= sizeof(types) / sizeof(types[0]))
		return plx_fail(&p->err, "tensor \"%s\" has no known type",
				name);
	if (t->dims < 0 || t->dims > POLLUX_DIMS_MAX)
		return plx_fail(&p->err,
				"tensor \"%s\": %d dimensions, want "
				"0 to %d",
				name, t->dims, POLLUX_DIMS_MAX);
	return 0;
}

int pollux_register(struct pollux *p, const struct pollux_tensor *tensor)
{
	struct plx_tensor new = { .dims = tensor->dims, .data = tensor->data };
	struct plx_tensor *more;

	if (check_tensor(p, tensor) < 0)
		return -1;
	snprintf(new.name, sizeof(new.name), "%s", tensor->name);
	new.dtype = types[tensor->type].dtype;
	new.memory = tensor->memory;
	new.bytes = types[tensor->type].bytes;
	for (int i = 0; i < tensor->dims; i++) {
		new.shape[i] = tensor->shape[i];
		if (__builtin_mul_overflow(new.bytes, new.shape[i], &new.bytes))
			return plx_fail(&p->err, "tensor \"%s\" is too large",
					new.name);
	}
	if (new.bytes && !new.data)
		return plx_fail(&p->err, "tensor \"%s\" has no data", new.name);
	more = realloc(p->tensors,
		       ((size_t) p->tensor_count + 1) * sizeof(*more));
	if (!more)
		return plx_fail(&p->err, "out of memory");
	more[p->tensor_count++] = new;
	p->tensors = more;
	return 0;
}

uint32_t pollux_crc(const struct pollux *p)
{
	uint32_t crc = 0;

	for (int i = 0; i < p->tensor_count; i++)
		crc = plx_crc32c(crc, p->tensors[i].data, p->tensors[i].bytes);
	return crc;
}

bool pollux_stopped(const struct pollux *p)
{
	return p->stopped;
}

double pollux_lr(const struct pollux *p)
{
	return p->step.lr;
}

static double efficiency(const struct pollux *p, double total,
			 const struct plx_noise *noise)
{
	double base = p->limits.base_batch;

	return total > base ? plx_efficiency(noise, base, total) : 1.0;
}

static void fill_info(const struct pollux *p, struct pollux_info *info)
{
	struct plx_noise noise = { 0 };
	bool known = plx_noise_get(&p->profile.tracker, &noise);
	double total = p->coll ? (double) plx_batch_total(
					 &p->limits, p->shape.gpus, p->batch)
			       : 0;

	*info = (struct pollux_info){
		.rank = p->coll ? p->coll->rank : 0,
		.gpus = p->shape.gpus,
		.nodes = p->shape.nodes,
		.collectives = p->coll ? p->coll->ops->name : "",
		.restored = p->restored,
		.epoch = (int) p->cursor.epoch,
		.step = p->cursor.step,
		.samples_used = plx_cursor_used(&p->cursor),
		.batch = (int) total,
		.per_gpu = p->batch.per_gpu,
		.accum = p->batch.accum,
		.lr = p->step.lr,
		.loss = p->step.loss,
		.samples_per_s = p->meter.samples_per_s,
		.goodput = p->meter.samples_per_s,
		.profiled = p->profile.has_model,
	};
	if (!known)
		return;
	info->noise_scale = p->limits.base_batch * noise.var / noise.sqr;
	info->goodput *= efficiency(p, total, &noise);
}

void pollux_info_sized(const struct pollux *p, struct pollux_info *info,
		       size_t size)
{
	struct pollux_info full;

	fill_info(p, &full);
	full.size = size;
	memset(info, 0, size);
	memcpy(info, &full, size < sizeof(full) ? size : sizeof(full));
}
