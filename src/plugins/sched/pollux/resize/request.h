/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.h - what a job asks for, written for another shape, and back */
#ifndef SCHED_POLLUX_REQUEST_H
#define SCHED_POLLUX_REQUEST_H

#include "common/node_gpus.h"
#include "sched/pollux/job_shape.h"

/* All that pollux_request_write() changes. Owns what it points to. */
struct pollux_request {
	char *tres_per_job;
	char *tres_per_node;
	char *tres_per_socket;
	char *tres_per_task;
	char *cpus_per_tres;
	char *mem_per_tres;
	List gres_list_req;
	bitstr_t *req_node_bitmap;
	char *req_nodes;
	uint32_t min_nodes;
	uint32_t max_nodes;
	uint32_t min_cpus;
	uint32_t max_cpus;
	uint32_t pn_min_cpus;
	uint32_t num_tasks;
	uint16_t ntasks_per_node;
	uint16_t ntasks_per_tres;
	uint16_t cpus_per_task;
	uint16_t contiguous;
	int min_gres_cpu;
	int min_job_gres_cpu;
	uint32_t total_cpus;
	uint64_t pn_min_memory;
	struct pollux_needs needs; /* of each of its GPUs */
	char type[POLLUX_GPU_TYPE_SIZE];
	uint32_t req_switch;
	bool best_switch;
};

/* Move the job's request out of the record, leaving it without pointers. */
void pollux_request_save(job_record_t *job, struct pollux_request *saved);

/* Put the saved request back and free what is in the record. */
void pollux_request_restore(job_record_t *job, struct pollux_request *saved);

/* Keep the new one: only what the user wrote about nodes comes back. */
void pollux_request_keep(job_record_t *job, struct pollux_request *saved);

/* Forget what was written so far, to write anew. */
void pollux_request_clear(job_record_t *job);

/* Ask for the shape. -1 with err set; the record is then for _restore(). */
int pollux_request_write(job_record_t *job, const struct pollux_shape *shape,
			 const struct pollux_request *saved,
			 struct plx_error *err);

/* The same on any nodes. */
int pollux_request_write_counts(job_record_t *job, int node_count, int gpus,
				const struct pollux_request *saved,
				struct plx_error *err);

#endif
