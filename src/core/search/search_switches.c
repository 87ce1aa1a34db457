/* SPDX-License-Identifier: MIT */
/*
 * search_switches.c - which switches for a configuration
 *
 * A job of several nodes is best on one leaf switch, or in one block. Where
 * it fits on none, it is to be on few. The switches of nodes that it needs come
 * first; then the one that holds all that is missing at the least cost, or
 * else the one that holds most. Ties: the smallest that suffices, so that large
 * holes stay large, then the lowest number.
 */
#include <stdlib.h>

#include "core/search/search.h"

/* Of the present look. */
struct plx_switch_state {
	int nodes; /* that can be had */
	long gpus; /* the same */
	bool needed;
	bool chosen;
	bool listed;	     /* is in `seen` */
	uint64_t look_stamp; /* of the last look that took it */
	int *free;	     /* [node_gpus_max + 1] nodes with g GPUs free */
};

static int by_size(const void *a, const void *b)
{
	return *(const int *) b - *(const int *) a;
}

/* Nodes in the order of their switches. */
static void sort_nodes(struct plx_search *search)
{
	const int *of = search->problem->switches;
	int *first = search->switch_first;

	for (int n = 0; n < search->node_count; n++)
		first[of[n] + 1]++;
	for (int s = 0; s < search->node_count; s++) {
		if (first[s + 1] > 0)
			search->switch_sizes[search->switch_count++] =
				first[s + 1];
		first[s + 1] += first[s];
	}
	/* Moves each start to the end of its switch, ... */
	for (int n = 0; n < search->node_count; n++)
		search->switch_nodes[first[of[n]]++] = n;
	/* ... which is the start of the next one. */
	for (int s = search->node_count; s > 0; s--)
		first[s] = first[s - 1];
	first[0] = 0;
	qsort(search->switch_sizes, (size_t) search->switch_count, sizeof(int),
	      by_size);
}

bool plx_switches_init(struct plx_search *search)
{
	size_t nodes = (size_t) search->node_count + 1;
	size_t levels = (size_t) search->node_gpus_max + 1;

	if (!search->problem->switches || search->node_count < 2)
		return true;
	search->switch_nodes = calloc(nodes, sizeof(int));
	search->switch_first = calloc(nodes, sizeof(int));
	search->switch_sizes = calloc(nodes, sizeof(int));
	search->switch_seen = calloc(nodes, sizeof(int));
	search->switch_keys = calloc(nodes, sizeof(uint64_t));
	search->switch_kept = calloc(nodes, sizeof(uint64_t));
	search->switch_states = calloc(nodes, sizeof(*search->switch_states));
	search->switch_free = calloc(nodes * levels, sizeof(int));
	if (!search->switch_nodes || !search->switch_first ||
	    !search->switch_sizes || !search->switch_seen ||
	    !search->switch_keys || !search->switch_kept ||
	    !search->switch_states || !search->switch_free)
		return false;
	for (size_t s = 0; s < nodes; s++)
		search->switch_states[s].free =
			search->switch_free + s * levels;
	sort_nodes(search);
	/* All are on one. */
	if (search->switch_count == 1)
		search->switch_count = 0;
	return true;
}

void plx_switches_release(struct plx_search *search)
{
	free(search->switch_nodes);
	free(search->switch_first);
	free(search->switch_sizes);
	free(search->switch_seen);
	free(search->switch_keys);
	free(search->switch_kept);
	free(search->switch_states);
	free(search->switch_free);
}

int plx_switches_least(const struct plx_search *search, int nodes)
{
	int count = 0;

	while (count < search->switch_count && nodes > 0)
		nodes -= search->switch_sizes[count++];
	return count;
}

void plx_switches_count(struct plx_search *search, int n, int free, int step)
{
	int s = search->problem->switches[n];

	search->switch_states[s].free[free] += step;
}

/* Nodes of the switch where the job could have so many GPUs. */
static int fitting(const struct plx_search *search,
		   const struct plx_search_job *e, int s, int gpus)
{
	const struct plx_switch_state *state = &search->switch_states[s];
	int nodes = 0;

	for (int g = gpus; e->anywhere && g <= search->node_gpus_max; g++)
		nodes += state->free[g];
	for (int i = search->switch_first[s];
	     !e->anywhere && i < search->switch_first[s + 1]; i++) {
		int n = search->switch_nodes[i];

		nodes += search->nodes[n].free >= gpus &&
			 !plx_node_disturbs(search, n) &&
			 plx_job_usable(e->job, n);
	}
	return nodes;
}

int plx_switches_next(struct plx_search *search, const struct plx_search_job *e,
		      int gpus, int *nodes)
{
	int next = -1;
	int most = 0;

	search->work += e->anywhere ? search->switch_count : search->node_count;
	for (int s = 0; s < search->node_count; s++) {
		int count;

		if (search->switch_first[s] == search->switch_first[s + 1] ||
		    search->switch_states[s].look_stamp == search->look_stamp)
			continue;
		count = fitting(search, e, s, gpus);
		if (most < *nodes ? count > most
				  : count >= *nodes && count < most) {
			next = s;
			most = count;
		}
	}
	*nodes -= most;
	return next;
}

bool plx_switches_take(struct plx_search *search, int s)
{
	bool first = search->switch_states[s].look_stamp != search->look_stamp;

	search->switch_states[s].look_stamp = search->look_stamp;
	return first;
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t x = *a;

	*a = *b;
	*b = x;
}

uint64_t plx_keys_smallest(uint64_t *keys, int count, int k)
{
	int low = 0;
	int high = count - 1;

	while (low < high) {
		uint64_t pivot;
		int edge = low;

		swap(&keys[low + (high - low) / 2], &keys[high]);
		pivot = keys[high];
		for (int i = low; i < high; i++) {
			if (keys[i] < pivot)
				swap(&keys[i], &keys[edge++]);
		}
		swap(&keys[edge], &keys[high]);
		if (edge == k - 1)
			return keys[edge];
		if (edge < k - 1)
			low = edge + 1;
		else
			high = edge - 1;
	}
	return keys[k - 1];
}

/* What can be had on each switch; returns the number of those seen. */
static int see_switches(struct plx_search *search)
{
	int count = 0;

	for (int i = 0; i < search->look_count; i++) {
		int s = search->problem->switches[search->look[i]];
		struct plx_switch_state *state = &search->switch_states[s];

		if (search->keys[i] == PLX_KEY_NEVER)
			continue;
		if (!state->listed) {
			state->listed = true;
			search->switch_seen[count++] = s;
		}
		search->switch_keys[search->switch_first[s] + state->nodes++] =
			search->keys[i];
		state->gpus += (long) search->scratch[i];
		state->needed = state->needed ||
				search->keys[i] >> PLX_KEY_COST_BIT == 0;
	}
	search->work += count;
	return count;
}

static void forget_switches(struct plx_search *search, int count)
{
	for (int i = 0; i < count; i++) {
		struct plx_switch_state *state =
			&search->switch_states[search->switch_seen[i]];

		state->nodes = 0;
		state->gpus = 0;
		state->needed = false;
		state->chosen = false;
		state->listed = false;
	}
}

/* Of so many nodes there, the least unwelcome. */
static uint64_t cost_of(struct plx_search *search, int s, int nodes)
{
	const struct plx_switch_state *state = &search->switch_states[s];
	uint64_t *keys = search->switch_keys + search->switch_first[s];
	uint64_t cost = 0;
	int k = nodes < state->nodes ? nodes : state->nodes;

	k = k > 0 ? k : 1;
	plx_keys_smallest(keys, state->nodes, k);
	for (int i = 0; i < k; i++)
		cost += keys[i] >> PLX_KEY_NODE_BITS;
	return cost;
}

/* What is still to be found. */
struct want {
	int nodes;
	long gpus;
};

static bool suffices(const struct plx_switch_state *state,
		     const struct want *want)
{
	return state->nodes >= want->nodes && state->gpus >= want->gpus;
}

/* Of two that suffice, or do not, the one with the lower number in doubt. */
static bool is_better(struct plx_search *search, int s, int best,
		      const struct want *want)
{
	const struct plx_switch_state *a = &search->switch_states[s];
	const struct plx_switch_state *b = &search->switch_states[best];
	uint64_t cost_a;
	uint64_t cost_b;

	if (suffices(a, want) != suffices(b, want))
		return suffices(a, want);
	if (!suffices(a, want)) {
		if (a->gpus != b->gpus)
			return a->gpus > b->gpus;
		return s < best;
	}
	cost_a = cost_of(search, s, want->nodes);
	cost_b = cost_of(search, best, want->nodes);
	if (cost_a != cost_b)
		return cost_a < cost_b;
	if (a->gpus != b->gpus)
		return a->gpus < b->gpus;
	return s < best;
}

static int best_switch(struct plx_search *search, int count,
		       const struct want *want)
{
	int best = -1;

	for (int i = 0; i < count; i++) {
		int s = search->switch_seen[i];

		if (!search->switch_states[s].chosen &&
		    (best < 0 || is_better(search, s, best, want)))
			best = s;
	}
	return best;
}

static void choose(struct plx_search *search, int s, struct want *want)
{
	struct plx_switch_state *state = &search->switch_states[s];

	state->chosen = true;
	want->nodes -= state->nodes;
	want->gpus -= state->gpus;
}

bool plx_switches_choose(struct plx_search *search,
			 const struct plx_search_job *e,
			 const struct plx_config *config)
{
	struct want want = { .nodes = config->nodes, .gpus = config->gpus };
	int count = see_switches(search);
	int most = e->job->max_switches ? e->job->max_switches : count;
	int chosen = 0;

	for (int i = 0; i < count; i++) {
		if (!search->switch_states[search->switch_seen[i]].needed)
			continue;
		choose(search, search->switch_seen[i], &want);
		chosen++;
	}
	while (chosen < most && (want.nodes > 0 || want.gpus > 0)) {
		int s = best_switch(search, count, &want);

		if (s < 0)
			break;
		choose(search, s, &want);
		chosen++;
	}
	for (int i = 0; i < search->look_count; i++) {
		int s = search->problem->switches[search->look[i]];

		if (!search->switch_states[s].chosen)
			search->keys[i] = PLX_KEY_NEVER;
	}
	forget_switches(search, count);
	return chosen <= most && want.nodes <= 0 && want.gpus <= 0;
}
