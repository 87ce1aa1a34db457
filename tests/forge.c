/* SPDX-License-Identifier: MIT */
/*
 * forge.c - submit a batch job whose SPANK entries are whatever one likes
 *
 *	forge ENTRY...
 *
 * sbatch checks its options; an RPC made by hand need not. Prints the job's
 * id, or what slurmctld said against it. Exit code 0: accepted; 1: refused;
 * 2: could not ask.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/libslurm.h"

static char environment_path[] = "PATH=/usr/bin:/bin";
static char script[] = "#!/bin/sh\nexit 0\n";
static char name[] = "forged";
static char folder[] = "/";
static char nowhere[] = "/dev/null";

int main(int argc, char **argv)
{
	char *environment[] = { environment_path };
	submit_response_msg_t *answer = NULL;
	job_desc_msg_t job;

	slurm_init(NULL);
	slurm_init_job_desc_msg(&job);
	job.name = name;
	job.script = script;
	job.environment = environment;
	job.env_size = 1;
	job.work_dir = folder;
	job.std_out = nowhere;
	job.user_id = getuid();
	job.group_id = getgid();
	job.spank_job_env = argv + 1;
	job.spank_job_env_size = (uint32_t) (argc - 1);
	if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS) {
		int error = errno;

		printf("%s\n", slurm_strerror(error));
		return error == SLURM_COMMUNICATIONS_CONNECTION_ERROR ? 2 : 1;
	}
	printf("%u\n", plx_slurm_submitted(answer));
	slurm_free_submit_response_response_msg(answer);
	return 0;
}
