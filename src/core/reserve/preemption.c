/* SPDX-License-Identifier: MIT */
/* preemption.c - for how long elastic jobs are spared Slurm's preemption */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve/preemption.h"

struct waiter {
	uint32_t id;
	bool seen;	/* by a cycle */
	bool present;	/* in the present look */
	bool decided;	/* it is known whether room can be made */
	bool made;	/* room is, by the last look */
	int tasks;	/* that waited then */
	double asked_s; /* Slurm asked first, for this start */
	double heard_s; /* Slurm asked last */
	double made_s;	/* room is made since; INFINITY: never yet */
	double lost_s;	/* no room any more since then */
	double bound_s; /* the shortest of its victims' */
	bool rigid;	/* rigid victims were offered */
	bool over;	/* so were elastic ones */
};

struct giver {
	struct plx_giver told;
	bool late;
};

struct plx_preemption {
	struct waiter waiters[PLX_PREEMPTORS_MAX];
	int count;
	int last; /* asked about last: Slurm asks of all victims in a row */
	struct giver *givers;
	int giver_count;
};

struct plx_preemption *plx_preemption_create(struct plx_error *err)
{
	struct plx_preemption *preemption = calloc(1, sizeof(*preemption));

	if (!preemption)
		plx_fail(err, "no memory for jobs that preempt");
	return preemption;
}

void plx_preemption_destroy(struct plx_preemption *preemption)
{
	if (!preemption)
		return;
	free(preemption->givers);
	free(preemption);
}

static int index_of(const struct plx_preemption *preemption, uint32_t id)
{
	if (preemption->last < preemption->count &&
	    preemption->waiters[preemption->last].id == id)
		return preemption->last;
	for (int i = 0; i < preemption->count; i++) {
		if (preemption->waiters[i].id == id)
			return i;
	}
	return -1;
}

static struct waiter *find(struct plx_preemption *preemption, uint32_t id)
{
	int i = index_of(preemption, id);

	return i < 0 ? NULL : &preemption->waiters[i];
}

/* Those for whom no cycle makes room; then who was heard of longest ago. */
static bool goes_before(const struct waiter *a, const struct waiter *b)
{
	return a->seen != b->seen ? !a->seen : a->heard_s < b->heard_s;
}

static int oldest(const struct plx_preemption *preemption)
{
	int best = 0;

	for (int i = 1; i < preemption->count; i++) {
		if (goes_before(&preemption->waiters[i],
				&preemption->waiters[best]))
			best = i;
	}
	return best;
}

static struct waiter *get(struct plx_preemption *preemption, uint32_t id,
			  double now_s)
{
	int i = index_of(preemption, id);

	if (i < 0) {
		i = preemption->count < PLX_PREEMPTORS_MAX ? preemption->count++
							   : oldest(preemption);
		preemption->waiters[i] = (struct waiter){ .id = id,
							  .asked_s = now_s,
							  .made_s = INFINITY,
							  .bound_s = INFINITY };
	}
	preemption->last = i;
	preemption->waiters[i].heard_s = now_s;
	return &preemption->waiters[i];
}

static int by_id(const void *a, const void *b)
{
	const struct giver *x = a;
	const struct giver *y = b;

	return x->told.id < y->told.id ? -1 : x->told.id > y->told.id;
}

static struct giver *giver_of(const struct plx_preemption *preemption,
			      uint32_t id)
{
	const struct giver key = { .told = { .id = id } };

	if (!preemption->giver_count)
		return NULL;
	return bsearch(&key, preemption->givers,
		       (size_t) preemption->giver_count,
		       sizeof(*preemption->givers), by_id);
}

/* Who gave before is known since then. */
static struct giver known(const struct plx_preemption *preemption,
			  const struct plx_giver *told, double now_s)
{
	const struct giver *before = giver_of(preemption, told->id);
	struct giver giver = { .told = *told };

	if (before) {
		giver.told.since_s = fmax(told->since_s, before->told.since_s);
		giver.late = before->late && told->asked;
	} else {
		giver.told.since_s = fmax(told->since_s, now_s);
	}
	return giver;
}

static int look_at_givers(struct plx_preemption *preemption,
			  const struct plx_giver *givers, int count,
			  double now_s, struct plx_error *err)
{
	struct giver *next = calloc((size_t) count + 1, sizeof(*next));

	for (int j = 0; next && j < count; j++)
		next[j] = known(preemption, &givers[j], now_s);
	free(preemption->givers);
	preemption->givers = next;
	preemption->giver_count = next ? count : 0;
	return next ? 0 : plx_fail(err, "no memory for jobs that give GPUs");
}

static void begin_anew(struct waiter *waiter, double now_s)
{
	*waiter = (struct waiter){ .id = waiter->id,
				   .present = waiter->present,
				   .asked_s = now_s,
				   .heard_s = waiter->heard_s,
				   .made_s = INFINITY,
				   .bound_s = waiter->bound_s };
}

/* Who had none for as long as it may wait has waited anew since. */
static void look_at(struct waiter *waiter, int tasks, bool made, double now_s)
{
	if (waiter->seen && waiter->tasks != tasks)
		begin_anew(waiter, now_s);
	waiter->tasks = tasks;
	waiter->seen = true;
	if (made && !waiter->made &&
	    (isinf(waiter->made_s) ||
	     now_s - waiter->lost_s >= waiter->bound_s)) {
		waiter->made_s = now_s;
		waiter->over = false;
	}
	if (!made && waiter->made)
		waiter->lost_s = now_s;
	if (made)
		waiter->rigid = false;
	waiter->made = made;
}

/* Who was seen and is not there any more has started, or was cancelled. */
static void forget_gone(struct plx_preemption *preemption)
{
	int kept = 0;

	for (int i = 0; i < preemption->count; i++) {
		if (preemption->waiters[i].seen &&
		    !preemption->waiters[i].present)
			continue;
		preemption->waiters[kept++] = preemption->waiters[i];
	}
	preemption->count = kept;
}

int plx_preemption_look(struct plx_preemption *preemption,
			const struct plx_giver *givers, int giver_count,
			const struct plx_preemptor_seen *seen, int seen_count,
			double now_s, struct plx_error *err)
{
	bool any_asked = false;

	/* Who is in the middle of a resize could give nothing just now. */
	for (int j = 0; j < giver_count; j++)
		any_asked = any_asked || givers[j].asked;
	for (int i = 0; i < preemption->count; i++)
		preemption->waiters[i].present = false;
	for (int i = 0; i < seen_count; i++) {
		struct waiter *waiter = find(preemption, seen[i].id);
		bool made = seen[i].made;

		if (!waiter || waiter->present)
			continue;
		for (int k = i + 1; k < seen_count && !made; k++)
			made = seen[k].id == seen[i].id && seen[k].made;
		waiter->present = true;
		look_at(waiter, seen[i].tasks, made, now_s);
		waiter->decided = waiter->decided || made || !any_asked;
	}
	forget_gone(preemption);
	return look_at_givers(preemption, givers, giver_count, now_s, err);
}

/* From when on it waits for elastic jobs to make room. */
static double begins(const struct waiter *waiter)
{
	return isfinite(waiter->made_s) ? fmax(waiter->made_s, waiter->asked_s)
					: waiter->asked_s;
}

/* No room can be made for it, or nobody knows after a while. */
static bool is_refused(const struct waiter *waiter, double now_s)
{
	return !waiter->made &&
	       (waiter->decided ||
		now_s >= waiter->asked_s + PLX_PREEMPTION_LOOK_S);
}

/* A job that cannot give: only while others make room, or may yet. */
static bool exempts_rigid(const struct plx_preemption *preemption,
			  const struct waiter *waiter, double bound_s,
			  double now_s)
{
	if (!preemption->giver_count)
		return false;
	return waiter->made ? now_s < begins(waiter) + bound_s
			    : !is_refused(waiter, now_s);
}

bool plx_preemption_exempts(struct plx_preemption *preemption,
			    uint32_t preemptor, uint32_t victim, double bound_s,
			    double now_s)
{
	struct waiter *waiter = get(preemption, preemptor, now_s);
	struct giver *giver = giver_of(preemption, victim);
	double until_s = 0;

	if (!giver)
		return exempts_rigid(preemption, waiter, bound_s, now_s);
	waiter->bound_s = fmin(waiter->bound_s, bound_s);
	until_s = fmax(begins(waiter), giver->told.since_s) + bound_s;
	if (now_s < until_s)
		return true;
	giver->late = giver->told.asked;
	/* First of all who does not answer. */
	return waiter->made && !giver->told.asked &&
	       now_s < until_s + PLX_PREEMPTION_MORE_S;
}

static bool is_over(const struct waiter *waiter, double now_s)
{
	return now_s >= begins(waiter) + waiter->bound_s;
}

bool plx_preemption_is_over(const struct plx_preemption *preemption,
			    uint32_t id, double now_s)
{
	int i = index_of(preemption, id);

	return i >= 0 && is_over(&preemption->waiters[i], now_s);
}

bool plx_preemption_offers(struct plx_preemption *preemption, double now_s)
{
	bool any = false;

	for (int i = 0; i < preemption->count; i++) {
		struct waiter *waiter = &preemption->waiters[i];
		bool rigid = is_refused(waiter, now_s);
		bool over = is_over(waiter, now_s);

		any = any || (rigid && !waiter->rigid) ||
		      (over && !waiter->over);
		waiter->rigid = rigid;
		waiter->over = over;
	}
	return any;
}

bool plx_preemption_was_late(const struct plx_preemption *preemption,
			     uint32_t victim)
{
	const struct giver *giver = giver_of(preemption, victim);

	return giver && giver->late;
}
