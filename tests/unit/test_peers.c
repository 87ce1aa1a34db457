/* SPDX-License-Identifier: MIT */
/*
 * test_peers.c - what another user can do to the sockets and names of a run
 *
 * The other user is nobody, played by a child process; that takes root.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/comm/report.h"
#include "agent/memory/nodemem.h"
#include "core/base/siphash.h"
#include "launcher/ranks/peer.h"
#include "launcher/rank/port.h"
#include "launcher/ranks/relay.h"
#include "launcher/job/run_folder.h"
#include "unit.h"
#include "wire/channel.h"
#include "wire/env.h"
#include "wire/secret.h"

#define NOBODY	  65534
#define SOMEBODY  54321 /* a user without a folder for local runs */
#define CONNECT_S 10.0
#define WAIT_MS	  10000

static char dir[64];

static int setup(void **state)
{
	(void) state;
	strcpy(dir, "/tmp/plx-peers.XXXXXX");
	assert_non_null(mkdtemp(dir));
	/* The worst case: where everybody may come and go. */
	assert_int_equal(0, chmod(dir, 0777));
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void) state;
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

#define NEEDS_ROOT()                                                           \
	do {                                                                   \
		if (geteuid() != 0)                                            \
			skip();                                                \
	} while (0)

/* What the enemy does, as nobody; he is killed by end(). */
static pid_t begin(void (*attack)(const char *what), const char *what)
{
	char byte = 0;
	int ready[2];
	pid_t pid;

	assert_int_equal(0, pipe(ready));
	pid = fork();
	if (pid == 0) {
		dup2(ready[1], STDIN_FILENO);
		if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN); /* who is refused may be late */
		attack(what);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(1, read(ready[0], &byte, 1));
	close(ready[0]);
	return pid;
}

/* The enemy is in position. */
static void in_position(void)
{
	if (write(STDIN_FILENO, "x", 1) != 1)
		_exit(1);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static socklen_t make_address(struct sockaddr_un *address, const char *name)
{
	bool abstract = name[0] != '/';

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(address->sun_path + abstract, name);
	return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + abstract +
			    strlen(name));
}

/* Listen there, and say this to whoever comes. */
static void lurk(const char *name, const char *says)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address;
	socklen_t size = make_address(&address, name);

	if (bind(fd, (struct sockaddr *) &address, size) < 0 ||
	    listen(fd, 8) < 0)
		_exit(1);
	if (name[0] == '/')
		chmod(name, 0777);
	in_position();
	for (;;) {
		int peer = accept(fd, NULL, NULL);

		if (peer >= 0 && says)
			(void) !write(peer, says, strlen(says));
	}
}

static void lurk_as_launcher(const char *path)
{
	lurk(path, "stop\n");
}

static void lurk_silently(const char *name)
{
	lurk(name, NULL);
}

/* Come first, and say this. */
static int come(const char *name, const char *says)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address;
	socklen_t size = make_address(&address, name);

	/* Bound, but nobody listens yet. */
	while (connect(fd, (struct sockaddr *) &address, size) < 0) {
		if (errno != ECONNREFUSED)
			_exit(1);
		usleep(1000);
	}
	if (says)
		(void) !write(fd, says, strlen(says));
	in_position();
	return fd;
}

static void come_as_rank(const char *path)
{
	come(path, "hello ranks=1 nodes=1\ndone\n");
}

static void come_silently(const char *path)
{
	come(path, NULL);
}

static void flood(const char *path)
{
	static char data[65536];
	int fd = come(path, NULL);

	memset(data, 'x', sizeof(data));
	for (int i = 0; i < 16384; i++) {
		if (write(fd, data, sizeof(data)) < 0)
			break;
	}
}

/* ---- secrets ---- */

static void the_hash_is_the_papers(void **state)
{
	/* Of the first bytes of 0, 1, 2..., by the authors' own program. */
	static const struct {
		size_t size;
		uint64_t hash;
	} cases[] = {
		{ 0, UINT64_C(0x726fdb47dd0e0e31) },
		{ 1, UINT64_C(0x74f839c593dc67fd) },
		{ 8, UINT64_C(0x93f5f5799a932462) },
		{ 15, UINT64_C(0xa129ca6149be45e5) },
	};
	const uint64_t key[2] = { UINT64_C(0x0706050403020100),
				  UINT64_C(0x0f0e0d0c0b0a0908) };
	unsigned char data[16];

	(void) state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char) i;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_true(plx_siphash(key, data, cases[i].size) ==
			    cases[i].hash);
}

static void a_name_follows_from_its_key_alone(void **state)
{
	char key[PLX_SECRET_SIZE];
	char other[PLX_SECRET_SIZE];
	char a[PLX_SECRET_SIZE];
	char b[PLX_SECRET_SIZE];
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_secret_draw(key, &err));
	assert_int_equal(0, plx_secret_draw(other, &err));
	assert_string_not_equal(key, other);
	assert_int_equal(0, plx_secret_name(key, "7.1.n1", a, &err));
	assert_int_equal(0, plx_secret_name(key, "7.1.n1", b, &err));
	assert_string_equal(a, b);
	assert_int_equal(32, strspn(a, "0123456789abcdef"));
	assert_memory_not_equal(a, a + 16, 16);
	assert_int_equal(0, plx_secret_name(key, "7.2.n1", b, &err));
	assert_string_not_equal(a, b);
	assert_int_equal(0, plx_secret_name(other, "7.1.n1", b, &err));
	assert_string_not_equal(a, b);
}

static void without_a_key_there_is_no_name(void **state)
{
	static const char *const keys[] = {
		NULL, "", "7", "xyzw", "0123456789abcdef0123456789abcdeg"
	};
	char name[PLX_SECRET_SIZE];
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(-1, plx_secret_name(keys[i], "a", name, &err));
	assert_string_equal("this run has no key of its own", err.text);
}

/* ---- rank 0 and its launcher ---- */

static void rank_0_takes_no_orders_from_another_user(void **state)
{
	struct plx_reporter *reporter = NULL;
	struct plx_error err = { .text = "" };
	char path[96];
	pid_t enemy;

	(void) state;
	NEEDS_ROOT();
	snprintf(path, sizeof(path), "%s/socket", dir);
	enemy = begin(lurk_as_launcher, path);
	setenv(PLX_ENV_SOCKET, path, 1);
	assert_int_equal(-1, plx_reporter_create(&reporter, &err));
	unsetenv(PLX_ENV_SOCKET);
	assert_null(reporter);
	assert_non_null(strstr(err.text, "is not used: the other end belongs "
					 "to another user (uid 65534), not to "
					 "you"));
	end(enemy);
}

/* The launcher hears rank 0, who comes after an enemy. */
static void hears_rank_0_after(void (*attack)(const char *))
{
	struct plx_channel *rank = NULL;
	struct plx_error err = { .text = "" };
	char line[PLX_LINE_MAX] = "";
	struct plx_peer peer;
	pid_t enemy;

	plx_peer_init(&peer);
	assert_int_equal(0, plx_peer_open(&peer, &err));
	/* As if somebody had opened the folder that plx_peer_open() made. */
	assert_int_equal(0, chmod(peer.dir, 0777));
	assert_int_equal(0, chmod(peer.path, 0777));
	enemy = begin(attack, peer.path);
	assert_false(plx_peer_receive(&peer, line, &err));
	assert_non_null(strstr(err.text, "refused a connection"));
	rank = plx_connect(peer.path, CONNECT_S, &err);
	assert_non_null(rank);
	assert_int_equal(0, plx_channel_send(rank, "ready", &err));
	for (int i = 0; i < 100 && !plx_peer_receive(&peer, line, &err); i++)
		usleep(10000);
	assert_string_equal("ready", line);
	plx_channel_destroy(rank);
	plx_peer_close(&peer);
	end(enemy);
}

static void a_launcher_believes_no_rank_of_another_user(void **state)
{
	(void) state;
	NEEDS_ROOT();
	hears_rank_0_after(come_as_rank);
}

static void who_comes_and_says_nothing_keeps_nobody_waiting(void **state)
{
	(void) state;
	NEEDS_ROOT();
	hears_rank_0_after(come_silently);
}

static void who_says_a_gigabyte_is_not_heard(void **state)
{
	(void) state;
	NEEDS_ROOT();
	hears_rank_0_after(flood);
}

static void nobody_else_can_come_to_where_a_launcher_listens(void **state)
{
	struct plx_error err = { .text = "" };
	struct plx_peer peer;
	struct stat st;

	(void) state;
	plx_peer_init(&peer);
	assert_int_equal(0, plx_peer_open(&peer, &err));
	assert_int_equal(0, stat(peer.dir, &st));
	assert_int_equal(0700, st.st_mode & 0777);
	assert_int_equal(0, stat(peer.path, &st));
	assert_int_equal(0600, st.st_mode & 0777);
	plx_peer_close(&peer);
}

/* ---- the relay ---- */

static pid_t run_relay(const char *folder, int out)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	setenv(PLX_RELAY_ENV, folder, 1);
	dup2(out, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	close(STDERR_FILENO);
	_exit(plx_relay_run());
}

static void a_relay_lets_only_its_user_in(void **state)
{
	struct plx_channel *rank = NULL;
	struct plx_error err = { .text = "" };
	char folder[80];
	char path[96];
	char data[16] = "";
	int batch_host[2];
	pid_t relay;
	pid_t enemy;

	(void) state;
	NEEDS_ROOT();
	snprintf(folder, sizeof(folder), "%s/far", dir);
	snprintf(path, sizeof(path), "%s/socket", folder);
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, batch_host));
	relay = run_relay(folder, batch_host[1]);
	close(batch_host[1]);
	for (int i = 0; i < 500 && access(path, F_OK) < 0; i++)
		usleep(10000);
	assert_int_equal(0, chmod(folder, 0777));
	assert_int_equal(0, chmod(path, 0777));
	enemy = begin(come_as_rank, path);
	rank = plx_connect(path, CONNECT_S, &err);
	assert_non_null(rank);
	assert_int_equal(0, plx_channel_send(rank, "ready", &err));
	assert_int_equal(6, read(batch_host[0], data, sizeof(data)));
	assert_string_equal("ready\n", data);
	plx_channel_destroy(rank);
	waitpid(relay, NULL, 0);
	close(batch_host[0]);
	end(enemy);
}

static void a_relay_takes_no_folder_that_is_there(void **state)
{
	char folder[80];
	int status = 0;
	int batch_host[2];

	(void) state;
	snprintf(folder, sizeof(folder), "%s/far", dir);
	assert_int_equal(0, mkdir(folder, 0777));
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, batch_host));
	waitpid(run_relay(folder, batch_host[1]), &status, 0);
	assert_int_equal(1, WEXITSTATUS(status));
	close(batch_host[0]);
	close(batch_host[1]);
}

/* ---- memory that is handed over ---- */

static void draw_key(void)
{
	char key[PLX_SECRET_SIZE];

	assert_int_equal(0, plx_secret_draw(key, NULL));
	setenv(PLX_ENV_KEY, key, 1);
}

static void who_takes_the_name_that_can_be_guessed_takes_nothing(void **state)
{
	char job[16];
	char name[PLX_NODEMEM_NAME];
	char guess[PLX_NODEMEM_NAME];
	struct plx_error err = { .text = "" };
	struct plx_nodemem *mem;
	pid_t enemy;

	(void) state;
	NEEDS_ROOT();
	draw_key();
	/* What it was called once: user, job, generation and host. */
	snprintf(guess, sizeof(guess), "pollux.%u.%d.1.%.40s", geteuid(),
		 (int) getpid(), plx_nodemem_here());
	snprintf(job, sizeof(job), "%d", (int) getpid());
	enemy = begin(lurk_silently, guess);
	assert_int_equal(0, plx_nodemem_name(name, job, 1, &err));
	mem = plx_nodemem_create(name, 5000, &err);
	assert_non_null(mem);
	assert_int_equal(0, plx_nodemem_ready(mem, &err));
	plx_nodemem_destroy(mem);
	end(enemy);
}

static void memory_of_another_user_is_not_taken(void **state)
{
	char name[PLX_NODEMEM_NAME];
	struct plx_error err = { .text = "" };
	pid_t enemy;

	(void) state;
	NEEDS_ROOT();
	draw_key();
	assert_int_equal(0, plx_nodemem_name(name, "7", 1, &err));
	/* He has seen the name, and takes it when its owner is gone. */
	enemy = begin(lurk_silently, name);
	assert_null(plx_nodemem_open(name, &err));
	end(enemy);
}

/* Nothing but the end may come: no descriptor. */
static void ask_for_memory(const char *name)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address;
	socklen_t size = make_address(&address, name);

	if (connect(fd, (struct sockaddr *) &address, size) < 0 ||
	    recvmsg(fd, &message, 0) > 0)
		_exit(1); /* and begin() fails, as nobody writes */
	in_position();
}

static void another_user_gets_no_memory(void **state)
{
	char name[PLX_NODEMEM_NAME];
	struct plx_error err = { .text = "" };
	struct plx_nodemem *mem;

	(void) state;
	NEEDS_ROOT();
	draw_key();
	assert_int_equal(0, plx_nodemem_name(name, "7", 1, &err));
	mem = plx_nodemem_create(name, 5000, &err);
	assert_non_null(mem);
	assert_int_equal(0, plx_nodemem_ready(mem, &err));
	end(begin(ask_for_memory, name));
	/* Who says nothing keeps nobody waiting. */
	for (int i = 0; i < 100; i++)
		end(begin(come_silently, name));
	end(begin(ask_for_memory, name));
	plx_nodemem_destroy(mem);
}

/* ---- the folder of local runs ---- */

static int in_child_as(uid_t user, int (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (setgid(user) < 0 || setuid(user) < 0)
			_exit(99);
		unsetenv("XDG_RUNTIME_DIR");
		_exit(run());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int hold_and_find(void)
{
	char guessed[64];
	char path[PLX_RUN_PATH];
	char again[PLX_RUN_PATH];
	struct plx_error err;
	struct stat st;
	bool taken;
	int lock = plx_run_take("a", &taken, &err);
	int rc = 0;

	snprintf(guessed, sizeof(guessed), "/tmp/pollux-%d/", SOMEBODY);
	if (lock < 0 || plx_run_socket("a", path, &err) < 0)
		return 1;
	if (plx_run_find("a", again, &err) < 0 || strcmp(path, again) != 0)
		rc = 2;
	else if (!strncmp(path, guessed, strlen(guessed)))
		rc = 3;
	else if (plx_run_take("a", &taken, &err) >= 0 || !taken)
		rc = 4;
	plx_run_forget("a", lock);
	*strrchr(path, '/') = '\0';
	*strrchr(path, '/') = '\0';
	if (stat(path, &st) < 0 || st.st_uid != SOMEBODY ||
	    (st.st_mode & 0777) != 0700)
		rc = rc ? rc : 5;
	rmdir(path);
	return rc;
}

static void who_takes_the_folder_of_local_runs_stops_none(void **state)
{
	char folder[64];
	char link[64];

	(void) state;
	NEEDS_ROOT();
	snprintf(folder, sizeof(folder), "/tmp/pollux-%d", SOMEBODY);
	snprintf(link, sizeof(link), "/tmp/pollux-%d.aaaaaa", SOMEBODY);
	/* What a test left that was killed. */
	unlink(link);
	rmdir(folder);
	assert_int_equal(0, mkdir(folder, 0777));
	assert_int_equal(0, chown(folder, NOBODY, NOBODY));
	/* And one that looks like what is made instead. */
	assert_int_equal(0, symlink(dir, link));
	assert_int_equal(0, lchown(link, NOBODY, NOBODY));
	assert_int_equal(0, in_child_as(SOMEBODY, hold_and_find));
	unlink(link);
	rmdir(folder);
}

/* ---- where ranks meet ---- */

static int take_port(int family, const char *address, int port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons((uint16_t) port) };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t) port) };
	int fd = socket(family, SOCK_STREAM, 0);
	bool is_six = family == AF_INET6;
	int one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	inet_pton(family, address,
		  is_six ? (void *) &six.sin6_addr : (void *) &four.sin_addr);
	if (bind(fd,
		 is_six ? (struct sockaddr *) &six : (struct sockaddr *) &four,
		 is_six ? sizeof(six) : sizeof(four)) == 0 &&
	    listen(fd, 8) == 0)
		return fd;
	close(fd);
	return -1;
}

static void a_port_that_anybody_has_is_not_free(void **state)
{
	static const struct {
		int family;
		const char *address;
	} ways[] = {
		{ AF_INET, "0.0.0.0" },	  { AF_INET, "127.0.0.1" },
		{ AF_INET, "127.0.0.9" }, { AF_INET6, "::" },
		{ AF_INET6, "::1" },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		int port = plx_port_draw();
		int fd = take_port(ways[i].family, ways[i].address, port);

		if (fd < 0)
			continue; /* no IPv6 here */
		assert_false(plx_port_is_free(port));
		close(fd);
		assert_true(plx_port_is_free(port));
	}
}

static void the_next_port_cannot_be_told_from_the_last(void **state)
{
	int steps[3] = { 0 };
	int last = plx_port_draw();

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		int port = plx_port_draw();

		assert_true(port >= 20000 && port < 32000);
		steps[i] = port - last;
		last = port;
	}
	assert_false(steps[0] == steps[1] && steps[1] == steps[2]);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_the_papers),
		cmocka_unit_test(a_name_follows_from_its_key_alone),
		cmocka_unit_test(without_a_key_there_is_no_name),
		IN_DIR(rank_0_takes_no_orders_from_another_user),
		IN_DIR(a_launcher_believes_no_rank_of_another_user),
		IN_DIR(who_comes_and_says_nothing_keeps_nobody_waiting),
		IN_DIR(who_says_a_gigabyte_is_not_heard),
		IN_DIR(nobody_else_can_come_to_where_a_launcher_listens),
		IN_DIR(a_relay_lets_only_its_user_in),
		IN_DIR(a_relay_takes_no_folder_that_is_there),
		IN_DIR(who_takes_the_name_that_can_be_guessed_takes_nothing),
		IN_DIR(memory_of_another_user_is_not_taken),
		IN_DIR(another_user_gets_no_memory),
		IN_DIR(who_takes_the_folder_of_local_runs_stops_none),
		IN_DIR(a_port_that_anybody_has_is_not_free),
		IN_DIR(the_next_port_cannot_be_told_from_the_last),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
