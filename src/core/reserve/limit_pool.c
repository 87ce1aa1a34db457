/* SPDX-License-Identifier: MIT */
/* limit_pool.c - limits that several jobs share */

#include <stdlib.h>
#include <string.h>

#include "core/reserve/limit_pool.h"
#include "core/records/sizes.h"

/* A split in the making. */
struct split {
	const struct plx_sharer *sharers;
	int count;
	const struct plx_sharer **order; /* by id */
	double *left;			 /* [pool] */
	bool *full;  /* [sharer] can have no more; is parked for this claim */
	int *shares; /* [sharer] */
};

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

/* GPUs that nobody takes from it. */
static int floor_of(const struct plx_sharer *sharer)
{
	if (sharer->fixed)
		return sharer->now;
	return smaller(sharer->least, sharer->now);
}

static int by_id(const void *a, const void *b)
{
	const struct plx_sharer *x = *(const struct plx_sharer *const *) a;
	const struct plx_sharer *y = *(const struct plx_sharer *const *) b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Rounding must not cost a GPU: amounts are quotients of whole numbers. */
static bool has(double left, double amount)
{
	return left - amount >= -1e-6 * (amount > 1 ? amount : 1);
}

static bool fits(const struct plx_take *demand, int count, const double *left,
		 double times)
{
	for (int i = 0; i < count; i++) {
		double amount = demand[i].each * times;

		if (amount > 0 && !has(left[demand[i].pool], amount))
			return false;
	}
	return true;
}

static void take(const struct plx_take *demand, int count, double *left,
		 double times)
{
	for (int i = 0; i < count; i++)
		left[demand[i].pool] -= demand[i].each * times;
}

static const struct plx_sharer **ordered(const struct plx_sharer *sharers,
					 int count)
{
	const struct plx_sharer **order =
		calloc((size_t) count + 1, sizeof(const struct plx_sharer *));

	for (int i = 0; order && i < count; i++)
		order[i] = &sharers[i];
	if (order)
		qsort(order, (size_t) count, sizeof(*order), by_id);
	return order;
}

/* Does the job hold, at its least, some of what the claim lacks? */
static bool helps(const struct split *split, const struct plx_sharer *sharer,
		  const struct plx_draw *claim)
{
	for (int i = 0; i < claim->take_count; i++) {
		const struct plx_take *want = &claim->demand[i];

		if (want->each <= 0 || has(split->left[want->pool], want->each))
			continue;
		for (int t = 0; t < sharer->take_count; t++) {
			if (sharer->demand[t].pool == want->pool &&
			    sharer->demand[t].each > 0)
				return floor_of(sharer) > 0;
		}
	}
	return false;
}

static void park(struct split *split, const struct plx_sharer *sharer)
{
	take(sharer->demand, sharer->take_count, split->left,
	     -floor_of(sharer));
	split->full[sharer - split->sharers] = true;
}

static void unpark(struct split *split, const struct plx_sharer *sharer)
{
	take(sharer->demand, sharer->take_count, split->left, floor_of(sharer));
	split->full[sharer - split->sharers] = false;
}

/* Oldest first, let run who need not be parked for the claim to fit. */
static void idle(struct split *split, const struct plx_draw *claim)
{
	for (int i = 0; i < split->count; i++) {
		const struct plx_sharer *sharer = split->order[i];

		if (!split->full[sharer - split->sharers])
			continue;
		unpark(split, sharer);
		if (!fits(claim->demand, claim->take_count, split->left, 1))
			park(split, sharer);
	}
}

/*
 * Park the youngest of those that hold what the claim lacks until it fits;
 * false, with all as it was, when that does not help.
 */
static bool make_way(struct split *split, const struct plx_draw *claim,
		     bool *parked)
{
	bool fit;

	memset(split->full, 0, (size_t) split->count * sizeof(*split->full));
	for (int from = split->count; from > 0; from--) {
		const struct plx_sharer *sharer = split->order[from - 1];
		int j = (int) (sharer - split->sharers);

		if (!sharer->fixed && !parked[j] && claim->keeps &&
		    !claim->keeps[j] && helps(split, sharer, claim))
			park(split, sharer);
	}
	fit = fits(claim->demand, claim->take_count, split->left, 1);
	if (fit)
		idle(split, claim);
	for (int j = 0; j < split->count; j++) {
		if (split->full[j] && !fit)
			unpark(split, &split->sharers[j]);
		parked[j] = parked[j] || split->full[j];
	}
	return fit;
}

static void split_release(struct split *split)
{
	free(split->order);
	free(split->left);
	free(split->full);
}

static int split_init(struct split *split, const struct plx_sharer *sharers,
		      int count, const struct plx_limit_pool *pools,
		      int pool_count, struct plx_error *err)
{
	*split = (struct split){
		.sharers = sharers,
		.count = count,
		.order = ordered(sharers, count),
		.left = calloc((size_t) pool_count + 1, sizeof(double)),
		.full = calloc((size_t) count + 1, sizeof(bool)),
	};
	if (!split->order || !split->left || !split->full) {
		split_release(split);
		return plx_fail(err, "no memory for limits that jobs share");
	}
	for (int p = 0; p < pool_count; p++)
		split->left[p] = pools[p].available;
	return 0;
}

int plx_limit_pool_grant(const struct plx_sharer *sharers, int sharer_count,
			 struct plx_limit_pool *pools, int pool_count,
			 const struct plx_draw *claims, int claim_count,
			 bool *granted, bool *parked, struct plx_error *err)
{
	struct split split;

	if (split_init(&split, sharers, sharer_count, pools, pool_count, err) <
	    0)
		return -1;
	for (int j = 0; j < sharer_count; j++) {
		parked[j] = false;
		take(sharers[j].demand, sharers[j].take_count, split.left,
		     floor_of(&sharers[j]));
	}
	for (int i = 0; i < claim_count; i++) {
		const struct plx_draw *claim = &claims[i];

		granted[i] = make_way(&split, claim, parked);
		if (!granted[i])
			continue;
		take(claim->demand, claim->take_count, split.left, 1);
		for (int t = 0; t < claim->take_count; t++) {
			struct plx_limit_pool *pool =
				&pools[claim->demand[t].pool];

			pool->available -= claim->demand[t].each;
			pool->claimed = true;
		}
	}
	split_release(&split);
	return 0;
}

/* What is held stays, whatever the limit says now. */
static void keep_held(struct split *split, const struct plx_limit_pool *pools,
		      int pool_count, double *held)
{
	for (int j = 0; j < split->count; j++)
		take(split->sharers[j].demand, split->sharers[j].take_count,
		     held, -split->sharers[j].now);
	for (int p = 0; p < pool_count; p++) {
		if (!pools[p].claimed && split->left[p] < held[p])
			split->left[p] = held[p];
	}
}

/* Raise the share of j to `gpus` if all its pools can pay for that. */
static bool raise_to(struct split *split, int j, int gpus)
{
	const struct plx_sharer *sharer = &split->sharers[j];
	double more = gpus - split->shares[j];

	if (!fits(sharer->demand, sharer->take_count, split->left, more))
		return false;
	take(sharer->demand, sharer->take_count, split->left, more);
	split->shares[j] = gpus;
	return true;
}

/* So many GPUs, or the next of its sizes; 0: that is beyond what it may. */
static int size_from(const struct plx_sharer *sharer, int gpus, int most)
{
	int size = plx_listed_up(sharer->sizes, sharer->size_count, gpus);

	return size <= most ? size : 0;
}

/* One GPU each in turn, to those that have least, up to goals[]. */
static void fill(struct split *split, const int *goals)
{
	int most = 0;

	for (int j = 0; j < split->count; j++) {
		split->full[j] = split->shares[j] <= 0;
		most = goals[j] > most ? goals[j] : most;
	}
	for (int level = 1; level <= most; level++) {
		for (int i = 0; i < split->count; i++) {
			int j = (int) (split->order[i] - split->sharers);
			int size;

			if (split->full[j] || split->shares[j] >= level ||
			    goals[j] < level)
				continue;
			size = size_from(split->order[i], level, goals[j]);
			split->full[j] = !size || !raise_to(split, j, size);
		}
	}
}

/* Those without any GPU get what they need to run at all. */
static void wake(struct split *split)
{
	for (int i = 0; i < split->count; i++) {
		const struct plx_sharer *sharer = split->order[i];
		int j = (int) (sharer - split->sharers);

		if (split->shares[j] == 0 && !sharer->fixed &&
		    sharer->wants >= sharer->least)
			(void) raise_to(split, j, sharer->least);
	}
}

/* The least that each is given in any case; what is left is in `left`. */
static void begin(struct split *split)
{
	for (int j = 0; j < split->count; j++) {
		const struct plx_sharer *sharer = &split->sharers[j];
		bool runs = sharer->fixed || sharer->wants >= sharer->least;

		split->shares[j] = runs ? floor_of(sharer) : 0;
		take(sharer->demand, sharer->take_count, split->left,
		     split->shares[j]);
	}
	wake(split);
}

/* Give all back but what keep_held() has put there. */
static void undo(struct split *split)
{
	for (int j = 0; j < split->count; j++)
		take(split->sharers[j].demand, split->sharers[j].take_count,
		     split->left, -split->shares[j]);
}

/*
 * Even shares, but who holds a little more than that keeps it: a GPU that
 * goes from one job to another costs both a resize.
 */
static void share_out(struct split *split, int *wants, int *keeps)
{
	for (int j = 0; j < split->count; j++) {
		const struct plx_sharer *sharer = &split->sharers[j];

		wants[j] = sharer->fixed ? sharer->now : sharer->wants;
	}
	begin(split);
	fill(split, wants);
	for (int j = 0; j < split->count; j++) {
		int even = split->shares[j];

		keeps[j] = even + (even > 2 ? even / 2 : 1);
		if (keeps[j] <
		    size_from(&split->sharers[j], even + 1, wants[j]))
			keeps[j] = size_from(&split->sharers[j], even + 1,
					     wants[j]);
		keeps[j] = smaller(keeps[j], split->sharers[j].now);
		keeps[j] = smaller(keeps[j], wants[j]);
	}
	undo(split);
	begin(split);
	fill(split, keeps);
	fill(split, wants);
}

int plx_limit_pool_split(const struct plx_sharer *sharers, int sharer_count,
			 const struct plx_limit_pool *pools, int pool_count,
			 int *shares, struct plx_error *err)
{
	double *held = calloc((size_t) pool_count + 1, sizeof(*held));
	int *wants = calloc((size_t) sharer_count + 1, sizeof(*wants));
	int *keeps = calloc((size_t) sharer_count + 1, sizeof(*keeps));
	struct split split;
	int rc = -1;

	if (!held || !wants || !keeps) {
		plx_fail(err, "no memory for limits that jobs share");
		goto done;
	}
	rc = split_init(&split, sharers, sharer_count, pools, pool_count, err);
	if (rc < 0)
		goto done;
	split.shares = shares;
	keep_held(&split, pools, pool_count, held);
	share_out(&split, wants, keeps);
	split_release(&split);
done:
	free(keeps);
	free(wants);
	free(held);
	return rc;
}
