/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_client.h - speaks with slurmctld; the launcher need not wait for it
 *
 * A thread that reads the job's record, writes its status and kills steps.
 * Every call here returns at once; only the newest status is written, again
 * and again while slurmctld is away, and tells what the record said before. One
 * user: the main loop.
 */
#ifndef PLX_LAUNCHER_SLURM_CLIENT_H
#define PLX_LAUNCHER_SLURM_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "launcher/job/job_seen.h"
#include "launcher/job/registry.h"

struct plx_slurm_client;

/* What came back since the last time. */
struct plx_news {
	bool has_job;
	struct plx_job_seen job; /* the caller's to release */
	double looked_s;	 /* when it was read, CLOCK_MONOTONIC */
	unsigned int published;	 /* number of the last status written */
	double published_s;	 /* when it was */
	bool shortened;		 /* it did not fit with its hint */
	bool is_trouble;
	struct plx_error trouble; /* the last failure, when is_trouble */
};

/*
 * NULL with err set. params: of an elastic job, or NULL. The rest as in
 * plx_job_load(); batch_host is borrowed.
 */
struct plx_slurm_client *plx_slurm_client_create(uint32_t job_id,
						 const char *params,
						 const char *batch_host,
						 struct plx_error *err);

/* Before all else: another record than slurmctld's (copied). */
void plx_slurm_client_use(struct plx_slurm_client *client,
			  const struct plx_registry *registry);

/*
 * Let it finish what it has to write, at most patience_s; a Slurm client stuck
 * in slurmctld is left behind, for the process ends now. Accepts NULL.
 */
void plx_slurm_client_destroy(struct plx_slurm_client *client,
			      double patience_s);

int plx_slurm_client_fd(
	const struct plx_slurm_client *client); /* readable: there is news */

void plx_slurm_client_poll(struct plx_slurm_client *client);

/* A status and its short form (copied). Its number, counted from 1. */
unsigned int plx_slurm_client_publish(struct plx_slurm_client *client,
				      const char *fields, const char *bare);

/* Have the ranks of that step (copied) end: survivors save first. */
void plx_slurm_client_end(struct plx_slurm_client *client, const char *name);

/* Kill steps of that name (copied). */
void plx_slurm_client_kill(struct plx_slurm_client *client, const char *name);

/* Send SIGURG to all processes of such steps: they are to save and leave. */
void plx_slurm_client_nudge(struct plx_slurm_client *client, const char *name);

void plx_slurm_client_take(struct plx_slurm_client *client,
			   struct plx_news *news);

#endif
