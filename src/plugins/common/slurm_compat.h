/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_compat.h - Slurm's internals as this project sees them
 *
 * The only place that asks which Slurm this is. 22.05 is the release that is
 * built and tested; a new one gets its differences here and nowhere else.
 * Include this before any other header of Slurm.
 */
#ifndef POLLUX_SLURM_COMPAT_H
#define POLLUX_SLURM_COMPAT_H

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0) ||                      \
	SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#error "sched/pollux knows the internals of Slurm 22.05 only"
#endif

#include "src/common/gres.h"
#include "src/common/job_resources.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/node_conf.h"
#include "src/common/plugin.h"
#include "src/common/read_config.h"
#include "src/common/select.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/acct_policy.h"
#include "src/slurmctld/agent.h"
#include "src/slurmctld/gang.h"
#include "src/slurmctld/gres_ctld.h"
#include "src/slurmctld/job_scheduler.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/node_scheduler.h"
#include "src/slurmctld/reservation.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/state_save.h"

/* How a request for GPUs on each node is written: 25.05 wants "gres/gpu:". */
#define POLLUX_TRES_PER_NODE "gres:gpu:%d"

#endif
