/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_client.c - speaks with slurmctld; the launcher need not wait for it
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
#include "launcher/job/slurm_client.h"
#include "launcher/rules/clock.h"
#include "launcher/rules/polls.h"
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

struct plx_slurm_client {
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
static enum order next_order(const struct plx_slurm_client *client,
			     double *until_s)
{
	bool behind = client->wanted != client->news.published;

	*until_s = 0;
	if (behind && plx_now_s() >= client->retry_s)
		return ORDER_PUBLISH;
	if (client->signal)
		return ORDER_SIGNAL;
	/* The last status is tried as long as the owner has patience. */
	if (client->leave && !behind)
		return ORDER_LEAVE;
	if (behind)
		*until_s = client->retry_s;
	return client->look ? ORDER_LOOK : ORDER_NONE;
}

static void wait_for_order(struct plx_slurm_client *client, double until_s)
{
	struct timespec t = { .tv_sec = (time_t) until_s };

	t.tv_nsec = (long) ((until_s - (double) t.tv_sec) * 1e9);
	if (until_s > 0)
		pthread_cond_timedwait(&client->wake, &client->mutex, &t);
	else
		pthread_cond_wait(&client->wake, &client->mutex);
}

static void hand_in(struct plx_slurm_client *client,
		    const struct plx_error *trouble)
{
	uint64_t one = 1;

	if (trouble) {
		client->news.is_trouble = true;
		client->news.trouble = *trouble;
	}
	while (write(client->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* With the mutex held; *job is news, and not the caller's any more. */
static void keep_job(struct plx_slurm_client *client,
		     const struct plx_job_seen *job, double began_s)
{
	if (client->news.has_job)
		plx_job_release(&client->news.job);
	client->news.has_job = true;
	client->news.job = *job;
	client->news.looked_s = began_s;
}

/* These three are called with the mutex held and give it up meanwhile. */
static void do_publish(struct plx_slurm_client *client)
{
	unsigned int number = client->wanted;
	char fields[PLX_FIELDS_MAX];
	char bare[PLX_FIELDS_MAX];
	struct plx_job_words words = { .fields = fields, .bare = bare };
	double began_s = plx_now_s();
	struct plx_error err;
	struct plx_job_seen seen;
	int rc;

	strcpy(fields, client->fields);
	strcpy(bare, client->bare);
	pthread_mutex_unlock(&client->mutex);
	rc = client->registry.publish(client->registry.self, &words, &seen,
				      &err);
	pthread_mutex_lock(&client->mutex);
	if (seen.id)
		keep_job(client, &seen, began_s);
	if (rc < 0) {
		client->retry_s =
			plx_now_s() +
			plx_polls_jitter(&client->seed, client->backoff_s);
		client->backoff_s *= 2;
		if (client->backoff_s > BACKOFF_LAST_S)
			client->backoff_s = BACKOFF_LAST_S;
	} else {
		client->backoff_s = BACKOFF_FIRST_S;
		client->news.published = number;
		client->news.published_s = plx_now_s();
		client->news.shortened = words.shortened;
	}
	hand_in(client, rc < 0 ? &err : NULL);
}

static void do_signal(struct plx_slurm_client *client)
{
	int signal = client->signal;
	char step[PLX_NODE_NAME_SIZE];
	struct plx_error err;
	int rc;

	strcpy(step, client->step);
	client->signal = 0;
	pthread_mutex_unlock(&client->mutex);
	rc = client->registry.signal_step(client->registry.self, step, signal,
					  &err);
	pthread_mutex_lock(&client->mutex);
	hand_in(client, rc < 0 ? &err : NULL);
}

static void do_look(struct plx_slurm_client *client)
{
	double began_s = plx_now_s();
	struct plx_error err;
	struct plx_job_seen job;
	int rc;

	client->look = false;
	pthread_mutex_unlock(&client->mutex);
	rc = client->registry.load(client->registry.self, &job, &err);
	pthread_mutex_lock(&client->mutex);
	if (rc == 0)
		keep_job(client, &job, began_s);
	hand_in(client, rc < 0 ? &err : NULL);
}

static void *work(void *arg)
{
	struct plx_slurm_client *client = arg;
	enum order order;
	double until_s;

	pthread_mutex_lock(&client->mutex);
	while ((order = next_order(client, &until_s)) != ORDER_LEAVE) {
		if (order == ORDER_PUBLISH)
			do_publish(client);
		else if (order == ORDER_SIGNAL)
			do_signal(client);
		else if (order == ORDER_LOOK)
			do_look(client);
		else
			wait_for_order(client, until_s);
	}
	pthread_mutex_unlock(&client->mutex);
	return NULL;
}

static int load_job(void *self, struct plx_job_seen *job, struct plx_error *err)
{
	const struct plx_slurm_client *client = self;

	return plx_job_load(&client->who, job, err);
}

static int publish_job(void *self, struct plx_job_words *words,
		       struct plx_job_seen *seen, struct plx_error *err)
{
	const struct plx_slurm_client *client = self;

	return plx_job_publish(&client->who, words, seen, err);
}

static int signal_step(void *self, const char *name, int signal,
		       struct plx_error *err)
{
	const struct plx_slurm_client *client = self;

	return plx_job_signal_step(client->who.id, name, signal, err);
}

static void init_sync(struct plx_slurm_client *client)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&client->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&client->mutex, NULL);
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

struct plx_slurm_client *plx_slurm_client_create(uint32_t job_id,
						 const char *params,
						 const char *batch_host,
						 struct plx_error *err)
{
	struct plx_slurm_client *client = calloc(1, sizeof(*client));

	if (!client) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	client->who = (struct plx_job_who){ .id = job_id,
					    .elastic = params != NULL,
					    .batch_host = batch_host,
					    .sizes = sizes_of(params) };
	client->seed = job_id + (uint32_t) getpid();
	client->registry = (struct plx_registry){ .self = client,
						  .load = load_job,
						  .publish = publish_job,
						  .signal_step = signal_step };
	client->backoff_s = BACKOFF_FIRST_S;
	init_sync(client);
	client->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->fd < 0 ||
	    plx_thread_begin(&client->thread, work, client) < 0) {
		plx_fail(err, "cannot start a thread");
		if (client->fd >= 0)
			close(client->fd);
		free(client);
		return NULL;
	}
	return client;
}

void plx_slurm_client_destroy(struct plx_slurm_client *client,
			      double patience_s)
{
	double until_s = plx_read_clock(CLOCK_REALTIME) + patience_s;
	struct timespec t = { .tv_sec = (time_t) until_s };

	if (!client)
		return;
	t.tv_nsec = (long) ((until_s - (double) t.tv_sec) * 1e9);
	pthread_mutex_lock(&client->mutex);
	client->leave = true;
	pthread_cond_signal(&client->wake);
	pthread_mutex_unlock(&client->mutex);
	if (pthread_timedjoin_np(client->thread, NULL, &t) != 0)
		return;
	if (client->news.has_job)
		plx_job_release(&client->news.job);
	close(client->fd);
	pthread_cond_destroy(&client->wake);
	pthread_mutex_destroy(&client->mutex);
	free(client);
}

int plx_slurm_client_fd(const struct plx_slurm_client *client)
{
	return client->fd;
}

void plx_slurm_client_poll(struct plx_slurm_client *client)
{
	pthread_mutex_lock(&client->mutex);
	client->look = true;
	pthread_cond_signal(&client->wake);
	pthread_mutex_unlock(&client->mutex);
}

unsigned int plx_slurm_client_publish(struct plx_slurm_client *client,
				      const char *fields, const char *bare)
{
	unsigned int number;

	pthread_mutex_lock(&client->mutex);
	number = ++client->wanted;
	snprintf(client->fields, sizeof(client->fields), "%s", fields);
	snprintf(client->bare, sizeof(client->bare), "%s", bare);
	pthread_cond_signal(&client->wake);
	pthread_mutex_unlock(&client->mutex);
	return number;
}

void plx_slurm_client_use(struct plx_slurm_client *client,
			  const struct plx_registry *registry)
{
	pthread_mutex_lock(&client->mutex);
	client->registry = *registry;
	pthread_mutex_unlock(&client->mutex);
}

/* A wish to save, which is said again and again, must not undo a kill. */
static void order_signal(struct plx_slurm_client *client, const char *name,
			 int signal)
{
	pthread_mutex_lock(&client->mutex);
	if (!client->signal || signal != SIGURG) {
		client->signal = signal;
		snprintf(client->step, sizeof(client->step), "%s", name);
	}
	pthread_cond_signal(&client->wake);
	pthread_mutex_unlock(&client->mutex);
}

void plx_slurm_client_kill(struct plx_slurm_client *client, const char *name)
{
	order_signal(client, name, SIGKILL);
}

void plx_slurm_client_end(struct plx_slurm_client *client, const char *name)
{
	order_signal(client, name, SIGTERM);
}

void plx_slurm_client_nudge(struct plx_slurm_client *client, const char *name)
{
	order_signal(client, name, SIGURG);
}

void plx_slurm_client_take(struct plx_slurm_client *client,
			   struct plx_news *news)
{
	uint64_t count;

	while (read(client->fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&client->mutex);
	*news = client->news;
	client->news.has_job = false;
	client->news.is_trouble = false;
	pthread_mutex_unlock(&client->mutex);
}
