/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stock.h - CPUs, memory and types of GPUs, as far as they are short
 *
 * No lock, no Slurm.
 */
#ifndef SCHED_POLLUX_STOCK_H
#define SCHED_POLLUX_STOCK_H

#include "core/problem.h"
#include "sched/pollux/look/view.h"

/*
 * Give a problem about the view's jobs, which has its nodes' GPUs and its
 * jobs' present ones, what these GPUs need besides. Kinds of which there is
 * enough whoever gets the GPUs are left out. -1 with err set: no memory.
 */
int pollux_stock_fill(const struct pollux_view *view,
		      struct plx_problem *problem, struct plx_error *err);

/* Has node n, or has job j of it, what the job needs on each node? */
bool pollux_stock_has(const struct pollux_view *view, int j, int n);

/* Is what these GPUs need besides, for a job that has none, free now? */
bool pollux_stock_is_free(const struct pollux_view *view, int j,
			  const int *gpus);

#endif
