/* SPDX-License-Identifier: MIT */
/* test_wishes.c - what rank 0 understands of what its launcher says */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/comm/report.h"
#include "unit.h"
#include "wire/channel.h"
#include "wire/env.h"

/* Both ends of the socket. */
struct line {
	struct plx_reporter *reporter;
	struct plx_channel *launcher;
};

static struct line open_line(void)
{
	char folder[] = "/tmp/test-wishes.XXXXXX";
	char path[64];
	struct line line = { NULL, NULL };
	struct plx_error err = { .text = "" };
	int listener;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/socket", folder);
	listener = plx_listen(path, &err);
	assert_true(listener >= 0);
	setenv(PLX_ENV_SOCKET, path, 1);
	assert_int_equal(0, plx_reporter_create(&line.reporter, &err));
	while (!line.launcher)
		line.launcher = plx_accept(listener, &err);
	close(listener);
	unlink(path);
	rmdir(folder);
	unsetenv(PLX_ENV_SOCKET);
	return line;
}

static void close_line(struct line *line)
{
	plx_reporter_destroy(line->reporter);
	plx_channel_destroy(line->launcher);
}

static void say(struct line *line, const char *text)
{
	assert_int_equal(0, plx_channel_send(line->launcher, text, NULL));
}

static void each_word_is_one_wish(void **state)
{
	static const struct {
		const char *said;
		unsigned int wish;
	} cases[] = {
		{ "save", PLX_WISH_SAVE },
		{ "prepare", PLX_WISH_PREPARE },
		{ "hand", PLX_WISH_HAND },
		{ "leave", PLX_WISH_LEAVE },
		{ "go", PLX_WISH_GO },
		{ "resume", PLX_WISH_RESUME },
		{ "go gen=7", PLX_WISH_GO },
		{ "handsome", 0 },
		{ "dance", 0 },
	};
	struct line line = open_line();

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		say(&line, cases[i].said);
		assert_int_equal(cases[i].wish,
				 plx_reporter_wishes(line.reporter));
		/* It was taken. */
		assert_int_equal(0, plx_reporter_wishes(line.reporter));
	}
	assert_int_equal(7, plx_reporter_source(line.reporter));
	close_line(&line);
}

static void several_words_are_several_wishes(void **state)
{
	struct line line = open_line();

	(void) state;
	say(&line, "prepare");
	say(&line, "save");
	assert_int_equal(PLX_WISH_PREPARE | PLX_WISH_SAVE,
			 plx_reporter_wishes(line.reporter));
	close_line(&line);
}

static void a_stop_stays(void **state)
{
	struct line line = open_line();

	(void) state;
	say(&line, "stop");
	for (int i = 0; i < 3; i++)
		assert_int_equal(PLX_WISH_STOP,
				 plx_reporter_wishes(line.reporter));
	/* Who has said so may go. */
	plx_channel_destroy(line.launcher);
	line.launcher = NULL;
	assert_int_equal(PLX_WISH_STOP, plx_reporter_wishes(line.reporter));
	/* But nothing more can be waited for. */
	assert_true(plx_reporter_wait(line.reporter, PLX_WISH_LEAVE, 60) &
		    PLX_WISH_GONE);
	close_line(&line);
}

static void a_launcher_that_is_gone_is_noticed(void **state)
{
	struct line line = open_line();

	(void) state;
	plx_channel_destroy(line.launcher);
	line.launcher = NULL;
	assert_int_equal(PLX_WISH_GONE, plx_reporter_wishes(line.reporter));
	assert_int_equal(PLX_WISH_GONE,
			 plx_reporter_wait(line.reporter, PLX_WISH_GO, 60));
	close_line(&line);
}

static void waiting_ends_with_what_was_waited_for_or_late(void **state)
{
	struct line line = open_line();

	(void) state;
	assert_int_equal(0, plx_reporter_wait(line.reporter, PLX_WISH_LEAVE,
					      0.01));
	say(&line, "save");
	say(&line, "resume gen=9");
	assert_int_equal(PLX_WISH_RESUME,
			 plx_reporter_wait(line.reporter,
					   PLX_WISH_LEAVE | PLX_WISH_RESUME,
					   60));
	assert_int_equal(9, plx_reporter_source(line.reporter));
	/* What was not waited for is not lost. */
	assert_int_equal(PLX_WISH_SAVE, plx_reporter_wishes(line.reporter));
	close_line(&line);
}

static int heard(struct line *line, char text[PLX_LINE_MAX])
{
	return plx_channel_receive(line->launcher, text, NULL);
}

static void beats_come_once_a_second(void **state)
{
	struct line line = open_line();
	char text[PLX_LINE_MAX];

	(void) state;
	for (int i = 0; i < 100; i++)
		plx_reporter_beat(line.reporter, (uint64_t) i, 10 + 0.025 * i);
	assert_int_equal(1, heard(&line, text));
	assert_string_equal("beat step=0", text);
	assert_int_equal(1, heard(&line, text));
	assert_string_equal("beat step=40", text);
	assert_int_equal(1, heard(&line, text));
	assert_string_equal("beat step=80", text);
	assert_int_equal(0, heard(&line, text));
	close_line(&line);
}

static void nobody_wants_anything_without_a_launcher(void **state)
{
	struct plx_reporter *none = NULL;

	(void) state;
	unsetenv(PLX_ENV_SOCKET);
	assert_int_equal(0, plx_reporter_create(&none, NULL));
	assert_null(none);
	assert_int_equal(0, plx_reporter_wishes(NULL));
	assert_int_equal(0, plx_reporter_wait(NULL, PLX_WISH_GO, 60));
	plx_reporter_beat(NULL, 1, 1);
	plx_reporter_say(NULL, "%s", "x");
	plx_reporter_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_word_is_one_wish),
		cmocka_unit_test(several_words_are_several_wishes),
		cmocka_unit_test(a_stop_stays),
		cmocka_unit_test(a_launcher_that_is_gone_is_noticed),
		cmocka_unit_test(waiting_ends_with_what_was_waited_for_or_late),
		cmocka_unit_test(beats_come_once_a_second),
		cmocka_unit_test(nobody_wants_anything_without_a_launcher),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
