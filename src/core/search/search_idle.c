/* SPDX-License-Identifier: MIT */
/*
 * search_idle.c - GPUs that even shapes leave over
 *
 * Where a job has as many GPUs on each of its nodes, some fit nobody. After
 * the search they go, on nodes that jobs have or that are free for them, to
 * whoever gains most by each, if it uses them at least half as well as those
 * that it has: on one node at a time, or on several where it has no size in
 * between. Nobody gives way for it, and a job that is started anew, which
 * is done evenly, takes no part. What a job has in this way counts as its own
 * in the next search, so it is given up for a better plan like any other GPU.
 */

#include "core/search/search.h"

#define EFFICIENCY_MIN 0.5	/* of a GPU, by those that the job has */
#define BUDGET	       5000000L /* nodes and counts looked at */
#define OVER_BUDGET    1000000L /* nodes, for shapes over several */

/* More GPUs for a job, on one node or over several. */
struct offer {
	struct plx_search_job *e;
	int node; /* -1: over several */
	int gpus;
	double each; /* utility that each of them brings; 0: none is made */
};

static bool takes_part(const struct plx_search_job *e)
{
	int batch_host = e->job->batch_host;

	return !e->fixed && e->at.count > 0 && batch_host >= 0 &&
	       (e->job->roams || plx_job_usable(e->job, batch_host)) &&
	       plx_placement_shape(&e->at).gpus < e->cap;
}

/* Its place in the placement; -1: it does not sit there. */
static int slot_at(const struct plx_placement *placement, int n)
{
	for (int i = 0; i < placement->count; i++) {
		if (placement->slots[i].node == n)
			return i;
	}
	return -1;
}

/* May a job that sits elsewhere come to the node, too? */
static bool may_join(const struct plx_search *search,
		     const struct plx_search_job *e, int n)
{
	if (e->at.count >= plx_nodes_max(search, e) ||
	    plx_node_disturbs(search, n))
		return false;
	if (plx_needs_batch_host(e, e->at.count + 1) &&
	    n != e->job->batch_host && slot_at(&e->at, e->job->batch_host) < 0)
		return false;
	return e->at.count > 1 ||
	       !plx_node_disturbs(search, e->at.slots[0].node);
}

/* GPUs that are free for it there, beside those that it has. */
static int free_there(const struct plx_search *search,
		      const struct plx_search_job *e, int n)
{
	int slot = slot_at(&e->at, n);
	int held = slot >= 0 ? e->at.slots[slot].gpus : 0;
	int most = e->job->node_gpus;
	int free = plx_node_free(search, e, n);

	if (!plx_job_usable(e->job, n) || (slot < 0 && !may_join(search, e, n)))
		return 0;
	return most && most - held < free ? most - held : free;
}

static void add(struct plx_placement *picked, int n, int gpus)
{
	int i = slot_at(picked, n);

	if (i >= 0) {
		picked->slots[i].gpus += gpus;
		return;
	}
	for (i = picked->count++; i > 0 && picked->slots[i - 1].node > n; i--)
		picked->slots[i] = picked->slots[i - 1];
	picked->slots[i] = (struct plx_slot){ .node = n, .gpus = gpus };
}

/* Its placement, and so many GPUs on the node: search->picked. */
static void enlarge(struct plx_search *search, const struct plx_search_job *e,
		    int n, int gpus)
{
	plx_placement_copy(&search->picked, &e->at);
	add(&search->picked, n, gpus);
}

/*
 * Where it may have free GPUs besides search->picked: the node with fewest that
 * has so many, or else the one with most; -1: nowhere.
 */
static int next_node(struct plx_search *search, const struct plx_search_job *e,
		     int gpus)
{
	int best = -1;
	int best_free = 0;

	search->over_left -=
		(long) search->look_count * (search->picked.count + 1);
	for (int i = 0; i < search->look_count && best_free != gpus; i++) {
		int n = search->look[i];
		int free = slot_at(&search->picked, n) < 0
				   ? free_there(search, e, n)
				   : 0;

		if (best_free < gpus ? free > best_free
				     : free >= gpus && free < best_free) {
			best = n;
			best_free = free;
		}
	}
	return best;
}

/* As many of so many GPUs as are free for it there; how many. */
static int add_free(struct plx_search *search, const struct plx_search_job *e,
		    int n, int gpus)
{
	int free = free_there(search, e, n);
	int added = free < gpus ? free : gpus;

	if (added > 0)
		add(&search->picked, n, added);
	return added;
}

/*
 * Its placement, and so many GPUs, on its own nodes first: search->picked.
 * False where it cannot have so many.
 */
static bool enlarge_over(struct plx_search *search,
			 const struct plx_search_job *e, int gpus)
{
	struct plx_placement *picked = &search->picked;
	int n = -1;

	plx_placement_copy(picked, &e->at);
	for (int i = 0; i < e->at.count && gpus > 0; i++) {
		n = e->at.slots[i].node;
		gpus -= add_free(search, e, n, gpus);
	}
	while (gpus > 0 && (n = next_node(search, e, gpus)) >= 0)
		gpus -= add_free(search, e, n, gpus);
	return gpus == 0 && picked->count <= plx_nodes_max(search, e) &&
	       (!plx_needs_batch_host(e, picked->count) ||
		slot_at(picked, e->job->batch_host) >= 0);
}

/* Does it use the added GPUs half as well as those that it has? */
static bool pays(const struct plx_search_job *e, struct plx_shape from,
		 struct plx_shape to)
{
	double more = (double) (to.gpus - from.gpus) / from.gpus;
	double before = plx_speedup(e->job, &e->fair, from);

	return plx_speedup(e->job, &e->fair, to) >=
	       before * (1 + EFFICIENCY_MIN * more);
}

/* What each GPU of search->picked brings it; 0: nothing, or too little. */
static double brings(struct plx_search *search, struct plx_search_job *e)
{
	struct plx_shape from = plx_search_shape(search, &e->at);
	struct plx_shape to;

	if (!plx_span_allowed(e, plx_search_span(search, &search->picked)))
		return 0;
	to = plx_search_shape(search, &search->picked);
	search->picked.utility = plx_value(search, e, to);
	if (plx_placement_equal(&search->picked, &e->now))
		search->picked.utility = e->now.utility;
	if (!pays(e, from, to))
		return 0;
	return (search->picked.utility - e->at.utility) / (to.gpus - from.gpus);
}

static double brings_on(struct plx_search *search, struct plx_search_job *e,
			int n, int gpus)
{
	if (!plx_size_allowed(e, plx_placement_shape(&e->at).gpus + gpus))
		return 0;
	enlarge(search, e, n, gpus);
	return brings(search, e);
}

static void look_at(struct plx_search *search, struct plx_search_job *e, int n,
		    struct offer *best)
{
	int free = free_there(search, e, n);
	int most = e->cap - plx_placement_shape(&e->at).gpus;

	search->work++;
	for (int g = 1; g <= free && g <= most; g++) {
		double each = brings_on(search, e, n, g);

		search->work += e->at.count;
		if (each > best->each)
			*best = (struct offer){
				.e = e, .node = n, .gpus = g, .each = each
			};
	}
}

/* Its next size, where that is further than a node has room for. */
static void look_over(struct plx_search *search, struct plx_search_job *e,
		      struct offer *best)
{
	int held = plx_placement_shape(&e->at).gpus;
	int gpus = plx_job_size_up(e->job, held + 1) - held;
	double each = 0;

	if (!e->job->size_count || e->job->whole || gpus < 2 ||
	    gpus > search->look_free || held + gpus > e->cap ||
	    search->over_left < 0 || !enlarge_over(search, e, gpus))
		return;
	each = brings(search, e);
	if (each > best->each)
		*best = (struct offer){
			.e = e, .node = -1, .gpus = gpus, .each = each
		};
}

/* Nodes with a free GPU: search->look. */
static void find_free(struct plx_search *search)
{
	search->look_count = 0;
	search->look_free = 0;
	for (int n = 0; n < search->node_count; n++) {
		if (search->nodes[n].free <= 0)
			continue;
		search->look[search->look_count++] = n;
		search->look_free += search->nodes[n].free;
	}
	search->work += search->node_count;
}

static struct offer own_offer(struct plx_search *search,
			      struct plx_search_job *e)
{
	struct offer best = { .each = 0 };

	for (int i = 0; i < search->look_count; i++)
		look_at(search, e, search->look[i], &best);
	if (!best.e)
		look_over(search, e, &best);
	return best;
}

/*
 * The best of those in the queue; ties go to the lower id, then to the lower
 * node. Who has none leaves the queue, for there is only ever less to have.
 */
static struct offer best_offer(struct plx_search *search)
{
	struct offer best = { .each = 0 };

	find_free(search);
	for (int left = search->queue_count; left > 0; left--) {
		struct plx_search_job *e = plx_queue_pop(search);
		struct offer own = { .each = 0 };

		if (takes_part(e))
			own = own_offer(search, e);
		if (!own.e)
			continue;
		plx_queue_push(search, e);
		if (own.each > best.each)
			best = own;
	}
	return best;
}

static void accept(struct plx_search *search, const struct offer *offer)
{
	if (offer->node >= 0)
		enlarge(search, offer->e, offer->node, offer->gpus);
	else
		(void) enlarge_over(search, offer->e, offer->gpus);
	search->picked.utility = plx_value(
		search, offer->e, plx_search_shape(search, &search->picked));
	plx_placement_take(search, offer->e);
	plx_placement_put(search, offer->e, &search->picked);
}

void plx_search_idle(struct plx_search *search)
{
	long budget = search->work + BUDGET;

	search->over_left = OVER_BUDGET;
	plx_queue_clear(search);
	for (int j = 0; j < search->job_count; j++)
		plx_queue_push(search, &search->jobs[j]);
	while (search->work < budget && !plx_search_stopped(search)) {
		struct offer offer = best_offer(search);

		if (!offer.e)
			break;
		accept(search, &offer);
	}
	plx_queue_clear(search);
}
