/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_snapshot.h - what is in slurmctld, copied under a read lock
 *
 * A snapshot owns all its memory and is only looked at. Its node indices are
 * slurmctld's; they mean the same later only if pollux_snapshot_same_nodes().
 */
#ifndef SCHED_POLLUX_SLURM_SNAPSHOT_H
#define SCHED_POLLUX_SLURM_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/gpus.h"
#include "core/base/resources.h"
#include "core/records/options.h"
#include "core/reserve/limit_pool.h"
#include "core/records/status.h"
#include "core/records/target.h"
#include "sched/pollux/backfill/terms.h"

#define POLLUX_PENDING_MAX 100 /* waiting jobs looked at */
#define POLLUX_EPILOG_S	   1   /* is left of one that runs, for all we know */

struct pollux_node {
	char *name;
	bool usable; /* jobs may stay: up, not being drained */
	bool leave;  /* elastic jobs are to go elsewhere */
	bool asleep; /* suspended by Slurm, and may be woken */
	bool asked;  /* asleep: an elastic job that runs could use it */
	bool waking;
	bool surplus; /* closed to elastic jobs, see plan/cluster_scale.h */
	int gpus;
	int cpus;
	struct plx_resources left; /* that a job could have now */
	int gpus_closing; /* or once who has just left it has ended there */
	int cpus_rigid;	  /* that jobs have which are not elastic */
	int batch_hosts;  /* elastic jobs whose launcher is there */
};

/* A running elastic job; or a moldable one that waits for its start. */
struct pollux_job {
	uint32_t id;
	uint32_t uid;
	struct plx_options options;
	struct plx_status status;	/* launcher none when there is none */
	bool told;			/* it can be believed */
	char complaint[PLX_ERROR_SIZE]; /* about status or hint; or "" */
	struct plx_target target;
	bool runs;	   /* may be resized as far as Slurm is concerned */
	const char *fixed; /* why it keeps its shape for good, or NULL */
	const char *bound; /* the same, or why it keeps it now */
	int batch_host;	   /* node of its launcher, else of its script */
	bool roams;	   /* its GPUs need not be there */
	int whole_gpus;	   /* of each of its nodes, as it has these for itself;
			      0: it shares nodes with others */
	bool moves;	   /* as a whole, its script included, if it has to */
	int min_nodes;	   /* by its user and its partition */
	int max_nodes;	   /* 0: any */
	int max_switches;  /* by its user; 0: any */
	bool yields; /* its batch host to a job that waits, where it moves */
	uint64_t priority; /* see pollux_priority() */
	time_t age_s;	   /* since its start */
	time_t here_s;	   /* since it was submitted, or requeued last */
	double ends_s;	   /* from now, by its time limit */
	double limit_s;	   /* the whole of that; INFINITY: none */
	char *shape;	   /* nodes as accounting has them */
	time_t since;	   /* its present shape */
	struct plx_resources per_gpu; /* that each of its GPUs takes */
	/* That it keeps on the node of its script; of memory a first GPU on any
	 * node takes as much. */
	struct plx_resources script;
	int kind;	   /* of GPU, one of the snapshot's; -1: any */
	bool unlike_model; /* its hint is of another type than that */
	char unlike[PLX_TYPES_SIZE]; /* a type that is free, but not of its own;
					"": none */
	int first_alloc;	     /* of the snapshot's elastic_allocs */
	int alloc_count;
	int has_gpus;	      /* the sum of these: */
	int *gpus;	      /* [node_count] */
	int allowed_set;      /* one of the snapshot's */
	int required_set;     /* the same, by --nodelist; -1: none */
	const bool *allowed;  /* [node_count] of the former */
	const bool *required; /* of the latter; NULL: none */
	int allowed_count;
	bool *shunned;	/* [node_count] see plan/sick_nodes.h; NULL: none */
	bool *within;	/* [node_count] what limits of nodes leave; or NULL */
	bool capped;	/* limits allow it alone ... */
	int most_gpus;	/* ... so many, its own at least */
	int node_gpus;	/* most on one node by limits; 0: any */
	int cpu_limit;	/* of CPUs, one of the snapshot's; -1: none */
	int unreserved; /* the same, of those that reservations leave it */
	int take_count;
	struct plx_take *demand; /* on limits that it shares */
	bool to_park;		 /* a waiting job needs its part of a limit */
	double saved_s;	 /* moldable: its checkpoint's age; negative: untold */
	double exempt_s; /* no job preempts it for so long yet; 0: some may */
};

/* Nodes that some jobs may use. */
struct pollux_set {
	void *bits;	 /* Slurm's bitmap */
	uint64_t digest; /* of that */
	bool *nodes;	 /* [node_count] the same; NULL: not made yet */
};

/* A type of GPU that jobs ask for or keep to; or several, as a list. */
struct pollux_kind {
	char type[PLX_TYPES_SIZE];
	int *free;  /* [node_count] that a job could have now */
	int *all;   /* [node_count] whoever has them */
	bool mixed; /* on some node, beside others */
};

/* MaxCPUsPerNode of a partition; or what reservations leave to some jobs. */
struct pollux_cpu_limit {
	const void *partition; /* Slurm's, to compare */
	void *barred;	       /* Slurm's bitmap of cores, or NULL */
	int *left;	       /* [node_count] that no job has; or below 0 */
};

/* Other shapes that an elastic job may start in: see plan/spread.h. */
struct pollux_spread {
	int least; /* GPUs in all; 0: it has the shape that it waits for */
	int most;  /* the same */
	int low;   /* nodes */
	int high;
	double memory; /* of each node, however many of its GPUs it takes */
	struct plx_sizes sizes;
};

/*
 * A job, elastic or not, that Slurm could not start for want of resources; one
 * for each partition it may start in.
 */
struct pollux_waiting {
	uint32_t id;
	uint64_t priority; /* see pollux_priority() */
	char *partition;
	int nodes;
	struct plx_resources each; /* of these; GPUs are whole */
	double seconds;		   /* its time limit */
	int kind;		   /* of GPU, one of the snapshot's; -1: any */
	int cpu_limit; /* of CPUs, one of the snapshot's; -1: none */
	bool whole_nodes;
	bool ignored; /* see reservation_timeout.h */
	bool clears; /* whole nodes, of jobs that yield: see start_reserved.h */
	int moldable; /* moldable: its index among jobs; -1: it is not */
	uint32_t het; /* the het job that it is part of, Slurm's to start; 0 */
	int het_size; /* components of that */
	struct pollux_spread spread;
	bool limited; /* Slurm says that a limit is in its way */
	bool blocked; /* and no elastic job can help, see limit_split.h */
	int take_count;
	struct plx_take *demand; /* on limits of elastic jobs, in all */
	bool *allowed;		 /* [node_count] */
	double *draws;	 /* [licence_count] of the snapshot's; NULL: none */
	bool unlicensed; /* Slurm says that it may not have them */
	bool unpromised; /* room now, or nothing: bf_min_prio_reserve */
	char *told; /* elastic: its record says why, or ""; NULL: it is not */
	int tasks;  /* of an array, that wait */
	bool *preempts; /* [job_count] elastic jobs that it may preempt now;
			   NULL: none */
};

struct pollux_snapshot {
	time_t now;
	int node_count;
	struct pollux_node *nodes;
	int node_gpus_max; /* of any node */
	bool gathers; /* slurmctld has begun, and many nodes are not heard yet
		       */
	/* [node_count] leaf switch or block of each, from 0; NULL: unknown */
	int *switches;
	int job_count;
	int job_size;		 /* that there is memory for */
	struct pollux_job *jobs; /* in the order of slurmctld's list */
	int moldable_count;	 /* after those, moldable ones that wait */
	double begins_s; /* time of day at which one may start; 0: none */
	int set_count;
	struct pollux_set *sets; /* of nodes; each is different */
	int *set_slots;		 /* where a set is by its digest */
	int set_slot_count;
	int kind_count;
	struct pollux_kind *kinds;
	int cpu_limit_count;
	struct pollux_cpu_limit *cpu_limits;
	int waiting_count;
	struct pollux_waiting *waiting; /* highest priority first */
	int licence_count;
	double *licences;   /* free ones, of each */
	bool counts_memory; /* Slurm gives it out like CPUs */
	int elastic_alloc_count;
	struct plx_node_alloc *elastic_allocs; /* a job's side by side */
	int alloc_count;
	struct plx_node_alloc
		*allocs; /* of the rest: see pollux_waiting_is_ours() */
	int pool_count;
	struct plx_limit_pool *pools; /* limits that elastic jobs share */
	int requeued_count;
	uint32_t *requeued;   /* jobs to be reset, see requeue.h */
	int lost_node_count;  /* jobs to be mended, see lost_node.h */
	uint64_t fingerprint; /* changes when there is something to decide */
};

/* slurmctld ends: what is kept from one look to the next is freed. */
void pollux_snapshot_forget_all(void);

/*
 * Of the jobs that wait, as many as backfill looks at by its terms. Locks
 * slurmctld for reading. The caller's to destroy.
 */
struct pollux_snapshot *pollux_snapshot_create(
	const struct pollux_terms *terms);
void pollux_snapshot_destroy(
	struct pollux_snapshot *snapshot); /* accepts NULL */

/* A job whose shape changes by a requeue alone. */
static inline bool pollux_is_moldable(const struct pollux_job *job)
{
	return job->options.mode == PLX_MODE_REQUEUE;
}

#endif
