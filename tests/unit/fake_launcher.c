/* SPDX-License-Identifier: MIT */
/*
 * fake_launcher.c - the launcher's end of the socket, for tests of the agent
 *
 *	fake_launcher SOCKET stop|save|vanish|listen COMMAND [ARG...]
 *
 * Runs the command with POLLUX_SOCKET set and prints every line that rank 0
 * sends, each after "> ". When training has begun it says "stop" or "save",
 * or closes the socket, or does nothing. The exit code is the command's. Leaves
 *after two minutes, whatever happens.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/channel.h"
#include "wire/env.h"
#include "wire/message.h"

#define LIMIT_S 120

static pid_t spawn(const char *path, char **argv)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	setenv(PLX_ENV_SOCKET, path, 1);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

/* Print what came in; false when the channel is to be closed. */
static bool hear(struct plx_channel *channel, const char *mode)
{
	char line[PLX_LINE_MAX];
	struct plx_error err;
	int got;

	while ((got = plx_channel_receive(channel, line, &err)) > 0) {
		printf("> %s\n", line);
		fflush(stdout);
		if (!plx_message(line, PLX_MSG_BEGAN))
			continue;
		if (!strcmp(mode, "vanish"))
			return false;
		if (!strcmp(mode, "stop"))
			plx_channel_send(channel, PLX_MSG_STOP, &err);
		if (!strcmp(mode, "save"))
			plx_channel_send(channel, PLX_MSG_SAVE, &err);
	}
	return got == 0;
}

static void serve(int listener, const char *mode, pid_t pid, int *status)
{
	struct plx_channel *channel = NULL;
	bool served = false;

	while (waitpid(pid, status, WNOHANG) == 0) {
		struct pollfd p = { .events = POLLIN };

		p.fd = channel ? plx_channel_fd(channel) : listener;
		if (!served || channel)
			poll(&p, 1, 20);
		else
			usleep(20000);
		if (!channel && !served) {
			channel = plx_accept(listener, NULL);
			served = channel;
		}
		if (channel && !hear(channel, mode)) {
			plx_channel_destroy(channel);
			channel = NULL;
		}
	}
	/* What was sent just before the end. */
	if (channel)
		hear(channel, "listen");
	plx_channel_destroy(channel);
}

int main(int argc, char **argv)
{
	struct plx_error err = { .text = "" };
	int status = 0;
	int listener;
	pid_t pid;

	if (argc < 4) {
		fprintf(stderr,
			"usage: %s SOCKET stop|save|vanish|listen COMMAND\n",
			argv[0]);
		return 2;
	}
	listener = plx_listen(argv[1], &err);
	if (listener < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	alarm(LIMIT_S);
	pid = spawn(argv[1], argv + 3);
	if (pid < 0)
		return 2;
	serve(listener, argv[2], pid, &status);
	close(listener);
	unlink(argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
