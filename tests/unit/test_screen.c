/* SPDX-License-Identifier: MIT */
/* test_screen.c - frames drawn in memory, and keys as terminals send them */

#define _GNU_SOURCE

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "report/keys.h"
#include "report/screen.h"
#include "unit.h"

static struct plx_screen blank(int width, int height, bool utf8)
{
	struct plx_screen screen;

	assert_int_equal(0, plx_screen_init(&screen, width, height, utf8));
	return screen;
}

/* The caller's to free. */
static char *row(const struct plx_screen *screen, int y)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	plx_screen_row(screen, y, out);
	fclose(out);
	return text;
}

static char *frame(const struct plx_screen *screen, bool colour)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	plx_screen_write(screen, colour, out);
	fclose(out);
	return text;
}

static void assert_row(const char *want, const struct plx_screen *screen, int y)
{
	char *text = row(screen, y);

	assert_string_equal(want, text);
	free(text);
}

static void text_is_cut_at_the_edges(void **state)
{
	struct plx_screen screen = blank(5, 2, false);

	(void) state;
	assert_int_equal(5, plx_screen_put(&screen, 2, 0, 0, "abcdef"));
	assert_int_equal(3, plx_screen_put(&screen, -1, 1, 0, "wxyz"));
	plx_screen_put(&screen, 0, 2, 0, "below");
	plx_screen_put(&screen, 0, -1, 0, "above");
	plx_screen_put(&screen, 9, 0, 0, "beside");
	plx_screen_paint(&screen, -3, 0, 100, PLX_BOLD);
	plx_screen_bar(&screen, 3, 1, 9, 0, 0.5);
	assert_row("  abc", &screen, 0);
	assert_row("xyz##", &screen, 1);
	plx_screen_release(&screen);
}

static void text_of_users_cannot_command_the_terminal(void **state)
{
	static const struct {
		const char *text;
		const char *shown;
	} cases[] = {
		{ "a\033[2Jb", "a?[2Jb" },
		{ "a\nb\tc\rd", "a?b?c?d" },
		{ "\x9b\x32J", "?2J" },		      /* CSI, 8 bits */
		{ "\xc2\x9b", "??" },		      /* the same in UTF-8 */
		{ "x\xe2\x80\xaey", "x???y" },	      /* turns right to left */
		{ "x\xe2\x81\xa7y", "x???y" },	      /* isolates */
		{ "x\xe2\x80\xa8y", "x???y" },	      /* a line's end */
		{ "\xff\xc0\xaf", "???" },	      /* no UTF-8 */
		{ "e\xcc\x81", "e?" },		      /* combines */
		{ "\xc3\xa9", "\xc3\xa9" },	      /* e with acute */
		{ "\xe6\x97\xa5|", "\xe6\x97\xa5|" }, /* two columns wide */
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_screen screen = blank(20, 1, true);

		plx_screen_put(&screen, 0, 0, 0, cases[i].text);
		assert_row(cases[i].shown, &screen, 0);
		plx_screen_release(&screen);
	}
}

static void without_utf_8_only_ascii_is_written(void **state)
{
	struct plx_screen screen = blank(8, 1, false);
	char *text;

	(void) state;
	plx_screen_put(&screen, 0, 0, 0, "\xe6\x97\xa5\xc3\xa9");
	plx_screen_bar(&screen, 2, 0, 6, 0, 0.5);
	assert_row("?\?###...", &screen, 0);
	text = frame(&screen, true);
	for (const char *p = text; *p; p++)
		assert_true((unsigned char) *p < 0x80);
	free(text);
	plx_screen_release(&screen);
}

static void wide_characters_are_never_halved(void **state)
{
	struct plx_screen screen = blank(4, 1, true);

	(void) state;
	assert_int_equal(2, plx_screen_width(&screen, "\xe6\x97\xa5"));
	plx_screen_put(&screen, 0, 0, 0, "\xe6\x97\xa5\xe6\x97\xa5");
	plx_screen_put(&screen, 1, 0, 0, "x");
	assert_row(" x\xe6\x97\xa5", &screen, 0);
	plx_screen_put(&screen, 2, 0, 0, "y");
	assert_row(" xy", &screen, 0);
	plx_screen_put(&screen, 3, 0, 0, "\xe6\x97\xa5");
	assert_row(" xy?", &screen, 0);
	plx_screen_release(&screen);
}

static void bars_tell_eighths_and_stay_in_range(void **state)
{
	struct plx_screen screen = blank(2, 1, true);

	(void) state;
	plx_screen_bar(&screen, 0, 0, 2, 0, 0.5625);
	assert_row("\xe2\x96\x88\xe2\x96\x8f", &screen, 0);
	plx_screen_bar(&screen, 0, 0, 2, 0, 7);
	assert_row("\xe2\x96\x88\xe2\x96\x88", &screen, 0);
	plx_screen_bar(&screen, 0, 0, 2, 0, -1);
	assert_row("\xe2\x96\x91\xe2\x96\x91", &screen, 0);
	plx_screen_bar(&screen, 0, 0, 2, 0, 0.0 / 0.0);
	assert_row("\xe2\x96\x91\xe2\x96\x91", &screen, 0);
	plx_screen_release(&screen);
}

static void flags_stay_without_colour_and_hues_go(void **state)
{
	struct plx_screen screen = blank(4, 1, false);
	char *text;

	(void) state;
	plx_screen_put(&screen, 0, 0, PLX_BAD | PLX_BOLD, "x");
	plx_screen_put(&screen, 1, 0, PLX_JOB_HUES, "y");
	text = frame(&screen, true);
	assert_non_null(strstr(text, "\033[0;1;31mx\033[0;30;46my\033[0m"));
	free(text);
	text = frame(&screen, false);
	assert_non_null(strstr(text, "\033[0;1mx\033[0my"));
	assert_null(strstr(text, ";3"));
	free(text);
	plx_screen_release(&screen);
}

static void sizes_out_of_range_are_brought_into_it(void **state)
{
	struct plx_screen screen = blank(0, -3, false);

	(void) state;
	assert_int_equal(1, screen.width);
	assert_int_equal(1, screen.height);
	plx_screen_release(&screen);
	screen = blank(1 << 30, 1 << 30, false);
	assert_int_equal(PLX_SCREEN_WIDTH_MAX, screen.width);
	assert_int_equal(PLX_SCREEN_HEIGHT_MAX, screen.height);
	plx_screen_release(&screen);
}

static void keys_are_known_by_what_terminals_send(void **state)
{
	static const struct {
		const char *bytes;
		bool last;
		size_t taken;
		enum plx_key key;
	} cases[] = {
		{ "", true, 0, PLX_KEY_NONE },
		{ "q", false, 1, (enum plx_key) 'q' },
		{ "\r", false, 1, PLX_KEY_ENTER },
		{ "\n", false, 1, PLX_KEY_ENTER },
		{ "\x7f", false, 1, PLX_KEY_BACKSPACE },
		{ "\033[A", false, 3, PLX_KEY_UP },
		{ "\033OB", false, 3, PLX_KEY_DOWN },
		{ "\033[5~x", false, 4, PLX_KEY_PAGE_UP },
		{ "\033[1;5C", false, 6, PLX_KEY_NONE },
		{ "\033[", false, 0, PLX_KEY_NONE }, /* the rest is to come */
		{ "\033", false, 0, PLX_KEY_NONE },
		{ "\033", true, 1, PLX_KEY_ESCAPE },
		{ "\033q", false, 1, PLX_KEY_ESCAPE },
		{ "\033[", true, 2, PLX_KEY_NONE },
		{ "\033[00000000000000000000", false, 16, PLX_KEY_NONE },
		{ "\xff", false, 1, (enum plx_key) 0xff },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum plx_key key = PLX_KEY_NONE;

		assert_int_equal(cases[i].taken,
				 plx_key_take(cases[i].bytes,
					      strlen(cases[i].bytes),
					      cases[i].last, &key));
		assert_int_equal(cases[i].key, key);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_at_the_edges),
		cmocka_unit_test(text_of_users_cannot_command_the_terminal),
		cmocka_unit_test(without_utf_8_only_ascii_is_written),
		cmocka_unit_test(wide_characters_are_never_halved),
		cmocka_unit_test(bars_tell_eighths_and_stay_in_range),
		cmocka_unit_test(flags_stay_without_colour_and_hues_go),
		cmocka_unit_test(sizes_out_of_range_are_brought_into_it),
		cmocka_unit_test(keys_are_known_by_what_terminals_send),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		puts("1..0 # SKIP no locale with UTF-8 here");
		return 0;
	}
	return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
