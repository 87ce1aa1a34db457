/* SPDX-License-Identifier: MIT */
/*
 * forge_end.c - report that a step of one's own job has ended, while it runs
 *
 *	forge_end JOB STEP[+COMPONENT]
 *	forge_end JOB NODE
 *
 * Slurm takes that from the job's owner, as srun says it now and then; and from
 * root that a node has ended the job, as slurmd says when its epilog is over.
 * Exit code 0: slurmctld believes it; 1: it does not, and says why.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/slurm_protocol_defs.h"

static uint32_t job;

static void say_step(slurm_msg_t *message, const char *number)
{
	static step_complete_msg_t step = { .step_id.step_het_comp = NO_VAL };
	char *end = NULL;

	step.step_id.job_id = job;
	step.step_id.step_id = (uint32_t) strtoul(number, &end, 10);
	if (*end == '+')
		step.step_id.step_het_comp =
			(uint32_t) strtoul(end + 1, NULL, 10);
	message->msg_type = REQUEST_STEP_COMPLETE;
	message->data = &step;
}

static void say_node(slurm_msg_t *message, char *name)
{
	static epilog_complete_msg_t epilog;

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	epilog.step_id.job_id = job;
#else
	epilog.job_id = job;
#endif
	epilog.node_name = name;
	message->msg_type = MESSAGE_EPILOG_COMPLETE;
	message->data = &epilog;
}

int main(int argc, char **argv)
{
	slurm_msg_t message;
	int rc = SLURM_SUCCESS;

	if (argc != 3) {
		fprintf(stderr, "usage: forge_end JOB STEP|NODE\n");
		return 2;
	}
	slurm_init(NULL);
	job = (uint32_t) strtoul(argv[1], NULL, 10);
	slurm_msg_t_init(&message);
	if (isdigit((unsigned char) argv[2][0]))
		say_step(&message, argv[2]);
	else
		say_node(&message, argv[2]);
	/* Nobody answers a slurmd that says that a job has ended. */
	if (message.msg_type == MESSAGE_EPILOG_COMPLETE
		    ? slurm_send_only_controller_msg(&message, NULL) < 0
		    : slurm_send_recv_controller_rc_msg(&message, &rc, NULL) <
			      0)
		rc = errno;
	if (rc != SLURM_SUCCESS)
		fprintf(stderr, "forge_end: %s\n", slurm_strerror(rc));
	return rc == SLURM_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}
