/* SPDX-License-Identifier: MIT */
/*
 * forge_end.c - report that a step of one's own job has ended, while it runs
 *
 *	forge_end JOB STEP
 *
 * Slurm takes that from the job's owner, as srun says it now and then. Exit
 * code 0: slurmctld believes it; 1: it does not, and says why.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/slurm_protocol_defs.h"

int main(int argc, char **argv)
{
	step_complete_msg_t step = { .step_id.step_het_comp = NO_VAL };
	slurm_msg_t message;
	int rc = SLURM_ERROR;

	if (argc != 3) {
		fprintf(stderr, "usage: forge_end JOB STEP\n");
		return 2;
	}
	slurm_init(NULL);
	step.step_id.job_id = (uint32_t) strtoul(argv[1], NULL, 10);
	step.step_id.step_id = (uint32_t) strtoul(argv[2], NULL, 10);
	slurm_msg_t_init(&message);
	message.msg_type = REQUEST_STEP_COMPLETE;
	message.data = &step;
	if (slurm_send_recv_controller_rc_msg(&message, &rc, NULL) < 0)
		rc = errno;
	if (rc != SLURM_SUCCESS)
		fprintf(stderr, "forge_end: %s\n", slurm_strerror(rc));
	return rc == SLURM_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}
