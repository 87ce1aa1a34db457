/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_none.c - stands in for job_seen.c and address.c where there is no
 * libslurm: only jobs without Slurm can be run then
 */
#include "config.h"

#include <stdio.h>

#include "launcher/job/address.h"
#include "launcher/job/job_seen.h"

const bool plx_job_slurm = false;

static int refuse(struct plx_error *err)
{
	return plx_fail(err, "this pollux-launch was built without libslurm");
}

void plx_job_setup(void)
{
}

int plx_job_load(const struct plx_job_who *who, struct plx_job_seen *job,
		 struct plx_error *err)
{
	(void) who;
	(void) job;
	return refuse(err);
}

void plx_job_release(struct plx_job_seen *job)
{
	plx_layout_release(&job->layout);
	plx_layout_release(&job->aim);
}

int plx_job_publish(const struct plx_job_who *who, struct plx_job_words *words,
		    struct plx_job_seen *seen, struct plx_error *err)
{
	(void) who;
	(void) words;
	seen->id = 0;
	return refuse(err);
}

int plx_job_signal_step(uint32_t id, const char *name, int signal,
			struct plx_error *err)
{
	(void) id;
	(void) name;
	(void) signal;
	return refuse(err);
}

int plx_job_left_steps(uint32_t id, const char *prefix, int signal,
		       struct plx_error *err)
{
	(void) id;
	(void) prefix;
	(void) signal;
	return refuse(err);
}

void plx_address_of(const char *node, char *address, size_t size)
{
	snprintf(address, size, "%s", node);
}

int plx_address_slurmd(const char *node, char *address, size_t size, char *port,
		       size_t port_size)
{
	(void) node;
	(void) address;
	(void) size;
	(void) port;
	(void) port_size;
	return -1;
}

void plx_job_without(struct plx_job_seen *job, const struct plx_layout *gone)
{
	(void) job;
	(void) gone;
}
