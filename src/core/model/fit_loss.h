/* SPDX-License-Identifier: MIT */
/*
 * fit_loss.h - the loss of a step model, and how it bends: inside of fit.h
 *
 * Rows are first put into a table: sorted, those that a model cannot tell
 * apart made one, logarithms taken. The loss is the same as over the rows.
 */
#ifndef PLX_CORE_FIT_LOSS_H
#define PLX_CORE_FIT_LOSS_H

#include <stdbool.h>

#include "core/model/fit.h"

/* The model's parameters in the order of the optimiser's vectors. */
enum plx_fit_part {
	PLX_ALPHA_C,
	PLX_BETA_C,
	PLX_ALPHA_N,
	PLX_BETA_N,
	PLX_ALPHA_R,
	PLX_BETA_R,
	PLX_GAMMA,
	PLX_TWO,    /* logarithm of 1 + two_nodes */
	PLX_SWITCH, /* logarithm of 1 + per_switch */
	PLX_FIT_PARTS,
};

/* No alpha or beta is fitted below this, seconds; as published. */
#define PLX_FIT_FLOOR 1e-8

/*
 * Part that two nodes take longer when nothing else is known: measured, see
 * docs/decisions/0009-step-model.md.
 */
#define PLX_FIT_TWO_USUAL 0.5

/* Rows of one m: the pass is the same. */
struct plx_fit_pass {
	double per_gpu;
	double rows;  /* how many */
	double log_s; /* mean logarithm of the pass, seconds */
	size_t end;   /* of its entries among the iterations */
};

/* All-reduces that take the same time. */
struct plx_fit_sync {
	int nodes;   /* 1, 2, or 3 for more */
	int further; /* switches */
	bool two;    /* nodes, which take longer */
	int alpha;   /* PLX_ALPHA_N or PLX_ALPHA_R, or -1: one GPU */
	int gpus;
	double extra;	  /* GPUs beyond the second */
	double times;	  /* longer than over more nodes on one switch, */
	double by_switch; /* slope of its logarithm by PLX_SWITCH, */
	double s;	  /* seconds, of the model last looked at, */
	double log_s;	  /* and their logarithm */
};

/* Rows of one m with one all-reduce. */
struct plx_fit_iter {
	size_t sync;  /* which */
	double rows;  /* how many */
	double log_s; /* mean logarithm of the iteration, seconds */
};

/* What is to be explained. */
struct plx_fit_rows {
	const struct plx_sample *rows;
	size_t count;
	const bool *left_out; /* [count]; NULL: none */
	enum plx_growth growth;
};

struct plx_fit_table {
	enum plx_growth growth;
	size_t rows; /* usable ones */
	bool priced; /* of nodes on several numbers of switches */
	size_t pass_count, sync_count, iter_count;
	double pass_spread; /* sum of squares about the means of equal rows */
	double iter_spread;
	struct plx_fit_pass *passes;
	struct plx_fit_sync *syncs;
	struct plx_fit_iter *iters;
	void *memory; /* of all three */
};

/* The loss at a point, its gradient, and a Gauss-Newton Hessian. */
struct plx_fit_point {
	double loss;
	double slope[PLX_FIT_PARTS];
	double bend[PLX_FIT_PARTS][PLX_FIT_PARTS]; /* the lower half */
};

/* The row is finite, positive and not absurd. */
bool plx_fit_usable(const struct plx_sample *row);

/*
 * The usable rows but those left out. The caller releases it. -1 with err
 * set when out of memory; the table may be empty.
 */
int plx_fit_table_init(struct plx_fit_table *table,
		       const struct plx_fit_rows *rows, struct plx_error *err);
void plx_fit_table_release(struct plx_fit_table *table);

/*
 * What the parts are worth on a table that is not empty. The table is
 * changed only in what it remembers of the point.
 */
void plx_fit_look(struct plx_fit_table *table,
		  const double parts[PLX_FIT_PARTS],
		  struct plx_fit_point *point);

#endif
