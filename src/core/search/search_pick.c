/* SPDX-License-Identifier: MIT */
/*
 * search_pick.c - which nodes for a configuration, and who gives way there
 *
 * Nodes are chosen in this order: the batch host and those required, those with
 * the least to take from others, those that the job has now, the fullest that
 * fits (so that large holes stay large), the lowest index. Where switches
 * matter they are chosen before: search_switches.c.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/search/search.h"

#define NEVER PLX_KEY_NEVER

static int gpus_at(const struct plx_search_job *e, int n)
{
	for (int i = 0; i < e->at.count; i++) {
		if (e->at.slots[i].node == n)
			return e->at.slots[i].gpus;
	}
	return 0;
}

/* Could it do with less here, and still run? */
static bool can_give(const struct plx_search_job *e, int n)
{
	if (e->fixed || plx_placement_shape(&e->at).gpus <= e->job->min_gpus)
		return false;
	return !plx_job_sits(e->job, n) || gpus_at(e, n) > 1;
}

/* Is a rather to give way than b? The higher id in doubt. */
static bool rather(const struct plx_search *search,
		   const struct plx_search_job *a,
		   const struct plx_search_job *b, int n)
{
	bool a_gives = can_give(a, n);

	if (search->poorest && a->at.utility != b->at.utility)
		return a->at.utility < b->at.utility;
	if (a_gives != can_give(b, n))
		return a_gives;
	if (a->at.utility != b->at.utility)
		return a->at.utility > b->at.utility;
	return a > b;
}

/* Most times whoever can and is best off. */
struct plx_search_job *plx_node_victim(struct plx_search *search, int n,
				       bool multi_only)
{
	const struct plx_node *node = &search->nodes[n];
	struct plx_search_job *found = NULL;

	search->work += 2 * node->job_count;
	for (int i = 0; i < node->job_count; i++) {
		struct plx_search_job *e = &search->jobs[node->jobs[i]];

		if (e->fixed || (multi_only && e->at.count < 2))
			continue;
		if (!found || rather(search, e, found, n))
			found = e;
		if (search->shake && plx_search_random(search) % 3 == 0)
			break;
	}
	return found;
}

/* Bits that compare as the numbers do. */
static uint64_t ordered(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* The best off are the cheapest to ask; 33 bits. */
static uint64_t node_price(struct plx_search *search, int n)
{
	struct plx_node *node = &search->nodes[n];
	const struct plx_search_job *victim;

	if (!node->stale || search->shake || search->poorest)
		return node->price;
	victim = plx_node_victim(search, n, false);
	node->stale = false;
	node->price = (UINT64_C(1) << 33) - 1;
	if (victim && can_give(victim, n))
		node->price = ~ordered(victim->at.utility) >> 31;
	return node->price;
}

/*
 * How unwelcome the node is for this configuration; NEVER: cannot be had. From
 * the high bits: GPUs to take from others (13), what that costs (34), node
 * (17).
 */
static uint64_t node_key(struct plx_search *search,
			 const struct plx_search_job *e,
			 const struct plx_config *config, int n, bool eject)
{
	const struct plx_node *node = &search->nodes[n];
	int g = config->per_node;
	int free = plx_node_free(search, e, n);
	uint64_t cost = free < g ? (uint64_t) (g - free) : 0;
	uint64_t elsewhere = e->job->now[n] == 0;
	uint64_t rank;

	if (plx_node_open(search, e, n) < g || !plx_job_usable(e->job, n))
		return NEVER;
	if (plx_config_multi(config) && plx_node_disturbs(search, n)) {
		if (node->fixed_multi > 0)
			return NEVER;
		cost += (uint64_t) g;
	}
	if (cost > 0 && !eject)
		return NEVER;
	if (plx_needs_node(e, config->nodes, n))
		return (uint64_t) n;
	if (cost > 0)
		rank = node_price(search, n) << 1 | elsewhere;
	else
		rank = elsewhere << 33 | (uint64_t) (free - g);
	if (search->shake && eject)
		cost += plx_search_random(search) % 4;
	cost = cost < 8190 ? cost : 8190;
	return (cost + 1) << PLX_KEY_COST_BIT | rank << PLX_KEY_NODE_BITS |
	       (uint64_t) n;
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t x = *a;

	*a = *b;
	*b = x;
}

/* Seats are by node. */
static void sort_slots(struct plx_placement *placement)
{
	for (int i = 1; i < placement->count; i++) {
		struct plx_slot slot = placement->slots[i];
		int k = i;

		for (; k > 0 && placement->slots[k - 1].node > slot.node; k--)
			placement->slots[k] = placement->slots[k - 1];
		placement->slots[k] = slot;
	}
}

bool plx_placement_complete(const struct plx_search_job *e,
			    const struct plx_placement *placement)
{
	bool on_batch_host = !plx_needs_batch_host(e, placement->count);
	int batch_host = e->job->batch_host;
	int required = 0;

	for (int i = 0; i < placement->count; i++) {
		int n = placement->slots[i].node;

		on_batch_host = on_batch_host || n == batch_host;
		required += e->job->required && e->job->required[n];
	}
	return on_batch_host && required == e->required;
}

static bool heeds_switches(const struct plx_search *search,
			   const struct plx_config *config)
{
	return search->switch_count && plx_config_multi(config);
}

/*
 * The nodes with the smallest keys: search->picked. Returns the GPUs to take
 * from others there; -1: there are too few nodes.
 */
static long take_smallest(struct plx_search *search,
			  const struct plx_config *config)
{
	struct plx_placement *picked = &search->picked;
	uint64_t last;
	long taken = 0;
	int count = 0;

	for (int i = 0; i < search->look_count; i++) {
		if (search->keys[i] != NEVER)
			search->scratch[count++] = search->keys[i];
	}
	if (count < config->nodes)
		return -1;
	last = plx_keys_smallest(search->scratch, count, config->nodes);
	picked->count = 0;
	for (int i = 0; i < search->look_count; i++) {
		uint64_t cost = search->keys[i] >> PLX_KEY_COST_BIT;

		if (search->keys[i] > last)
			continue;
		taken += cost > 1 ? (long) (cost - 1) : 0;
		picked->slots[picked->count++] =
			(struct plx_slot){ .node = search->look[i],
					   .gpus = config->per_node };
	}
	sort_slots(picked);
	return taken;
}

static double picked_utility(struct plx_search *search,
			     struct plx_search_job *e)
{
	return plx_value(search, e, plx_search_shape(search, &search->picked));
}

/*
 * On few switches; where others have to give way for that, and fewer of them
 * if it is on any, then whatever is better at the price of these GPUs.
 */
static long take_on_few(struct plx_search *search, struct plx_search_job *e,
			const struct plx_config *config)
{
	size_t size = (size_t) search->look_count * sizeof(*search->keys);
	double few;
	long taken;
	long less;

	memcpy(search->switch_kept, search->keys, size);
	for (int i = 0; i < search->look_count; i++)
		search->scratch[i] = (uint64_t) config->per_node;
	if (!plx_switches_choose(search, e, config))
		return -1;
	taken = take_smallest(search, config);
	if (taken <= 0 || e->job->max_switches)
		return taken;
	few = picked_utility(search, e);
	for (int i = 0; i < search->look_count; i++)
		swap(&search->switch_kept[i], &search->keys[i]);
	less = take_smallest(search, config);
	if (less < taken && few - picked_utility(search, e) <
				    search->price * (double) (taken - less))
		return less;
	memcpy(search->keys, search->switch_kept, size);
	return take_smallest(search, config);
}

/* Choose nodes for a configuration; with eject, also some that others have. */
static bool pick_uniform(struct plx_search *search, struct plx_search_job *e,
			 const struct plx_config *config, bool eject)
{
	int batch_host = e->job->batch_host;
	long taken;

	for (int i = 0; i < search->look_count; i++) {
		int n = search->look[i];

		search->keys[i] = node_key(search, e, config, n, eject);
		if (search->keys[i] == NEVER &&
		    plx_needs_node(e, config->nodes, n))
			return false;
	}
	if (plx_needs_batch_host(e, config->nodes) &&
	    !plx_job_usable(e->job, batch_host))
		return false;
	if (heeds_switches(search, config))
		taken = take_on_few(search, e, config);
	else
		taken = take_smallest(search, config);
	return taken >= 0 && plx_placement_complete(e, &search->picked);
}

/* A node that it does not use so far, though it may use no more of them. */
static bool one_too_many(const struct plx_search *search,
			 const struct plx_search_job *e, int i, int used)
{
	return search->scratch[i] == 0 && used >= plx_nodes_max(search, e);
}

/* The next node to fill: one it needs, one it has now, then the emptiest. */
static int next_to_fill(const struct plx_search *search,
			const struct plx_search_job *e, int nodes, int used)
{
	int next = -1;
	long best = -1;

	for (int i = 0; i < search->look_count; i++) {
		int n = search->look[i];
		long value = plx_node_free(search, e, n);

		if (search->scratch[i] > 0 || value < 1 ||
		    (search->switch_count && search->keys[i] == NEVER) ||
		    one_too_many(search, e, i, used) ||
		    plx_node_disturbs(search, n) || !plx_job_usable(e->job, n))
			continue;
		value += e->job->now[n] > 0 ? 1L << 20 : 0;
		value += plx_needs_node(e, nodes, n) ? 1L << 21 : 0;
		if (value > best) {
			best = value;
			next = i;
		}
	}
	return next;
}

/* The next GPU to take from others: where it needs one, then the cheapest. */
static int next_to_take(struct plx_search *search,
			const struct plx_search_job *e, int used)
{
	uint64_t best = NEVER;
	int next = -1;

	for (int i = 0; i < search->look_count; i++) {
		int n = search->look[i];
		bool first = plx_job_sits(e->job, n) && search->scratch[i] == 0;
		uint64_t cost = first ? 0 : node_price(search, n) + 1;

		if (plx_node_disturbs(search, n) ||
		    (search->switch_count && search->keys[i] == NEVER) ||
		    !plx_job_usable(e->job, n) ||
		    one_too_many(search, e, i, used) ||
		    (long) search->scratch[i] >= plx_node_open(search, e, n))
			continue;
		if (cost < best) {
			best = cost;
			next = i;
		}
	}
	return next;
}

/*
 * Of nodes with any counts: those needed, those it has now, the emptiest; keys
 * as those of node_key().
 */
static bool choose_ragged(struct plx_search *search,
			  const struct plx_search_job *e,
			  const struct plx_config *config, bool eject)
{
	for (int i = 0; i < search->look_count; i++) {
		int n = search->look[i];
		int gpus = eject ? plx_node_open(search, e, n)
				 : plx_node_free(search, e, n);
		uint64_t elsewhere = e->job->now[n] == 0;
		uint64_t rank = elsewhere << 33 | (uint64_t) (8192 - gpus);

		search->scratch[i] = gpus > 0 ? (uint64_t) gpus : 0;
		search->keys[i] = UINT64_C(1) << PLX_KEY_COST_BIT |
				  rank << PLX_KEY_NODE_BITS | (uint64_t) n;
		if (gpus < 1 || plx_node_disturbs(search, n) ||
		    !plx_job_usable(e->job, n))
			search->keys[i] = NEVER;
		else if (plx_needs_node(e, config->nodes, n))
			search->keys[i] = (uint64_t) n;
	}
	return plx_switches_choose(search, e, config);
}

/* Any counts on several nodes: what is free, then what others have. */
static bool fill_ragged(struct plx_search *search,
			const struct plx_search_job *e,
			const struct plx_config *config, bool eject)
{
	int gpus = config->gpus;
	int nodes = config->nodes; /* still to be used, at least */
	int used = 0;

	if (search->switch_count)
		memset(search->keys, 0,
		       (size_t) search->look_count * sizeof(*search->keys));
	/* Where others have to give way, only if it may not be on any. */
	if (heeds_switches(search, config) &&
	    (e->job->max_switches || !eject) &&
	    !choose_ragged(search, e, config, eject))
		return false;
	memset(search->scratch, 0,
	       (size_t) search->look_count * sizeof(*search->scratch));
	while (gpus > 0) {
		int i = next_to_fill(search, e, config->nodes, used);
		int take = 1;

		if (i >= 0)
			take = plx_node_free(search, e, search->look[i]);
		else if (eject)
			i = next_to_take(search, e, used);
		if (i < 0)
			return false;
		take = take < gpus ? take : gpus;
		if (search->scratch[i] == 0 && nodes > 0)
			nodes--;
		used += search->scratch[i] == 0;
		/* Each of the others needs one. */
		take = take < gpus - nodes ? take : gpus - nodes;
		if (take < 1)
			return false;
		search->scratch[i] += (uint64_t) take;
		gpus -= take;
		search->work += search->look_count;
	}
	return true;
}

static bool pick_ragged(struct plx_search *search, struct plx_search_job *e,
			const struct plx_config *config, bool eject)
{
	struct plx_placement *picked = &search->picked;

	if (!fill_ragged(search, e, config, eject))
		return false;
	picked->count = 0;
	for (int i = 0; i < search->look_count; i++) {
		int n = search->look[i];

		if (search->scratch[i] == 0)
			continue;
		picked->slots[picked->count++] =
			(struct plx_slot){ .node = n,
					   .gpus = (int) search->scratch[i] };
	}
	sort_slots(picked);
	if (e->job->table)
		picked->utility =
			plx_value(search, e,
				  (struct plx_shape){ .nodes = picked->count,
						      .gpus = config->gpus });
	return picked->count >= config->nodes &&
	       plx_placement_complete(e, picked) && picked->utility > -INFINITY;
}

bool plx_search_pick(struct plx_search *search, struct plx_search_job *e,
		     const struct plx_config *config, bool eject)
{
	bool picked;

	search->picked.utility = config->utility;
	plx_search_look(search, e, config, eject);
	if (config->per_node > 0)
		picked = pick_uniform(search, e, config, eject);
	else
		picked = pick_ragged(search, e, config, eject);
	if (picked && e->pays && search->picked.count > 1)
		search->picked.utility = plx_value(
			search, e, plx_search_shape(search, &search->picked));
	return picked;
}
