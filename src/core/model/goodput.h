/* SPDX-License-Identifier: MIT */
/*
 * goodput.h - useful training done per second
 *
 * Goodput is throughput (samples/s) times statistical efficiency (0 to 1].
 * Every function here is pure: nothing is allocated, and any thread may call
 * it at any time.
 *
 * The model is that of Qiao et al., "Pollux", OSDI '21, section 3, or that
 * with another all-reduce: docs/decisions/0009-step-model.md.
 */
#ifndef PLX_CORE_GOODPUT_H
#define PLX_CORE_GOODPUT_H

#include <stdbool.h>

/* What an all-reduce grows with. */
enum plx_growth {
	PLX_BY_GPU,	 /* each GPU beyond 2: the paper's */
	PLX_BY_DOUBLING, /* each doubling of 2 GPUs */
};

/*
 * How long a step takes; alpha and beta in seconds, all >= 0. With the members
 * behind gamma 0, this is the paper's model.
 */
struct plx_model {
	double alpha_c, beta_c; /* pass: fixed, and per sample on a GPU */
	double alpha_n, beta_n; /* all-reduce over nodes: fixed, by growth */
	double alpha_r, beta_r; /* all-reduce in a node: fixed, by growth */
	double gamma;		/* overlap of pass and all-reduce, 1 to 10 */
	double two_nodes;	/* part that two nodes take longer, 0 to 10 */
	enum plx_growth growth;
	/*
	 * Further leaf switches, 0 to 4, that alpha_n and beta_n were measured
	 * on, where per_switch is not known; otherwise 0.
	 */
	int further;
	/*
	 * Part that an all-reduce over nodes takes longer for each further leaf
	 * switch, 0 to 100; 0: it is not known to.
	 */
	double per_switch;
};

/* More further switches than so many cost a job no more than these. */
#define PLX_FURTHER_MAX 4

/* plx_shape.further of nodes on so many leaf switches. */
static inline int plx_further(int switches)
{
	int further = switches > 1 ? switches - 1 : 0;

	return further < PLX_FURTHER_MAX ? further : PLX_FURTHER_MAX;
}

/* Where a job's ranks sit; one rank uses one GPU. */
struct plx_shape {
	int nodes; /* nodes with at least one rank; 0 when not running */
	int gpus;  /* ranks in all, >= nodes */
	/*
	 * Leaf switches beyond the first that its nodes are on, 0 to 4; 0 also
	 * where nothing is known of them. Not an int: compilers pass 12 bytes
	 * slowly.
	 */
	long further;
};

/* How a step's samples are spread: total batch = gpus * m * (s + 1). */
struct plx_batch {
	int per_gpu; /* m: samples a GPU takes in one pass, >= 1 */
	int accum;   /* s: passes before the one that synchronises, >= 0 */
};

/* What the user allows. */
struct plx_limits {
	int base_batch;	 /* M0: total batch the user tuned for, >= 1 */
	int max_batch;	 /* largest total batch, >= base_batch */
	int min_per_gpu; /* smallest m the program can use, >= 1 */
	int max_per_gpu; /* largest m that fits a GPU's memory */
	bool accumulate; /* s > 0 allowed */
};

/* Gradient statistics at the base batch size. */
struct plx_noise {
	double sqr; /* squared norm of the true gradient, >= 0 */
	double var; /* trace of the covariance at batch base_batch, >= 0 */
};

/* A job's goodput function: all that is needed to judge a shape. */
struct plx_goodput {
	struct plx_model model;
	struct plx_noise noise;
	struct plx_limits limits;
};

/* One pass (forward and backward) over m samples, seconds. */
double plx_grad_seconds(const struct plx_model *model, double per_gpu);

/* Least an all-reduce counts for in a step, seconds; as published. */
#define PLX_SYNC_FLOOR_S 1e-8
/* Least that beta is multiplied by in an all-reduce; as published. */
#define PLX_EXTRA_FLOOR	  1e-8
#define PLX_TWO_NODES_MAX 10.0
/* per_switch of who has not measured it: a guess. */
#define PLX_SWITCH_COST	   0.1
#define PLX_PER_SWITCH_MAX 100.0

/* What beta of an all-reduce is multiplied by. */
double plx_sync_extra(enum plx_growth growth, int gpus);

/* One all-reduce, seconds; 0 for one GPU. */
double plx_sync_seconds(const struct plx_model *model, struct plx_shape shape);

/* The synchronising pass, partly hidden behind its all-reduce, seconds. */
double plx_iter_seconds(const struct plx_model *model, struct plx_shape shape,
			double per_gpu);

/* A whole optimiser step: s plain passes and a synchronising one, seconds. */
double plx_step_seconds(const struct plx_model *model, struct plx_shape shape,
			struct plx_batch batch);

/* Samples per second. Requires shape.gpus > 0. */
double plx_throughput(const struct plx_model *model, struct plx_shape shape,
		      struct plx_batch batch);

/* Progress of a sample in a batch of total_batch relative to base_batch. */
double plx_efficiency(const struct plx_noise *noise, double base_batch,
		      double total_batch);

/* Useful samples per second; 0 when shape.gpus is 0. */
double plx_goodput(const struct plx_goodput *job, struct plx_shape shape,
		   struct plx_batch batch);

/*
 * The batch that maximises goodput on this shape within the limits, and its
 * goodput. Returns false when no batch is allowed there (more GPUs than
 * max_batch / min_per_gpu); the outputs are then untouched. best may be NULL.
 * On one GPU a total batch above base_batch uses at least one accumulation
 * step when accumulation is allowed, as published: the noise estimate needs
 * two gradients.
 */
bool plx_batch_best(const struct plx_goodput *job, struct plx_shape shape,
		    struct plx_batch *best, double *goodput);

/* All numbers finite and in range: safe to give to the functions above. */
bool plx_goodput_valid(const struct plx_goodput *job);

#endif
