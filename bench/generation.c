/* SPDX-License-Identifier: MIT */
/* generation.c - one start of the ranks, as seen by who plays the launcher */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fields.h"
#include "generation.h"
#include "wire/env.h"
#include "wire/message.h"
#include "wire/secret.h"

#define LIMIT_S 60.0 /* for each step of a handover */

double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

_Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "generations: %s: %s\n", what, why);
	exit(1);
}

/* ---- a generation ---- */

void set_number(const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	setenv(name, text, 1);
}

static void run(const struct generation *g, const struct play *play, bool warm)
{
	char job[64];
	char ranks[16];
	/* Unbound: one rank of two would have one processor alone. */
	char *argv[64] = { (char *) "mpirun", (char *) "--bind-to",
			   (char *) "none", (char *) "-n", ranks };
	int n = 5;

	snprintf(ranks, sizeof(ranks), "%d", g->ranks);
	snprintf(job, sizeof(job), "generations.%d", (int) getppid());
	for (char **arg = play->command; *arg && n < 62; arg++)
		argv[n++] = *arg;
	setenv(PLX_ENV_SOCKET, g->path, 1);
	setenv(PLX_ENV_JOB, job, 1);
	set_number(PLX_ENV_GENERATION, g->number);
	set_number(PLX_ENV_STARTS, g->number - 1);
	if (warm)
		setenv(PLX_ENV_WARM, "1", 1);
	setpgid(0, 0);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

/* One for all generations, as a launcher has it. */
static void draw_key(void)
{
	char key[PLX_SECRET_SIZE];

	if (!getenv(PLX_ENV_KEY) && plx_secret_draw(key, NULL) == 0)
		setenv(PLX_ENV_KEY, key, 1);
}

void start(struct generation *g, const struct play *play, bool warm)
{
	struct plx_error err = { .text = "" };

	snprintf(g->path, sizeof(g->path), "%s/s.%" PRIu64, play->dir,
		 g->number);
	g->listener = plx_listen(g->path, &err);
	if (g->listener < 0)
		fail("listen", err.text);
	draw_key();
	g->pid = fork();
	if (g->pid < 0)
		fail("fork", strerror(errno));
	if (g->pid == 0)
		run(g, play, warm);
}

int end(struct generation *g)
{
	double limit_s = now_s() + LIMIT_S;
	int status = 0;

	while (waitpid(g->pid, &status, WNOHANG) == 0) {
		if (now_s() > limit_s)
			fail("ranks", "do not leave");
		usleep(1000);
	}
	plx_channel_destroy(g->channel);
	close(g->listener);
	unlink(g->path);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void say(struct generation *g, const char *line)
{
	struct plx_error err = { .text = "" };

	if (plx_channel_send(g->channel, line, &err) < 0)
		fail(line, err.text);
}

static void meet(struct generation *g, double limit_s)
{
	struct plx_error err = { .text = "" };

	while (!g->channel) {
		struct pollfd p = { .fd = g->listener, .events = POLLIN };

		poll(&p, 1, 100);
		g->channel = plx_accept(g->listener, &err);
		if (waitpid(g->pid, NULL, WNOHANG) > 0)
			fail("ranks", "left before they said anything");
		if (now_s() > limit_s)
			fail("ranks", "say nothing");
	}
}

double hear(struct generation *g, const char *word, char fields[PLX_LINE_MAX])
{
	double limit_s = now_s() + LIMIT_S;
	struct plx_error err = { .text = "gone" };
	char line[PLX_LINE_MAX];

	meet(g, limit_s);
	while (now_s() < limit_s) {
		struct pollfd p = { .events = POLLIN };
		int got = plx_channel_receive(g->channel, line, &err);
		const char *found;

		if (got < 0)
			fail(word, err.text);
		if (got == 0) {
			p.fd = plx_channel_fd(g->channel);
			poll(&p, 1, 100);
			continue;
		}
		found = plx_message(line, word);
		if (!found)
			continue;
		snprintf(fields, PLX_LINE_MAX, "%s", found);
		return now_s();
	}
	fail(word, "was never said");
}

double field(const char *fields, const char *key)
{
	double value = 0;

	plx_field_doubles(fields, key, 0, 1e18, &value, 1, NULL);
	return value;
}

void kill_all(struct generation *g)
{
	kill(-g->pid, SIGKILL);
	end(g);
}
