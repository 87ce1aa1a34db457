/* SPDX-License-Identifier: MIT */
/*
 * limit_pool.h - limits that several jobs share
 *
 * An account or a QOS may allow so many GPUs to all of its jobs, or to those
 * of a user. The search knows only what one job may have. So each such limit
 * is a pool, and what is in it is split among its jobs before: the least
 * that each needs first, then evenly, as far as they want it. A job takes from
 * any number of pools, and all of them must do: that is how accounts below
 * accounts are said. Pure and deterministic; ties go to the lower id.
 */
#ifndef PLX_CORE_LIMIT_POOL_H
#define PLX_CORE_LIMIT_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

struct plx_limit_pool {
	double available; /* for its jobs, with what they hold; below 0: too
			   * little
			   */
	bool claimed;	  /* set by plx_limit_pool_grant() */
};

/* What comes out of a pool. */
struct plx_take {
	int pool;    /* index */
	double each; /* for a GPU of a job; of a claim: in all; >= 0 */
};

struct plx_sharer {
	uint32_t id;
	int now;    /* GPUs it holds */
	int least;  /* it runs with, >= 1 */
	int wants;  /* it could use; below `least`: none */
	bool fixed; /* keeps what it holds */
	int take_count;
	const struct plx_take *demand; /* borrowed, one of each pool at most */
	const int *sizes; /* [size_count] GPUs that it may have; borrowed */
	int size_count;	  /* 0: any number */
};

/* A job that waits and may not start before its pools have room. */
struct plx_draw {
	int take_count;
	const struct plx_take *demand; /* borrowed */
	const bool *keeps; /* [sharers] it may not park; borrowed; NULL: all */
};

/*
 * Take what claims need out of the pools, in the order given: those that fit
 * when each sharer is as small as it can be, and when some that it may park
 * are parked: only those that hold what the claim lacks, the highest id first,
 * and none too many. granted[claims] and parked[sharers] are written; of the
 * pools less is available where a claim was granted.
 */
int plx_limit_pool_grant(const struct plx_sharer *sharers, int sharer_count,
			 struct plx_limit_pool *pools, int pool_count,
			 const struct plx_draw *claims, int claim_count,
			 bool *granted, bool *parked, struct plx_error *err);

/*
 * How many GPUs each may have: shares[sharers], 0 or at least `least`, and as
 * many as it holds if it is fixed. A job keeps what it holds and wants up to
 * half as much again as its even share, and one GPU, or one of its sizes, more
 * in any case. If more is held than there is room for (the limit was lowered),
 * that much may be held, unless a claim was granted.
 */
int plx_limit_pool_split(const struct plx_sharer *sharers, int sharer_count,
			 const struct plx_limit_pool *pools, int pool_count,
			 int *shares, struct plx_error *err);

#endif
