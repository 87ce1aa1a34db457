/* SPDX-License-Identifier: MIT */
/*
 * search_slots.c - placements for all, by prices of slots
 *
 * GPUs come in nodes, and no two jobs that are on several nodes may share one.
 * So here not GPUs are sold but slots: so many GPUs of a node, to a job on one
 * node or to one on several. Each job takes the configuration whose value less
 * the price of its slots is largest; each node offers the slots that bring
 * most. Prices that change by what is left over or missing approach the best
 * ones (the Lagrangian dual of choosing a pattern of slots for each node), and
 * the running average of what nodes offer tells how many slots of each kind a
 * good plan has (the volume algorithm: Barahona and Anbil, 2000). Jobs are
 * placed in these.
 */
#include <math.h>
#include <stdlib.h>

#include "core/search/search.h"

#define ROUNDS	200  /* of better prices */
#define FIRST	0.05 /* share of a GPU's price that they change by, ... */
#define DECAY	0.98 /* ... and less with each round */
#define AVERAGE 0.05 /* weight of the last round */
#define OPTIONS 8    /* of a job, that prices are found with */
#define SLOTS	(2 * (PLX_SLOT_MAX + 1))

enum { CONFIG_PARKED = -1 };

/* What a job may take. */
struct option {
	double utility;
	int config; /* of its candidates, or CONFIG_PARKED */
	int slot;   /* see slot_of(); 0: none */
	int count;  /* of these */
};

struct market {
	struct plx_search *search;
	int top;			/* GPUs of the largest slot */
	int nodes[2][PLX_SLOT_MAX + 1]; /* by free GPUs; 1: open to several */
	struct option *options;		/* [job * OPTIONS] */
	int *counts;			/* [job] of them; 0: takes no part */
	/* By slot: */
	double price[SLOTS];
	double best[SLOTS];   /* prices of the least bound */
	double excess[SLOTS]; /* of supply over demand, on average */
	double supply[SLOTS]; /* on average */
};

/* Of so many GPUs, for a job on one node or on several. */
static int slot_of(int gpus, bool several)
{
	return gpus + (several ? PLX_SLOT_MAX + 1 : 0);
}

static double gain_at(const struct option *option, const double *price)
{
	return option->utility - option->count * price[option->slot];
}

/* Among those of the job, in the place of the one that brings it least. */
static void add_option(struct market *market, int j, struct option option)
{
	struct option *list = market->options + (size_t) j * OPTIONS;
	int least = 0;

	if (market->counts[j] < OPTIONS) {
		list[market->counts[j]++] = option;
		return;
	}
	for (int i = 1; i < OPTIONS; i++) {
		if (gain_at(&list[i], market->price) <
		    gain_at(&list[least], market->price))
			least = i;
	}
	if (gain_at(&option, market->price) >
	    gain_at(&list[least], market->price))
		list[least] = option;
}

static struct option option_of(const struct plx_search_job *e, int i)
{
	const struct plx_config *config = &e->candidates[i];

	return (struct option){
		.utility = config->utility,
		.config = i,
		.slot = slot_of(config->per_node, config->nodes > 1),
		.count = config->nodes,
	};
}

static void list_options(struct market *market, int j)
{
	const struct plx_search_job *e = &market->search->jobs[j];

	for (int i = 0; i < e->candidate_count; i++) {
		if (e->candidates[i].per_node > 0)
			add_option(market, j, option_of(e, i));
	}
	if (e->may_park)
		add_option(market, j,
			   (struct option){ .utility = e->utility_parked,
					    .config = CONFIG_PARKED });
}

static bool market_init(struct market *market, struct plx_search *search)
{
	size_t jobs = (size_t) search->job_count;

	*market = (struct market){ .search = search,
				   .top = search->node_gpus_max };
	market->options = calloc(jobs * OPTIONS + 1, sizeof(*market->options));
	market->counts = calloc(jobs + 1, sizeof(*market->counts));
	for (int g = 1; g <= market->top; g++) {
		market->price[g] = search->price * g;
		market->price[slot_of(g, true)] = market->price[g];
	}
	return market->options && market->counts;
}

static void market_release(struct market *market)
{
	free(market->options);
	free(market->counts);
}

/*
 * The slots that bring most on the nodes with so many free GPUs are added to
 * taken, [SLOTS]. Returns what they bring.
 */
static double offer(const struct market *market, int free, bool several,
		    double *taken)
{
	const double *price = market->price;
	const double *many = price + PLX_SLOT_MAX + 1;
	double times = market->nodes[several][free];
	double most[PLX_SLOT_MAX + 1] = { 0 };
	int last[PLX_SLOT_MAX + 1] = { 0 };
	double best;
	int shared = 0; /* with a job on several nodes */

	for (int g = 1; g <= free; g++) {
		most[g] = most[g - 1];
		for (int s = 1; s <= g; s++) {
			if (most[g - s] + price[s] > most[g]) {
				most[g] = most[g - s] + price[s];
				last[g] = s;
			}
		}
	}
	best = most[free];
	for (int s = 1; several && s <= free; s++) {
		if (most[free - s] + many[s] > best) {
			best = most[free - s] + many[s];
			shared = s;
		}
	}
	taken[slot_of(shared, true)] += times;
	for (int g = free - shared; g > 0; g -= last[g] ? last[g] : 1)
		taken[last[g]] += times;
	return best * times;
}

static double offer_all(const struct market *market, double *taken)
{
	double sum = 0;

	for (int several = 0; several < 2; several++) {
		for (int g = 1; g <= market->top; g++) {
			if (market->nodes[several][g] > 0)
				sum += offer(market, g, several, taken);
		}
	}
	return sum;
}

/* Of what is left, [SLOTS]: one node can be had in the place of several. */
static bool is_left(const double *left, const struct option *option)
{
	double slots = left[option->slot];

	if (option->slot <= PLX_SLOT_MAX)
		slots += left[option->slot + PLX_SLOT_MAX + 1];
	return slots > option->count - 0.5;
}

static void use_up(double *left, const struct option *option)
{
	int slot = option->slot;

	if (left[slot] <= option->count - 0.5 && slot <= PLX_SLOT_MAX)
		slot += PLX_SLOT_MAX + 1;
	left[slot] -= option->count;
}

/* The best that the job can do; of what is left, if given, [SLOTS]. */
static const struct option *choose(const struct market *market, int j,
				   const double *price, const double *left)
{
	const struct option *list = market->options + (size_t) j * OPTIONS;
	const struct option *best = NULL;
	double most = -INFINITY;

	for (int i = 0; i < market->counts[j]; i++) {
		double gain = gain_at(&list[i], price);

		if (gain > most && (!left || is_left(left, &list[i]))) {
			most = gain;
			best = &list[i];
		}
	}
	return best;
}

/* One round: the sum that bounds all plans. */
static double trade(struct market *market)
{
	double supply[SLOTS] = { 0 };
	double demand[SLOTS] = { 0 };
	double sum = offer_all(market, supply);

	for (int j = 0; j < market->search->job_count; j++) {
		const struct option *option = NULL;

		if (!market->counts[j])
			continue;
		option = choose(market, j, market->price, NULL);
		demand[option->slot] += option->count;
		sum += gain_at(option, market->price);
	}
	for (int s = 1; s < SLOTS; s++) {
		market->supply[s] += AVERAGE * (supply[s] - market->supply[s]);
		market->excess[s] +=
			AVERAGE * (supply[s] - demand[s] - market->excess[s]);
	}
	return sum;
}

/* What is not sold becomes cheaper, what is asked for dearer. */
static void change_prices(struct market *market, double step)
{
	double most = 0;

	market->excess[slot_of(0, true)] = 0;
	for (int s = 1; s < SLOTS; s++)
		most = fmax(most, fabs(market->excess[s]));
	for (int s = 1; most > 0 && s < SLOTS; s++) {
		double price = market->price[s];

		price -= step * market->excess[s] / most;
		market->price[s] = fmax(price, 0);
	}
}

/* Sets prices and supply of a market whose nodes and options are known. */
static void find_prices(struct market *market)
{
	double step = FIRST * market->search->price;
	double least = INFINITY;

	/* Prices so far are good for a plan, if a worse one. */
	for (int i = 0; i < ROUNDS && !plx_search_stopped(market->search);
	     i++, step *= DECAY) {
		double sum = trade(market);

		for (int s = 0; sum < least && s < SLOTS; s++)
			market->best[s] = market->price[s];
		least = fmin(least, sum);
		change_prices(market, step);
	}
}

/* What a job is to buy. */
struct purchase {
	int job;
	int config; /* CONFIG_PARKED: whatever is left */
	int gpus;   /* on each node */
	int nodes;
	bool urgent; /* may not be parked */
};

static int by_size(const void *a, const void *b)
{
	const struct purchase *x = a;
	const struct purchase *y = b;

	if (x->urgent != y->urgent)
		return x->urgent ? -1 : 1;
	if (x->gpus != y->gpus)
		return y->gpus - x->gpus;
	if (x->nodes != y->nodes)
		return y->nodes - x->nodes;
	return x->job - y->job;
}

/* Is nothing worth more at the price of a GPU than what it has? */
static bool stays(const struct plx_search *search,
		  const struct plx_search_job *e)
{
	int held = plx_placement_shape(&e->now).gpus;
	double here = e->now.utility - search->price * held;

	if (!e->now_valid || held == 0)
		return false;
	for (int i = 0; i < e->candidate_count; i++) {
		const struct plx_config *config = &e->candidates[i];

		if (config->utility - search->price * config->gpus > here)
			return false;
	}
	return true;
}

/* Those who stay sit; the others are on the market, and all free GPUs. */
static void open_market(struct market *market)
{
	struct plx_search *search = market->search;

	plx_search_get_up(search);
	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		if (!e->fixed &&
		    !(stays(search, e) && plx_search_stay(search, e)))
			list_options(market, j);
	}
	for (int n = 0; n < search->node_count; n++) {
		int free = search->nodes[n].free;

		if (free > 0)
			market->nodes[!plx_node_disturbs(search, n)][free]++;
	}
}

/* Of all that do not sit yet; some have no option, but any count on nodes. */
static int list_purchases(struct market *market, struct purchase *purchases)
{
	const struct plx_search *search = market->search;
	int count = 0;

	for (int j = 0; j < search->job_count; j++) {
		const struct plx_search_job *e = &search->jobs[j];
		struct purchase *purchase = &purchases[count];
		const struct option *option = NULL;

		if (e->fixed || e->at.count > 0)
			continue;
		option = choose(market, j, market->best, market->supply);
		*purchase = (struct purchase){ .job = j,
					       .config = CONFIG_PARKED,
					       .urgent = !e->may_park };
		count++;
		if (!option || option->config == CONFIG_PARKED)
			continue;
		use_up(market->supply, option);
		purchase->config = option->config;
		purchase->gpus = option->slot % (PLX_SLOT_MAX + 1);
		purchase->nodes = option->count;
	}
	qsort(purchases, (size_t) count, sizeof(*purchases), by_size);
	return count;
}

/* The largest first; who has no slot takes what is left. */
static bool place(struct plx_search *search, const struct purchase *purchases,
		  int count)
{
	bool placed = true;

	for (int i = 0; i < count && placed; i++) {
		struct plx_search_job *e = &search->jobs[purchases[i].job];

		if (purchases[i].config >= 0 &&
		    plx_search_pick(search, e,
				    &e->candidates[purchases[i].config], false))
			plx_placement_put(search, e, &search->picked);
		else
			placed = plx_search_buy(search, e);
	}
	return placed;
}

bool plx_slots_matter(const struct plx_search *search)
{
	return search->problem->interference && search->price > 0 &&
	       search->node_gpus_max <= PLX_SLOT_MAX;
}

bool plx_slots_pack(struct plx_search *search)
{
	struct purchase *purchases =
		calloc((size_t) search->job_count + 1, sizeof(*purchases));
	struct market market;
	bool placed = market_init(&market, search) && purchases;

	if (placed) {
		open_market(&market);
		find_prices(&market);
		placed = place(search, purchases,
			       list_purchases(&market, purchases));
	}
	market_release(&market);
	free(purchases);
	plx_move_begin(search);
	return placed;
}
