/* SPDX-License-Identifier: MIT */
/*
 * pending.c - submit many rigid jobs, some hundred in a second
 *
 *   pending COUNT NODES GPUS
 *
 * Each wants that many whole nodes' GPUs, and ends a minute after it starts.
 * sbatch makes the same request, but its own start takes longer than that.
 */
#include "client/libslurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
#define GPU_TEXT "gres/gpu:%d"
#else
#define GPU_TEXT "gres:gpu:%d"
#endif

/* libslurm changes none of these texts, but does not say so. */
static char name[] = "pending";
static char script[] = "#!/bin/sh\nsleep 60\n";
static char folder[] = "/";
static char nowhere[] = "/dev/null";
static char path[] = "PATH=/usr/bin:/bin";

static int _submit(int nodes, char *gpus)
{
	char *environment[] = { path };
	submit_response_msg_t *answer = NULL;
	job_desc_msg_t job;

	slurm_init_job_desc_msg(&job);
	job.name = name;
	job.script = script;
	job.work_dir = folder;
	job.std_out = nowhere;
	job.std_err = nowhere;
	job.environment = environment;
	job.env_size = 1;
	job.user_id = getuid();
	job.group_id = getgid();
	job.priority = 1;
	job.min_nodes = job.max_nodes = (uint32_t) nodes;
	job.tres_per_node = gpus;
	if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS) {
		fprintf(stderr, "pending: %s\n", slurm_strerror(errno));
		return -1;
	}
	slurm_free_submit_response_response_msg(answer);
	return 0;
}

int main(int argc, char **argv)
{
	char gpus[32];

	if (argc != 4) {
		fputs("usage: pending COUNT NODES GPUS\n", stderr);
		return 2;
	}
	snprintf(gpus, sizeof(gpus), GPU_TEXT, atoi(argv[3]));
	slurm_init(NULL);
	for (int i = 0; i < atoi(argv[1]); i++) {
		if (_submit(atoi(argv[2]), gpus) < 0)
			return 1;
	}
	return 0;
}
