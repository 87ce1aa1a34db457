/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terminal.c - a line at the foot of the terminal that is drawn in place */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launcher/loop/terminal.h"

#define LINE_SIZE  256
#define CHUNK_SIZE 4096
#define WIDTH	   80 /* of a terminal that does not say */

struct plx_terminal {
	int ends[2];  /* the ranks' stdout and stderr; -1: not ours */
	int pipes[2]; /* we read from */
	int wake[2];  /* closed: leave, once all is passed on */
	pthread_t thread;
	pthread_mutex_t mutex; /* protects the screen, and: */
	char line[LINE_SIZE];
	bool drawn;
	bool open; /* the last line of output has no end yet */
};

static void put(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t wrote = write(fd, text, size);

		if (wrote < 0 && errno != EINTR)
			return;
		text += wrote > 0 ? wrote : 0;
		size -= wrote > 0 ? (size_t) wrote : 0;
	}
}

/* These two are called with the mutex held. */
static void take_away(struct plx_terminal *t)
{
	static const char clear[] = "\r\033[K";

	if (t->drawn)
		put(STDERR_FILENO, clear, sizeof(clear) - 1);
	t->drawn = false;
}

static void draw(struct plx_terminal *t)
{
	struct winsize size = { 0 };
	size_t width = WIDTH;

	if (!t->line[0] || t->open)
		return;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
		width = size.ws_col;
	/* A full line would wrap. */
	if (width > strlen(t->line))
		width = strlen(t->line) + 1;
	put(STDERR_FILENO, t->line, width - 1);
	t->drawn = true;
}

/* False at the end of the pipe. */
static bool pass(struct plx_terminal *t, int which)
{
	char data[CHUNK_SIZE];
	ssize_t got = read(t->pipes[which], data, sizeof(data));

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	if (got == 0)
		return false;
	pthread_mutex_lock(&t->mutex);
	take_away(t);
	put(which ? STDERR_FILENO : STDOUT_FILENO, data, (size_t) got);
	t->open = data[got - 1] != '\n';
	draw(t);
	pthread_mutex_unlock(&t->mutex);
	return true;
}

static void *work(void *arg)
{
	struct plx_terminal *t = arg;
	struct pollfd waits[] = {
		{ .fd = t->pipes[0], .events = POLLIN },
		{ .fd = t->pipes[1], .events = POLLIN },
		{ .fd = t->wake[0], .events = POLLIN },
	};
	int patience_ms = -1;

	while (poll(waits, 3, patience_ms) > 0 || errno == EINTR) {
		for (int i = 0; i < 2; i++) {
			if (waits[i].revents && !pass(t, i))
				waits[i].fd = -1;
		}
		if (!waits[2].revents)
			continue;
		/* The ranks are gone: what is there now is all. */
		waits[2].fd = -1;
		patience_ms = 0;
		errno = 0;
	}
	return NULL;
}

static bool make_pipe(struct plx_terminal *t, int which)
{
	int both[2];

	if (!isatty(which ? STDERR_FILENO : STDOUT_FILENO))
		return true;
	if (pipe2(both, O_CLOEXEC) < 0)
		return false;
	t->pipes[which] = both[0];
	t->ends[which] = both[1];
	return true;
}

static void close_all(struct plx_terminal *t)
{
	const int all[] = { t->ends[0],	 t->ends[1], t->pipes[0],
			    t->pipes[1], t->wake[0], t->wake[1] };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i] >= 0)
			close(all[i]);
	}
}

static bool start(struct plx_terminal *t)
{
	sigset_t all;
	sigset_t before;
	int rc;

	if (!make_pipe(t, 0) || !make_pipe(t, 1) ||
	    pipe2(t->wake, O_CLOEXEC) < 0)
		return false;
	/* Signals are for the main thread only. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&t->thread, NULL, work, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc == 0;
}

struct plx_terminal *plx_terminal_create(void)
{
	struct plx_terminal *t = NULL;

	if (isatty(STDERR_FILENO))
		t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	for (int i = 0; i < 2; i++) {
		t->ends[i] = -1;
		t->pipes[i] = -1;
		t->wake[i] = -1;
	}
	pthread_mutex_init(&t->mutex, NULL);
	if (start(t))
		return t;
	close_all(t);
	pthread_mutex_destroy(&t->mutex);
	free(t);
	return NULL;
}

void plx_terminal_destroy(struct plx_terminal *t)
{
	if (!t)
		return;
	plx_terminal_draw(t, "");
	close(t->wake[1]);
	t->wake[1] = -1;
	pthread_join(t->thread, NULL);
	close_all(t);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

const int *plx_terminal_output(const struct plx_terminal *t)
{
	return t->ends;
}

void plx_terminal_say(struct plx_terminal *t, const char *text)
{
	pthread_mutex_lock(&t->mutex);
	take_away(t);
	if (t->open)
		put(STDERR_FILENO, "\n", 1);
	t->open = false;
	put(STDERR_FILENO, text, strlen(text));
	put(STDERR_FILENO, "\n", 1);
	draw(t);
	pthread_mutex_unlock(&t->mutex);
}

void plx_terminal_draw(struct plx_terminal *t, const char *text)
{
	pthread_mutex_lock(&t->mutex);
	take_away(t);
	snprintf(t->line, sizeof(t->line), "%s", text);
	draw(t);
	pthread_mutex_unlock(&t->mutex);
}
