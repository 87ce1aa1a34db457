/* SPDX-License-Identifier: MIT */
/*
 * sim_job.h - one simulated training job: what it has, and how far it is
 *
 * A job trains as its application's traces say. What a scheduler would know
 * of it is kept apart: rows measured, and the model fitted to them.
 */
#ifndef PLX_SIM_SIM_JOB_H
#define PLX_SIM_SIM_JOB_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/model/fit.h"
#include "core/model/goodput.h"
#include "sim/workload.h"

/* GPUs of one node. */
struct plx_sim_part {
	int node;
	int gpus; /* >= 1 */
};

/* Where a job sits: its nodes in the order given, each once. */
struct plx_sim_placement {
	struct plx_sim_part *parts; /* room for every node of the cluster */
	int count;		    /* 0: it has nothing */
	int gpus;		    /* in all */
};

struct plx_simjob {
	const struct plx_workload_entry *entry; /* borrowed */
	const struct plx_app *app;		/* of the entry */
	int index;				/* in the workload */
	int fixed_batch; /* total; 0: the job chooses what suits it */
	bool learns;	 /* it measures and fits its model */
	bool corrects;	 /* and measured times correct its choice of batch */

	struct plx_sim_placement place;
	int *counts; /* memory: GPUs of each part */
	struct plx_batch batch;
	double now_s;
	double pause_s; /* of the present restart still to come */

	int epoch;	 /* under way, from 0 */
	double progress; /* base batches */
	bool started;
	int batch_host; /* of its script: first node it ever had; -1: none */
	double start_s; /* when it first had GPUs */
	bool done;
	double finish_s; /* when done */
	int restarts;	 /* allocations after the first */

	double gpu_s;	     /* GPU-seconds held */
	double trained_s;    /* GPU-seconds of these without pauses */
	double efficiency_s; /* the same times statistical efficiency */
	double useful_s;     /* GPU-seconds of one GPU for the same progress */

	struct plx_sample *rows; /* distinct (nodes, GPUs, m) it has run */
	int row_count;
	int row_capacity;
	int profiled_gpus;	    /* most of any row */
	bool stale;		    /* rows are not yet in the model */
	bool modelled;		    /* the model below is fitted */
	struct plx_goodput goodput; /* what the scheduler knows */
};

/* node_count: of the cluster. The job is the caller's to release. */
int plx_simjob_init(struct plx_simjob *job,
		    const struct plx_workload_entry *entry, int node_count,
		    struct plx_error *err);
void plx_simjob_release(struct plx_simjob *job);

/*
 * Give it other GPUs; place is copied. Having some costs pause_s without
 * progress, and counts as a restart but for the first time.
 */
int plx_simjob_place(struct plx_simjob *job,
		     const struct plx_sim_placement *place, double pause_s,
		     struct plx_error *err);

/* Let seconds pass; slowdown: the part of its speed that others take. */
int plx_simjob_run(struct plx_simjob *job, double seconds, double slowdown,
		   struct plx_error *err);

/* job->goodput is up to date. job->modelled says whether there is one. */
int plx_simjob_fit(struct plx_simjob *job, struct plx_error *err);

/*
 * The batch that the job's total batch makes on this many GPUs, as the
 * published simulator divides it.
 */
struct plx_batch plx_fixed_batch(const struct plx_app *app, int total,
				 int gpus);

bool plx_sim_placement_equal(const struct plx_sim_placement *a,
			     const struct plx_sim_placement *b);
/* to must have room. */
void plx_sim_placement_copy(struct plx_sim_placement *to,
			    const struct plx_sim_placement *from);

/*
 * Seconds that such a job needs alone on so many GPUs, on as few nodes as
 * hold them, its first start included. It knows what this one has learnt.
 */
int plx_simjob_alone(const struct plx_simjob *like, int gpus, int per_node,
		     double pause_s, double *seconds, struct plx_error *err);

#endif
