/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot_problem.h - from a snapshot to what the core decides upon
 *
 * No lock, no Slurm. It remembers what jobs have learnt for others of their
 * kind, so one thread alone may call it.
 */
#ifndef SCHED_POLLUX_SNAPSHOT_PROBLEM_H
#define SCHED_POLLUX_SNAPSHOT_PROBLEM_H

#include "core/jobs/moldable.h"
#include "core/problem/problem.h"
#include "core/reserve/reservation.h"
#include "core/records/explanation.h"
#include "core/jobs/report_validation.h"
#include "sched/pollux/params.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/* Of a job, what the snapshot does not have: what became of it when we asked.
 */
struct pollux_job_input {
	bool busy;   /* being resized: it has what it was asked to have */
	bool leaves; /* busy: its batch host, as a whole job */
	bool still;  /* left alone for now: */
	enum plx_hold hold; /* why */
	int *target;	    /* [node_count] when busy; borrowed */
	double service_s;   /* GPU-seconds it has had */
	int most_gpus;	    /* it was seen to hold */
	struct plx_validation validation;
	struct plx_moldable moldable; /* of a moldable job that runs, ... */
	char why[PLX_WHY_SIZE]; /* ... why it is requeued, or not; or "" */
};

/* What was kept back for waiting jobs. The caller's arrays. */
struct pollux_reservations {
	int *reserved;		  /* [node_count] GPUs */
	struct plx_grant *grants; /* [waiting_count], with nodes */
	bool displaces;		  /* elastic jobs give way for any of them */
	int held;		  /* see pollux_consumables */
};

/*
 * GPUs that the job itself has measured; if the problem says more, jobs of its
 * kind have.
 */
int pollux_problem_measured(const struct pollux_job *job);

/*
 * The problem, with room made for waiting jobs that are not to be ignored;
 * inputs has one entry for each job of the snapshot. The caller's to destroy;
 * NULL with err set.
 */
struct plx_problem *pollux_problem_create(
	const struct pollux_snapshot *snapshot,
	const struct pollux_params *params,
	const struct pollux_job_input *inputs,
	struct pollux_reservations *reservations, struct plx_error *err);

#endif
