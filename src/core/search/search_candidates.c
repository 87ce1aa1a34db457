/* SPDX-License-Identifier: MIT */
/*
 * search_candidates.c - the forms a job may take, and the value of each
 *
 * Counts are those that the price made known, and some around them and
 * around what the job has: on any cluster a menu has some dozen forms.
 */
#include <math.h>
#include <stdlib.h>

#include "core/search/search.h"

#define AROUND 4 /* counts asked within a part of so much, at least 2 */

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

/* A growing list of forms. */
struct menu {
	const struct plx_search *search;
	struct plx_elastic *e;
	int size;
	bool failed;
};

static void add(struct menu *menu, int nodes, int per_node, int gpus)
{
	struct plx_elastic *e = menu->e;
	struct plx_shape shape = { .nodes = nodes, .gpus = gpus };
	double utility = plx_value(menu->search, e, shape);
	struct plx_form *forms;

	if (!(utility > -INFINITY) || menu->failed)
		return;
	if (e->form_count == menu->size) {
		menu->size = menu->size ? 2 * menu->size : 32;
		forms = realloc(e->forms, (size_t) menu->size * sizeof(*forms));
		if (!forms) {
			menu->failed = true;
			return;
		}
		e->forms = forms;
		e->form_size = menu->size;
	}
	e->forms[e->form_count++] = (struct plx_form){
		.nodes = nodes,
		.per_node = per_node,
		.gpus = gpus,
		.utility = utility,
	};
}

/* On so many nodes or, in other counts, on more. */
static void add_spread(struct menu *menu, int nodes, int gpus)
{
	if (gpus % nodes == 0)
		add(menu, nodes, gpus / nodes, gpus);
	add(menu, nodes, 0, gpus);
}

/* All ways to have so many GPUs. */
static void add_count(struct menu *menu, int gpus)
{
	const struct plx_search *search = menu->search;
	int least = plx_many_nodes(search, menu->e, gpus, 2);

	if (plx_one_node(menu->e, gpus))
		add(menu, 1, gpus, gpus);
	if (menu->e->job->whole) {
		if (least > 0)
			add(menu, least, gpus / least, gpus);
		return;
	}
	if (search->problem->uniform) {
		for (int k = least; k > 0;
		     k = plx_many_nodes(search, menu->e, gpus, k + 1))
			add(menu, k, gpus / k, gpus);
		return;
	}
	if (least > 0)
		add_spread(menu, least, gpus);
	if (least == 2 && plx_two_differ(menu->e) &&
	    plx_many_nodes(search, menu->e, gpus, 3) == 3)
		add_spread(menu, 3, gpus);
}

static void ask_around(const struct plx_search *search, struct plx_elastic *e,
		       int gpus)
{
	int reach = max_int(2, gpus / AROUND);

	for (int g = max_int(1, gpus - reach);
	     g <= min_int(e->cap, gpus + reach); g++) {
		if (isnan(e->counts[g]))
			e->counts[g] = plx_value_of_count(search, e, g);
	}
}

static void add_forms(struct menu *menu)
{
	struct plx_elastic *e = menu->e;

	ask_around(menu->search, e, e->job->min_gpus);
	if (e->now_valid && e->now.count > 0)
		ask_around(menu->search, e, plx_seat_shape(&e->now).gpus);
	if (e->target)
		ask_around(menu->search, e, e->target->gpus);
	for (int g = 1; g <= e->cap; g++) {
		if (!isnan(e->counts[g]) && plx_size_allowed(e, g))
			add_count(menu, g);
	}
}

static int by_utility(const void *a, const void *b)
{
	const struct plx_form *f = a;
	const struct plx_form *g = b;

	if (f->utility != g->utility)
		return f->utility > g->utility ? -1 : 1;
	if (f->gpus != g->gpus)
		return f->gpus - g->gpus;
	if (f->nodes != g->nodes)
		return f->nodes - g->nodes;
	return g->per_node - f->per_node;
}

/* Wherever g fits, f fits too and is worth as much. Requires f before g. */
static bool makes_idle(const struct plx_form *f, const struct plx_form *g)
{
	if (f->per_node == 0 || g->per_node == 0)
		return f->per_node == g->per_node && f->gpus <= g->gpus &&
		       f->nodes <= g->nodes;
	return f->nodes <= g->nodes && f->per_node <= g->per_node;
}

static void drop_idle_forms(struct plx_elastic *e)
{
	int kept = 0;

	for (int i = 0; i < e->form_count; i++) {
		bool idle = false;

		for (int k = 0; k < kept && !idle; k++)
			idle = makes_idle(&e->forms[k], &e->forms[i]);
		if (!idle)
			e->forms[kept++] = e->forms[i];
	}
	e->form_count = kept;
}

int plx_menu_fill(const struct plx_search *search, struct plx_elastic *e,
		  struct plx_error *err)
{
	struct menu menu = { .search = search, .e = e };

	if (e->job->pinned)
		return 0;
	e->form_count = 0;
	menu.size = e->form_size;
	add_forms(&menu);
	if (menu.failed)
		return plx_fail(err, "no memory for the forms of job %u",
				e->job->id);
	if (e->form_count > 0)
		qsort(e->forms, (size_t) e->form_count, sizeof(*e->forms),
		      by_utility);
	drop_idle_forms(e);
	return 0;
}
