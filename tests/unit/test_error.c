/* SPDX-License-Identifier: MIT */
/* test_error.c - the one sentence that tells what went wrong */

#include <string.h>

#include "core/base/error.h"
#include "unit.h"

static void a_failure_writes_its_sentence(void **state)
{
	struct plx_error err = { .text = "" };

	(void) state;
	assert_int_equal(-1, plx_fail(&err, "line %d: want %s", 3, "GPUs"));
	assert_string_equal("line 3: want GPUs", err.text);
}

static void a_long_sentence_is_cut_not_overrun(void **state)
{
	struct {
		struct plx_error err;
		char guard;
	} box = { .guard = 'g' };
	char word[2 * PLX_ERROR_SIZE];

	(void) state;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	plx_fail(&box.err, "%s", word);
	assert_int_equal(PLX_ERROR_SIZE - 1, strlen(box.err.text));
	assert_int_equal('g', box.guard);
}

static void a_text_from_elsewhere_stays_on_the_line(void **state)
{
	struct plx_error err;

	(void) state;
	plx_fail(&err, "tensor \"%s\"", "a\n\x1b[2J\x7f \xc3\xa9");
	assert_string_equal("tensor \"a??[2J? \xc3\xa9\"", err.text);
}

static void nobody_has_to_listen(void **state)
{
	(void) state;
	assert_int_equal(-1, plx_fail(NULL, "unheard"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_writes_its_sentence),
		cmocka_unit_test(a_long_sentence_is_cut_not_overrun),
		cmocka_unit_test(a_text_from_elsewhere_stays_on_the_line),
		cmocka_unit_test(nobody_has_to_listen),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
