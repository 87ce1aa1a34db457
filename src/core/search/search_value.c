/* SPDX-License-Identifier: MIT */
/*
 * search_value.c - the value of a count of GPUs to a job
 *
 * To find out takes a search for the best batch, so it is asked only where
 * somebody wants to know. A job's value depends on its GPUs and on whether
 * they are on one node, on two or on more (see goodput.h), but for jobs with
 * a table.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "core/search/search.h"

/*
 * A job that would lose all its speedup by a re-allocation (a young one)
 * still prefers more GPUs to fewer when it has to be re-allocated.
 */
#define YOUNG 1e-9

#define COUNTS_MAX 4096 /* that a job is offered; it may need or have more */

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

double plx_job_weight(const struct plx_search *search,
		      const struct plx_search_job *e)
{
	return isinf(search->problem->fairness) ? 1 : plx_weight(e->job);
}

int plx_gpu_cap(const struct plx_job *job, int held)
{
	int profiled = min_int(max_int(1, job->profiled_gpus), INT_MAX / 2);
	int cap = max_int(2 * profiled, job->min_gpus);

	if (job->table)
		return min_int(job->table->gpus, job->max_gpus);
	/* Or else it would never get past a gap in its sizes. */
	if (job->size_count)
		cap = max_int(plx_job_size_down(job, cap),
			      plx_job_size_up(job, profiled + 1));
	/* What it runs on is being measured. */
	return min_int(max_int(cap, held), job->max_gpus);
}

/*
 * Members are compared, as there are gaps between them. What further switches
 * cost is not kept, and need not be the same.
 */
static bool same_model(const struct plx_model *a, const struct plx_model *b)
{
	return a->alpha_c == b->alpha_c && a->beta_c == b->beta_c &&
	       a->alpha_n == b->alpha_n && a->beta_n == b->beta_n &&
	       a->alpha_r == b->alpha_r && a->beta_r == b->beta_r &&
	       a->gamma == b->gamma && a->two_nodes == b->two_nodes &&
	       a->growth == b->growth;
}

static bool same_goodput(const struct plx_goodput *a,
			 const struct plx_goodput *b)
{
	return same_model(&a->model, &b->model) &&
	       a->noise.sqr == b->noise.sqr && a->noise.var == b->noise.var &&
	       a->limits.base_batch == b->limits.base_batch &&
	       a->limits.max_batch == b->limits.max_batch &&
	       a->limits.min_per_gpu == b->limits.min_per_gpu &&
	       a->limits.max_per_gpu == b->limits.max_per_gpu &&
	       a->limits.accumulate == b->limits.accumulate;
}

void plx_alike_find(struct plx_search *search, struct plx_search_job *e)
{
	const struct plx_goodput *goodput = &e->job->goodput;
	struct plx_alike *alike = search->alikes;

	if (!e->job->profiled || e->job->table)
		return;
	for (int i = 0; i < search->alike_count; i++, alike++) {
		if (alike->fair.gpus == e->fair.gpus &&
		    alike->fair.goodput == e->fair.goodput &&
		    same_goodput(alike->goodput, goodput)) {
			e->alike = alike;
			return;
		}
	}
	if (search->alike_count == PLX_ALIKE_MAX)
		return;
	search->alike_count++;
	alike->goodput = goodput;
	alike->fair = e->fair;
	for (int i = 0; i < 3; i++) {
		for (int g = 0; g < PLX_ALIKE_GPUS; g++)
			alike->speedup[i][g] = NAN;
	}
	e->alike = alike;
}

double plx_alike_speedup(const struct plx_search_job *e, struct plx_shape shape)
{
	double *known;

	if (!e->alike || shape.nodes < 1 || shape.gpus >= PLX_ALIKE_GPUS ||
	    (shape.further > 0 && e->job->goodput.model.per_switch > 0))
		return plx_speedup(e->job, &e->fair, shape);
	known = &e->alike->speedup[min_int(shape.nodes, 3) - 1][shape.gpus];
	if (isnan(*known))
		*known = plx_speedup(e->job, &e->fair, shape);
	return *known;
}

static double ask(const struct plx_search *search,
		  const struct plx_search_job *e, struct plx_shape shape)
{
	double speedup = plx_alike_speedup(e, shape);
	double value = plx_speedup_value(e->job, &e->fair, speedup, true);

	if (!(value > 0))
		value = YOUNG * speedup;
	if (!(value > 0))
		return -INFINITY;
	return plx_job_weight(search, e) * plx_utility(search->fairness, value);
}

/*
 * Where the value of a shape on several switches is kept; NULL: no memory. Most
 * jobs are asked about few numbers of switches, or one.
 */
static double *wide_value(struct plx_search_job *e, struct plx_shape shape)
{
	double **row = &e->wide[2 * (shape.further - 1) + (shape.nodes > 2)];
	size_t count = (size_t) e->cap + 1;

	if (!*row) {
		*row = malloc(count * sizeof(**row));
		for (size_t i = 0; *row && i < count; i++)
			(*row)[i] = NAN;
	}
	return *row ? &(*row)[shape.gpus] : NULL;
}

double plx_value(const struct plx_search *search, struct plx_search_job *e,
		 struct plx_shape shape)
{
	double *known;

	if (shape.gpus > e->cap || e->job->table)
		return ask(search, e, shape);
	known = &e->one[shape.gpus];
	if (shape.nodes > 1)
		known = &(shape.nodes > 2 ? e->many : e->two)[shape.gpus];
	if (shape.nodes > 1 && e->pays && shape.further > 0)
		known = wide_value(e, shape);
	if (!known)
		return ask(search, e, shape);
	if (isnan(*known))
		*known = ask(search, e, shape);
	return *known;
}

bool plx_size_allowed(const struct plx_search_job *e, int gpus)
{
	const struct plx_job *job = e->job;

	return gpus >= job->min_gpus && gpus <= e->cap &&
	       plx_listed(job->sizes, job->size_count, gpus);
}

bool plx_one_node(const struct plx_search_job *e, int gpus)
{
	if (e->job->whole && gpus != e->job->node_gpus)
		return false;
	return gpus <= e->one_max && e->job->min_nodes <= 1 && e->required <= 1;
}

bool plx_needs_batch_host(const struct plx_search_job *e, int nodes)
{
	const struct plx_job *job = e->job;

	if (job->batch_host < 0)
		return false;
	return !job->roams || (job->max_nodes && nodes >= job->max_nodes);
}

bool plx_needs_node(const struct plx_search_job *e, int nodes, int n)
{
	return plx_job_sits(e->job, n) ||
	       (n == e->job->batch_host && plx_needs_batch_host(e, nodes));
}

int plx_nodes_max(const struct plx_search *search,
		  const struct plx_search_job *e)
{
	int most = e->job->max_nodes;

	return most ? min_int(most, search->node_count) : search->node_count;
}

int plx_many_nodes(const struct plx_search *search,
		   const struct plx_search_job *e, int gpus, int least)
{
	int most = min_int(plx_nodes_max(search, e), gpus);
	int largest = plx_node_most(e, search->node_gpus_max);

	least = max_int(least, max_int(e->job->min_nodes, e->required));
	least = max_int(least, gpus / largest + (gpus % largest > 0));
	/* All of each node: there is one number of nodes. */
	if (e->job->whole) {
		int nodes = gpus / e->job->node_gpus;

		if (gpus % e->job->node_gpus || nodes < least || nodes > most)
			return 0;
		return search->fits[e->job->node_gpus] >= nodes ? nodes : 0;
	}
	if (!search->problem->uniform)
		return least <= most ? least : 0;
	for (int k = least; k <= most; k++) {
		if (gpus % k == 0 && search->fits[gpus / k] >= k)
			return k;
	}
	return 0;
}

bool plx_two_differ(const struct plx_search_job *e)
{
	return e->job->table || e->two != e->many;
}

double plx_value_of_count(const struct plx_search *search,
			  struct plx_search_job *e, int gpus)
{
	struct plx_shape shape = { .nodes = 1, .gpus = gpus };
	double best = -INFINITY;

	if (!plx_size_allowed(e, gpus))
		return best;
	if (plx_one_node(e, gpus))
		best = plx_value(search, e, shape);
	shape.nodes = plx_many_nodes(search, e, gpus, 2);
	/* Only a table tells more than three nodes from three. */
	while (shape.nodes > 0 && shape.nodes <= gpus &&
	       shape.nodes <= search->node_count) {
		int span = plx_switches_least(search, shape.nodes);

		if (!plx_span_allowed(e, span))
			break;
		shape.further = plx_further(span);
		best = fmax(best, plx_value(search, e, shape));
		if (!plx_two_differ(e) || (shape.nodes > 2 && !e->job->table))
			break;
		shape.nodes = plx_many_nodes(search, e, gpus, shape.nodes + 1);
	}
	return best;
}

/* Most GPUs on one node, and on all its nodes. */
static int reach(const struct plx_search *search,
		 const struct plx_search_job *e, int *largest)
{
	const struct plx_problem *problem = search->problem;
	bool bound = e->job->batch_host >= 0 && !e->job->roams;
	int sum = 0;

	*largest = 0;
	if (!bound && !e->job->allowed && !e->required) {
		*largest = plx_node_most(e, search->node_gpus_max);
		return search->gpus;
	}
	for (int n = 0; n < search->node_count; n++) {
		int gpus = plx_node_most(e, problem->gpus[n]);

		if (!plx_job_usable(e->job, n))
			continue;
		sum += gpus;
		if ((!bound && !e->required) || plx_job_sits(e->job, n))
			*largest = max_int(*largest, gpus);
	}
	return sum;
}

/* The price of further switches is asked for where one is paid. */
static bool pays(const struct plx_search *search,
		 const struct plx_search_job *e)
{
	return search->switch_count && e->job->goodput.model.per_switch > 0 &&
	       e->job->profiled && !e->job->table && e->job->max_switches != 1;
}

int plx_value_init(const struct plx_search *search, struct plx_search_job *e,
		   struct plx_error *err)
{
	int held = plx_placement_shape(&e->now).gpus;
	int offered = max_int(COUNTS_MAX, max_int(held, e->job->min_gpus));
	int cap = min_int(min_int(plx_gpu_cap(e->job, held), offered),
			  reach(search, e, &e->one_max));
	size_t count = (size_t) max_int(cap, 0) + 1;
	double *values = malloc(5 * count * sizeof(*values));

	e->one = values;
	e->hull = malloc((count + (size_t) held + 2) * sizeof(*e->hull));
	if (!values || !e->hull)
		return plx_fail(err, "no memory for the values of job %u",
				e->job->id);
	for (size_t i = 0; i < 5 * count; i++)
		values[i] = NAN;
	e->many = values + count;
	e->counts = values + 2 * count;
	e->others = values + 3 * count;
	e->two = e->many;
	if (e->job->profiled && e->job->goodput.model.two_nodes > 0)
		e->two = values + 4 * count;
	e->cap = cap;
	e->one_max = min_int(e->one_max, cap);
	e->pays = pays(search, e);
	return 0;
}
