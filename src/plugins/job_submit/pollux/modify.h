/* SPDX-License-Identifier: GPL-2.0-or-later */
/* modify.h - scontrol update of the nodes of a running elastic job */
#ifndef POLLUX_MODIFY_H
#define POLLUX_MODIFY_H

#include "common/slurm_compat.h"
#include "core/base/error.h"

/*
 * NumNodes, ReqNodeList and ExcNodeList of a running job that sched/pollux can
 * resize become its bounds, which the next plan keeps: what is obeyed here is
 * taken out of `asked`. All else is left to Slurm, and so is who may not update
 * the job. A Slurm error with err set, or SLURM_SUCCESS. Write lock on jobs.
 */
int modify_nodes(job_desc_msg_t *asked, job_record_t *job, uint32_t uid,
		 struct plx_error *err);

#endif
