/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events_read.h - why shapes were left, as a job's launcher wrote it down
 *
 * pollux-launch(1) keeps events.jsonl beside the checkpoints, so who owns the
 * job has the reasons without slurmctld's log.
 */
#ifndef PLX_REPORT_EVENTS_READ_H
#define PLX_REPORT_EVENTS_READ_H

#include <stdio.h>

#include "core/base/error.h"
#include "report/history.h"

/* The launcher changed its GPUs. */
struct plx_change {
	char *id; /* the job's, as sacct prints it */
	char *why;
	double time_s; /* Unix time; training went on */
	int from_gpus;
	int to_gpus; /* 0: parked */
};

struct plx_changes {
	struct plx_change *changes;
	size_t count;
};

/*
 * Add those of a file, of any number of jobs; lines that are no events are
 * skipped, a file without any is an error. *changes is the caller's to
 * release, also then.
 */
int plx_events_read(FILE *file, struct plx_changes *changes,
		    struct plx_error *err);

void plx_events_release(struct plx_changes *changes);

/*
 * Tell each shape why it was left, where nobody did; changes must live as
 * long.
 */
void plx_events_explain(const struct plx_changes *changes,
			struct plx_history *history);

#endif
