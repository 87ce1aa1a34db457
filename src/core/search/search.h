/* SPDX-License-Identifier: MIT */
/*
 * search.h - the inside of the allocation search; for core/ only
 *
 * Jobs are kept in the order of their ids, so that nothing depends on the
 * order in which the caller lists them. Every job has a list of *candidates*:
 * configurations it may take, each with its utility, a term of the sum that
 * fitness grows with. A plan is a *placement* of each job. The search moves
 * jobs to better configurations; those in the way lose their placement and
 * take the best configuration that is left for them.
 *
 * Each file calls those above it in this list, and none below:
 *
 * search_placement.c   placements, and what is read off them
 * search_switches.c    which switches for a configuration
 * search_value.c       the value of a count of GPUs
 * search_candidates.c  the configurations a job may take
 * search_price.c       the price of a GPU, and a bound for all plans
 * search_consumables.c       what GPUs take of a node besides themselves
 * search_look.c        which nodes are worth looking at
 * search_pick.c        which nodes for a configuration, and who gives way there
 * search_state.c       the plan being made, and how to undo a move
 * search_exact.c       the best counts, were there no nodes
 * search_worst.c       how well off the worst off can be
 * search_move.c        giving a job a configuration, others giving way
 * search_pack.c        from the counts that the price suggests to placements
 * search_slots.c       the same with prices of slots, where nodes are many
 * search_repair.c      from what jobs have now to something feasible
 * search_improve.c     moves until nothing gets better
 * search_idle.c       who takes what even shapes leave over
 * search_exchange.c    who of two takes which of their placements
 * search_shake.c       the whole search, within a budget
 * search_why.c         the sentence for the operator
 *
 * What always holds: a job with any GPU has one on its batch host and on each
 * that it requires, no more than it may on any, from its minimum to its cap, on
 * as many nodes as it may (with that of its script), uniform if asked, but for
 * plx_search_idle(); new placements are on allowed nodes (a batch host where it
 * has GPUs counts as allowed). A job for which nothing of that is possible
 * keeps what it has, even over capacity: see plx_search_repair().
 */
#ifndef PLX_CORE_SEARCH_H
#define PLX_CORE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/problem/problem.h"
#include "core/problem/objective.h"

/* GPUs of a node. */
struct plx_slot {
	int node;
	int gpus; /* >= 1 */
};

/* Where a job is. */
struct plx_placement {
	struct plx_slot *slots; /* by node */
	int count;		/* 0: parked */
	double utility;
};

/* per_node GPUs on each of `nodes`; per_node 0: any counts, nodes or more. */
struct plx_config {
	int nodes;
	int per_node;
	int gpus;
	long further;	/* of the shape, on as few switches as hold it */
	double utility; /* when the job has to restart for it */
};

/* A count of GPUs and its value, on the upper concave hull of all. */
struct plx_point {
	int gpus;
	bool guess; /* not asked for: the value of the next larger count */
	double utility;
};

/*
 * Speedups that are alike for all jobs of one goodput and one yardstick, as
 * those of one program are: found once.
 */
#define PLX_ALIKE_MAX  32 /* kept; further ones find their own */
#define PLX_ALIKE_GPUS 64 /* counts of GPUs kept, from 0 */
struct plx_alike {
	const struct plx_goodput *goodput;
	struct plx_yardstick fair;
	/* On one node, on two, on more; NAN: not asked. */
	double speedup[3][PLX_ALIKE_GPUS];
};

#define PLX_FEW_NODES 24 /* whoever may use no more looks at all of them */

struct plx_search_job {
	const struct plx_job *job;
	int index; /* in the problem */
	struct plx_yardstick fair;
	struct plx_alike
		*alike;		/* NULL: its speedups are kept for none other */
	int cap;		/* most GPUs it may have */
	bool fixed;		/* as posed, or nothing else is possible */
	bool anywhere;		/* nearly all nodes are allowed */
	int few[PLX_FEW_NODES]; /* the nodes that it may use, ... */
	int few_count;		/* ... if they are so few; 0: more, or all */
	bool may_park;		/* allowed, or parked already */
	bool now_valid;		/* what it has respects its own limits */
	bool stuck;		/* nothing possible for it: keeps what it has */
	bool touched;		/* by the present move */
	bool dirty;		/* worth another look: in the queue */
	bool strayed;		/* may sit elsewhere than in the best plan */

	double *one;	/* [cap + 1] utility of a count on one node, ... */
	double *two;	/* ... on two, ... */
	double *many;	/* ... on more; NAN: not asked */
	double *counts; /* the best of the three */
	int one_max;	/* most GPUs on one node */
	int required;	/* nodes, as the job says */
	struct plx_point *hull;
	int hull_count;
	const struct plx_point *target; /* bought at the price; may be NULL */
	double surplus;			/* of that */
	double *others; /* [cap + 1] best of the others when it has so many */
	int want;	/* GPUs that it is to have, were there no nodes */
	int missed;	/* packs that found none for it */

	bool pays; /* for further switches that it is on */
	/*
	 * [cap + 1] each, as two and many on several switches, by further
	 * ones; NULL: not asked.
	 */
	double *wide[2 * PLX_FURTHER_MAX];
	struct plx_config *candidates; /* by falling utility */
	int candidate_count;
	int candidates_size; /* that there is memory for */
	double utility_parked;
	double now_value;
	double now_utility; /* without hysteresis, which now.utility has */

	struct plx_placement now;
	struct plx_placement at;    /* in the plan being made */
	struct plx_placement saved; /* before the present move */
	struct plx_placement best;  /* in the best plan so far */
	struct plx_slot *slots;	    /* memory of the four */
};

struct plx_node {
	int free;	 /* negative: jobs have more than there is */
	int open;	 /* GPUs that no fixed job holds */
	int fixed;	 /* GPUs of fixed jobs */
	int multi;	 /* jobs here that are on several nodes */
	int fixed_multi; /* fixed ones of them */
	uint64_t price;	 /* the lower, the better off who would give way */
	bool stale;	 /* price is to be found again */
	int bucket;	 /* in the index; -1: none yet */
	int *jobs;	 /* indexes into search->jobs, any order */
	int job_count;
};

struct plx_search {
	const struct plx_problem *problem;
	int node_count;
	int job_count;
	int node_gpus_max;
	long gpus;	    /* of all nodes */
	long open_gpus;	    /* that no fixed job holds */
	double price;	    /* of a GPU, in utility */
	double priced;	    /* bound of the sum of utilities by the price */
	double bound;	    /* the best bound of it, ... */
	double bound_truly; /* ... and without hysteresis */
	bool exact;	    /* others[] of the jobs are known */
	double best_sum;    /* of the best plan so far */
	double fairness;    /* p that the search uses, -64 at least */
	struct plx_search_job *jobs;
	struct plx_alike *alikes; /* [alike_count], memory for PLX_ALIKE_MAX */
	int alike_count;
	struct plx_node *nodes;
	int *node_jobs; /* memory of nodes[].jobs */
	int *touched;	/* jobs of the present move, the mover first */
	int touched_count;
	struct plx_placement picked; /* where the mover will sit */
	int *queue;		     /* ring of jobs worth another look */
	int queue_first;
	int queue_count;
	int *strayed; /* jobs that may not sit as in the best plan */
	int strayed_count;
	bool stopped;		 /* somebody asked to */
	double *consumable_left; /* [node * kinds + kind] */
	double *consumable_open; /* that no fixed job takes */
	bool plentiful; /* there are consumables for all GPUs, whoever has them
			 */
	uint64_t *keys; /* [node_count] order of preference */
	uint64_t *scratch; /* [node_count] */
	int *fits;	   /* [node_gpus_max + 1] nodes with g GPUs at least */
	int *free_one;	   /* [node_gpus_max + 1] nodes with >= g free ... */
	int *free_multi;   /* ... also for a job on several nodes */
	long free_multi_gpus;
	int *look; /* [look_count] nodes to look at */
	int look_count;
	int look_free;	  /* GPUs free on these, as search_idle.c looks */
	long over_left;	  /* its budget for shapes over several nodes */
	bool indexed;	  /* too many nodes to look at all */
	uint64_t *looked; /* [node_count] look_stamp of the last look */
	uint64_t look_stamp;
	uint64_t *bits;	   /* nodes by free GPUs, quiet ones first */
	size_t words;	   /* of a bucket's nodes */
	int *levels;	   /* nodes in each bucket */
	int switch_count;  /* 0: nodes are not told apart by them */
	int *switch_nodes; /* [node_count] by switch */
	int *switch_first; /* [node_count + 1] of each in these */
	int *switch_sizes; /* [switch_count] nodes of one, falling */
	int *switch_free;  /* memory of what the next count */
	struct plx_switch_state *switch_states; /* [node_count] by switch */
	int *switch_seen;      /* [node_count] those of the present look */
	uint64_t *switch_keys; /* [node_count] keys by switch */
	uint64_t *switch_kept; /* [node_count] keys, to go back to */
	uint64_t random;
	bool poorest; /* ask the worst off to give way, not the best */
	bool shake;   /* moves choose nodes at random */
	/* Of a move that is tried: it is given up where it gains no more. */
	double least_gain;
	long work; /* nodes and configurations looked at */
	long budget;
};

/* What to move a job to: an index of its configurations, or: */
enum { PLX_CONFIG_NOW = -1 };

/* search_placement.c */
struct plx_shape plx_placement_shape(const struct plx_placement *placement);
/* On how many switches it is; 0: they do not matter. */
int plx_search_span(const struct plx_search *search,
		    const struct plx_placement *placement);
/* With the further switches that it is on. */
struct plx_shape plx_search_shape(const struct plx_search *search,
				  const struct plx_placement *placement);
bool plx_placement_equal(const struct plx_placement *a,
			 const struct plx_placement *b);
void plx_placement_copy(struct plx_placement *to,
			const struct plx_placement *from);
uint64_t plx_search_random(struct plx_search *search);

static inline bool plx_config_multi(const struct plx_config *config)
{
	return config->nodes > 1;
}

/*
 * A job on several nodes may not come here: another one is, and would disturb
 * its all-reduce.
 */
static inline bool plx_node_disturbs(const struct plx_search *search, int n)
{
	return search->problem->interference && search->nodes[n].multi > 0;
}

/* search_switches.c */
bool plx_switches_init(struct plx_search *search);
void plx_switches_release(struct plx_search *search);
/* The fewest switches that hold so many nodes; 0: they do not matter. */
int plx_switches_least(const struct plx_search *search, int nodes);
/*
 * A node, open to a job on several nodes, has so many GPUs free from now on
 * (step 1), or no more (-1). Requires that switches matter, as those below do.
 */
void plx_switches_count(struct plx_search *search, int n, int free, int step);
/*
 * The smallest switch with *nodes nodes that have so many GPUs free for the
 * job, or else the one with most, and *nodes less these; none that the present
 * look took. -1: none has any.
 */
int plx_switches_next(struct plx_search *search, const struct plx_search_job *e,
		      int gpus, int *nodes);
/* The present look takes the switch. False: it has done so already. */
bool plx_switches_take(struct plx_search *search, int s);
/*
 * Keys of nodes, search->keys: the less welcome the higher. The node itself is
 * in the lowest bits, GPUs to take from others are in the highest ones.
 */
#define PLX_KEY_NODE_BITS 17
#define PLX_KEY_COST_BIT  51
#define PLX_KEY_NEVER	  UINT64_MAX /* of a node that cannot be had */
/* The k-th smallest (from 1) of different keys; puts it and those below first.
 */
uint64_t plx_keys_smallest(uint64_t *keys, int count, int k);
/*
 * Choose as few switches as hold a configuration on several nodes among those
 * of search->look, by search->keys, with GPUs of each in search->scratch; and
 * drop the keys of all others. False: on as many switches as the job may be
 * on there are too few.
 */
bool plx_switches_choose(struct plx_search *search,
			 const struct plx_search_job *e,
			 const struct plx_config *config);

/* May the job be on so many switches? */
static inline bool plx_span_allowed(const struct plx_search_job *e,
				    int switches)
{
	return !e->job->max_switches || switches <= e->job->max_switches;
}

/* search_value.c */
/* Weights do not matter to the least of all values. */
double plx_job_weight(const struct plx_search *search,
		      const struct plx_search_job *e);
/* Most GPUs for a job that has `held` now, wherever they are. */
int plx_gpu_cap(const struct plx_job *job, int held);
int plx_value_init(const struct plx_search *search, struct plx_search_job *e,
		   struct plx_error *err);
/* Sets alike: that of the jobs before it, or a new one. Requires fair. */
void plx_alike_find(struct plx_search *search, struct plx_search_job *e);
/* plx_speedup(), asked for once among those that are alike. */
double plx_alike_speedup(const struct plx_search_job *e,
			 struct plx_shape shape);
/* Utility after a restart; -INFINITY: impossible. Requires gpus >= 1. */
double plx_value(const struct plx_search *search, struct plx_search_job *e,
		 struct plx_shape shape);
/* The same of the best shape; -INFINITY also where limits forbid it. */
double plx_value_of_count(const struct plx_search *search,
			  struct plx_search_job *e, int gpus);
/* Within its limits, and one of the sizes it may have? */
bool plx_size_allowed(const struct plx_search_job *e, int gpus);
/* May it have so many GPUs on one node? */
bool plx_one_node(const struct plx_search_job *e, int gpus);
/* The fewest nodes, from least, that may hold so many GPUs of it; 0: none. */
int plx_many_nodes(const struct plx_search *search,
		   const struct plx_search_job *e, int gpus, int least);
/*
 * Must one of so many nodes be that of its script, which counts as one of
 * those it may be on?
 */
bool plx_needs_batch_host(const struct plx_search_job *e, int nodes);
/* Has it to have a GPU on node n, when it has them on so many nodes? */
bool plx_needs_node(const struct plx_search_job *e, int nodes, int n);
/* Most nodes that it may be on. */
int plx_nodes_max(const struct plx_search *search,
		  const struct plx_search_job *e);
/* Does it matter to the job whether it is on two nodes or on more? */
bool plx_two_differ(const struct plx_search_job *e);

/* search_price.c */
/* Sets price, and each job's target and surplus; asks what it needs. */
void plx_search_price(struct plx_search *search);
/* Sets the bounds, once it is known who is stuck. */
void plx_search_bound(struct plx_search *search);
/* A better plan than the best has the job above this, on so many GPUs. */
double plx_search_needed(const struct plx_search *search,
			 const struct plx_search_job *e, int gpus);
/* Utility of the next larger count that is known; -INFINITY: none. */
double plx_next_known(const struct plx_search_job *e, int gpus);
/* No plan gives the job more than this value, the floor included. */
double plx_search_most(const struct plx_search *search,
		       const struct plx_search_job *e);

/* search_worst.c */
/* No plan has all jobs above this value, the floor included, nor above most. */
double plx_search_worst(const struct plx_search *search, double most);

/* search_exact.c */
/* Better bounds and counts, for small problems; false: it is not one. */
bool plx_search_exact(struct plx_search *search);

/* search_candidates.c */
int plx_candidates_fill(const struct plx_search *search,
			struct plx_search_job *e, struct plx_error *err);

/* search_state.c */
struct plx_search *plx_search_create(const struct plx_problem *problem,
				     struct plx_error *err);
void plx_search_destroy(struct plx_search *search);
/* Nobody sits; capacities as in the problem (which may have changed). */
void plx_search_reset(struct plx_search *search);
void plx_placement_take(struct plx_search *search, struct plx_search_job *e);
/* Sit down; slots are copied. Requires that it does not sit. */
void plx_placement_put(struct plx_search *search, struct plx_search_job *e,
		       const struct plx_placement *placement);
/* Never moves again. Requires that it sits where it shall stay. */
void plx_placement_fix(struct plx_search *search, struct plx_search_job *e);
void plx_move_begin(struct plx_search *search);
void plx_move_touch(struct plx_search *search, struct plx_search_job *e);
/* Gain in the sum of utilities since plx_move_begin(). */
double plx_move_gain(const struct plx_search *search);
void plx_move_undo(struct plx_search *search);

/* search_consumables.c */
bool plx_consumables_init(struct plx_search *search);
void plx_consumables_reset(struct plx_search *search);
/* The job's GPUs take from the consumables; negative: they give back. */
void plx_consumables_take(struct plx_search *search,
			  const struct plx_search_job *e, int n, int gpus);
/* Its GPUs there are nobody else's for good. */
void plx_consumables_fix(struct plx_search *search,
			 const struct plx_search_job *e, int n, int gpus);
/* Jobs take more than there is. */
bool plx_consumables_short(const struct plx_search *search, int n);
/* As many of the GPUs free or open on the node as there are consumables for. */
int plx_consumables_free(const struct plx_search *search,
			 const struct plx_search_job *e, int n);
int plx_consumables_open(const struct plx_search *search,
			 const struct plx_search_job *e, int n);

/* Of these GPUs of a node, as many as the job may have on one. */
static inline int plx_node_most(const struct plx_search_job *e, int gpus)
{
	int most = e->job->node_gpus;

	return most && most < gpus ? most : gpus;
}

/* Can that be what it has of a node: of whole nodes all of them? */
static inline bool plx_node_share(const struct plx_search_job *e, int gpus)
{
	return plx_node_most(e, gpus) == gpus &&
	       (!e->job->whole || gpus == e->job->node_gpus);
}

/* GPUs of the node that are free for the job. */
static inline int plx_node_free(const struct plx_search *search,
				const struct plx_search_job *e, int n)
{
	return plx_node_most(e, e->job->demand && !search->plentiful
					? plx_consumables_free(search, e, n)
					: search->nodes[n].free);
}

/* The same were all gone that can be asked to. */
static inline int plx_node_open(const struct plx_search *search,
				const struct plx_search_job *e, int n)
{
	return plx_node_most(e, e->job->demand && !search->plentiful
					? plx_consumables_open(search, e, n)
					: search->nodes[n].open);
}

/* search_look.c */
bool plx_look_init(struct plx_search *search);
void plx_look_release(struct plx_search *search);
/* The node's free GPUs or jobs have changed. */
void plx_look_update(struct plx_search *search, int n);
/* The first node from this one on with a free GPU; node_count: none. */
int plx_look_next_free(const struct plx_search *search, int n);
/* Sets search->look. */
void plx_search_look(struct plx_search *search, const struct plx_search_job *e,
		     const struct plx_config *config, bool eject);

/* search_pick.c */
/* Has the job a GPU there wherever it needs one? */
bool plx_placement_complete(const struct plx_search_job *e,
			    const struct plx_placement *placement);
/* Who gives way on the node; NULL: nobody can be asked. */
struct plx_search_job *plx_node_victim(struct plx_search *search, int n,
				       bool multi_only);
/*
 * Choose nodes for a job that does not sit: search->picked. With eject also
 * those that others have; otherwise only what is free.
 */
bool plx_search_pick(struct plx_search *search, struct plx_search_job *e,
		     const struct plx_config *config, bool eject);

/* search_move.c */
/* Sit down in the best way that takes nothing from others. False: none. */
bool plx_search_fit(struct plx_search *search, struct plx_search_job *e);
/* The same with as few GPUs as possible. */
bool plx_search_squeeze(struct plx_search *search, struct plx_search_job *e);
/*
 * Try to give a job a configuration, others giving way; undone and false when
 * not possible. To be undone by plx_move_undo() if the gain is not wanted.
 */
bool plx_search_move(struct plx_search *search, struct plx_search_job *e,
		     int config);

/* Back to what it has now; false: somebody else is there. */
bool plx_search_stay(struct plx_search *search, struct plx_search_job *e);
/* Sit down where value less price is largest; false: nowhere. */
bool plx_search_buy(struct plx_search *search, struct plx_search_job *e);

/* search_pack.c */
/* Nobody sits but those that are fixed. */
void plx_search_get_up(struct plx_search *search);
/* Seat everybody close to the targets. False: somebody must sit and cannot. */
bool plx_search_pack(struct plx_search *search);

/* search_slots.c */
#define PLX_SLOT_MAX 32 /* GPUs of the largest one */
/* Do jobs on several nodes disturb each other, and do GPUs cost anything? */
bool plx_slots_matter(const struct plx_search *search);
/*
 * As plx_search_pack(), in the slots that a good plan has. Requires that they
 * matter.
 */
bool plx_slots_pack(struct plx_search *search);

/* search_repair.c */
/*
 * Seat everybody, close to what they have now. Returns the number of jobs
 * that cannot have what they need and are left as they are.
 */
int plx_search_repair(struct plx_search *search);

/* search_improve.c */
void plx_queue_push(struct plx_search *search, struct plx_search_job *e);
/* Requires that somebody is in the queue. */
struct plx_search_job *plx_queue_pop(struct plx_search *search);
void plx_queue_clear(struct plx_search *search);
/* The present move is done. */
void plx_move_keep(struct plx_search *search);
/* Until nobody in the queue finds a better configuration. */
void plx_search_descend(struct plx_search *search);
bool plx_search_stopped(struct plx_search *search);

/* search_shake.c */
void plx_search_improve(struct plx_search *search);

/* search_idle.c */
/* After the search: nobody gives way, and no job has less for it. */
void plx_search_idle(struct plx_search *search);

/* search_exchange.c */
/* After the search: as many GPUs as possible stay where they are. */
void plx_search_exchange(struct plx_search *search);

/* search_why.c */
void plx_search_why(const struct plx_search *search,
		    const struct plx_search_job *e, char *why, int size);

#endif
