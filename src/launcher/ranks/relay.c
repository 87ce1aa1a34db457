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

#include "launcher/rules/clock.h"
#include "launcher/ranks/environ.h"
#include "launcher/ranks/relay.h"
#include "launcher/ranks/spawn.h"
#include "wire/channel.h"
#include "wire/credentials.h"
#include "wire/secret.h"

#define SOCKET_NAME "socket"
#define ARGUMENT    288
#define WAIT_S	    120.0 /* for rank 0 to connect */

/* A connection to our own socket, for srun to use as stdin and stdout. */
static int connect_launcher(const char *socket_path, struct plx_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
		plx_fail(err, "cannot connect to %s: %s", socket_path,
			 strerror(errno));
	else if (plx_credentials_check(fd, err) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void become_relay(const char *node, uint32_t job_id,
			 const struct plx_environ *env, int fd)
{
	char self[ARGUMENT] = "";
	char job[ARGUMENT];
	char where[ARGUMENT];
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
			 (char *) "--" PLX_RELAY_OPTION,
			 NULL };

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		_exit(1);
	snprintf(job, sizeof(job), "--jobid=%u", job_id);
	snprintf(where, sizeof(where), "--nodelist=%s", node);
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	execvpe("srun", args, env->vars);
	_exit(127);
}

/*
 * Beside dir, under a name that nobody can have taken before: dir's own can be
 * seen on this machine.
 */
static int name_folder(const char *dir, char *there, size_t size,
		       struct plx_error *err)
{
	const char *slash = strrchr(dir, '/');
	char secret[PLX_SECRET_SIZE];
	int length;

	if (plx_secret_draw(secret, err) < 0)
		return -1;
	length = snprintf(there, size, "%.*s/pollux-%s",
			  slash ? (int) (slash - dir) : 0, dir, secret);
	if (length < 0 || (size_t) length >= size)
		return plx_fail(err, "%s: too long a folder for a socket", dir);
	return 0;
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
	if (name_folder(dir, there, sizeof(there), err) < 0)
		return -1;
	snprintf(relay->path, sizeof(relay->path), "%s/" SOCKET_NAME, there);
	/* A command line could be read by everybody. */
	if (plx_environ_init(&env, environ, err) < 0 ||
	    plx_environ_set(&env, PLX_RELAY_ENV, there, err) < 0)
		goto done;
	fd = connect_launcher(socket, err);
	if (fd < 0)
		goto done;
	relay->pid = fork();
	if (relay->pid == 0) {
		plx_spawned(parent);
		become_relay(node, job_id, &env, fd);
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

/* A connection of ours, or -1: nobody came, or another user. */
static int accept_own(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 || plx_credentials_check(fd, NULL) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Rank 0's connection, or -1: srun hung up, or nobody came. */
static int await(int listener)
{
	struct pollfd waits[] = {
		{ .fd = listener, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = 0 },
	};
	double until_s = plx_now_s() + WAIT_S;
	int fd = -1;

	while (fd < 0 && plx_now_s() < until_s && !waits[1].revents) {
		poll(waits, 2, (int) (1e3 * (until_s - plx_now_s())) + 1);
		if (waits[0].revents)
			fd = accept_own(listener);
	}
	return fd;
}

int plx_relay_run(void)
{
	const char *dir = getenv(PLX_RELAY_ENV);
	struct plx_error err;
	char path[256];
	int listener = -1;
	int fd = -1;

	signal(SIGPIPE, SIG_IGN);
	if (!dir || dir[0] != '/') {
		fprintf(stderr, "pollux-launch: --" PLX_RELAY_OPTION
				" is for its own use\n");
		return EXIT_FAILURE;
	}
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
