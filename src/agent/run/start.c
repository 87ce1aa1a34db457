/* SPDX-License-Identifier: MIT */
/* start.c - pollux_start(): who is here, what is allowed, where we left off */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/comm/pulse.h"
#include "agent/disk/folder.h"
#include "agent/gpu/device.h"
#include "agent/gradient/gradient.h"
#include "agent/gradient/memory.h"
#include "agent/gradient/step_size.h"
#include "agent/run/start.h"
#include "agent/state/agent.h"
#include "agent/state/call.h"
#include "agent/state/handover.h"
#include "agent/state/restore.h"
#include "agent/state/say.h"
#include "core/base/crc.h"
#include "core/records/options.h"
#include "wire/env.h"
#include "wire/message.h"
#include "wire/now.h"
#include "wire/run_page.h"

#define ENV_MODEL  "POLLUX_MODEL" /* which step model is fitted */
#define EPOCHS_MAX ((uint64_t) 1 << 32)

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
	/* A step has no batch that a user could choose. */
	if (c->steps)
		o = (struct plx_options){ 0 };
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

/* Texts that were too long to be copied have no end. */
static int check_texts(struct pollux *p)
{
	const char *const texts[] = { p->collectives, p->lr_scaling,
				      p->folder };
	const size_t sizes[] = { sizeof(p->collectives), sizeof(p->lr_scaling),
				 sizeof(p->folder) };
	static const char *const names[] = { "collectives", "lr_scaling",
					     "checkpoint_dir" };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!memchr(texts[i], '\0', sizes[i]))
			return plx_fail(&p->err, "%s \"%.12s...\" is too long",
					names[i], texts[i]);
	}
	return plx_lr_rule_parse(p->lr_scaling, &p->rule, &p->err);
}

static int check_numbers(struct pollux *p)
{
	const struct pollux_config *c = &p->config;

	if (!(c->timeout_s >= 0))
		return plx_fail(&p->err, "timeout_s is %g, want 0 or more",
				c->timeout_s);
	if (!(c->checkpoint_every_s >= 0) && c->checkpoint_every_s != -1)
		return plx_fail(&p->err,
				"checkpoint_every_s is %g, want 0 or more, or "
				"-1",
				c->checkpoint_every_s);
	if (!(c->noise_window >= 1))
		return plx_fail(&p->err, "noise_window is %g, want 1 or more",
				c->noise_window);
	if (!(c->mtbf_s > 0))
		return plx_fail(&p->err, "mtbf_s is %g, want more than 0",
				c->mtbf_s);
	return 0;
}

/* The launcher's socket of the run that this process has had. */
static char had_run[PATH_MAX];

/* A launcher has one run a job. */
static bool is_second(void)
{
	const char *socket = getenv(PLX_ENV_SOCKET);

	return socket && *socket && !strcmp(socket, had_run);
}

static int check_config(struct pollux *p)
{
	const struct pollux_config *c = &p->config;

	if (is_second())
		return plx_fail(&p->err, "this process has had its run under "
					 "the launcher: start another one for "
					 "the next");
	if (c->size == 0)
		return plx_fail(&p->err, "the configuration has no size: call "
					 "pollux_config_init() first");
	if (c->samples < 1)
		return plx_fail(&p->err, "the dataset has no samples");
	if (c->epochs < 1)
		return plx_fail(&p->err, "epochs is %d, want 1 or more",
				c->epochs);
	if (c->order != POLLUX_SHUFFLED && c->order != POLLUX_SEQUENTIAL)
		return plx_fail(&p->err,
				"order is %d, want shuffled (0) or "
				"sequential (1)",
				(int) c->order);
	if (c->counting != POLLUX_DATA && c->counting != POLLUX_PROGRESS)
		return plx_fail(&p->err,
				"counting is %d, want data (0) or "
				"progress (1)",
				(int) c->counting);
	if (!(c->lr > 0) || !isfinite(c->lr))
		return plx_fail(&p->err, "lr is %g, want more than 0", c->lr);
	if (!(c->lr_warmup_epochs >= 0) || !isfinite(c->lr_warmup_epochs))
		return plx_fail(&p->err,
				"lr_warmup_epochs is %g, want 0 or more",
				c->lr_warmup_epochs);
	if (c->checkpoint_keep < 1)
		return plx_fail(&p->err,
				"checkpoint_keep is %d, want 1 or more",
				c->checkpoint_keep);
	if (check_numbers(p) < 0 || check_texts(p) < 0 || find_limits(p) < 0)
		return -1;
	return read_model(&p->growth, &p->err);
}

static int connect_ranks(struct pollux *p)
{
	const struct pollux_config *c = &p->config;
	bool progress = c->counting == POLLUX_PROGRESS;

	p->cursor = (struct plx_cursor){
		.seed = c->seed,
		.samples = c->samples,
		/* Whatever the epoch: progress says when it is enough. */
		.epochs = progress   ? EPOCHS_MAX
			  : c->steps ? c->steps
				     : (uint64_t) c->epochs,
		.sequential = c->order == POLLUX_SEQUENTIAL,
	};
	/* Sums are to be made where the program's tensors are. */
	for (int i = p->registered.tensor_count - 1; i >= 0; i--)
		plx_device_belongs(p->registered.tensors[i].data,
				   p->registered.tensors[i].memory);
	/* Tests bring their own. */
	if (!p->coll)
		p->coll = plx_coll_create(p->collectives, &p->err);
	if (!p->coll)
		return -1;
	p->coll->timeout_s = c->timeout_s;
	p->meter.flushed_s = plx_now_s();
	p->shape = (struct plx_shape){
		.nodes = p->coll->nodes,
		.gpus = p->coll->ranks,
	};
	return 0;
}

/* ---- what all ranks must have alike ---- */

static const char *const terms[] = { "data set, seed or order of samples",
				     "batch sizes or learning rate",
				     "registered state", "buckets" };

enum {
	TERMS = sizeof(terms) / sizeof(terms[0]),
	LEAF = TERMS, /* behind them; it need not be alike */
	SAID,
};

static uint32_t state_crc(const struct pollux *p)
{
	uint32_t crc = 0;

	for (int i = 0; i < p->registered.tensor_count; i++) {
		const struct plx_tensor *t = &p->registered.tensors[i];

		crc = plx_crc32c(crc, t->name, strlen(t->name) + 1);
		crc = plx_crc32c(crc, t->dtype, strlen(t->dtype) + 1);
		crc = plx_crc32c(crc, t->shape,
				 (size_t) t->dims * sizeof(t->shape[0]));
	}
	for (int i = 0; i < p->registered.blob_count; i++) {
		const char *name = p->registered.blobs[i].name;

		crc = plx_crc32c(crc, name, strlen(name) + 1);
	}
	return p->registered.domain.part ? ~crc : crc;
}

static uint32_t buckets_crc(const struct pollux *p)
{
	uint32_t crc = 0;

	for (int i = 0; i < p->bucket_count; i++) {
		const struct pollux_bucket *b = &p->buckets[i].is;
		const uint64_t is[] = { b->count, (uint64_t) b->group,
					(uint64_t) b->memory };

		crc = plx_crc32c(crc, is, sizeof(is));
	}
	return crc;
}

/*
 * Of a rank's leaf switch or block, 0: not known. Slurm tells each step where
 * its node is, "top.leaf.node", and as the pattern what that means; "node"
 * where there are no switches.
 */
static uint32_t leaf_crc(void)
{
	const char *address = getenv("SLURM_TOPOLOGY_ADDR");
	const char *pattern = getenv("SLURM_TOPOLOGY_ADDR_PATTERN");
	const char *node = getenv("SLURMD_NODENAME");

	if (!address || !pattern || !node || !strcmp(pattern, "node") ||
	    strlen(address) <= strlen(node) + 1)
		return 0;
	return plx_crc32c(0, address, strlen(address) - strlen(node) - 1);
}

static void sum_up(const struct pollux *p, uint32_t crcs[SAID])
{
	const struct pollux_config *c = &p->config;
	const struct plx_limits *l = &p->limits;
	const uint64_t data[] = { c->samples, (uint64_t) c->epochs,
				  c->seed,    (uint64_t) c->order,
				  c->steps,   (uint64_t) c->counting };
	const double rate[] = {
		l->base_batch,	  l->max_batch,	       l->min_per_gpu,
		l->max_per_gpu,	  l->accumulate,       c->lr,
		(double) p->rule, c->lr_warmup_epochs,
	};

	crcs[0] = plx_crc32c(0, data, sizeof(data));
	crcs[1] = plx_crc32c(0, rate, sizeof(rate));
	crcs[2] = state_crc(p);
	crcs[3] = buckets_crc(p);
	crcs[LEAF] = leaf_crc();
}

/*
 * The first rank that differs from rank 0, 0: none, and in what; and on how
 * many further switches they are.
 */
struct other {
	int rank;
	int term;
	int further;
};

static void find_other(const uint32_t all[][SAID], int ranks,
		       struct other *other)
{
	for (int rank = 1; rank < ranks; rank++) {
		for (int i = 0; i < TERMS; i++) {
			if (all[rank][i] == all[0][i])
				continue;
			other->rank = rank;
			other->term = i;
			return;
		}
	}
}

/* As far as all ranks know theirs. */
static int find_further(const uint32_t all[][SAID], int ranks)
{
	uint32_t leaves[PLX_FURTHER_MAX + 1];
	int count = 0;

	for (int rank = 0; rank < ranks; rank++) {
		bool seen = false;

		if (!all[rank][LEAF])
			return 0;
		for (int i = 0; i < count && !seen; i++)
			seen = leaves[i] == all[rank][LEAF];
		if (!seen && count <= PLX_FURTHER_MAX)
			leaves[count++] = all[rank][LEAF];
	}
	return plx_further(count);
}

/* Else samples would be used twice or never, or ranks wait for ever. */
static int compare_ranks(struct pollux *p)
{
	const struct plx_coll_ops *ops = p->coll->ops;
	uint32_t(*all)[SAID] = NULL;
	struct other other = { 0 };
	uint32_t own[SAID];
	int rc;

	sum_up(p, own);
	if (p->coll->rank == 0) {
		all = calloc((size_t) p->coll->ranks, sizeof(*all));
		if (!all)
			return plx_fail(&p->err, "out of memory");
	}
	rc = ops->gather(p->coll, own, sizeof(own), all, &p->err);
	if (rc == 0 && all) {
		const uint32_t(*said)[SAID] = (const uint32_t(*)[SAID]) all;

		find_other(said, p->coll->ranks, &other);
		other.further = find_further(said, p->coll->ranks);
	}
	free(all);
	if (rc < 0 || ops->spread(p->coll, &other, sizeof(other), &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	p->shape.further = other.further;
	if (!other.rank)
		return 0;
	p->agreed = true;
	return plx_fail(&p->err, "rank %d has other %s than rank 0", other.rank,
			terms[other.term]);
}

/* ---- where, and from where ---- */

/* Rank 0's: variables need not reach all nodes. */
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
	if (p->folder[0] && p->coll->rank == 0 &&
	    plx_folder_make(p->folder, &p->err) < 0)
		return -1;
	if (p->coll->ops->spread(p->coll, p->folder, sizeof(p->folder),
				 &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	return 0;
}

/* What a job was submitted for does not happen without its launcher. */
static void say_alone(const struct pollux *p)
{
	const char *params = getenv(PLX_ENV_PARAMS);

	if (params && *params && getenv("SLURM_JOB_ID") &&
	    !getenv(PLX_ENV_SOCKET))
		plx_say(p, "this job is elastic (--scheduler-params), but it "
			   "keeps its GPUs: pollux-launch has not started it; "
			   "write: srun pollux-launch PROGRAM");
}

static int greet(struct pollux *p)
{
	if (p->coll->rank == 0 &&
	    plx_reporter_create(&p->reporter, &p->err) < 0)
		return -1;
	say_alone(p);
	plx_reporter_say(p->reporter, PLX_MSG_HELLO " ranks=%d nodes=%d",
			 p->shape.gpus, p->shape.nodes);
	return 0;
}

/* Rank 0's: its times count. Whoever started us may say anything. */
static int find_type(struct pollux *p)
{
	const char *type = getenv(PLX_ENV_GPU_TYPE);

	if (type)
		snprintf(p->gpu_type, sizeof(p->gpu_type), "%s", type);
	if (!plx_types_valid(p->gpu_type))
		memset(p->gpu_type, 0, sizeof(p->gpu_type));
	if (p->coll->ops->spread(p->coll, p->gpu_type, sizeof(p->gpu_type),
				 &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	plx_profile_on(&p->profile, p->gpu_type);
	return 0;
}

/* From another generation's memory, or a checkpoint, or the beginning. */
static int restore(struct pollux *p)
{
	int taken = plx_handover_take(p);
	double begin_s = plx_now_s();

	if (taken < 0)
		return -1;
	if ((taken ? plx_restore_adopt(p) : plx_restore(p)) < 0)
		return -1;
	if (!p->restored && plx_handover_spoilt(p))
		return plx_fail(&p->err, "the ranks before are lost, and there "
					 "is no checkpoint: start again");
	/* Whoever knew better has said so. */
	if (p->restored && !strcmp(p->restored_from, "none"))
		p->restored_from = taken ? "resident" : "disk";
	plx_reporter_say(p->reporter,
			 PLX_MSG_RESTORED " step=%" PRIu64
					  " from=%s seconds=%.6f",
			 p->cursor.step, p->restored_from,
			 plx_now_s() - begin_s);
	/* The profile was of another version: no step brings less than one. */
	if (p->restored && p->profile.progress <= 0)
		p->profile.progress = (double) p->cursor.step;
	if (find_type(p) < 0)
		return -1;
	plx_memory_limit(p);
	return 0;
}

static int open_log(struct pollux *p)
{
	return plx_samplelog_create(&p->log, p->coll, p->cursor.step, &p->err);
}

/*
 * The checkpoint may be of a run that was told to fit the other model, or of
 * other GPUs.
 */
static void refit(struct pollux *p)
{
	if (!p->profile.has_model || p->profile.model.growth != p->growth)
		(void) plx_profile_fit(&p->profile, p->growth, NULL);
}

/* Not again on as many ranks as have trained before. */
static void say_small_base(const struct pollux *p)
{
	int before = plx_profile_largest(&p->profile).gpus;
	int base = p->limits.base_batch;
	int each = p->limits.min_per_gpu;

	if (base >= p->shape.gpus * each || base < before * each)
		return;
	plx_say(p,
		"the base batch of %d is less than %d sample%s for each of %d "
		"ranks: steps are larger than that",
		base, each, each == 1 ? "" : "s", p->shape.gpus);
}

/* What differs from what the program asks for; once, not at each resize. */
static void say_base(const struct pollux *p)
{
	int base = p->limits.base_batch;

	say_small_base(p);
	if (base != p->config.batch && !p->restored)
		plx_say(p,
			"the base batch is %d, as --scheduler-params says, "
			"not the program's %d: the learning rate is to be "
			"tuned for that",
			base, p->config.batch);
}

/* Rank 0 knows best; all use the same from the first step on. */
static int choose_batch(struct pollux *p)
{
	const struct plx_batch none = { 0 };

	refit(p);
	p->batch = plx_profile_advise(&p->profile, &p->limits, p->shape, none,
				      PLX_CHANGE_GAIN);
	if (p->coll->ops->spread(p->coll, &p->batch, sizeof(p->batch),
				 &p->err) < 0)
		return -1;
	p->wanted = p->batch;
	if (!p->config.steps)
		say_base(p);
	if (p->config.steps) {
		plx_say(p,
			"%d rank%s on %d node%s over %s, step %" PRIu64
			" of %" PRIu64,
			p->shape.gpus, p->shape.gpus == 1 ? "" : "s",
			p->shape.nodes, p->shape.nodes == 1 ? "" : "s",
			p->coll->ops->name, p->cursor.step, p->config.steps);
		return 0;
	}
	plx_say(p,
		"%d rank%s on %d node%s over %s, batch %" PRIu64
		" = %d x %d x %d",
		p->shape.gpus, p->shape.gpus == 1 ? "" : "s", p->shape.nodes,
		p->shape.nodes == 1 ? "" : "s", p->coll->ops->name,
		plx_step_total(p), p->shape.gpus, p->batch.per_gpu,
		p->batch.accum + 1);
	return 0;
}

/* What is done, and what kind of error it is if it cannot be. */
static const struct {
	int (*run)(struct pollux *p);
	enum pollux_status code;
} parts[] = {
	{ check_config, POLLUX_EINVAL },
	{ connect_ranks, POLLUX_ECOMM },
	{ compare_ranks, POLLUX_EINVAL },
	{ find_folder, POLLUX_ESTATE },
	{ greet, POLLUX_ECOMM },
	{ restore, POLLUX_ESTATE },
	{ open_log, POLLUX_ESTATE },
	{ choose_batch, POLLUX_ECOMM },
	{ plx_gradient_open, POLLUX_ENOMEM },
};

void plx_run_ended(void)
{
	const char *socket = getenv(PLX_ENV_SOCKET);

	if (socket)
		snprintf(had_run, sizeof(had_run), "%s", socket);
}

static void begin_pulse(struct pollux *p)
{
	const struct plx_pulse_place here = {
		.step = p->cursor.step,
		.between = true,
	};

	p->pulser = plx_pulse_begin(p->coll->rank, p->folder, here);
	p->coll->pulser = p->pulser;
	plx_pulse_hold(p->pulser, p->hold);
}

int pollux_start(struct pollux *p)
{
	if (!p)
		return POLLUX_EINVAL;
	if (p->stage != PLX_STAGE_NEW)
		return plx_misuse(p, "pollux_start()");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].run(p) < 0) {
			plx_fault(p, parts[i].code);
			return plx_end(p);
		}
	}
	p->meter.settling = 1;
	p->page = plx_run_page_open();
	plx_stage(p, PLX_STAGE_BETWEEN);
	begin_pulse(p);
	return 0;
}
