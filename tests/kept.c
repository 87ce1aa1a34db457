/* SPDX-License-Identifier: MIT */
/*
 * kept.c - preloaded by srun: a step that its user begins in a way of his own
 *
 * POLLUX_TEST_STEP=ID      of that number
 * POLLUX_TEST_COMPONENT=N  of that component of a job that has none
 * POLLUX_TEST_KEEP=FILE    its nodes are told when FILE is there
 * POLLUX_TEST_MORE=N       so many steps before it, of which no node is told
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/slurm_protocol_defs.h"

typedef int create_t(job_step_create_request_msg_t *request,
		     job_step_create_response_msg_t **answer);

extern create_t slurm_job_step_create;

static void wait_for(const char *file)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	while (access(file, F_OK) < 0)
		nanosleep(&pause, NULL);
}

extern int slurm_job_step_create(job_step_create_request_msg_t *request,
				 job_step_create_response_msg_t **answer)
{
	create_t *real = (create_t *) dlsym(RTLD_NEXT, "slurm_job_step_create");
	const char *step = getenv("POLLUX_TEST_STEP");
	const char *component = getenv("POLLUX_TEST_COMPONENT");
	const char *file = getenv("POLLUX_TEST_KEEP");
	const char *more = getenv("POLLUX_TEST_MORE");
	int rc = 0;

	for (int i = more ? atoi(more) : 0; i > 0; i--)
		(void) real(request, answer);
	if (step)
		request->step_id.step_id = (uint32_t) strtoul(step, NULL, 0);
	if (component)
		request->step_id.step_het_comp =
			(uint32_t) strtoul(component, NULL, 0);
	rc = real(request, answer);
	fprintf(stderr, "step: %d\n", rc);
	if (rc == SLURM_SUCCESS && file)
		wait_for(file);
	return rc;
}
