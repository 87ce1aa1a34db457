/* SPDX-License-Identifier: MIT */
/* test_sim_csv.c - tables read rightly, refused by line, never harmful */

#include <stdio.h>
#include <string.h>

#include "sim/csv.h"
#include "unit.h"

#define ROUNDS 50000

static const char *const columns[] = { "name", "size", NULL };

static const struct {
	const char *text;
	int rows;	 /* -1: refused ... */
	const char *why; /* ... with exactly this sentence */
} cases[] = {
	/* clang-format off */
	{ "name,size\na,1\nb,2\n",	 2, NULL },
	{ "size,extra,name\n1,x,a\n",	 1, NULL },
	{ "name,size\r\na,1\r\n",	 1, NULL },
	{ "name,size\n\na,1\n\n\nb,2",	 2, NULL },
	{ "name,size\n",		 0, NULL },
	{ "",				-1, "t:1: no header: the file is empty" },
	{ "\n\n",			-1, "t:1: no header: the file is empty" },
	{ "name,size,name\na,1,b\n", -1,
	  "t:1: more than one column \"name\"" },
	{ "x,name,size,x\n1,a,1,2\n", 1, NULL },
	{ "name,weight\na,1\n",		-1, "t:1: no column \"size\"" },
	{ "name,size\na,1\n\nb\n",	-1, "t:4: 1 cells: the header has 2" },
	{ "name,size\na,1,2\n",		-1, "t:2: 3 cells: the header has 2" },
	{ "name,size\n,1\n",		-1, "t:2: nothing in column \"name\"" },
	{ "name,size\n\"a\",1\n",	-1,
	  "t:2: quotes or control characters: want plain text" },
	{ "name,size\n\033[2Ja,1\n",	-1,
	  "t:2: quotes or control characters: want plain text" },
	{ "name,size\na\rb,1\n",	-1,
	  "t:2: quotes or control characters: want plain text" },
	/* clang-format on */
};

static void a_table_is_read_or_refused_by_line(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_csv csv = { 0 };
		struct plx_error err;
		int rc =
			plx_csv_parse("t", cases[i].text, strlen(cases[i].text),
				      columns, &csv, &err);

		if (cases[i].rows < 0) {
			assert_int_equal(rc, -1);
			assert_string_equal(err.text, cases[i].why);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_int_equal(csv.row_count, cases[i].rows);
		if (csv.row_count)
			assert_string_equal(plx_csv_text(&csv, 0, 0), "a");
		plx_csv_release(&csv);
		plx_csv_release(&csv);
	}
}

static void a_zero_byte_is_refused(void **state)
{
	static const char text[] = "name,size\na\0b,1\n";
	struct plx_csv csv;
	struct plx_error err;

	(void) state;
	assert_int_equal(plx_csv_parse("t", text, sizeof(text) - 1, columns,
				       &csv, &err),
			 -1);
	assert_non_null(strstr(err.text, "t:2: "));
}

static const struct {
	const char *cell;
	const char *why_real; /* NULL: taken, from 0 to 10 */
	const char *why_whole;
} numbers[] = {
	/* clang-format off */
	{ "7",	  NULL, NULL },
	{ "7.5",  NULL, "t:2: \"7.5\": want a whole number from 0 to 10" },
	{ "11",	  "t:2: 11: want a number from 0 to 10",
		  "t:2: \"11\": want a whole number from 0 to 10" },
	{ "-1",	  "t:2: -1: want a number from 0 to 10",
		  "t:2: \"-1\": want a whole number from 0 to 10" },
	{ "nan",  "t:2: \"nan\": want a number",
		  "t:2: \"nan\": want a whole number from 0 to 10" },
	{ "inf",  "t:2: \"inf\": want a number",
		  "t:2: \"inf\": want a whole number from 0 to 10" },
	{ "1e999", "t:2: \"1e999\": want a number",
		  "t:2: \"1e999\": want a whole number from 0 to 10" },
	{ "7x",	  "t:2: \"7x\": want a number",
		  "t:2: \"7x\": want a whole number from 0 to 10" },
	{ "99999999999999999999", "t:2: 99999999999999999999: want a number "
				  "from 0 to 10",
		  "t:2: \"99999999999999999999\": want a whole number from 0 "
		  "to 10" },
	/* clang-format on */
};

static void a_number_out_of_range_is_named(void **state)
{
	static const double real_range[] = { 0, 10 };
	static const int whole_range[] = { 0, 10 };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct plx_csv csv = { 0 };
		struct plx_error err;
		char text[80];
		double real;
		int whole;
		int rc;

		snprintf(text, sizeof(text), "name,size\na,%s\n",
			 numbers[i].cell);
		assert_int_equal(plx_csv_parse("t", text, strlen(text), columns,
					       &csv, &err),
				 0);
		rc = plx_csv_real(&csv, 0, 1, real_range, &real, &err);
		assert_int_equal(rc, numbers[i].why_real ? -1 : 0);
		if (rc < 0)
			assert_string_equal(err.text, numbers[i].why_real);
		rc = plx_csv_whole(&csv, 0, 1, whole_range, &whole, &err);
		assert_int_equal(rc, numbers[i].why_whole ? -1 : 0);
		if (rc < 0)
			assert_string_equal(err.text, numbers[i].why_whole);
		plx_csv_release(&csv);
	}
}

/* Every cell of every row is a text, and no row lies outside the file. */
static void walk(const struct plx_csv *csv, size_t size)
{
	static const double range[] = { -1e9, 1e9 };
	struct plx_error err;
	double number;

	for (int r = 0; r < csv->row_count; r++) {
		assert_in_range(csv->lines[r], 2, size + 1);
		for (int c = 0; c < csv->column_count; c++) {
			assert_true(strlen(plx_csv_text(csv, r, c)) > 0);
			plx_csv_real(csv, r, c, range, &number, &err);
		}
	}
}

static void no_text_does_harm(void **state)
{
	static const char alphabet[] = "name,size\n,,\n\r\"0123456789.-eE+x";
	uint64_t seed = 3;
	int taken = 0;

	(void) state;
	for (int round = 0; round < ROUNDS; round++) {
		char text[120] = "name,size\na,1\nb,2\nc,3\n";
		size_t size = strlen(text);
		int changes = (int) (unit_random(&seed) % 6);
		struct plx_csv csv = { 0 };
		struct plx_error err;

		for (int i = 0; i < changes; i++)
			text[unit_random(&seed) % size] =
				alphabet[unit_random(&seed) % sizeof(alphabet)];
		size = unit_random(&seed) % 4 ? size
					      : unit_random(&seed) % size;
		if (plx_csv_parse("t", text, size, columns, &csv, &err) < 0) {
			assert_int_equal(strncmp(err.text, "t:", 2), 0);
			continue;
		}
		taken++;
		walk(&csv, size);
		plx_csv_release(&csv);
	}
	/* Neither all nor none were tables. */
	assert_in_range(taken, ROUNDS / 10, ROUNDS * 9 / 10);
}

static void a_file_that_is_not_there_is_named(void **state)
{
	struct plx_csv csv;
	struct plx_error err;

	(void) state;
	assert_int_equal(plx_csv_load("/nowhere/x.csv", columns, &csv, &err),
			 -1);
	assert_string_equal(err.text,
			    "/nowhere/x.csv: No such file or directory");
	assert_int_equal(plx_csv_load("/", columns, &csv, &err), -1);
	assert_string_equal(err.text, "/: Is a directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_read_or_refused_by_line),
		cmocka_unit_test(a_zero_byte_is_refused),
		cmocka_unit_test(a_number_out_of_range_is_named),
		cmocka_unit_test(no_text_does_harm),
		cmocka_unit_test(a_file_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
