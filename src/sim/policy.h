/* SPDX-License-Identifier: MIT */
/*
 * policy.h - who gets which GPUs: one file and one row a policy
 *
 * A policy is asked once an interval. It sees the jobs submitted and not yet
 * done, with what they have, and says what they shall have.
 */
#ifndef PLX_SIM_POLICY_H
#define PLX_SIM_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/search/plan.h"
#include "core/problem/problem.h"
#include "core/records/sizes.h"
#include "sim/sim_job.h"

/* A cluster that grows and shrinks. */
struct plx_scaling {
	int min_nodes;
	int max_nodes; /* 0: it stays as it is */
	double target; /* speedup a GPU, over one GPU alone, 0 to 1 */
	double boot_s; /* until a node that was asked for can be used */
};

struct plx_setting {
	int node_count;
	int node_gpus;
	double interval_s;
	double restart_s;    /* that a changed allocation costs */
	bool restart_auto;   /* each application's own instead */
	double interference; /* part of its speed a disturbed job loses */
	double fairness;     /* p, where policies know it; NAN: their own */
	bool remaining;	     /* jobs also tell how much they have to do */
	bool uniform;	     /* pollux: as many GPUs on each of a job's nodes */
	bool idle;	     /* but where GPUs would idle */
	bool batch_host;     /* pollux: scripts stay on their first node, */
	bool packed;	     /* which is where Slurm starts them, ... */
	bool roams;	     /* ... but their GPUs may all be elsewhere */
	unsigned without;    /* parts of pollux to leave out: PLX_PART_... */
	uint64_t seed;	     /* for policies that draw lots */
	bool timeline;	     /* record what --html draws */
	struct plx_sizes sizes; /* that jobs may have; of policies that plan */
	struct plx_scaling scaling;
};

/* What makes pollux better than the published policy. */
enum {
	PLX_PART_MODEL = 1,	  /* a step model with better all-reduces */
	PLX_PART_MEASURED = 2,	  /* measured times choose the batch */
	PLX_PART_PROFILES = 4,	  /* jobs profit from others of their kind */
	PLX_PART_WEIGHTS = 8,	  /* jobs with little service go first */
	PLX_PART_CHARGE = 16,	  /* a restart costs what it does for a while */
	PLX_PART_HYSTERESIS = 32, /* small gains move nobody */
};

/* The most nodes that there may be. */
int plx_setting_nodes(const struct plx_setting *setting);

/* What a change of its GPUs costs such a job, s. */
double plx_setting_restart_s(const struct plx_setting *setting,
			     const struct plx_app *app);

struct plx_round {
	const struct plx_setting *setting;
	double now_s;
	struct plx_simjob **jobs; /* in the workload's order */
	int job_count;
	/* Out; at first what each has. Who sorts jobs has to set all. */
	struct plx_sim_placement *next;
	int *free; /* [node_count] memory for the policy */
	void *run; /* the policy's, see run_size */
};

struct plx_policy {
	const char *name;
	const char *what;  /* one line for --help */
	bool adaptive;	   /* jobs choose their batch and measure themselves */
	bool published;	   /* and do so as published */
	size_t state_size; /* zeroed memory a job, kept between turns */
	size_t run_size;   /* the same for the whole run: turn->run */
	/* states: [jobs of the workload], by job index. */
	int (*decide)(struct plx_round *round, void *states,
		      struct plx_error *err);
	/* What the turn's problem lacks, before the search. NULL: nothing. */
	int (*refine)(const struct plx_round *round,
		      struct plx_problem *problem, struct plx_error *err);
	/* The run is over: free what run points to, not run. NULL: nothing. */
	void (*end)(void *run);
	/* Decides on a snapshot as plx_plan_search() does. NULL: cannot. */
	int (*plan)(const struct plx_problem *problem, struct plx_plan **plan,
		    struct plx_error *err);
};

/* All policies; the last has no name. */
extern const struct plx_policy *const plx_policies[];
const struct plx_policy *plx_policy_find(const char *name); /* or NULL */

extern const struct plx_policy plx_policy_fifo;
extern const struct plx_policy plx_policy_ga;
extern const struct plx_policy plx_policy_optimus;
extern const struct plx_policy plx_policy_pollux;
extern const struct plx_policy plx_policy_tiresias;

/* Most GPUs a job can use, however little is known of it. */
int plx_round_most_gpus(const struct plx_simjob *job);

/* For policies: turn->free from turn->next. */
void plx_round_count_free(struct plx_round *round);

/*
 * Seat a job that has nothing: as much as possible on the node with most
 * GPUs free (the first of equals), and so on. Takes them from turn->free;
 * requires that there are so many.
 */
void plx_round_place(struct plx_round *round, int j, int gpus);

/*
 * The turn as a snapshot to be planned for: what the scheduler of a real
 * cluster would know. The caller's to destroy; NULL with err set.
 */
struct plx_problem *plx_round_problem(struct plx_round *round,
				      struct plx_error *err);
/* turn->next from a plan for that problem. */
void plx_round_take(struct plx_round *round, const struct plx_plan *plan);

#endif
