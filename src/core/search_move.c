/* SPDX-License-Identifier: MIT */
/*
 * search_move.c - giving a job a form, others giving way
 *
 * Nodes are chosen in this order: the home, those with the least to take
 * from others, those that the job has now, the fullest that fits (so that
 * large holes stay large), the lowest index.
 */
#include <stddef.h>
#include <string.h>

#include "core/search.h"

#define NEVER UINT64_MAX

bool plx_node_usable(const struct plx_search *search,
		     const struct plx_elastic *e, int n)
{
	const struct plx_job *job = e->job;

	(void) search;
	return !job->allowed || job->allowed[n] ||
	       (n == job->home && job->now[n] > 0);
}

static bool is_multi(const struct plx_form *form)
{
	return form->nodes > 1;
}

/* Another job's all-reduce would disturb one on several nodes. */
static bool disturbs(const struct plx_search *search, int n)
{
	return search->problem->interference && search->nodes[n].multi > 0;
}

/* How unwelcome the node is for this form; NEVER: cannot be had. */
static uint64_t node_key(struct plx_search *search, const struct plx_elastic *e,
			 const struct plx_form *form, int n, bool eject)
{
	const struct plx_node *node = &search->nodes[n];
	int g = form->per_node;
	uint64_t cost = node->free < g ? (uint64_t) (g - node->free) : 0;
	uint64_t elsewhere = e->job->now[n] == 0;
	uint64_t spare = cost == 0 ? (uint64_t) (node->free - g) : 0;

	if (node->open < g || !plx_node_usable(search, e, n))
		return NEVER;
	if (is_multi(form) && disturbs(search, n)) {
		if (node->fixed_multi > 0)
			return NEVER;
		cost += (uint64_t) g;
	}
	if (cost > 0 && !eject)
		return NEVER;
	if (n == e->job->home)
		return (uint64_t) n;
	if (search->shake && eject)
		cost += plx_search_random(search) % 4;
	return (cost + 1) << 48 | elsewhere << 47 | spare << 32 | (uint64_t) n;
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t x = *a;

	*a = *b;
	*b = x;
}

/* The k-th smallest (from 1) of different keys; reorders them. */
static uint64_t smallest(uint64_t *keys, int count, int k)
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

/* Choose nodes for a form; with eject, also some that others have. */
static bool pick_uniform(struct plx_search *search, const struct plx_elastic *e,
			 const struct plx_form *form, bool eject)
{
	struct plx_seat *picked = &search->picked;
	int home = e->job->home;
	uint64_t last;
	int count = 0;

	search->work += search->node_count;
	for (int n = 0; n < search->node_count; n++) {
		search->keys[n] = node_key(search, e, form, n, eject);
		if (search->keys[n] != NEVER)
			search->scratch[count++] = search->keys[n];
	}
	if (count < form->nodes || (home >= 0 && search->keys[home] == NEVER))
		return false;
	last = smallest(search->scratch, count, form->nodes);
	picked->count = 0;
	for (int n = 0; n < search->node_count; n++) {
		if (search->keys[n] <= last)
			picked->spots[picked->count++] =
				(struct plx_spot){ .node = n,
						   .gpus = form->per_node };
	}
	return true;
}

/* The next node to fill: the home, nodes it has now, then the emptiest. */
static int next_to_fill(const struct plx_search *search,
			const struct plx_elastic *e)
{
	int next = -1;
	long best = -1;

	for (int n = 0; n < search->node_count; n++) {
		long worth = search->nodes[n].free;

		if (search->scratch[n] > 0 || worth < 1 ||
		    disturbs(search, n) || !plx_node_usable(search, e, n))
			continue;
		worth += e->job->now[n] > 0 ? 1L << 20 : 0;
		worth += n == e->job->home ? 1L << 21 : 0;
		if (worth > best) {
			best = worth;
			next = n;
		}
	}
	return next;
}

/* Any counts on several nodes, from what is free. */
static bool pick_ragged(struct plx_search *search, const struct plx_elastic *e,
			int gpus)
{
	struct plx_seat *picked = &search->picked;

	memset(search->scratch, 0,
	       (size_t) search->node_count * sizeof(*search->scratch));
	while (gpus > 0) {
		int n = next_to_fill(search, e);
		int take;

		if (n < 0)
			return false;
		take = search->nodes[n].free;
		take = take < gpus ? take : gpus;
		search->scratch[n] = (uint64_t) take;
		gpus -= take;
		search->work += search->node_count;
	}
	picked->count = 0;
	for (int n = 0; n < search->node_count; n++) {
		if (search->scratch[n] > 0)
			picked->spots[picked->count++] = (struct plx_spot){
				.node = n, .gpus = (int) search->scratch[n]
			};
	}
	/* On one node it would be another form. */
	return picked->count > 1 &&
	       (e->job->home < 0 || search->scratch[e->job->home] > 0);
}

static bool pick(struct plx_search *search, const struct plx_elastic *e,
		 const struct plx_form *form, bool eject)
{
	search->picked.utility = form->utility;
	if (form->per_node > 0)
		return pick_uniform(search, e, form, eject);
	return !eject && pick_ragged(search, e, form->gpus);
}

/* Count the nodes that have so many GPUs free for this job. */
static void survey(struct plx_search *search, const struct plx_elastic *e)
{
	int top = search->node_gpus_max;
	size_t size = (size_t) (top + 1) * sizeof(int);

	memset(search->room_one, 0, size);
	memset(search->room_multi, 0, size);
	search->room_multi_gpus = 0;
	for (int n = 0; n < search->node_count; n++) {
		int free = search->nodes[n].free;

		if (free < 1 || !plx_node_usable(search, e, n))
			continue;
		search->room_one[free]++;
		if (disturbs(search, n))
			continue;
		search->room_multi[free]++;
		search->room_multi_gpus += free;
	}
	for (int g = top; g > 0; g--) {
		search->room_one[g - 1] += search->room_one[g];
		search->room_multi[g - 1] += search->room_multi[g];
	}
	search->work += search->node_count;
}

/* After survey(): is there room without taking from anybody? */
static bool has_room(const struct plx_search *search,
		     const struct plx_elastic *e, const struct plx_form *form)
{
	int home = e->job->home;
	int g = form->per_node > 0 ? form->per_node : 1;

	if (home >= 0 && (search->nodes[home].free < g ||
			  !plx_node_usable(search, e, home) ||
			  (is_multi(form) && disturbs(search, home))))
		return false;
	if (form->per_node == 0)
		return search->room_multi_gpus >= form->gpus;
	if (is_multi(form))
		return search->room_multi[g] >= form->nodes;
	return search->room_one[g] > 0;
}

/* What it has now is free. */
static bool now_has_room(const struct plx_search *search,
			 const struct plx_elastic *e)
{
	if (!e->now_valid || e->now.count == 0)
		return false;
	for (int i = 0; i < e->now.count; i++) {
		int n = e->now.spots[i].node;

		if (search->nodes[n].free < e->now.spots[i].gpus ||
		    (e->now.count > 1 && disturbs(search, n)))
			return false;
	}
	return true;
}

bool plx_search_fit(struct plx_search *search, struct plx_elastic *e)
{
	bool now = now_has_room(search, e);

	survey(search, e);
	search->work += e->form_count / 4;
	for (int i = 0; i < e->form_count; i++) {
		const struct plx_form *form = &e->forms[i];

		if (now && e->now.utility >= form->utility)
			break;
		if (!has_room(search, e, form) || !pick(search, e, form, false))
			continue;
		plx_seat_put(search, e, &search->picked);
		return true;
	}
	if (now)
		plx_seat_put(search, e, &e->now);
	return now || e->may_park;
}

bool plx_search_squeeze(struct plx_search *search, struct plx_elastic *e)
{
	const struct plx_form *least = NULL;

	survey(search, e);
	for (int i = 0; i < e->form_count; i++) {
		const struct plx_form *form = &e->forms[i];

		if (least &&
		    (least->gpus < form->gpus || (least->gpus == form->gpus &&
						  least->nodes <= form->nodes)))
			continue;
		if (has_room(search, e, form) && pick(search, e, form, false))
			least = form;
	}
	if (least && pick(search, e, least, false)) {
		plx_seat_put(search, e, &search->picked);
		return true;
	}
	return e->may_park;
}

/* Who gives way: whoever is best off, the higher id in doubt. */
static struct plx_elastic *richest(struct plx_search *search,
				   const struct plx_node *node, bool multi_only)
{
	struct plx_elastic *found = NULL;

	search->work += node->job_count;
	for (int i = 0; i < node->job_count; i++) {
		struct plx_elastic *e = &search->jobs[node->jobs[i]];

		if (e->fixed || (multi_only && e->at.count < 2))
			continue;
		if (!found || e->at.utility > found->at.utility ||
		    (e->at.utility == found->at.utility && e > found))
			found = e;
		if (search->shake && plx_search_random(search) % 3 == 0)
			break;
	}
	return found;
}

/* Empty the picked spots of others. */
static bool clear_spots(struct plx_search *search)
{
	bool multi = search->picked.count > 1;

	for (int i = 0; i < search->picked.count; i++) {
		const struct plx_spot *spot = &search->picked.spots[i];
		const struct plx_node *node = &search->nodes[spot->node];

		while (node->free < spot->gpus ||
		       (multi && disturbs(search, spot->node))) {
			bool conflict = multi && disturbs(search, spot->node);
			struct plx_elastic *victim =
				richest(search, node, conflict);

			if (!victim)
				return false;
			plx_move_touch(search, victim);
			plx_seat_take(search, victim);
		}
	}
	return true;
}

/* Where others can be asked to go away, choose. */
static bool pick_target(struct plx_search *search, const struct plx_elastic *e,
			int form)
{
	bool multi = e->now.count > 1 && search->problem->interference;

	if (form != PLX_FORM_NOW)
		return pick(search, e, &e->forms[form], true);
	if (!e->now_valid || e->now.count == 0)
		return false;
	for (int i = 0; i < e->now.count; i++) {
		const struct plx_spot *spot = &e->now.spots[i];
		const struct plx_node *node = &search->nodes[spot->node];

		if (node->open < spot->gpus || (multi && node->fixed_multi > 0))
			return false;
	}
	plx_seat_copy(&search->picked, &e->now);
	return true;
}

bool plx_search_move(struct plx_search *search, struct plx_elastic *e, int form)
{
	bool seated = true;

	plx_move_begin(search);
	plx_move_touch(search, e);
	plx_seat_take(search, e);
	if (!pick_target(search, e, form) || !clear_spots(search)) {
		plx_move_undo(search);
		return false;
	}
	plx_seat_put(search, e, &search->picked);
	/* The worst off choose first. */
	for (int i = search->touched_count - 1; i > 0 && seated; i--)
		seated = plx_search_fit(search,
					&search->jobs[search->touched[i]]);
	if (!seated)
		plx_move_undo(search);
	return seated;
}
