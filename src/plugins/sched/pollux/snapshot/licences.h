/* SPDX-License-Identifier: GPL-2.0-or-later */
/* licences.h - which licences are free, and what jobs that wait want of them */
#ifndef SCHED_POLLUX_LICENCES_H
#define SCHED_POLLUX_LICENCES_H

#include "core/reserve/backlog.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Fill snapshot->licences, and draws and unlicensed of snapshot->waiting, which
 * was made of chosen[waiting_count]. Under a read lock on jobs; turning:
 * pollux_reserved_turning(), nobody may be asked about reservations.
 */
void pollux_licences_fill(const struct plx_backlog_entry *chosen, bool turning,
			  struct pollux_snapshot *snapshot);

#endif
