/* SPDX-License-Identifier: MIT */
/* start.c - pollux_start(): who is here, what is allowed, where we left off */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/folder.h"
#include "core/options.h"
#include "wire/env.h"
#include "wire/message.h"

#define ENV_MODEL "POLLUX_MODEL" /* which step model is fitted */

/* What --scheduler-params says; all zero without it. */
static int read_options(struct plx_options *options, struct plx_error *err)
{
	const char *text = getenv(PLX_ENV_PARAMS);
	struct plx_error why;

	*options = (struct plx_options){ 0 };
	if (!text || !*text)
		return 0;
	if (plx_options_parse(text, options, &why) < 0)
		return plx_fail(err, PLX_ENV_PARAMS ": %s", why.text);
	return 0;
}

/* By doublings, unless the user wants the paper's. */
static int read_model(enum plx_growth *growth, struct plx_error *err)
{
	const char *text = getenv(ENV_MODEL);

	*growth = PLX_BY_DOUBLING;
	if (!text || !*text || !strcmp(text, "doubling"))
		return 0;
	*growth = PLX_BY_GPU;
	if (!strcmp(text, "paper"))
		return 0;
	return plx_fail(err, ENV_MODEL "=%.80s: want doubling or paper", text);
}

static int first_of(int a, int b, int c)
{
	if (a)
		return a;
	return b ? b : c;
}

/* The user's options go before the program's, and those before defaults. */
static int find_limits(struct pollux *p)
{
	const struct pollux_config *c = &p->config;
	struct plx_limits *l = &p->limits;
	struct plx_options o;

	if (read_options(&o, &p->err) < 0)
		return -1;
	l->base_batch = first_of(o.base_batch, c->batch, 0);
	l->max_batch = first_of(o.max_batch, c->max_batch, l->base_batch);
	/* A base given to the job is not undone by the program's default. */
	if (!o.max_batch && o.base_batch > l->max_batch)
		l->max_batch = o.base_batch;
	l->min_per_gpu = first_of(o.min_gpu_batch, c->min_gpu_batch, 1);
	l->max_per_gpu =
		first_of(o.max_gpu_batch, c->max_gpu_batch, l->max_batch);
	/* "No limit" as a large number; no pass is larger than the batch. */
	if (l->max_per_gpu > l->max_batch)
		l->max_per_gpu = l->max_batch;
	l->accumulate = c->accumulate;
	if (l->base_batch < 1 || l->max_batch < l->base_batch ||
	    l->max_batch > PLX_BATCH_MAX)
		return plx_fail(&p->err,
				"batch %d and max_batch %d: want 1 <= batch "
				"<= max_batch <= %d",
				l->base_batch, l->max_batch, PLX_BATCH_MAX);
	if (l->min_per_gpu < 1 || l->max_per_gpu < l->min_per_gpu)
		return plx_fail(&p->err,
				"min_gpu_batch %d and max_gpu_batch %d: want "
				"1 <= min <= max",
				l->min_per_gpu, l->max_per_gpu);
	return 0;
}

static int check_config(struct pollux *p)
{
	const struct pollux_config *c = &p->config;

	if (p->stage != PLX_STAGE_NEW)
		return plx_fail(&p->err, "pollux_start() is called twice");
	if (c->samples < 1)
		return plx_fail(&p->err, "the dataset has no samples");
	if (c->epochs < 1)
		return plx_fail(&p->err, "epochs is %d, want 1 or more",
				c->epochs);
	if (!(c->lr > 0) || !isfinite(c->lr))
		return plx_fail(&p->err, "lr is %g, want more than 0", c->lr);
	if (!(c->checkpoint_every_s >= 0))
		return plx_fail(&p->err,
				"checkpoint_every_s is %g, want 0 or more",
				c->checkpoint_every_s);
	return 0;
}

static int find_folder(struct pollux *p)
{
	const char *given = getenv(PLX_ENV_CHECKPOINTS);

	if (!p->folder[0] && given)
		snprintf(p->folder, sizeof(p->folder), "%s", given);
	if (!p->folder[0] && getenv(PLX_ENV_SOCKET))
		return plx_fail(&p->err,
				"there is a launcher, but no folder "
				"for checkpoints: set "
				"checkpoint_dir or " PLX_ENV_CHECKPOINTS);
	if (p->folder[0] && p->coll->rank == 0)
		return plx_folder_make(p->folder, &p->err);
	return 0;
}

static int greet(struct pollux *p)
{
	if (p->coll->rank == 0 &&
	    plx_reporter_create(&p->reporter, &p->err) < 0)
		return -1;
	plx_reporter_say(p->reporter, PLX_MSG_HELLO " ranks=%d nodes=%d",
			 p->shape.gpus, p->shape.nodes);
	return 0;
}

/* The checkpoint may be of a run that was told to fit the other model. */
static void refit(struct pollux *p)
{
	if (p->profile.has_model && p->profile.model.growth != p->growth)
		(void) plx_profile_fit(&p->profile, p->growth, NULL);
}

/* Rank 0 knows best; all use the same from the first step on. */
static int choose_batch(struct pollux *p)
{
	const struct plx_batch none = { 0 };

	refit(p);
	p->batch = plx_profile_advise(&p->profile, &p->limits, p->shape, none);
	if (p->coll->ops->spread(p->coll, &p->batch, sizeof(p->batch),
				 &p->err) < 0)
		return -1;
	p->wanted = p->batch;
	plx_say(p,
		"%d rank%s on %d node%s over %s, batch %" PRIu64
		" = %d x %d x %d",
		p->shape.gpus, p->shape.gpus == 1 ? "" : "s", p->shape.nodes,
		p->shape.nodes == 1 ? "" : "s", p->coll->ops->name,
		plx_batch_total(&p->limits, p->shape.gpus, p->batch),
		p->shape.gpus, p->batch.per_gpu, p->batch.accum + 1);
	return 0;
}

static int start(struct pollux *p)
{
	if (check_config(p) < 0 || find_limits(p) < 0 ||
	    read_model(&p->growth, &p->err) < 0)
		return -1;
	p->cursor = (struct plx_cursor){
		.seed = p->config.seed,
		.samples = p->config.samples,
		.epochs = (uint64_t) p->config.epochs,
	};
	p->coll = plx_coll_create(p->collectives, &p->err);
	if (!p->coll)
		return -1;
	p->meter.flushed_s = plx_now_s();
	p->shape = (struct plx_shape){
		.nodes = p->coll->nodes,
		.gpus = p->coll->ranks,
	};
	if (find_folder(p) < 0 || greet(p) < 0 || plx_restore(p) < 0 ||
	    plx_samplelog_create(&p->log, p->coll, p->cursor.step, &p->err) <
		    0 ||
	    choose_batch(p) < 0)
		return -1;
	p->meter.settling = 1;
	p->stage = PLX_STAGE_BETWEEN;
	return 0;
}

int pollux_start(struct pollux *p)
{
	return start(p) < 0 ? plx_end(p) : 0;
}
