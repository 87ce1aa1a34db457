/* SPDX-License-Identifier: GPL-2.0-or-later */
/* errand.c - a question asked by a thread (errand.h) */

#define _GNU_SOURCE

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/errand.h"

struct plx_errand {
	plx_errand_run run;
	size_t ask_size;
	size_t answer_size;
	int news[2]; /* a byte for each answer */
	pthread_mutex_t mutex;
	pthread_cond_t sent;
	void *ask; /* protected by mutex, as are the next ones */
	void *answer;
	bool out;   /* from the question until its answer is taken */
	bool fresh; /* the thread has not begun with it */
};

static void wait_for_ask(struct plx_errand *errand, void *ask)
{
	pthread_mutex_lock(&errand->mutex);
	while (!errand->fresh)
		pthread_cond_wait(&errand->sent, &errand->mutex);
	errand->fresh = false;
	memcpy(ask, errand->ask, errand->ask_size);
	pthread_mutex_unlock(&errand->mutex);
}

static void *work(void *arg)
{
	struct plx_errand *errand = arg;
	void *ask = calloc(1, errand->ask_size);
	void *answer = calloc(1, errand->answer_size);

	while (ask && answer) {
		wait_for_ask(errand, ask);
		errand->run(ask, answer);
		pthread_mutex_lock(&errand->mutex);
		memcpy(errand->answer, answer, errand->answer_size);
		pthread_mutex_unlock(&errand->mutex);
		if (write(errand->news[1], "", 1) != 1)
			break; /* whoever would read it is gone */
	}
	free(ask);
	free(answer);
	return NULL;
}

static int start(struct plx_errand *errand)
{
	pthread_t thread;
	sigset_t all;
	sigset_t before;
	int rc;

	/* Signals are for the main thread only. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, NULL, work, errand);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		pthread_detach(thread);
	return rc;
}

struct plx_errand *plx_errand_create(plx_errand_run run, size_t ask_size,
				     size_t answer_size)
{
	struct plx_errand *errand = calloc(1, sizeof(*errand));

	if (!errand)
		return NULL;
	errand->run = run;
	errand->ask_size = ask_size;
	errand->answer_size = answer_size;
	errand->ask = calloc(1, ask_size);
	errand->answer = calloc(1, answer_size);
	errand->news[0] = errand->news[1] = -1;
	pthread_mutex_init(&errand->mutex, NULL);
	pthread_cond_init(&errand->sent, NULL);
	if (errand->ask && errand->answer &&
	    pipe2(errand->news, O_CLOEXEC) == 0 && start(errand) == 0)
		return errand;
	for (int i = 0; i < 2; i++) {
		if (errand->news[i] >= 0)
			close(errand->news[i]);
	}
	free(errand->ask);
	free(errand->answer);
	free(errand);
	return NULL;
}

int plx_errand_fd(const struct plx_errand *errand)
{
	return errand->news[0];
}

bool plx_errand_send(struct plx_errand *errand, const void *ask)
{
	bool sent;

	pthread_mutex_lock(&errand->mutex);
	sent = !errand->out;
	if (sent) {
		memcpy(errand->ask, ask, errand->ask_size);
		errand->out = errand->fresh = true;
		pthread_cond_signal(&errand->sent);
	}
	pthread_mutex_unlock(&errand->mutex);
	return sent;
}

bool plx_errand_take(struct plx_errand *errand, void *answer)
{
	char byte;

	if (read(errand->news[0], &byte, 1) != 1)
		return false;
	pthread_mutex_lock(&errand->mutex);
	memcpy(answer, errand->answer, errand->answer_size);
	errand->out = false;
	pthread_mutex_unlock(&errand->mutex);
	return true;
}
