/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gres_alloc.h - which devices a job gets; in and out of Slurm's select plugin
 */
#ifndef SCHED_POLLUX_GRES_ALLOC_H
#define SCHED_POLLUX_GRES_ALLOC_H

#include "core/records/status.h"
#include "sched/pollux/resize/holding.h"
#include "sched/pollux/resize/request.h"

/* Devices of the job: [node_record_count], NULL where it has none. */
bitstr_t **pollux_gres_devices(const job_record_t *job);
void pollux_gres_devices_free(bitstr_t **devices);

/* Take the job's cores and GPUs out of the select plugin, and remember. */
void pollux_gres_take_out(job_record_t *job, struct pollux_holding *held);

/* The other way round: the job holds again what it held. */
int pollux_gres_put_back(job_record_t *job, struct pollux_holding *held,
			 struct plx_error *err);

/*
 * Let the select plugin choose cores on just these nodes, and give the job
 * GPUs there, as the shape wants them; the request in the record is for it,
 * `saved` what it was. Which GPUs: those it had, of these the ones that its
 * steps hold first, then free ones near its cores and its others
 * (node_devices.h). -1 with err set when it cannot
 * be; nothing is held then.
 */
int pollux_gres_new(job_record_t *job, const struct pollux_shape *shape,
		    struct pollux_holding *held,
		    const struct pollux_request *saved, struct plx_error *err);

/* Take out and forget what pollux_gres_new() placed. */
void pollux_gres_drop(job_record_t *job);

/* Would the steps that run keep their GPUs if the job got this shape? */
bool pollux_gres_suits(const job_record_t *job,
		       const struct pollux_shape *shape);

/*
 * The job has another shape, and its steps' records are about to forget what
 * they hold: remember it for those that go on.
 */
void pollux_gres_outlive(const job_record_t *job, struct pollux_holding *held);

void pollux_holding_release(struct pollux_holding *held);

#endif
