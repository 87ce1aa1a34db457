/* SPDX-License-Identifier: MIT */
/*
 * problem.h - a snapshot of the cluster to be decided upon
 *
 * Plain data, filled by the caller (plugin, simulator, test), never changed
 * by the search. Arrays belong to the problem: plx_problem_destroy() frees
 * all of them.
 */
#ifndef PLX_CORE_PROBLEM_H
#define PLX_CORE_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/model/goodput.h"
#include "core/records/sizes.h"

/* Who says that a job may not have more than max_gpus; for the explanation. */
enum plx_bound {
	PLX_BOUND_OWN,	   /* its own max= */
	PLX_BOUND_CLUSTER, /* that is all there is for it */
	PLX_BOUND_LIMITS,  /* account, QOS, partition */
	PLX_BOUND_PROGRAM, /* it asks for no more (pollux_request()) */
	PLX_BOUNDS,
};

/*
 * Speedups that are given, not computed from a goodput: for problems recorded
 * elsewhere. Shapes beyond the table are not possible.
 */
struct plx_table {
	int nodes, gpus; /* the largest shape */
	double *speedup; /* [(n - 1) * gpus + g - 1]: g GPUs on n nodes */
	double kept;	 /* share of it after a re-allocation, 0 to 1 */
};

struct plx_job {
	uint32_t id;
	uint32_t owner;	   /* whose it is: see app_profile.h */
	uint32_t gpu_type; /* plx_types_digest() of its GPUs; 0: not known */
	double weight;	   /* in the power mean, > 0; 0 counts as 1 */
	int min_gpus;	   /* >= 1: fewer is parked */
	int max_gpus;	   /* >= min_gpus: user, account and QOS limits */
	int max_by;	   /* enum plx_bound */
	int min_nodes;	   /* that it is on when it runs; 0: any */
	int max_nodes;	   /* 0: any; otherwise >= min_nodes */
	/* That its nodes may be on; 0: any. */
	int max_switches;
	int node_gpus; /* most on one node, at least what it has; 0: any */
	bool whole;    /* node_gpus on each of its nodes: all there are, so
			  nobody else is there; its sizes are multiples */
	bool profiled; /* goodput is known; otherwise SPEEDUP = GPU count */
	struct plx_goodput goodput;
	/* Largest count measured, by it or others of its kind: at most doubled,
	 * >= 1. */
	int profiled_gpus;
	bool fixed;    /* keeps what it has, whatever happens */
	bool may_park; /* may be left without any GPU */
	/*
	 * The node of its batch script, which stays the job's and counts as one
	 * of its nodes; -1: none, or the whole job may go elsewhere.
	 */
	int batch_host;
	bool roams;	  /* else its batch host holds one if any node does */
	double age_s;	  /* since it first started; for osdi21.h alone */
	double service_s; /* GPU-seconds it has had */
	/*
	 * Samples it still needs, at the efficiency of its base batch; 0: it
	 * does not tell; PLX_LEFT_LAST: go last. See plx_problem_set_weights().
	 */
	double samples_left;
	/* With less it misses a time limit that it keeps now; 0: none. */
	double least_goodput;
	double restart_s; /* what a re-allocation costs it */
	int restarts;	  /* so far */
	int *now;	  /* [node_count] GPUs it has on each node */
	bool *allowed;	  /* [node_count] nodes it may use; NULL: all */
	bool *required; /* [node_count] each holds one, as its host; NULL: none
			 */
	int *sizes;	/* [size_count] GPU counts it may have, rising; */
	int size_count; /* 0: every count from min to max */
	struct plx_table *table; /* its speedups; NULL: by its goodput */
	double *demand; /* [consumable_kinds] of a node's consumables, a GPU;
			  NULL: none */
	/* [consumable_kinds] at least, on its batch host; NULL: nothing */
	double *batch_host_demand;
};

/* The next of its sizes, from so many GPUs on; 0: none. */
static inline int plx_job_size_up(const struct plx_job *job, int gpus)
{
	return plx_listed_up(job->sizes, job->size_count, gpus);
}

static inline int plx_job_size_down(const struct plx_job *job, int gpus)
{
	return plx_listed_down(job->sizes, job->size_count, gpus);
}

/* Kinds of consumables that a problem may have. */
#define PLX_KINDS_MAX 64

struct plx_problem {
	int node_count;
	int *gpus;	 /* [node_count] for elastic jobs: free or theirs */
	int *gpus_total; /* [node_count] as fair shares count them */
	/*
	 * [node_count] the leaf switch, or the block, that each node is on,
	 * from 0 to node_count - 1; NULL: nothing is known of them.
	 */
	int *switches;
	/* per_switch of jobs that have not measured it: plx_problem_price(). */
	double switch_cost;
	int consumable_kinds; /* what nodes have besides GPUs, 0 to 64 */
	double *consumables;  /* [node * consumable_kinds + kind] free or the
				 jobs' */
	int job_count;
	struct plx_job *jobs;
	double fairness; /* p of FITNESS_p, default -1; -INFINITY: min */
	/*
	 * A change must raise a job's value by more than this share of it;
	 * default 0.005. It keeps needless moves away; plans may be so much
	 * below the best.
	 */
	double hysteresis;
	bool uniform;	   /* the same count on each of a job's nodes, ... */
	bool idle;	   /* ... but where GPUs would idle: search_idle.c */
	bool interference; /* true: at most one multi-node job a node */
	uint64_t seed;
	/*
	 * Asked now and then; true ends the search with the best plan so far.
	 * Borrowed; NULL: the search ends by itself.
	 */
	bool (*stop)(void *context);
	void *stop_context;
};

/* Zeroed arrays of these sizes, or NULL with err set; `now` allocated. */
struct plx_problem *plx_problem_create(int node_count, int job_count,
				       struct plx_error *err);
/* Give job j its own `allowed` array, all true. */
int plx_problem_restrict(struct plx_problem *problem, int j,
			 struct plx_error *err);
/* Give job j its own `required` array, all false. */
int plx_problem_require(struct plx_problem *problem, int j,
			struct plx_error *err);
/* Give the problem its own `switches`, all 0. */
int plx_problem_add_switches(struct plx_problem *problem,
			     struct plx_error *err);
void plx_problem_destroy(struct plx_problem *problem); /* accepts NULL */

/*
 * Where switches are known, jobs that have not measured what a further one
 * costs pay switch_cost for it. What they measured on several is taken to one
 * switch by the same price.
 */
void plx_problem_price(struct plx_problem *problem);

/* A set of switches. */
#define PLX_SWITCHES_MAX 65536
struct plx_switch_set {
	int count;
	uint64_t bits[PLX_SWITCHES_MAX / 64];
};

/* Makes it empty, for switches of so many nodes. */
void plx_switch_set_init(struct plx_switch_set *set, int node_count);

static inline void plx_switch_set_add(struct plx_switch_set *set, int s)
{
	uint64_t bit = UINT64_C(1) << s % 64;

	set->count += !(set->bits[s / 64] & bit);
	set->bits[s / 64] |= bit;
}

/* GPUs of each node, [node_count]: how many are they, on how many nodes? */
struct plx_shape plx_shape_of(const int *gpus, int node_count);

/* The same on switches, [node_count]; NULL: nothing is known of them. */
struct plx_shape plx_shape_on(const int *gpus, int node_count,
			      const int *switches);

/* Of switches, [node_count] or NULL, those with any of these GPUs. */
int plx_switches_of(const int *gpus, int node_count, const int *switches);

/*
 * Of kind k of a node's consumables: what the job takes on n with so many GPUs.
 */
static inline double plx_job_demand(const struct plx_job *job, int n, int gpus,
				    int k)
{
	double demand = job->demand ? gpus * job->demand[k] : 0;
	double keeps = 0;

	if (job->batch_host_demand && n == job->batch_host)
		keeps = job->batch_host_demand[k];
	return demand > keeps ? demand : keeps;
}

/* Does node n hold a GPU of the job if any does? */
static inline bool plx_job_sits(const struct plx_job *job, int n)
{
	return (n == job->batch_host && !job->roams) ||
	       (job->required && job->required[n]);
}

/* May the job sit on node n at all? */
static inline bool plx_job_usable(const struct plx_job *job, int n)
{
	return !job->allowed || job->allowed[n] ||
	       (n == job->batch_host && !job->roams && job->now[n] > 0);
}

/*
 * Do these GPUs, [node_count], keep to all rules of the job's own: how many,
 * on how many nodes and on which, evenly if asked? No GPU at all does. What
 * others leave on the nodes is another matter.
 */
bool plx_job_may_have(const struct plx_problem *problem,
		      const struct plx_job *job, const int *gpus);

/* -1 with the first inconsistency named: negative, NaN, now over gpus, ... */
int plx_problem_check(const struct plx_problem *problem, struct plx_error *err);

#endif
