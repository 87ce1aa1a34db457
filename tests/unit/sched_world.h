/* SPDX-License-Identifier: MIT */
/* sched_world.h - a small cluster as the scheduler's plugin sees it */
#ifndef UNIT_SCHED_WORLD_H
#define UNIT_SCHED_WORLD_H

#include <string.h>

#include "sched/pollux/plan/snapshot_problem.h"
#include "unit.h"

enum { NODES = 2, JOBS = 2, GPUS = 8 };

/* A cluster in which each job runs on one GPU of the first node. */
struct world {
	struct pollux_snapshot snapshot;
	struct pollux_params params;
	struct pollux_job_input inputs[JOBS];
	struct pollux_node nodes[NODES];
	struct pollux_job jobs[JOBS];
	int gpus[JOBS][NODES];
	int cpus[JOBS][NODES];
	double memory[JOBS][NODES];
	struct plx_node_alloc allocs[JOBS * NODES]; /* of these */
	bool allowed[NODES];
	int reserved[NODES];
	struct plx_grant grants[1];
};

static inline void set_up(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->snapshot = (struct pollux_snapshot){
		.node_count = NODES,
		.nodes = w->nodes,
		.job_count = JOBS,
		.jobs = w->jobs,
	};
	w->params.fairness = -1;
	w->params.weights = POLLUX_WEIGHTS_SERVICE;
	for (int n = 0; n < NODES; n++) {
		w->nodes[n] = (struct pollux_node){
			.usable = true,
			.gpus = GPUS,
			.cpus = GPUS + JOBS, /* and one for each script */
			.left = { .gpus = n ? GPUS : GPUS - JOBS,
				  .cpus = n ? GPUS + JOBS : GPUS },
		};
		w->allowed[n] = true;
	}
	for (int j = 0; j < JOBS; j++) {
		w->gpus[j][0] = w->cpus[j][0] = 1;
		w->inputs[j].most_gpus = 1;
		w->jobs[j] = (struct pollux_job){
			.id = (uint32_t) (j + 1),
			.runs = true,
			.options.min_gpus = 1,
			.gpus = w->gpus[j],
			.allowed = w->allowed,
			.per_gpu = { .gpus = 1, .cpus = 1 },
			.script.cpus = 1,
			.kind = -1,
			.cpu_limit = -1,
			.unreserved = -1,
		};
	}
}

/* As a look notes it: on which nodes a job has anything. */
static inline void note_allocs(struct world *w)
{
	int count = 0;

	w->snapshot.elastic_allocs = w->allocs;
	for (int j = 0; j < JOBS; j++) {
		w->jobs[j].first_alloc = count;
		for (int n = 0; n < NODES; n++) {
			if (!w->gpus[j][n] && !w->cpus[j][n])
				continue;
			w->allocs[count++] = (struct plx_node_alloc){
				.node = n,
				.has.gpus = w->gpus[j][n],
				.has.cpus = w->cpus[j][n],
				.has.memory = w->memory[j][n],
			};
		}
		w->jobs[j].alloc_count = count - w->jobs[j].first_alloc;
	}
	w->snapshot.elastic_alloc_count = count;
}

static inline struct plx_problem *problem_of(struct world *w)
{
	struct pollux_reservations reservations = {
		.reserved = w->reserved,
		.grants = w->grants,
	};
	struct plx_error err = { .text = "" };
	struct plx_problem *problem;

	note_allocs(w);
	problem = pollux_problem_create(&w->snapshot, &w->params, w->inputs,
					&reservations, &err);
	assert_string_equal("", err.text);
	assert_non_null(problem);
	return problem;
}

#endif
