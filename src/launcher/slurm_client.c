/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_client.c - speaks with slurmctld so that the launcher need not wait for it
 *
 * One order of each kind at a time; a newer one replaces it. The lock is held
 * to take an order or to hand in news, never during an RPC.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/fields.h"
#include "core/records/options.h"
#include "launcher/slurm_client.h"
#include "launcher/clock.h"
#include "launcher/looks.h"
#include "wire/thread.h"

#define BACKOFF_FIRST_S 0.25
#define BACKOFF_LAST_S	16.0

enum order {
	ORDER_NONE,
	ORDER_PUBLISH,
	ORDER_SIGNAL,
	ORDER_LOOK,
	ORDER_LEAVE,
};

struct plx_clerk {
	struct plx_job_who who;
	uint32_t seed; /* of the rhythm of tries */
	struct plx_registry registry;
	int fd;
	pthread_t thread;
	pthread_mutex_t mutex; /* protects all that follows */
	pthread_cond_t wake;
	bool leave;
	bool look;
	int signal; /* for all processes of step, 0: none */
	char step[PLX_NODE_NAME_SIZE];
	unsigned int wanted; /* number of the status to write */
	char fields[PLX_FIELDS_MAX];
	char bare[PLX_FIELDS_MAX];
	double retry_s; /* no status before this time */
	double backoff_s;
	struct plx_news news;
};

/* Work is ready; *until_s: when to ask again if not, 0: when woken. */
static enum order next_order(const struct plx_clerk *clerk, double *until_s)
{
	bool behind = clerk->wanted != clerk->news.published;

	*until_s = 0;
	if (behind && plx_now_s() >= clerk->retry_s)
		return ORDER_PUBLISH;
	if (clerk->signal)
		return ORDER_SIGNAL;
	/* The last status is tried as long as the owner has patience. */
	if (clerk->leave && !behind)
		return ORDER_LEAVE;
	if (behind)
		*until_s = clerk->retry_s;
	return clerk->look ? ORDER_LOOK : ORDER_NONE;
}

static void wait_for_order(struct plx_clerk *clerk, double until_s)
{
	struct timespec t = { .tv_sec = (time_t) until_s };

	t.tv_nsec = (long) ((until_s - (double) t.tv_sec) * 1e9);
	if (until_s > 0)
		pthread_cond_timedwait(&clerk->wake, &clerk->mutex, &t);
	else
		pthread_cond_wait(&clerk->wake, &clerk->mutex);
}

static void hand_in(struct plx_clerk *clerk, const struct plx_error *trouble)
{
	uint64_t one = 1;

	if (trouble) {
		clerk->news.is_trouble = true;
		clerk->news.trouble = *trouble;
	}
	while (write(clerk->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* With the mutex held; *job is news, and not the caller's any more. */
static void keep_job(struct plx_clerk *clerk, const struct plx_job *job,
		     double began_s)
{
	if (clerk->news.has_job)
		plx_job_release(&clerk->news.job);
	clerk->news.has_job = true;
	clerk->news.job = *job;
	clerk->news.looked_s = began_s;
}

/* These three are called with the mutex held and give it up meanwhile. */
static void do_publish(struct plx_clerk *clerk)
{
	unsigned int number = clerk->wanted;
	char fields[PLX_FIELDS_MAX];
	char bare[PLX_FIELDS_MAX];
	struct plx_job_words words = { .fields = fields, .bare = bare };
	double began_s = plx_now_s();
	struct plx_error err;
	struct plx_job seen;
	int rc;

	strcpy(fields, clerk->fields);
	strcpy(bare, clerk->bare);
	pthread_mutex_unlock(&clerk->mutex);
	rc = clerk->registry.publish(clerk->registry.self, &words, &seen, &err);
	pthread_mutex_lock(&clerk->mutex);
	if (seen.id)
		keep_job(clerk, &seen, began_s);
	if (rc < 0) {
		clerk->retry_s =
			plx_now_s() +
			plx_looks_jitter(&clerk->seed, clerk->backoff_s);
		clerk->backoff_s *= 2;
		if (clerk->backoff_s > BACKOFF_LAST_S)
			clerk->backoff_s = BACKOFF_LAST_S;
	} else {
		clerk->backoff_s = BACKOFF_FIRST_S;
		clerk->news.published = number;
		clerk->news.published_s = plx_now_s();
		clerk->news.shortened = words.shortened;
	}
	hand_in(clerk, rc < 0 ? &err : NULL);
}

static void do_signal(struct plx_clerk *clerk)
{
	int signal = clerk->signal;
	char step[PLX_NODE_NAME_SIZE];
	struct plx_error err;
	int rc;

	strcpy(step, clerk->step);
	clerk->signal = 0;
	pthread_mutex_unlock(&clerk->mutex);
	rc = clerk->registry.signal_step(clerk->registry.self, step, signal,
					 &err);
	pthread_mutex_lock(&clerk->mutex);
	hand_in(clerk, rc < 0 ? &err : NULL);
}

static void do_look(struct plx_clerk *clerk)
{
	double began_s = plx_now_s();
	struct plx_error err;
	struct plx_job job;
	int rc;

	clerk->look = false;
	pthread_mutex_unlock(&clerk->mutex);
	rc = clerk->registry.load(clerk->registry.self, &job, &err);
	pthread_mutex_lock(&clerk->mutex);
	if (rc == 0)
		keep_job(clerk, &job, began_s);
	hand_in(clerk, rc < 0 ? &err : NULL);
}

static void *work(void *arg)
{
	struct plx_clerk *clerk = arg;
	enum order order;
	double until_s;

	pthread_mutex_lock(&clerk->mutex);
	while ((order = next_order(clerk, &until_s)) != ORDER_LEAVE) {
		if (order == ORDER_PUBLISH)
			do_publish(clerk);
		else if (order == ORDER_SIGNAL)
			do_signal(clerk);
		else if (order == ORDER_LOOK)
			do_look(clerk);
		else
			wait_for_order(clerk, until_s);
	}
	pthread_mutex_unlock(&clerk->mutex);
	return NULL;
}

static int load_job(void *self, struct plx_job *job, struct plx_error *err)
{
	const struct plx_clerk *clerk = self;

	return plx_job_load(&clerk->who, job, err);
}

static int publish_job(void *self, struct plx_job_words *words,
		       struct plx_job *seen, struct plx_error *err)
{
	const struct plx_clerk *clerk = self;

	return plx_job_publish(&clerk->who, words, seen, err);
}

static int signal_step(void *self, const char *name, int signal,
		       struct plx_error *err)
{
	const struct plx_clerk *clerk = self;

	return plx_job_signal_step(clerk->who.id, name, signal, err);
}

static void init_sync(struct plx_clerk *clerk)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&clerk->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&clerk->mutex, NULL);
}

/* What its user allowed; bad options were refused when it was submitted. */
static struct plx_sizes sizes_of(const char *params)
{
	struct plx_options options = { 0 };
	struct plx_error err;

	if (params && plx_options_parse(params, &options, &err) == 0)
		return options.sizes;
	return (struct plx_sizes){ 0 };
}

struct plx_clerk *plx_clerk_create(uint32_t job_id, const char *params,
				   const char *home, struct plx_error *err)
{
	struct plx_clerk *clerk = calloc(1, sizeof(*clerk));

	if (!clerk) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	clerk->who = (struct plx_job_who){ .id = job_id,
					   .elastic = params != NULL,
					   .home = home,
					   .sizes = sizes_of(params) };
	clerk->seed = job_id + (uint32_t) getpid();
	clerk->registry = (struct plx_registry){ .self = clerk,
						 .load = load_job,
						 .publish = publish_job,
						 .signal_step = signal_step };
	clerk->backoff_s = BACKOFF_FIRST_S;
	init_sync(clerk);
	clerk->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (clerk->fd < 0 ||
	    plx_thread_begin(&clerk->thread, work, clerk) < 0) {
		plx_fail(err, "cannot start a thread");
		if (clerk->fd >= 0)
			close(clerk->fd);
		free(clerk);
		return NULL;
	}
	return clerk;
}

void plx_clerk_destroy(struct plx_clerk *clerk, double patience_s)
{
	double until_s = plx_read_clock(CLOCK_REALTIME) + patience_s;
	struct timespec t = { .tv_sec = (time_t) until_s };

	if (!clerk)
		return;
	t.tv_nsec = (long) ((until_s - (double) t.tv_sec) * 1e9);
	pthread_mutex_lock(&clerk->mutex);
	clerk->leave = true;
	pthread_cond_signal(&clerk->wake);
	pthread_mutex_unlock(&clerk->mutex);
	if (pthread_timedjoin_np(clerk->thread, NULL, &t) != 0)
		return;
	if (clerk->news.has_job)
		plx_job_release(&clerk->news.job);
	close(clerk->fd);
	pthread_cond_destroy(&clerk->wake);
	pthread_mutex_destroy(&clerk->mutex);
	free(clerk);
}

int plx_clerk_fd(const struct plx_clerk *clerk)
{
	return clerk->fd;
}

void plx_clerk_look(struct plx_clerk *clerk)
{
	pthread_mutex_lock(&clerk->mutex);
	clerk->look = true;
	pthread_cond_signal(&clerk->wake);
	pthread_mutex_unlock(&clerk->mutex);
}

unsigned int plx_clerk_publish(struct plx_clerk *clerk, const char *fields,
			       const char *bare)
{
	unsigned int number;

	pthread_mutex_lock(&clerk->mutex);
	number = ++clerk->wanted;
	snprintf(clerk->fields, sizeof(clerk->fields), "%s", fields);
	snprintf(clerk->bare, sizeof(clerk->bare), "%s", bare);
	pthread_cond_signal(&clerk->wake);
	pthread_mutex_unlock(&clerk->mutex);
	return number;
}

void plx_clerk_use(struct plx_clerk *clerk, const struct plx_registry *registry)
{
	pthread_mutex_lock(&clerk->mutex);
	clerk->registry = *registry;
	pthread_mutex_unlock(&clerk->mutex);
}

/* A wish to save, which is said again and again, must not undo a kill. */
static void order_signal(struct plx_clerk *clerk, const char *name, int signal)
{
	pthread_mutex_lock(&clerk->mutex);
	if (!clerk->signal || signal != SIGURG) {
		clerk->signal = signal;
		snprintf(clerk->step, sizeof(clerk->step), "%s", name);
	}
	pthread_cond_signal(&clerk->wake);
	pthread_mutex_unlock(&clerk->mutex);
}

void plx_clerk_kill(struct plx_clerk *clerk, const char *name)
{
	order_signal(clerk, name, SIGKILL);
}

void plx_clerk_end(struct plx_clerk *clerk, const char *name)
{
	order_signal(clerk, name, SIGTERM);
}

void plx_clerk_nudge(struct plx_clerk *clerk, const char *name)
{
	order_signal(clerk, name, SIGURG);
}

void plx_clerk_take(struct plx_clerk *clerk, struct plx_news *news)
{
	uint64_t count;

	while (read(clerk->fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&clerk->mutex);
	*news = clerk->news;
	clerk->news.has_job = false;
	clerk->news.is_trouble = false;
	pthread_mutex_unlock(&clerk->mutex);
}
