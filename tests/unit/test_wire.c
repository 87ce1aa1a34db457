/* SPDX-License-Identifier: MIT */
/* test_wire.c - the socket between launcher and agent, and its words */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"
#include "wire/channel.h"
#include "wire/message.h"

#define CONNECT_S 10.0

struct pair {
	char dir[64];
	char path[96];
	int listener;
	struct plx_channel *launcher;
	struct plx_channel *agent;
};

static int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	struct plx_error err;

	assert_non_null(p);
	strcpy(p->dir, "/tmp/pollux-wire.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/s", p->dir);
	p->listener = plx_listen(p->path, &err);
	assert_true(p->listener >= 0);
	p->agent = plx_connect(p->path, CONNECT_S, &err);
	assert_non_null(p->agent);
	p->launcher = plx_accept(p->listener, &err);
	assert_non_null(p->launcher);
	*state = p;
	return 0;
}

static int pair_teardown(void **state)
{
	struct pair *p = *state;

	plx_channel_destroy(p->launcher);
	plx_channel_destroy(p->agent);
	close(p->listener);
	unlink(p->path);
	rmdir(p->dir);
	free(p);
	return 0;
}

/* Receive, waiting at most ten seconds for input. */
static int receive(struct plx_channel *channel, char line[PLX_LINE_MAX],
		   struct plx_error *err)
{
	struct pollfd p = { .fd = plx_channel_fd(channel), .events = POLLIN };
	int got = plx_channel_receive(channel, line, err);

	if (got != 0)
		return got;
	assert_int_equal(1, poll(&p, 1, 10000));
	return plx_channel_receive(channel, line, err);
}

static void raw_send(struct plx_channel *channel, const void *data, size_t size)
{
	int fd = plx_channel_fd(channel);

	assert_int_equal(size, send(fd, data, size, MSG_NOSIGNAL));
}

static void lines_arrive_whole_and_in_order(void **state)
{
	struct pair *p = *state;
	char line[PLX_LINE_MAX];
	struct plx_error err;

	assert_int_equal(0, plx_channel_send(p->agent, "hello ranks=2", &err));
	assert_int_equal(0, plx_channel_send(p->agent, "began", &err));
	assert_int_equal(1, receive(p->launcher, line, &err));
	assert_string_equal("hello ranks=2", line);
	assert_int_equal(1, receive(p->launcher, line, &err));
	assert_string_equal("began", line);
	assert_int_equal(0, plx_channel_receive(p->launcher, line, &err));
}

static void half_a_line_is_not_a_line_yet(void **state)
{
	struct pair *p = *state;
	char line[PLX_LINE_MAX];
	struct plx_error err;

	raw_send(p->launcher, "st", 2);
	assert_int_equal(0, plx_channel_receive(p->agent, line, &err));
	raw_send(p->launcher, "op\nbe", 5);
	assert_int_equal(1, receive(p->agent, line, &err));
	assert_string_equal("stop", line);
	assert_int_equal(0, plx_channel_receive(p->agent, line, &err));
	raw_send(p->launcher, "gan\n", 4);
	assert_int_equal(1, receive(p->agent, line, &err));
	assert_string_equal("began", line);
}

static void the_longest_line_passes(void **state)
{
	struct pair *p = *state;
	char sent[PLX_LINE_MAX];
	char line[PLX_LINE_MAX];
	struct plx_error err;

	memset(sent, 'x', sizeof(sent));
	sent[PLX_LINE_MAX - 1] = '\0';
	assert_int_equal(0, plx_channel_send(p->agent, sent, &err));
	assert_int_equal(1, receive(p->launcher, line, &err));
	assert_string_equal(sent, line);
}

static void a_longer_line_is_refused_by_both_ends(void **state)
{
	struct pair *p = *state;
	char sent[PLX_LINE_MAX + 1];
	char line[PLX_LINE_MAX];
	struct plx_error err;

	memset(sent, 'x', sizeof(sent));
	sent[PLX_LINE_MAX] = '\0';
	assert_int_equal(-1, plx_channel_send(p->agent, sent, &err));
	raw_send(p->agent, sent, PLX_LINE_MAX);
	assert_int_equal(-1, receive(p->launcher, line, &err));
	assert_string_equal("a line is longer than 2047 bytes", err.text);
}

static void a_newline_inside_a_line_is_refused(void **state)
{
	struct pair *p = *state;
	struct plx_error err;

	assert_int_equal(-1, plx_channel_send(p->agent, "stop\nstop", &err));
	assert_string_equal("a line to send has a newline in it", err.text);
}

static void what_was_sent_before_closing_is_still_read(void **state)
{
	struct pair *p = *state;
	char line[PLX_LINE_MAX];
	struct plx_error err;

	assert_int_equal(0, plx_channel_send(p->agent, "done", &err));
	plx_channel_destroy(p->agent);
	p->agent = NULL;
	assert_int_equal(1, receive(p->launcher, line, &err));
	assert_string_equal("done", line);
	assert_int_equal(-1, receive(p->launcher, line, &err));
	assert_string_equal("the peer closed the connection", err.text);
}

static void sending_to_a_closed_peer_fails_without_a_signal(void **state)
{
	struct pair *p = *state;
	struct plx_error err;

	plx_channel_destroy(p->agent);
	p->agent = NULL;
	assert_int_equal(-1, plx_channel_send(p->launcher, "stop", &err));
}

static void a_peer_that_never_reads_does_not_block_for_ever(void **state)
{
	struct pair *p = *state;
	char sent[PLX_LINE_MAX];
	struct plx_error err;
	int rc = 0;

	memset(sent, 'x', sizeof(sent));
	sent[PLX_LINE_MAX - 1] = '\0';
	for (int i = 0; i < 100000 && rc == 0; i++)
		rc = plx_channel_send(p->agent, sent, &err);
	assert_int_equal(-1, rc);
	assert_string_equal("the peer does not read: nothing sent for 2 s",
			    err.text);
}

static void nobody_waiting_is_not_an_error(void **state)
{
	struct pair *p = *state;
	struct plx_error err = { .text = "old" };

	assert_null(plx_accept(p->listener, &err));
	assert_string_equal("", err.text);
}

static void a_stale_socket_is_replaced(void **state)
{
	struct pair *p = *state;
	struct plx_error err;
	struct stat st;

	close(p->listener);
	p->listener = plx_listen(p->path, &err);
	assert_true(p->listener >= 0);
	assert_int_equal(0, stat(p->path, &st));
	assert_int_equal(0600, st.st_mode & 0777);
}

static void a_file_is_not_replaced(void **state)
{
	struct pair *p = *state;
	struct plx_error err;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/file", p->dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(-1, plx_listen(path, &err));
	assert_non_null(strstr(err.text, "is not a socket"));
	assert_int_equal(0, unlink(path));
}

static void connecting_to_nothing_ends(void **state)
{
	struct pair *p = *state;
	struct plx_error err;
	char path[128];

	snprintf(path, sizeof(path), "%s/none", p->dir);
	assert_null(plx_connect(path, 0.1, &err));
	assert_non_null(strstr(err.text, "cannot connect to"));
}

static void a_path_too_long_for_a_socket_is_refused(void **state)
{
	char path[200];
	struct plx_error err;

	(void) state;
	memset(path, 'p', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(-1, plx_listen(path, &err));
	assert_null(plx_connect(path, 0, &err));
}

static void a_word_is_not_the_start_of_a_longer_one(void **state)
{
	(void) state;
	assert_string_equal("ranks=2", plx_message("hello ranks=2", "hello"));
	assert_string_equal("", plx_message("stop", PLX_MSG_STOP));
	assert_null(plx_message("stopped", PLX_MSG_STOP));
	assert_null(plx_message("sto", PLX_MSG_STOP));
	assert_null(plx_message("", PLX_MSG_STOP));
}

#define WITH_PAIR(test)                                                        \
	cmocka_unit_test_setup_teardown(test, pair_setup, pair_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PAIR(lines_arrive_whole_and_in_order),
		WITH_PAIR(half_a_line_is_not_a_line_yet),
		WITH_PAIR(the_longest_line_passes),
		WITH_PAIR(a_longer_line_is_refused_by_both_ends),
		WITH_PAIR(a_newline_inside_a_line_is_refused),
		WITH_PAIR(what_was_sent_before_closing_is_still_read),
		WITH_PAIR(sending_to_a_closed_peer_fails_without_a_signal),
		WITH_PAIR(a_peer_that_never_reads_does_not_block_for_ever),
		WITH_PAIR(nobody_waiting_is_not_an_error),
		WITH_PAIR(a_stale_socket_is_replaced),
		WITH_PAIR(a_file_is_not_replaced),
		WITH_PAIR(connecting_to_nothing_ends),
		cmocka_unit_test(a_path_too_long_for_a_socket_is_refused),
		cmocka_unit_test(a_word_is_not_the_start_of_a_longer_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
