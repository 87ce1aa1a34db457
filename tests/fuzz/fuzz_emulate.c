/* SPDX-License-Identifier: MIT */
/* fuzz_emulate.c - pollux-train's profiles and traces of other hardware */

#include <math.h>

#include "../../examples/emulate.h"
#include "fuzz.h"
#include "scratch.h"

static void use(struct emulation *e, const char *why)
{
	if (!e) {
		MUST(strlen(why) < EMULATE_ERROR_SIZE);
		return;
	}
	for (int gpus = 1; gpus < 40; gpus += 3) {
		struct emulated t = emulation_times(e, 1 + gpus / 4, gpus, 32);

		MUST(!isnan(t.pass_s) && t.pass_s >= 0);
		MUST(!isnan(t.sync_s) && t.sync_s >= 0);
	}
	emulation_destroy(e);
}

int fuzz_emulate(const uint8_t *data, size_t size)
{
	struct scratch_input input = { data, size };
	char why[EMULATE_ERROR_SIZE] = "";
	char path[4200];

	scratch_put("x.profile", input);
	scratch_put("placements.csv", scratch_part(&input));
	scratch_put("scalability.csv", scratch_part(&input));
	snprintf(path, sizeof(path), "%s/x.profile", scratch_folder());
	use(emulation_profile(path, why), why);
	use(emulation_traces(scratch_folder(), why), why);
	return 0;
}
