/* SPDX-License-Identifier: GPL-2.0-or-later */
/* local.c - a job without Slurm: its record, and who may ask for what */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/records/options.h"
#include "core/base/section.h"
#include "core/records/status.h"
#include "launcher/job/control.h"
#include "launcher/job/local.h"
#include "launcher/job/local_gpus.h"
#include "launcher/job/launch_options.h"
#include "launcher/job/program_name.h"
#include "launcher/job/run_folder.h"

#define PARAMS_SIZE 512
#define BASE_SIZE   41 /* of a name that a number may follow */
#define ANSWER_SIZE 256
#define NAMES_MAX   99 /* jobs after the same program */

struct plx_local {
	char name[PLX_LOCAL_NAME_MAX];
	char base[PLX_LOCAL_NAME_MAX]; /* name, without a number */
	char node[PLX_NODE_NAME_SIZE]; /* this machine */
	char params[PARAMS_SIZE];
	char *devices; /* NULL: none */
	int gpus;
	int lock; /* of the run folder, -1: not held */
	struct plx_options limits;
	struct plx_control *control;
	struct plx_registry registry;
	pthread_mutex_t mutex; /* protects all that follows */
	int has;	       /* ranks that it may run now */
	int had;	       /* and did before the present target */
	int wanted;	       /* and after the present target */
	int wish;	       /* of the program, as last followed */
	struct plx_target target;
	char status[PLX_FIELDS_MAX];
};

/* ---- the record ---- */

/* The launcher is to look at it. */
static void wake(void)
{
	kill(getpid(), SIGURG);
}

static int put_ranks(const struct plx_local *local, int ranks,
		     struct plx_layout *layout, struct plx_error *err)
{
	struct plx_layout_node node = { .ranks = ranks };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	/* Without GPUs, processors are dealt out as if they were. */
	layout->gpus = true;
	if (!ranks)
		return 0;
	node.cpus = cpus > 0 ? (int) cpus : 1;
	snprintf(node.name, sizeof(node.name), "%s", local->node);
	if (local->gpus)
		snprintf(node.gres, sizeof(node.gres), "gpu:%d(IDX:0-%d)",
			 ranks, ranks - 1);
	return plx_layout_add(layout, &node, err);
}

static int fill_job(const struct plx_local *local, struct plx_job_seen *job,
		    struct plx_error *err)
{
	bool lent = local->target.state == PLX_TARGET_LENT;

	job->target = local->target;
	snprintf(job->where, sizeof(job->where), "%s", local->node);
	snprintf(job->aim_where, sizeof(job->aim_where), "%s", local->node);
	strcpy(job->status, local->status);
	if (put_ranks(local, local->has, &job->layout, err) < 0)
		return -1;
	return put_ranks(local, lent ? local->wanted : local->has, &job->aim,
			 err);
}

static int load(void *self, struct plx_job_seen *job, struct plx_error *err)
{
	struct plx_job_seen read = { .id = (uint32_t) getpid() };
	struct plx_local *local = self;
	int rc;

	pthread_mutex_lock(&local->mutex);
	rc = fill_job(local, &read, err);
	pthread_mutex_unlock(&local->mutex);
	if (rc < 0)
		plx_job_release(&read);
	else
		*job = read;
	return rc;
}

/*
 * As the scheduler does it: ranks that train on are lent what they have and
 * what they are to have; the rest is taken once they do without.
 */
static void follow(struct plx_local *local, const struct plx_status *status)
{
	struct plx_target *target = &local->target;

	if (status->ack != target->serial)
		return;
	/* Its next ranks fail, those before them train on. */
	if (status->failed.is && status->failed.serial == target->serial) {
		if (target->state == PLX_TARGET_REFUSED)
			return;
		local->has = local->had;
		target->state = PLX_TARGET_REFUSED;
		snprintf(target->why, sizeof(target->why),
			 "its new ranks fail%s%s",
			 status->failed.why[0] ? ": " : "", status->failed.why);
		wake();
		return;
	}
	if (target->state == PLX_TARGET_REQUESTED && status->live) {
		bool shrinks = local->wanted < local->has;

		target->state = shrinks ? PLX_TARGET_LENT : PLX_TARGET_DONE;
		if (!shrinks)
			local->has = local->wanted;
		wake();
	} else if (target->state == PLX_TARGET_REQUESTED ||
		   (target->state == PLX_TARGET_LENT && !status->live)) {
		local->has = local->wanted;
		target->state =
			local->has ? PLX_TARGET_DONE : PLX_TARGET_PARKED;
		wake();
	}
}

static void ask_resize(struct plx_local *local, int ranks, char *answer,
		       size_t size);

/* The program's own wish: once, when it is free to follow. */
static void follow_wish(struct plx_local *local, int want)
{
	const struct plx_options *limits = &local->limits;
	int most = want < limits->max_gpus ? want : limits->max_gpus;
	int ranks = plx_sizes_down(&limits->sizes, most);
	char answer[ANSWER_SIZE];

	if (want == local->wish)
		return;
	if (ranks < limits->min_gpus)
		ranks = limits->min_gpus;
	if (want)
		ask_resize(local, ranks, answer, sizeof(answer));
	if (!want || !strncmp(answer, "ok", 2))
		local->wish = want;
}

static int publish(void *self, struct plx_job_words *words,
		   struct plx_job_seen *seen, struct plx_error *err)
{
	struct plx_local *local = self;
	char comment[PLX_COMMENT_MAX + PLX_FIELDS_MAX];
	struct plx_status status = { 0 }; /* fields may be none */

	seen->id = 0;
	words->shortened = false;
	snprintf(comment, sizeof(comment), "[pollux %s]", words->fields);
	if (plx_status_read(comment, &status, err) < 0)
		return -1;
	pthread_mutex_lock(&local->mutex);
	snprintf(local->status, sizeof(local->status), "%s", words->fields);
	follow(local, &status);
	follow_wish(local, status.want);
	pthread_mutex_unlock(&local->mutex);
	return 0;
}

static int signal_step(void *self, const char *name, int signal,
		       struct plx_error *err)
{
	(void) self;
	(void) name;
	(void) err;
	/* The launcher has killed mpirun itself; ranks end with it. */
	if (signal == SIGURG)
		plx_local_nudge();
	return 0;
}

/* ---- requests ---- */

/* Caller holds the mutex. A sentence in answer. */
static void ask_resize(struct plx_local *local, int ranks, char *answer,
		       size_t size)
{
	struct plx_target *target = &local->target;
	int least = local->limits.min_gpus;
	int most = local->limits.max_gpus;

	if (ranks && !plx_sizes_allow(&local->limits.sizes, ranks)) {
		char sizes[PLX_SIZES_TEXT];

		plx_sizes_text(&local->limits.sizes, sizes, sizeof(sizes));
		snprintf(answer, size,
			 "error %d ranks: this job has %s, or 0 to pause it",
			 ranks, sizes);
		return;
	}
	if (ranks && (ranks < least || ranks > most)) {
		snprintf(answer, size,
			 "error %d ranks: this job takes %d to %d, or 0 to "
			 "pause it",
			 ranks, least, most);
		return;
	}
	/* Ranks that cannot be told to save would be killed. */
	if (!local->status[0]) {
		snprintf(answer, size,
			 "error it cannot be resized (yet): its ranks neither "
			 "use libpollux nor catch the signal of --on-resize");
		return;
	}
	if (target->state == PLX_TARGET_REQUESTED ||
	    target->state == PLX_TARGET_LENT) {
		snprintf(answer, size, "error it is being resized to %d ranks",
			 local->wanted);
		return;
	}
	if (ranks == local->has) {
		snprintf(answer, size, "ok serial=%u", target->serial);
		return;
	}
	local->wanted = ranks;
	local->had = local->has;
	*target = (struct plx_target){ .serial = target->serial + 1,
				       .state = PLX_TARGET_REQUESTED,
				       .nodes = ranks ? 1 : 0,
				       .gpus_per_node = ranks,
				       .why = "asked by its user" };
	snprintf(target->on, sizeof(target->on), "%s", local->node);
	snprintf(answer, size, "ok serial=%u", target->serial);
	wake();
}

/* Caller holds the mutex. */
static void ask_checkpoint(const struct plx_local *local, char *answer,
			   size_t size)
{
	if (!local->has)
		snprintf(answer, size, "error it is paused: all is saved");
	else if (!local->status[0])
		snprintf(answer, size, "error its ranks cannot be asked (yet)");
	else
		kill(getpid(), SIGUSR1);
}

static void tell(const struct plx_local *local, char *answer, size_t size)
{
	snprintf(answer, size,
		 "ok name=%s pid=%ld ranks=%d wanted=%d min=%d max=%d gpus=%d "
		 "serial=%u state=%s %s",
		 local->name, (long) getpid(), local->has, local->wanted,
		 local->limits.min_gpus, local->limits.max_gpus, local->gpus,
		 local->target.serial,
		 plx_target_state_name(local->target.state), local->status);
}

/* One request (control.h): a line for a line. */
static void answer_line(void *arg, const char *request, char *answer,
			size_t size)
{
	struct plx_local *local = arg;
	int ranks;

	snprintf(answer, size, "ok");
	pthread_mutex_lock(&local->mutex);
	if (sscanf(request, "resize %d", &ranks) == 1)
		ask_resize(local, ranks, answer, size);
	else if (!strcmp(request, "status"))
		tell(local, answer, size);
	else if (!strcmp(request, "checkpoint"))
		ask_checkpoint(local, answer, size);
	else if (!strcmp(request, "stop"))
		kill(getpid(), SIGTERM);
	else
		snprintf(answer, size, "error unknown request");
	pthread_mutex_unlock(&local->mutex);
}

/* ---- its life ---- */

static int take_name(struct plx_local *local,
		     const struct plx_local_order *order, struct plx_error *err)
{
	char *base = local->base;
	bool taken = true;

	if (order->name && !plx_run_name_ok(order->name))
		return plx_fail(err,
				"--name=%.60s: want at most %d letters, "
				"digits, '.', '_' and '-'",
				order->name, PLX_LOCAL_NAME_MAX - 1);
	if (order->name)
		snprintf(base, sizeof(local->base), "%s", order->name);
	else
		plx_program_name(order->program, base, BASE_SIZE);
	if (!plx_run_name_ok(base))
		strcpy(base, "job");
	strcpy(local->name, base);
	local->lock = plx_run_take(local->name, &taken, err);
	for (int i = 2; i <= NAMES_MAX && local->lock < 0 && taken; i++) {
		if (order->name)
			break;
		snprintf(local->name, sizeof(local->name), "%.32s-%d", base, i);
		local->lock = plx_run_take(local->name, &taken, err);
	}
	return local->lock < 0 ? -1 : 0;
}

/* "min=1,max=8" is enough here; "pollux,min=1,max=8" is right, too. */
static int read_params(struct plx_local *local, const char *params,
		       struct plx_error *err)
{
	bool whole = params && !strncmp(params, "pollux", 6);
	struct plx_error why;
	int length;

	if (!params || !*params || whole)
		length = snprintf(local->params, sizeof(local->params), "%s",
				  whole ? params : "pollux");
	else
		length = snprintf(local->params, sizeof(local->params),
				  "pollux,%s", params);
	if (length < 0 || (size_t) length >= sizeof(local->params))
		return plx_fail(err, "--params is too long");
	if (plx_options_parse(local->params, &local->limits, &why) < 0)
		return plx_fail(err, "--params: %s", why.text);
	return 0;
}

static int find_size(struct plx_local *local,
		     const struct plx_local_order *order, struct plx_error *err)
{
	struct plx_options *limits = &local->limits;
	int ranks = order->ranks;
	char sizes[PLX_SIZES_TEXT];

	local->devices = plx_local_gpus(&local->gpus, err);
	if (!local->devices && local->gpus < 0)
		return -1;
	if (local->gpus && ranks > local->gpus)
		return plx_fail(err,
				"-n %d, but this machine has %d GPUs; to run "
				"on processors alone, set "
				"CUDA_VISIBLE_DEVICES=",
				ranks, local->gpus);
	if (!limits->max_gpus)
		limits->max_gpus = local->gpus ? local->gpus : PLX_GPUS_MAX;
	if (local->gpus && limits->max_gpus > local->gpus)
		limits->max_gpus = local->gpus;
	if (limits->min_gpus > limits->max_gpus)
		return plx_fail(err, "min=%d, but this machine has %d GPUs",
				limits->min_gpus, local->gpus);
	if (!ranks)
		ranks = local->gpus ? local->gpus : 1;
	if (!order->ranks && ranks < limits->min_gpus)
		ranks = limits->min_gpus;
	if (!order->ranks && ranks > limits->max_gpus)
		ranks = limits->max_gpus;
	if (!order->ranks)
		ranks = plx_sizes_down(&limits->sizes, ranks);
	if (!plx_sizes_allow(&limits->sizes, ranks)) {
		plx_sizes_text(&limits->sizes, sizes, sizeof(sizes));
		return plx_fail(err, "-n %d: --params has %.200s", ranks,
				sizes);
	}
	if (ranks < limits->min_gpus || ranks > limits->max_gpus)
		return plx_fail(err, "-n %d: --params wants %d to %d", ranks,
				limits->min_gpus, limits->max_gpus);
	local->has = ranks;
	local->wanted = ranks;
	return 0;
}

struct plx_local *plx_local_create(const struct plx_local_order *order,
				   struct plx_error *err)
{
	struct plx_local *local = calloc(1, sizeof(*local));

	if (!local) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	local->lock = -1;
	pthread_mutex_init(&local->mutex, NULL);
	local->registry = (struct plx_registry){ .self = local,
						 .load = load,
						 .publish = publish,
						 .signal_step = signal_step };
	if (gethostname(local->node, sizeof(local->node) - 1) < 0)
		strcpy(local->node, "localhost");
	local->node[strcspn(local->node, ".")] = '\0';
	if (read_params(local, order->params, err) < 0 ||
	    find_size(local, order, err) < 0 ||
	    take_name(local, order, err) < 0)
		goto fail;
	local->control = plx_control_create(
		local->name, &(struct plx_control_asked){ answer_line, local },
		err);
	if (!local->control)
		goto fail;
	return local;
fail:
	plx_local_destroy(local);
	return NULL;
}

void plx_local_destroy(struct plx_local *local)
{
	if (!local)
		return;
	plx_control_destroy(local->control);
	if (local->lock >= 0)
		plx_run_forget(local->name, local->lock);
	pthread_mutex_destroy(&local->mutex);
	free(local->devices);
	free(local);
}

const char *plx_local_name(const struct plx_local *local)
{
	return local->name;
}

const char *plx_local_base(const struct plx_local *local)
{
	return local->base;
}

const char *plx_local_node(const struct plx_local *local)
{
	return local->node;
}

const char *plx_local_devices(const struct plx_local *local)
{
	return local->devices;
}

const char *plx_local_params(const struct plx_local *local)
{
	return local->params;
}

const struct plx_registry *plx_local_registry(struct plx_local *local)
{
	return &local->registry;
}
