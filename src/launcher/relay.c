/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relay.c - the socket of a rank 0 that runs on another machine */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/environ.h"
#include "launcher/relay.h"
#include "launcher/spawn.h"
#include "wire/channel.h"

#define SOCKET_NAME "socket"
#define ARGUMENT    288
#define WAIT_MS	    120000 /* for rank 0 to connect */

/* A connection to our own socket, for srun to use as stdin and stdout. */
static int connect_home(const char *socket_path, struct plx_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	if (fd >= 0 &&
	    connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0)
		return fd;
	plx_fail(err, "cannot connect to %s: %s", socket_path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void become_relay(const char *node, uint32_t job_id, const char *there,
			 const struct plx_environ *env, int fd)
{
	char self[ARGUMENT] = "";
	char job[ARGUMENT];
	char where[ARGUMENT];
	char option[ARGUMENT];
	char *args[] = { (char *) "srun",
			 job,
			 where,
			 (char *) "--job-name=pollux.relay",
			 (char *) "--overlap",
			 (char *) "--overcommit",
			 (char *) "--gres=none",
			 (char *) "--ntasks=1",
			 (char *) "--nodes=1",
			 (char *) "--mpi=none",
			 (char *) "--unbuffered",
			 (char *) "--quiet",
			 (char *) "--export=ALL",
			 self,
			 option,
			 NULL };

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		_exit(1);
	snprintf(job, sizeof(job), "--jobid=%u", job_id);
	snprintf(where, sizeof(where), "--nodelist=%s", node);
	snprintf(option, sizeof(option), "--" PLX_RELAY_OPTION "=%s", there);
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	execvpe("srun", args, env->vars);
	_exit(127);
}

int plx_relay_start(struct plx_relay *relay, uint32_t job_id, const char *node,
		    const char *dir, const char *socket, struct plx_error *err)
{
	struct plx_environ env = { 0 };
	pid_t parent = getpid();
	char there[sizeof(relay->path) - sizeof(SOCKET_NAME)];
	int rc = -1;
	int fd = -1;

	plx_relay_stop(relay);
	/* Another name than dir: both nodes may be one machine. */
	snprintf(there, sizeof(there), "%s.far", dir);
	snprintf(relay->path, sizeof(relay->path), "%s/" SOCKET_NAME, there);
	if (plx_environ_init(&env, environ, err) < 0)
		goto done;
	fd = connect_home(socket, err);
	if (fd < 0)
		goto done;
	relay->pid = fork();
	if (relay->pid == 0) {
		plx_spawned(parent);
		become_relay(node, job_id, there, &env, fd);
	}
	if (relay->pid < 0) {
		relay->pid = 0;
		plx_fail(err, "cannot fork: %s", strerror(errno));
		goto done;
	}
	rc = 0;
done:
	if (fd >= 0)
		close(fd);
	plx_environ_release(&env);
	return rc;
}

static void reap(pid_t *pid)
{
	if (*pid && waitpid(*pid, NULL, WNOHANG) != 0)
		*pid = 0;
}

void plx_relay_reap(struct plx_relay *relay)
{
	reap(&relay->pid);
	reap(&relay->leaving);
}

void plx_relay_stop(struct plx_relay *relay)
{
	plx_relay_reap(relay);
	if (!relay->pid)
		return;
	/* srun kills the far end, but a hanging one is not waited for. */
	kill(relay->pid, SIGTERM);
	if (relay->leaving) {
		kill(relay->leaving, SIGKILL);
		waitpid(relay->leaving, NULL, 0);
	}
	relay->leaving = relay->pid;
	relay->pid = 0;
}

/* Pass what there is from one descriptor to another; false at its end. */
static bool pass(int from, int to)
{
	char data[PLX_LINE_MAX];
	ssize_t got = read(from, data, sizeof(data));
	ssize_t sent = 0;

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	while (sent < got) {
		ssize_t wrote = write(to, data + sent, (size_t) (got - sent));

		if (wrote < 0 && errno != EINTR)
			return false;
		sent += wrote > 0 ? wrote : 0;
	}
	return got > 0;
}

static void pass_all(int fd)
{
	struct pollfd waits[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
	};

	for (;;) {
		if (poll(waits, 2, -1) < 0 && errno != EINTR)
			return;
		if (waits[1].revents && !pass(fd, STDOUT_FILENO))
			return;
		if (waits[0].revents && !pass(STDIN_FILENO, fd))
			return;
	}
}

/* Rank 0's connection, or -1: srun hung up, or nobody came. */
static int await(int listener)
{
	struct pollfd waits[] = {
		{ .fd = listener, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = 0 },
	};

	if (poll(waits, 2, WAIT_MS) <= 0 || !waits[0].revents)
		return -1;
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

int plx_relay_run(const char *dir)
{
	struct plx_error err;
	char path[256];
	int listener = -1;
	int fd = -1;

	signal(SIGPIPE, SIG_IGN);
	snprintf(path, sizeof(path), "%s/" SOCKET_NAME, dir);
	if (mkdir(dir, 0700) < 0) {
		fprintf(stderr, "pollux-launch: cannot make %s: %s\n", dir,
			strerror(errno));
		return EXIT_FAILURE;
	}
	listener = plx_listen(path, &err);
	if (listener < 0)
		fprintf(stderr, "pollux-launch: %s\n", err.text);
	else
		fd = await(listener);
	unlink(path);
	rmdir(dir);
	if (fd < 0)
		return EXIT_FAILURE;
	pass_all(fd);
	return EXIT_SUCCESS;
}
