/* SPDX-License-Identifier: MIT */
/*
 * search_menu.c - the forms a job may take, and what each is worth
 *
 * The menu of a small job is complete. Large counts are thinned to steps of
 * an eighth, so that a menu has some hundred forms on any cluster.
 */
#include <limits.h>
#include <stdlib.h>

#include "core/search.h"

/* A re-allocation must bring more than this share of a job's speedup. */
#define HYSTERESIS 0.005
/*
 * A job that would lose all its speedup by a re-allocation (a young one)
 * still prefers more GPUs to fewer when it has to be re-allocated.
 */
#define YOUNG 1e-9

/* Requires a >= 0, b >= 1. */
static int ceil_div(int a, int b)
{
	return a / b + (a % b > 0);
}

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

int plx_gpu_cap(const struct plx_job *job, int held)
{
	int profiled = min_int(max_int(1, job->profiled_gpus), INT_MAX / 2);
	int cap = max_int(2 * profiled, job->min_gpus);

	/* What it runs on is being measured. */
	return min_int(max_int(cap, held), job->max_gpus);
}

/* The cap, or all that there is on its nodes. */
static int reachable_cap(const struct plx_search *search,
			 const struct plx_elastic *e)
{
	int cap = plx_gpu_cap(e->job, plx_seat_shape(&e->now).gpus);
	int reach = 0;

	for (int n = 0; n < search->node_count; n++) {
		if (plx_node_usable(search, e, n))
			reach += search->problem->gpus[n];
	}
	return min_int(cap, reach);
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
	double speedup = plx_speedup(e->job, &e->fair, shape);
	double worth = plx_worth(e->job, &e->fair, shape, true);
	struct plx_form *forms;

	if (speedup <= 0 || menu->failed)
		return;
	if (e->form_count == menu->size) {
		menu->size = menu->size ? 2 * menu->size : 16;
		forms = realloc(e->forms, (size_t) menu->size * sizeof(*forms));
		if (!forms) {
			menu->failed = true;
			return;
		}
		e->forms = forms;
	}
	e->forms[e->form_count++] = (struct plx_form){
		.nodes = nodes,
		.per_node = per_node,
		.gpus = gpus,
		.speedup = speedup,
		.utility =
			plx_weight(e->job) *
			plx_utility(menu->search->fairness,
				    worth * (1 - HYSTERESIS) + speedup * YOUNG),
	};
}

/* The next count to offer: all small ones, then steps, then the last. */
static int next_count(int count, int last)
{
	int next = count + max_int(1, count / 8);

	return count < last && next > last ? last : next;
}

static void add_forms(struct menu *menu)
{
	const struct plx_elastic *e = menu->e;
	int min = e->job->min_gpus;
	int largest = min_int(menu->search->node_gpus_max, e->cap);

	for (int g = min; g <= largest; g = next_count(g, largest))
		add(menu, 1, g, g);
	for (int g = 1; g <= largest; g = next_count(g, largest)) {
		int last = min_int(menu->search->node_count, e->cap / g);

		for (int k = max_int(2, ceil_div(min, g)); k <= last;
		     k = next_count(k, last))
			add(menu, k, g, k * g);
	}
	if (menu->search->problem->uniform || menu->search->node_count < 2)
		return;
	for (int r = max_int(2, min); r <= e->cap; r = next_count(r, e->cap))
		add(menu, 2, 0, r);
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
		return f->per_node == g->per_node && f->gpus <= g->gpus;
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
	double weight = plx_weight(e->job);

	e->fair = plx_fair_share(search->problem, e->job);
	e->utility_parked = weight * plx_utility(search->fairness, 0);
	e->now.utility =
		weight * plx_utility(search->fairness,
				     plx_worth(e->job, &e->fair,
					       plx_seat_shape(&e->now), false));
	e->cap = reachable_cap(search, e);
	if (e->job->pinned)
		return 0;
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
