/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct.c - see sacct.h */

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/rows.h"
#include "report/sacct.h"

#define TEXT_MAX  (1024UL * 1024 * 1024) /* bytes */
#define TIMEOUT_S 300
#define ARGS_MAX  24

extern char **environ;

struct text {
	char *data; /* NUL-terminated */
	size_t size;
	size_t capacity;
};

/* Append what fd has: bytes read, 0 at its end, -1 with err set. */
static ssize_t text_read(struct text *text, int fd, struct plx_error *err)
{
	ssize_t got;
	char *grown;

	if (text->capacity - text->size < 65536) {
		if (text->capacity >= TEXT_MAX)
			return plx_fail(err, "more than %lu MiB to read",
					TEXT_MAX >> 20);
		grown = realloc(text->data, 2 * text->capacity + 131072);
		if (!grown)
			return plx_fail(err, "out of memory");
		text->data = grown;
		text->capacity = 2 * text->capacity + 131072;
	}
	do
		got = read(fd, text->data + text->size, 65535);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return plx_fail(err, "cannot read: %s", strerror(errno));
	text->size += got;
	text->data[text->size] = '\0';
	return got;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Both to their ends; which[0] is sacct's stdout, which[1] its stderr. */
static int collect(const int fds[2], struct text which[2],
		   struct plx_error *err)
{
	struct pollfd polls[2] = { { fds[0], POLLIN, 0 },
				   { fds[1], POLLIN, 0 } };
	int64_t deadline_ms = now_ms() + TIMEOUT_S * 1000LL;
	int open = 2;
	ssize_t got;

	while (open > 0) {
		int64_t left_ms = deadline_ms - now_ms();

		if (left_ms <= 0)
			return plx_fail(err, "sacct did not end within %d s",
					TIMEOUT_S);
		if (poll(polls, 2, (int) left_ms) < 0 && errno != EINTR)
			return plx_fail(err, "poll: %s", strerror(errno));
		for (int i = 0; i < 2; i++) {
			if (polls[i].fd < 0 || !polls[i].revents)
				continue;
			got = text_read(&which[i], polls[i].fd, err);
			if (got < 0)
				return -1;
			if (got == 0) {
				polls[i].fd = -1;
				open--;
			}
		}
	}
	return 0;
}

/* The last line that is not empty, without "sacct: " and "fatal: ". */
static const char *last_words(struct text *text)
{
	static const char *const noise[] = { "sacct: ", "fatal: ", "error: " };
	char *line;

	while (text->size > 0 && strchr("\n ", text->data[text->size - 1]))
		text->data[--text->size] = '\0';
	if (text->size == 0)
		return "it does not say why";
	line = strrchr(text->data, '\n');
	line = line ? line + 1 : text->data;
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		if (!strncmp(line, noise[i], strlen(noise[i])))
			line += strlen(noise[i]);
	}
	return line;
}

/* Signals end it, whatever the thread that runs it hears. */
static int spawn(char *const argv[], const int pipes[2][2], pid_t *child,
		 struct plx_error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int rc = ENOMEM;

	if (posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawnattr_init(&attr) != 0)
		return plx_fail(err, "out of memory");
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (!posix_spawn_file_actions_adddup2(&actions, pipes[0][1], 1) &&
	    !posix_spawn_file_actions_adddup2(&actions, pipes[1][1], 2))
		rc = posix_spawnp(child, argv[0], &actions, &attr, argv,
				  environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (rc != 0)
		return plx_fail(err, "cannot run %s: %s", argv[0],
				strerror(rc));
	return 0;
}

static void close_pipes(int pipes[2][2])
{
	for (int i = 0; i < 4; i++) {
		if (pipes[i / 2][i % 2] >= 0)
			close(pipes[i / 2][i % 2]);
		pipes[i / 2][i % 2] = -1;
	}
}

static int run(char *const argv[], struct text which[2], struct plx_error *err)
{
	int pipes[2][2] = { { -1, -1 }, { -1, -1 } };
	pid_t child = -1;
	int status = 0;
	int rc = -1;

	if (pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[1], O_CLOEXEC) < 0) {
		plx_fail(err, "pipe: %s", strerror(errno));
		goto done;
	}
	if (spawn(argv, (const int(*)[2]) pipes, &child, err) < 0)
		goto done;
	for (int i = 0; i < 2; i++) {
		close(pipes[i][1]);
		pipes[i][1] = -1;
	}
	rc = collect((const int[]){ pipes[0][0], pipes[1][0] }, which, err);
	if (rc < 0)
		kill(child, SIGKILL);
done:
	close_pipes(pipes);
	if (child > 0 && waitpid(child, &status, 0) == child && rc == 0 &&
	    status != 0)
		rc = plx_fail(err, "sacct failed: %s", last_words(&which[1]));
	return rc;
}

/* Rare enough that no job's name or comment can pose as a row. */
static void make_delimiter(char delimiter[48])
{
	unsigned long long random = 0;

	if (getrandom(&random, sizeof(random), 0) < 0)
		random = (unsigned long long) now_ms();
	snprintf(delimiter, 48, "--delimiter=<%llu>", random);
}

int plx_sacct_run(const struct plx_sacct *ask, char **text, size_t *size,
		  struct plx_error *err)
{
	const struct {
		const char *option;
		const char *value;
	} options[] = {
		{ "-j", ask->jobs },	{ "-S", ask->since },
		{ "-E", ask->until },	{ "-u", ask->user },
		{ "-A", ask->account }, { "-r", ask->partition },
	};
	char delimiter[48];
	const char *argv[ARGS_MAX] = {
		"sacct", "-D", "-X", "-p", delimiter, "-o", PLX_SACCT_FORMAT
	};
	struct text which[2] = { { .data = NULL } };
	size_t argc = 7;
	int rc;

	make_delimiter(delimiter);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!options[i].value)
			continue;
		argv[argc++] = options[i].option;
		argv[argc++] = options[i].value;
	}
	if (ask->all)
		argv[argc++] = "-a";
	/* Seconds since 1970 need no time zone and know no summer time. */
	setenv("SLURM_TIME_FORMAT", "%s", 1);
	rc = run((char *const *) argv, which, err);
	if (rc == 0) {
		*text = which[0].data;
		*size = which[0].size;
		which[0].data = NULL;
	}
	free(which[0].data);
	free(which[1].data);
	return rc;
}

int plx_sacct_load(const char *path, char **text, size_t *size,
		   struct plx_error *err)
{
	struct text read = { .data = NULL };
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return plx_fail(err, "%s: %s", path, strerror(errno));
	do
		got = text_read(&read, fd, err);
	while (got > 0);
	if (!is_stdin)
		close(fd);
	if (got < 0) {
		free(read.data);
		return -1;
	}
	*text = read.data;
	*size = read.size;
	return 0;
}
