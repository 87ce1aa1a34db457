/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registry.h - who keeps the job's record: slurmctld, or a job without Slurm
 * itself (local.h)
 *
 * Called by the Slurm client's thread alone; each call may take its time.
 */
#ifndef PLX_LAUNCHER_REGISTRY_H
#define PLX_LAUNCHER_REGISTRY_H

#include "core/base/error.h"
#include "launcher/job/job_seen.h"

struct plx_registry {
	void *self; /* first argument of: */
	/* As plx_job_load(): *job is the caller's to release. */
	int (*load)(void *self, struct plx_job_seen *job,
		    struct plx_error *err);
	/* As plx_job_publish(). */
	int (*publish)(void *self, struct plx_job_words *words,
		       struct plx_job_seen *seen, struct plx_error *err);
	/* As plx_job_signal_step(). */
	int (*signal_step)(void *self, const char *name, int signal,
			   struct plx_error *err);
};

#endif
