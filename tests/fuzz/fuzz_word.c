/* SPDX-License-Identifier: MIT */
/* fuzz_word.c - what a rank leaves for rank 0 beside its share of a save */

#include "agent/state/background.c"
#include "fuzz.h"
#include "scratch.h"

int fuzz_word(const uint8_t *data, size_t size)
{
	const struct scratch_input all = { data, size };
	struct plx_report r = { .rc = 0 };
	struct plx_report again = { .rc = 0 };
	struct plx_error err;
	int dir = plx_dir_open(scratch_folder(), &err);

	MUST(dir >= 0);
	scratch_put("report-00001", all);
	if (size && read_word(dir, "report-00001", &r)) {
		MUST(memchr(r.why.text, '\0', sizeof(r.why.text)));
		MUST(write_word(dir, "report-00001", &r));
		MUST(read_word(dir, "report-00001", &again));
		MUST(again.rc == r.rc && again.bytes == r.bytes);
	}
	scratch_put("report-00001", (struct scratch_input){ NULL, 0 });
	close(dir);
	return 0;
}
