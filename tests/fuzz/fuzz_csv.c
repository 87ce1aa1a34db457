/* SPDX-License-Identifier: MIT */
/* fuzz_csv.c - tables that the simulator reads */

#include <math.h>

#include "fuzz.h"
#include "scratch.h"
#include "sim/csv.h"

static void read_cells(const struct plx_csv *csv)
{
	static const double reals[] = { -5, 1e9 };
	static const int wholes[] = { -5, 99 };
	struct plx_error err;
	double real;
	int whole;

	for (int row = 0; row < csv->row_count; row++) {
		MUST(csv->lines[row] >= 1);
		for (int c = 0; c < csv->column_count; c++) {
			MUST(plx_csv_text(csv, row, c)[0]);
			if (!plx_csv_real(csv, row, c, reals, &real, &err))
				MUST(real >= -5 && real <= 1e9);
			else
				MUST(strlen(err.text) < sizeof(err.text));
			if (!plx_csv_whole(csv, row, c, wholes, &whole, &err))
				MUST(whole >= -5 && whole <= 99);
		}
	}
}

/* From memory, and from a file that may be compressed. */
int fuzz_csv(const uint8_t *data, size_t size)
{
	static const char *const columns[] = { "b", "a", NULL };
	const struct scratch_input all = { data, size };
	struct plx_csv csv = { 0 };
	struct plx_error err;
	char path[4200];

	if (plx_csv_parse("x.csv", (const char *) data, size, columns, &csv,
			  &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	else
		read_cells(&csv);
	plx_csv_release(&csv);
	if (!size || data[0] != 0x1f)
		return 0;
	scratch_put("x.csv.gz", all);
	snprintf(path, sizeof(path), "%s/x.csv.gz", scratch_folder());
	if (plx_csv_load(path, columns, &csv, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	else
		read_cells(&csv);
	plx_csv_release(&csv);
	return 0;
}
