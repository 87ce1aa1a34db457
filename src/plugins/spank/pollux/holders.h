/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holders.h - processes that hold devices which their job gave up
 *
 * A control group decides who may open a device; who has it open already
 * keeps it. So once the groups of a job on this node are narrower than before,
 * its processes are looked at: one that holds, as an open file, mapped, or in
 * a message (flight.h), a device that the job could not open any more is
 * killed; and so is one of a step that slurmctld takes for ended. The kernel is
 * asked what the job may open, by a process in the job's group that tries to
 * open the same once more, so any release of Slurm and both versions of control
 * groups are understood. The job's tasks are frozen meanwhile, where they can
 * be (frozen.h): who hands a device on could hide it else.
 *
 * Needs root. Not for threads; it forks.
 */
#ifndef SPANK_POLLUX_HOLDERS_H
#define SPANK_POLLUX_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* Steps of a job that run, as slurmctld says: PLX_ENV_CONSTRAIN. */
struct plx_known_steps {
	uint32_t next;	  /* steps from here on are newer than the word */
	uint32_t ids[64]; /* those below that run */
	int count;
	bool all; /* too many to say: none is taken for ended */
};

/* -1: not such a text. */
int plx_known_steps_parse(const char *text, struct plx_known_steps *known);
bool plx_known_steps_has(const struct plx_known_steps *known, uint32_t step);

/*
 * The step in a control group's path such as ".../job_5/step_7/task_0", if it
 * is of the job's group `prefix` (".../job_5"): its number, or a number above
 * all for batch, extern and interactive ones. False: not of the job.
 */
bool plx_step_of_path(const char *path, const char *prefix, uint32_t *step);

/* Is a process (in decimal digits) slurmstepd, and not of the same name? */
bool plx_is_stepd(const char *pid);

/* What the last look has cost. */
struct plx_look {
	int64_t frozen_ms; /* the job's tasks did nothing for so long */
	long entries;	   /* of folders in /proc: threads and open files */
	bool unsure;	   /* files in messages could not be looked at */
};

/*
 * End the holders among the processes of the job that this process is of.
 * How many were killed, or -1 with err set; `known` may be NULL: no step is
 * taken for ended. Tries for 40 s while one does not die, or a look fails:
 * whoever tries next, when slurmctld asks again, is then alone. A look that
 * was too short is given twice the time next, 3 to 12 s, and the job as long
 * a pause as it was frozen. Messages that cannot be looked at for 10 s in a
 * row are taken for a device.
 */
int plx_end_holders(uint32_t job, const struct plx_known_steps *known,
		    struct plx_look *last, struct plx_error *err);

#endif
