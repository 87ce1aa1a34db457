/* SPDX-License-Identifier: MIT */
/*
 * search_look.c - which nodes are worth looking at for a configuration
 *
 * On a small cluster: all. On a large one nodes are kept by the number of
 * GPUs free on them, and a look takes the job's own ones, those where the
 * configuration fits, and some where little is missing, from a random one on:
 * whoever has to give way may be better off elsewhere, but there are other
 * moves. A node whose GPUs are free, and its CPUs are not, counts as one where
 * something is missing.
 */
#include <stdlib.h>

#include "core/search/search.h"

#define INDEX_MAX (UINT64_C(1) << 20) /* words of 64 nodes */
#define EJECT	  8  /* nodes of each level looked at for a victim */
#define EJECT_ALL 16 /* of all levels */
#define SWITCHES  4  /* looked at as a whole, of those where it is or fits */

static int bucket_of(const struct plx_search *search, int n)
{
	const struct plx_node *node = &search->nodes[n];
	int levels = search->node_gpus_max + 1;

	return (node->free > 0 ? node->free : 0) +
	       (plx_node_disturbs(search, n) ? levels : 0);
}

static uint64_t *bits_of(const struct plx_search *search, int bucket)
{
	return search->bits + (size_t) bucket * search->words;
}

bool plx_look_init(struct plx_search *search)
{
	size_t nodes = (size_t) search->node_count + 1;
	size_t buckets = 2 * ((size_t) search->node_gpus_max + 1);

	search->words = (nodes + 63) / 64;
	search->look = calloc(nodes, sizeof(*search->look));
	search->looked = calloc(nodes, sizeof(*search->looked));
	search->indexed = search->node_count > PLX_FEW_NODES &&
			  buckets * search->words <= INDEX_MAX;
	if (!search->indexed) {
		for (int n = 0; search->look && n < search->node_count; n++)
			search->look[n] = n;
		search->look_count = search->node_count;
		return search->look && search->looked;
	}
	search->bits = calloc(buckets * search->words, sizeof(*search->bits));
	search->levels = calloc(buckets, sizeof(*search->levels));
	return search->look && search->looked && search->bits && search->levels;
}

void plx_look_release(struct plx_search *search)
{
	free(search->look);
	free(search->looked);
	free(search->bits);
	free(search->levels);
}

static void flip(struct plx_search *search, int bucket, int n, int step)
{
	bits_of(search, bucket)[n / 64] ^= UINT64_C(1) << n % 64;
	search->levels[bucket] += step;
	if (search->switch_count && bucket <= search->node_gpus_max)
		plx_switches_count(search, n, bucket, step);
}

void plx_look_update(struct plx_search *search, int n)
{
	struct plx_node *node = &search->nodes[n];
	int bucket;

	node->stale = true;
	if (!search->indexed)
		return;
	bucket = bucket_of(search, n);
	if (bucket == node->bucket)
		return;
	if (node->bucket >= 0)
		flip(search, node->bucket, n, -1);
	flip(search, bucket, n, 1);
	node->bucket = bucket;
}

/* The next node of the bucket from this one; -1: none. */
static int next_of(const struct plx_search *search, int bucket, int n)
{
	const uint64_t *bits = bits_of(search, bucket);
	size_t word = (size_t) n / 64;
	uint64_t residual;

	if (word >= search->words)
		return -1;
	residual = bits[word] & ~UINT64_C(0) << n % 64;
	while (residual == 0) {
		if (++word == search->words)
			return -1;
		residual = bits[word];
	}
	return (int) (word * 64) + __builtin_ctzll(residual);
}

int plx_look_next_free(const struct plx_search *search, int n)
{
	const uint64_t *full = search->bits;
	const uint64_t *disturbed = NULL;
	uint64_t residual = 0;

	if (!search->indexed) {
		while (n < search->node_count && search->nodes[n].free < 1)
			n++;
		return n;
	}
	disturbed = bits_of(search, search->node_gpus_max + 1);
	for (size_t word = (size_t) n / 64; word < search->words; word++) {
		residual = ~(full[word] | disturbed[word]);
		if (word == (size_t) n / 64)
			residual &= ~UINT64_C(0) << n % 64;
		if (residual == 0)
			continue;
		n = (int) (word * 64) + __builtin_ctzll(residual);
		return n < search->node_count ? n : search->node_count;
	}
	return search->node_count;
}

static bool add(struct plx_search *search, const struct plx_search_job *e,
		int n)
{
	if (search->looked[n] == search->look_stamp ||
	    !plx_job_usable(e->job, n))
		return false;
	search->looked[n] = search->look_stamp;
	search->look[search->look_count++] = n;
	return true;
}

/* What is looked for in a level. */
struct wanted {
	int gpus; /* that have to be free for the job; 0: whatever there is */
	int most; /* nodes of that kind */
	int crowded; /* nodes besides, where they are not */
};

/* A node of the level: true when it is one of the kind that is wanted. */
static bool add_wanted(struct plx_search *search,
		       const struct plx_search_job *e, int n,
		       struct wanted *wanted)
{
	bool has = wanted->gpus == 0 || !e->job->demand || search->plentiful ||
		   plx_node_free(search, e, n) >= wanted->gpus;

	if (!has && wanted->crowded <= 0) {
		search->work++;
		return false;
	}
	if (!add(search, e, n))
		return false;
	search->work++;
	if (!has)
		wanted->crowded--;
	return has;
}

/* Nodes with just these GPUs free, from this one on; how many are as wanted. */
static int add_level(struct plx_search *search, const struct plx_search_job *e,
		     int bucket, int first, struct wanted wanted)
{
	int added = 0;

	if (search->levels[bucket] == 0)
		return 0;
	for (int n = next_of(search, bucket, first);
	     n >= 0 && added < wanted.most; n = next_of(search, bucket, n + 1))
		added += add_wanted(search, e, n, &wanted);
	for (int n = next_of(search, bucket, 0);
	     n >= 0 && n < first && added < wanted.most;
	     n = next_of(search, bucket, n + 1))
		added += add_wanted(search, e, n, &wanted);
	return added;
}

static void add_placement(struct plx_search *search,
			  const struct plx_search_job *e,
			  const struct plx_placement *placement)
{
	for (int i = 0; i < placement->count; i++)
		add(search, e, placement->slots[i].node);
}

/*
 * Where the configuration fits: the fullest first, or the emptiest for any
 * counts.
 */
static void add_fitting(struct plx_search *search,
			const struct plx_search_job *e,
			const struct plx_config *config, bool eject)
{
	int top = search->node_gpus_max;
	int disturbed = plx_config_multi(config) ? -1 : top + 1;
	struct wanted wanted = { .gpus = config->per_node > 0 ? config->per_node
							      : 1,
				 .most = config->nodes,
				 .crowded = eject ? EJECT : 0 };
	int gpus = config->gpus;

	for (int g = config->per_node; config->per_node > 0 && g <= top; g++) {
		wanted.most -= add_level(search, e, g, 0, wanted);
		if (disturbed > 0)
			wanted.most -=
				add_level(search, e, disturbed + g, 0, wanted);
	}
	for (int g = top; config->per_node == 0 && g > 0 && gpus > 0; g--) {
		wanted.most = gpus / plx_node_most(e, g) + config->nodes;
		gpus -= plx_node_most(e, g) *
			add_level(search, e, g, 0, wanted);
	}
}

static void add_switch(struct plx_search *search,
		       const struct plx_search_job *e, int s)
{
	if (!plx_switches_take(search, s))
		return;
	for (int i = search->switch_first[s]; i < search->switch_first[s + 1];
	     i++)
		search->work += add(search, e, search->switch_nodes[i]);
}

/*
 * Those that it is on, and the fewest where the configuration fits; with eject
 * another one.
 */
static void add_switches(struct plx_search *search,
			 const struct plx_search_job *e,
			 const struct plx_config *config, bool eject)
{
	const int *of = search->problem->switches;
	int gpus = config->per_node > 0 ? config->per_node : 1;
	int left = config->nodes;

	if (plx_needs_batch_host(e, config->nodes))
		add_switch(search, e, of[e->job->batch_host]);
	for (int i = 0; i < e->now.count && i < SWITCHES; i++)
		add_switch(search, e, of[e->now.slots[i].node]);
	for (int i = 0; i < SWITCHES && left > 0; i++) {
		int s = plx_switches_next(search, e, gpus, &left);

		if (s < 0)
			break;
		add_switch(search, e, s);
	}
	if (eject)
		add_switch(search, e,
			   of[plx_search_random(search) %
			      (uint64_t) search->node_count]);
}

static void add_victims(struct plx_search *search,
			const struct plx_search_job *e,
			const struct plx_config *config)
{
	int top = search->node_gpus_max;
	int g = config->per_node > 0 ? config->per_node : 1;
	int start = (int) (plx_search_random(search) %
			   (uint64_t) search->node_count);
	int most = EJECT_ALL + config->nodes;

	for (int free = g - 1; free >= 0 && most > 0; free--) {
		int some = config->nodes > EJECT ? config->nodes : EJECT;

		most -= add_level(search, e, free, start,
				  (struct wanted){ .most = some });
		most -= add_level(search, e, free + top + 1, start,
				  (struct wanted){ .most = some / 2 });
	}
}

void plx_search_look(struct plx_search *search, const struct plx_search_job *e,
		     const struct plx_config *config, bool eject)
{
	if (!search->indexed) {
		search->work += search->node_count;
		return;
	}
	search->look_stamp++;
	search->look_count = 0;
	for (int i = 0; i < e->few_count; i++)
		add(search, e, e->few[i]);
	if (e->few_count) {
		search->work += search->look_count;
		return;
	}
	if (plx_needs_batch_host(e, config->nodes))
		add(search, e, e->job->batch_host);
	for (int n = 0; e->required && n < search->node_count; n++) {
		if (e->job->required[n])
			add(search, e, n);
	}
	add_placement(search, e, &e->now);
	if (e->touched)
		add_placement(search, e, &e->saved);
	add_fitting(search, e, config, eject);
	if (search->switch_count && plx_config_multi(config))
		add_switches(search, e, config, eject);
	if (eject)
		add_victims(search, e, config);
	search->work += search->look_count;
}
