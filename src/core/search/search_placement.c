/* SPDX-License-Identifier: MIT */
/*
 * search_placement.c - what is read off a placement and the state
 *
 * Nothing here changes a plan, and nothing calls another file of the search:
 * all of them may call this one.
 */
#include <string.h>

#include "core/search/search.h"

struct plx_shape plx_placement_shape(const struct plx_placement *placement)
{
	struct plx_shape shape = { .nodes = placement->count, .gpus = 0 };

	for (int i = 0; i < placement->count; i++)
		shape.gpus += placement->slots[i].gpus;
	return shape;
}

int plx_search_span(const struct plx_search *search,
		    const struct plx_placement *placement)
{
	struct plx_switch_set set;

	if (!search->switch_count)
		return 0;
	plx_switch_set_init(&set, search->node_count);
	for (int i = 0; i < placement->count; i++)
		plx_switch_set_add(
			&set,
			search->problem->switches[placement->slots[i].node]);
	return set.count;
}

struct plx_shape plx_search_shape(const struct plx_search *search,
				  const struct plx_placement *placement)
{
	struct plx_shape shape = plx_placement_shape(placement);

	if (placement->count > 1)
		shape.further = plx_further(plx_search_span(search, placement));
	return shape;
}

bool plx_placement_equal(const struct plx_placement *a,
			 const struct plx_placement *b)
{
	if (a->count != b->count)
		return false;
	for (int i = 0; i < a->count; i++) {
		if (a->slots[i].node != b->slots[i].node ||
		    a->slots[i].gpus != b->slots[i].gpus)
			return false;
	}
	return true;
}

void plx_placement_copy(struct plx_placement *to,
			const struct plx_placement *from)
{
	memcpy(to->slots, from->slots,
	       (size_t) from->count * sizeof(*to->slots));
	to->count = from->count;
	to->utility = from->utility;
}

/* splitmix64: Steele et al., "Fast splittable PRNGs", OOPSLA '14. */
uint64_t plx_search_random(struct plx_search *search)
{
	uint64_t x = search->random += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}
