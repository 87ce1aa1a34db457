/* SPDX-License-Identifier: MIT */
/*
 * search_move.c - giving a job a configuration, others giving way
 *
 * Whoever has to give way gets up as a whole and then takes the best that is
 * left, which mostly is a little less on the same nodes.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/search/search.h"

#define VICTIMS_MAX 12 /* of one move; more hardly ever pays */

static void survey_nodes(struct plx_search *search,
			 const struct plx_search_job *e)
{
	for (int n = plx_look_next_free(search, 0); n < search->node_count;
	     n = plx_look_next_free(search, n + 1)) {
		int free = plx_node_free(search, e, n);

		search->work++;
		if (free < 1 || !plx_job_usable(e->job, n))
			continue;
		search->free_one[free]++;
		if (!plx_node_disturbs(search, n))
			search->free_multi[free]++;
	}
	search->work += search->node_count / 64;
}

/* The index tells how many nodes have so many GPUs free for the job. */
static bool by_level(const struct plx_search *search,
		     const struct plx_search_job *e)
{
	return search->indexed && e->anywhere &&
	       (!e->job->demand || search->plentiful);
}

/* Count the nodes that have so many GPUs free for this job. */
static void survey(struct plx_search *search, const struct plx_search_job *e)
{
	int top = search->node_gpus_max;
	size_t size = (size_t) (top + 1) * sizeof(int);
	bool level = by_level(search, e);

	memset(search->free_one, 0, size);
	memset(search->free_multi, 0, size);
	search->free_multi_gpus = 0;
	if (!level)
		survey_nodes(search, e);
	for (int g = 1; level && g <= top; g++) {
		search->free_multi[g] = search->levels[g];
		search->free_one[g] =
			search->levels[g] + search->levels[g + top + 1];
	}
	for (int g = top; g > 0; g--)
		search->free_multi_gpus += (long) g * search->free_multi[g];
	for (int g = top; g > 0; g--) {
		search->free_one[g - 1] += search->free_one[g];
		search->free_multi[g - 1] += search->free_multi[g];
	}
}

/* It can have so many GPUs there, with nobody giving way. */
static bool fits_on(const struct plx_search *search,
		    const struct plx_search_job *e,
		    const struct plx_config *config, int n)
{
	int g = config->per_node > 0 ? config->per_node : 1;

	return plx_node_free(search, e, n) >= g && plx_job_usable(e->job, n) &&
	       !(plx_config_multi(config) && plx_node_disturbs(search, n));
}

/* After survey(): are there nodes enough with so many GPUs free? */
static bool nodes_suffice(const struct plx_search *search,
			  const struct plx_config *config)
{
	int g = config->per_node;

	if (g == 0)
		return search->free_multi_gpus >= config->gpus &&
		       search->free_multi[1] >= config->nodes;
	if (plx_config_multi(config))
		return search->free_multi[g] >= config->nodes;
	return search->free_one[g] > 0;
}

/* After survey(): is there room without taking from anybody? */
static bool fits(const struct plx_search *search,
		 const struct plx_search_job *e,
		 const struct plx_config *config)
{
	if (!nodes_suffice(search, config))
		return false;
	if (plx_needs_batch_host(e, config->nodes) &&
	    !fits_on(search, e, config, e->job->batch_host))
		return false;
	for (int n = 0; e->required && n < search->node_count; n++) {
		if (e->job->required[n] && !fits_on(search, e, config, n))
			return false;
	}
	return true;
}

/* What it has now is free. */
static bool now_fits(const struct plx_search *search,
		     const struct plx_search_job *e)
{
	if (!e->now_valid || e->now.count == 0)
		return false;
	for (int i = 0; i < e->now.count; i++) {
		int n = e->now.slots[i].node;

		if (plx_node_free(search, e, n) < e->now.slots[i].gpus ||
		    (e->now.count > 1 && plx_node_disturbs(search, n)))
			return false;
	}
	return true;
}

bool plx_search_fit(struct plx_search *search, struct plx_search_job *e)
{
	const struct plx_config *best = NULL;
	double most = -INFINITY;
	bool now = now_fits(search, e);

	survey(search, e);
	search->work += e->candidate_count / 4;
	for (int i = 0; i < e->candidate_count; i++) {
		const struct plx_config *config = &e->candidates[i];

		if ((now && e->now.utility >= config->utility) ||
		    most >= config->utility)
			break;
		if (!fits(search, e, config) ||
		    !plx_search_pick(search, e, config, false))
			continue;
		if (search->picked.utility >= config->utility || !e->pays) {
			plx_placement_put(search, e, &search->picked);
			return true;
		}
		/* On more switches than counted on: another may be better. */
		if (search->picked.utility > most) {
			most = search->picked.utility;
			best = config;
		}
	}
	if (best && !(now && e->now.utility >= most) &&
	    plx_search_pick(search, e, best, false)) {
		plx_placement_put(search, e, &search->picked);
		return true;
	}
	if (now)
		plx_placement_put(search, e, &e->now);
	return now || e->may_park;
}

bool plx_search_stay(struct plx_search *search, struct plx_search_job *e)
{
	if (!now_fits(search, e))
		return false;
	plx_placement_put(search, e, &e->now);
	return true;
}

static double at_price(const struct plx_search *search, double utility,
		       int gpus)
{
	return utility - search->price * gpus;
}

/* On just the count it wants, the best way; after survey(). */
static bool sit_as_wanted(struct plx_search *search, struct plx_search_job *e)
{
	for (int i = 0; i < e->candidate_count; i++) {
		const struct plx_config *config = &e->candidates[i];

		if (config->gpus == e->want && fits(search, e, config) &&
		    plx_search_pick(search, e, config, false)) {
			plx_placement_put(search, e, &search->picked);
			return true;
		}
	}
	return false;
}

bool plx_search_buy(struct plx_search *search, struct plx_search_job *e)
{
	const struct plx_config *best = NULL;
	double most = -INFINITY;
	bool now = now_fits(search, e);

	if (e->may_park)
		most = at_price(search, e->utility_parked, 0);
	now = now && at_price(search, e->now.utility,
			      plx_placement_shape(&e->now).gpus) >= most;
	if (now)
		most = at_price(search, e->now.utility,
				plx_placement_shape(&e->now).gpus);
	survey(search, e);
	if (sit_as_wanted(search, e))
		return true;
	for (int i = 0; i < e->candidate_count; i++) {
		const struct plx_config *config = &e->candidates[i];
		double left = at_price(search, config->utility, config->gpus);

		if (!(left > most) || !fits(search, e, config) ||
		    !plx_search_pick(search, e, config, false))
			continue;
		if (e->pays)
			left = at_price(search, search->picked.utility,
					config->gpus);
		if (left > most) {
			most = left;
			best = config;
		}
	}
	if (best && plx_search_pick(search, e, best, false))
		plx_placement_put(search, e, &search->picked);
	else if (now)
		plx_placement_put(search, e, &e->now);
	return best || now || e->may_park;
}

bool plx_search_squeeze(struct plx_search *search, struct plx_search_job *e)
{
	const struct plx_config *least = NULL;

	survey(search, e);
	for (int i = 0; i < e->candidate_count; i++) {
		const struct plx_config *config = &e->candidates[i];

		if (least && (least->gpus < config->gpus ||
			      (least->gpus == config->gpus &&
			       least->nodes <= config->nodes)))
			continue;
		if (fits(search, e, config) &&
		    plx_search_pick(search, e, config, false))
			least = config;
	}
	if (least && plx_search_pick(search, e, least, false)) {
		plx_placement_put(search, e, &search->picked);
		return true;
	}
	return e->may_park;
}

/* Empty the picked slots of others. */
static bool clear_slots(struct plx_search *search,
			const struct plx_search_job *e)
{
	bool multi = search->picked.count > 1;

	for (int i = 0; i < search->picked.count; i++) {
		const struct plx_slot *slot = &search->picked.slots[i];

		while (plx_node_free(search, e, slot->node) < slot->gpus ||
		       (multi && plx_node_disturbs(search, slot->node))) {
			bool conflict =
				multi && plx_node_disturbs(search, slot->node);
			struct plx_search_job *victim =
				plx_node_victim(search, slot->node, conflict);

			if (!victim || search->touched_count > VICTIMS_MAX)
				return false;
			plx_move_touch(search, victim);
			plx_placement_take(search, victim);
		}
	}
	return true;
}

/* Where others can be asked to go away, choose. */
static bool pick_target(struct plx_search *search, struct plx_search_job *e,
			int config)
{
	bool multi = e->now.count > 1 && search->problem->interference;

	if (config != PLX_CONFIG_NOW)
		return plx_search_pick(search, e, &e->candidates[config], true);
	if (!e->now_valid || e->now.count == 0)
		return false;
	for (int i = 0; i < e->now.count; i++) {
		const struct plx_slot *slot = &e->now.slots[i];
		const struct plx_node *node = &search->nodes[slot->node];

		if (plx_node_open(search, e, slot->node) < slot->gpus ||
		    (multi && node->fixed_multi > 0))
			return false;
	}
	plx_placement_copy(&search->picked, &e->now);
	return true;
}

/* After survey(): no way to sit down is worth more to a job that is up. */
static double most_of(struct plx_search *search, const struct plx_search_job *e)
{
	double most = e->utility_parked;

	if (now_fits(search, e))
		most = fmax(most, e->now.utility);
	search->work += e->candidate_count / 4;
	for (int i = 0; i < e->candidate_count; i++) {
		if (nodes_suffice(search, &e->candidates[i]))
			return fmax(most, e->candidates[i].utility);
	}
	return most;
}

/*
 * May the move gain more than is asked of it? The mover sits, all others are
 * up: even if each found all the others' room free.
 */
static bool promising(struct plx_search *search)
{
	const struct plx_search_job *mover = &search->jobs[search->touched[0]];
	double gain = mover->at.utility - mover->saved.utility;

	if (!(search->least_gain > -INFINITY))
		return true;
	for (int i = 1; i < search->touched_count; i++) {
		const struct plx_search_job *e =
			&search->jobs[search->touched[i]];

		if (!by_level(search, e) || e->job->table)
			return true;
		/* The index is the same for all of them. */
		if (i == 1)
			survey(search, e);
		gain += most_of(search, e) - e->saved.utility;
	}
	return gain > search->least_gain;
}

bool plx_search_move(struct plx_search *search, struct plx_search_job *e,
		     int config)
{
	bool seated;

	plx_move_begin(search);
	plx_move_touch(search, e);
	plx_placement_take(search, e);
	if (!pick_target(search, e, config) || !clear_slots(search, e)) {
		plx_move_undo(search);
		return false;
	}
	plx_placement_put(search, e, &search->picked);
	seated = promising(search);
	/* The worst off choose first. */
	for (int i = search->touched_count - 1; i > 0 && seated; i--)
		seated = plx_search_fit(search,
					&search->jobs[search->touched[i]]);
	if (!seated)
		plx_move_undo(search);
	return seated;
}
