/* SPDX-License-Identifier: MIT */
/*
 * forge.c - submit a batch job whose SPANK entries are whatever one likes
 *
 *	forge [--many=N] ENTRY...
 *
 * sbatch checks its options; an RPC made by hand need not. With --many, which
 * is first, N more entries follow. Prints the job's
 * id, or what slurmctld said against it. Exit code 0: accepted; 1: refused;
 * 2: could not ask.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/libslurm.h"

static char environment_path[] = "PATH=/usr/bin:/bin";
static char script[] = "#!/bin/sh\nexit 0\n";
static char name[] = "forged";
static char folder[] = "/";
static char nowhere[] = "/dev/null";

/* The arguments, and as many more; never freed. */
static void add_entries(int argc, char **argv, job_desc_msg_t *job)
{
	static const char option[] = "--many=";
	static char more[] = "X=1";
	int many = 0;
	char **entries = NULL;

	if (argc > 0 && !strncmp(argv[0], option, sizeof(option) - 1)) {
		many = atoi(argv[0] + sizeof(option) - 1);
		argc--;
		argv++;
	}
	entries = calloc((size_t) (argc + many + 1), sizeof(*entries));
	if (!entries)
		exit(2);
	for (int i = 0; i < argc + many; i++)
		entries[i] = i < argc ? argv[i] : more;
	job->spank_job_env = entries;
	job->spank_job_env_size = (uint32_t) (argc + many);
}

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
	add_entries(argc - 1, argv + 1, &job);
	if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS) {
		int error = errno;

		printf("%s\n", slurm_strerror(error));
		return error == SLURM_COMMUNICATIONS_CONNECTION_ERROR ? 2 : 1;
	}
	printf("%u\n", plx_slurm_submitted(answer));
	slurm_free_submit_response_response_msg(answer);
	return 0;
}
