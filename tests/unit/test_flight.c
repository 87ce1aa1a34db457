/* SPDX-License-Identifier: MIT */
/*
 * test_flight.c - a device in a message, in nobody's table of files
 *
 * With real control groups. Needs root.
 */

#define _GNU_SOURCE /* unshare, memfd_create */
#include <pthread.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "spank/pollux/flight.h"
#include "job_groups.h"

#define MANY	10000 /* sockets */
#define LARGE	150000
#define MOST	8 /* ways to hide a device */
#define SOON_MS 8000
#define LATE_MS 30000

/* A thread of a job is where it is to be. */
static atomic_bool is_ready;

/* 0: none. */
static int send_file(int socket, int file, size_t bytes, int flags)
{
	static char text[LARGE];
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec part = { .iov_base = text, .iov_len = bytes };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = file > 0 ? control.bytes : NULL,
		.msg_controllen = file > 0 ? sizeof(control.bytes) : 0,
	};

	if (file > 0) {
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &file, sizeof(file));
	}
	return sendmsg(socket, &message, flags | MSG_DONTWAIT) ==
			       (ssize_t) bytes
		       ? 0
		       : -1;
}

static void must(bool done)
{
	if (!done)
		_exit(1);
}

/* Two ends; what is sent over the first waits in the other. */
static void connect_two(int type, int ends[2])
{
	const int much = 1 << 20;

	must(socketpair(AF_UNIX, type, 0, ends) == 0);
	must(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &much,
			sizeof(much)) == 0);
}

static int make_memory(void)
{
	int file = memfd_create("memory", 0);

	must(file >= 0);
	return file;
}

/* --- ways to hide a device --- */

static void hide_in_stream(int device)
{
	int ends[2];

	connect_two(SOCK_STREAM, ends);
	must(send_file(ends[0], device, 1, 0) == 0);
}

static void hide_when_the_sender_has_gone(int device)
{
	int ends[2];

	connect_two(SOCK_SEQPACKET, ends);
	must(send_file(ends[0], device, 1, 0) == 0);
	close(ends[0]);
}

static void hide_behind_bytes(int device)
{
	int ends[2];

	connect_two(SOCK_STREAM, ends);
	must(send_file(ends[0], 0, LARGE, 0) == 0);
	must(send_file(ends[0], device, 1, 0) == 0);
}

static void hide_behind_files(int device)
{
	int ends[2];

	connect_two(SOCK_STREAM, ends);
	for (int i = 0; i < 5; i++)
		must(send_file(ends[0], make_memory(), 30000, 0) == 0);
	must(send_file(ends[0], device, 1, 0) == 0);
}

/* The first one is peeked at in parts, with its file each time. */
static void hide_behind_a_large_packet(int device)
{
	int ends[2];

	connect_two(SOCK_DGRAM, ends);
	must(send_file(ends[0], make_memory(), LARGE, 0) == 0);
	must(send_file(ends[0], device, 1, 0) == 0);
}

static void hide_before_where_one_peeks(int device)
{
	const int later = 100;
	int ends[2];

	connect_two(SOCK_STREAM, ends);
	must(send_file(ends[0], device, 1, 0) == 0);
	must(send_file(ends[0], 0, LARGE, 0) == 0);
	must(setsockopt(ends[1], SOL_SOCKET, SO_PEEK_OFF, &later,
			sizeof(later)) == 0);
}

static void hide_in_a_socket_in_a_message(int device)
{
	int inner[2];
	int outer[2];

	connect_two(SOCK_STREAM, inner);
	connect_two(SOCK_DGRAM, outer);
	must(send_file(inner[0], device, 1, 0) == 0);
	must(send_file(outer[0], inner[1], 1, 0) == 0);
	close(inner[0]);
	close(inner[1]);
}

static void *hide_as_thread(void *device)
{
	must(unshare(CLONE_FILES) == 0);
	hide_in_stream(*(const int *) device);
	close(*(const int *) device);
	atomic_store(&is_ready, true);
	while (!atomic_load(&common->stop))
		sleep_ms(1);
	return NULL;
}

static void hide_in_a_threads_own_files(int device)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, hide_as_thread, &device) == 0);
	while (!atomic_load(&is_ready))
		sleep_ms(1);
}

/* --- what nobody can look at --- */

/* One who listens, and one who calls: he is not accepted. */
static int call(int *caller)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(name);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	*caller = socket(AF_UNIX, SOCK_STREAM, 0);
	must(bind(listener, (struct sockaddr *) &name, sizeof(sa_family_t)) ==
	     0);
	must(listen(listener, 5) == 0);
	must(getsockname(listener, (struct sockaddr *) &name, &size) == 0);
	must(connect(*caller, (struct sockaddr *) &name, size) == 0);
	return listener;
}

static void hide_where_nobody_accepts(int device)
{
	int caller = -1;

	(void) call(&caller);
	must(send_file(caller, device, 1, 0) == 0);
	close(caller);
}

static void hide_in_packets_of_no_bytes(int device)
{
	int ends[2];

	connect_two(SOCK_DGRAM, ends);
	must(send_file(ends[0], make_memory(), 0, 0) == 0);
	must(send_file(ends[0], device, 0, 0) == 0);
}

static void hide_out_of_band(int device)
{
	int ends[2];

	connect_two(SOCK_STREAM, ends);
	must(send_file(ends[0], 0, 1, 0) == 0);
	must(send_file(ends[0], device, 1, MSG_OOB) == 0);
}

/* A socket waits in itself, and what it holds with it. */
static void hide_in_a_circle(int device)
{
	int ends[2];

	connect_two(SOCK_DGRAM, ends);
	must(send_file(ends[0], ends[1], 1, 0) == 0);
	must(send_file(ends[0], device, 0, 0) == 0);
}

/* Receives to a page that never comes, and so holds the socket. */
static void *receive_for_ever(void *socket)
{
	char *page = page_that_never_comes();

	must(page != NULL);
	atomic_store(&is_ready, true);
	recv(*(const int *) socket, page, 100, MSG_PEEK);
	return NULL;
}

static void hide_in_a_socket_that_is_held(int device)
{
	static int ends[2];
	pthread_t thread;

	connect_two(SOCK_STREAM, ends);
	must(send_file(ends[0], 0, 100, 0) == 0);
	must(send_file(ends[0], device, 1, 0) == 0);
	must(pthread_create(&thread, NULL, receive_for_ever, &ends[1]) == 0);
	while (!atomic_load(&is_ready))
		sleep_ms(1);
	sleep_ms(100);
}

/* --- a job that hides one --- */

typedef void hide_t(int device);
typedef bool check_t(void);

/* A process of the job does so; the job may open the device yet. */
static pid_t start_job(const char *device, hide_t *hide, check_t *check)
{
	int number = job();
	int ends[2];
	char byte = 0;
	int file = -1;
	pid_t child = -1;

	assert_int_equal(pipe(ends), 0);
	child = fork_child();
	if (child == 0) {
		must(enter(DEVICES, number, "/step_0") == 0 &&
		     enter(FREEZER, number, "/step_0") == 0);
		file = open(device, O_RDONLY);
		must(file >= 0);
		hide(file);
		close(file);
		must(write(ends[1], "x", 1) == 1);
		while (!atomic_load(&common->stop))
			sleep_ms(1);
		_exit(check && check() ? 0 : 1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return child;
}

/* A process for each of these ways, in one job. */
static void assert_are_ended(hide_t *const *ways, int count, long within_ms)
{
	char device[PATH_MAX];
	pid_t children[MOST];
	bool are_killed = true;
	int said = 0;

	up(device);
	say_device("devices.allow");
	for (int i = 0; i < count; i++)
		children[i] = start_job(device, ways[i], NULL);
	say_device("devices.deny");
	said = ask(within_ms);
	atomic_store(&common->stop, true);
	for (int i = 0; i < count; i++) {
		int status = 0;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		if (!WIFSIGNALED(status))
			print_message("# way %d is not ended\n", i);
		are_killed &= WIFSIGNALED(status);
	}
	down(device);
	assert_true(are_killed);
	assert_true(said > 0);
}

static void who_has_a_device_in_a_message_is_ended(void **state)
{
	static hide_t *const ways[] = {
		hide_in_stream,
		hide_behind_bytes,
		hide_when_the_sender_has_gone,
		hide_behind_files,
		hide_behind_a_large_packet,
		hide_before_where_one_peeks,
		hide_in_a_socket_in_a_message,
	};

	(void) state;
	assert_are_ended(ways, ARRAY_SIZE(ways), SOON_MS);
}

/* At once since Linux 6.9; before, as what nobody can look at. */
static void so_is_one_whose_thread_has_files_of_its_own(void **state)
{
	static hide_t *const ways[] = { hide_in_a_threads_own_files };

	(void) state;
	assert_are_ended(ways, ARRAY_SIZE(ways), LATE_MS);
}

static void what_cannot_be_looked_at_is_a_device_in_the_end(void **state)
{
	static hide_t *const ways[] = {
		hide_where_nobody_accepts,
		hide_in_packets_of_no_bytes,
		hide_out_of_band,
		hide_in_a_circle,
		hide_in_a_socket_that_is_held,
	};

	(void) state;
	assert_are_ended(ways, ARRAY_SIZE(ways), LATE_MS);
}

/* --- honest jobs --- */

static int kept[2];
static int peeks_at = -1;

/* As a hand-over of memory does. */
static void send_memory(int device)
{
	(void) device;
	connect_two(SOCK_STREAM, kept);
	for (int i = 0; i < 3; i++)
		must(send_file(kept[0], make_memory(), 30000, 0) == 0);
}

static void send_memory_and_peek(int device)
{
	send_memory(device);
	peeks_at = 30001;
	must(setsockopt(kept[1], SOL_SOCKET, SO_PEEK_OFF, &peeks_at,
			sizeof(peeks_at)) == 0);
}

/* Is it all still there, and what the job said of it? */
static bool receives_all(void)
{
	static char text[LARGE];
	int where = -2;
	socklen_t size = sizeof(where);
	int files = 0;
	ssize_t got = 0;
	ssize_t bytes = 0;

	must(getsockopt(kept[1], SOL_SOCKET, SO_PEEK_OFF, &where, &size) == 0);
	do {
		char control[CMSG_SPACE(sizeof(int))];
		struct iovec part = { text, sizeof(text) };
		struct msghdr message = {
			.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};

		got = recvmsg(kept[1], &message, MSG_DONTWAIT);
		files += got > 0 && CMSG_FIRSTHDR(&message);
		bytes += got > 0 ? got : 0;
	} while (got > 0);
	return files == 3 && bytes == 3 * 30000 && where == peeks_at;
}

#define SLOW_MS 3000

static void *accept_late(void *listener)
{
	sleep_ms(SLOW_MS);
	(void) accept(*(const int *) listener, NULL, NULL);
	return NULL;
}

static void accept_slowly(int device)
{
	static int listener;
	int caller = -1;
	pthread_t thread;

	(void) device;
	listener = call(&caller);
	must(send_file(caller, make_memory(), 1, 0) == 0);
	must(pthread_create(&thread, NULL, accept_late, &listener) == 0);
}

/* What a look says of it, and how the job has ended. */
static int ask_for(hide_t *hide, check_t *check, long ms, int *status)
{
	char device[PATH_MAX];
	int said = 0;
	pid_t child = -1;

	up(device);
	say_device("devices.allow");
	child = start_job(device, hide, check);
	say_device("devices.deny");
	said = ask(ms);
	atomic_store(&common->stop, true);
	assert_int_equal(waitpid(child, status, 0), child);
	down(device);
	return said;
}

static void memory_in_messages_stays_where_it_is(void **state)
{
	static hide_t *const ways[] = { send_memory, send_memory_and_peek };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		int status = -1;

		assert_int_equal(
			ask_for(ways[i], receives_all, SOON_MS, &status), 0);
		assert_int_equal(status, 0);
	}
}

static bool yes(void)
{
	return true;
}

static void who_is_slow_to_accept_is_waited_for(void **state)
{
	int status = -1;

	(void) state;
	assert_int_equal(ask_for(accept_slowly, yes, LATE_MS, &status), 0);
	assert_int_equal(status, 0);
}

static void open_many(int device)
{
	const struct rlimit most = { MANY + 100, MANY + 100 };

	(void) device;
	must(setrlimit(RLIMIT_NOFILE, &most) == 0);
	for (int i = 0; i < MANY; i++)
		must(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
}

static void many_sockets_are_looked_at_in_time(void **state)
{
	char device[PATH_MAX];
	pid_t child = -1;

	(void) state;
	up(device);
	say_device("devices.allow");
	child = start_job(device, open_many, yes);
	say_device("devices.deny");
	assert_int_equal(ask(LATE_MS), 0);
	print_message("# %d sockets: %ld entries, frozen for %d ms\n", MANY,
		      common->last.entries, (int) common->last.frozen_ms);
	atomic_store(&common->stop, true);
	waitpid(child, NULL, 0);
	down(device);
}

/* --- what Linux counts --- */

static void a_release_of_linux_counts_or_not(void **state)
{
	(void) state;
	assert_true(plx_flight_counts("6.3.0"));
	assert_true(plx_flight_counts("6.12.57+deb13-amd64"));
	assert_true(plx_flight_counts("7.0"));
	assert_false(plx_flight_counts("6.1.0-40-amd64"));
	assert_false(plx_flight_counts("5.14.0-503.el9.x86_64"));
	assert_false(plx_flight_counts("Linux"));
	assert_false(plx_flight_counts(""));
}

/* Does something wait in what this process has open by that number? */
static int waits(int socket)
{
	char number[16];
	char pid[16];

	snprintf(number, sizeof(number), "%d", socket);
	snprintf(pid, sizeof(pid), "%d", (int) getpid());
	return plx_flight_waits(pid, number);
}

static void where_it_does_not_a_call_may_bring_files(void **state)
{
	int before = personality(UNAME26);
	int caller = -1;
	int listener = call(&caller);
	int called = waits(listener);
	int accepted = accept(listener, NULL, NULL);

	(void) state;
	assert_true(before >= 0);
	assert_int_equal(called, 1);
	assert_int_equal(waits(listener), 0);
	assert_int_equal(waits(accepted), 0);
	assert_int_equal(send_file(caller, listener, 1, 0), 0);
	assert_int_equal(waits(accepted), 1);
	(void) personality((unsigned long) before);
	close(listener);
	close(caller);
	close(accepted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_a_device_in_a_message_is_ended),
		cmocka_unit_test(so_is_one_whose_thread_has_files_of_its_own),
		cmocka_unit_test(
			what_cannot_be_looked_at_is_a_device_in_the_end),
		cmocka_unit_test(memory_in_messages_stays_where_it_is),
		cmocka_unit_test(who_is_slow_to_accept_is_waited_for),
		cmocka_unit_test(many_sockets_are_looked_at_in_time),
		cmocka_unit_test(a_release_of_linux_counts_or_not),
		cmocka_unit_test(where_it_does_not_a_call_may_bring_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
