/* SPDX-License-Identifier: MIT */
/* fuzz_steps.c - which steps run, and which processes and CPUs are a job's */

#include "spank/pollux/cgroups.c"
#include "spank/pollux/flight.h"
#include "spank/pollux/holders.h"
#include "spank/pollux/late.h"
#include "spank/pollux/motion.h"

#include "spank/pollux/cpusets.c"

#include "fuzz.h"

int fuzz_steps(const uint8_t *data, size_t size)
{
	struct plx_known_steps known;
	struct plx_late_note note = { .next = 0 };
	char text[TEXT_MAX];
	char where[PATH_MAX];
	char printed[PLX_CPUS_TEXT];
	struct plx_cpus cpus;
	struct plx_cpus again;
	uint32_t step = 0;
	uint64_t start = 0;
	char *path;

	(void) fuzz_text(data, size, text);
	if (plx_known_steps_parse(text, &known) == 0) {
		MUST(known.count >= 0 && known.count <= 64);
		(void) plx_known_steps_has(&known, known.next / 2);
	}
	if (is_mount_of(text, "devices", where))
		MUST(strlen(where) < sizeof(where));
	if (plx_cpus_parse(text, &cpus) == 0 &&
	    plx_cpus_print(&cpus, printed, sizeof(printed)) == 0) {
		MUST(plx_cpus_parse(printed, &again) == 0);
		MUST(is_same(&cpus, &again));
	}
	(void) plx_motion_start(text, &start);
	(void) plx_flight_counts(text);
	(void) plx_late_names_component(text);
	if (plx_late_parse(text, "n1", &note) == 0)
		MUST(note.good_s >= 0);
	path = path_in(text, size % 2 ? "devices" : NULL);
	if (path)
		(void) plx_step_of_path(path, "/slurm/uid_0/job_5", &step);
	return 0;
}
