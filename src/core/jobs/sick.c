/* SPDX-License-Identifier: MIT */
/* sick.c - nodes on which the ranks of jobs failed, and whom they are closed to
 */

#include <string.h>

#include "core/jobs/sick.h"

#define SHARE	 10 /* of the nodes, one in so many may be closed to all */
#define OWN_MOST 3  /* complaints of one owner about a node */

static double wait_of(double first_s, int times)
{
	for (int i = 1; i < times && i <= PLX_SICK_DOUBLES; i++)
		first_s *= 2;
	return first_s;
}

int plx_sick_most(int cluster)
{
	return cluster > SHARE ? cluster / SHARE : 1;
}

static struct plx_sick_node *find(const struct plx_sick *sick, const char *node)
{
	for (int i = 0; i < sick->count; i++) {
		if (!strcmp(sick->nodes[i].name, node))
			return (struct plx_sick_node *) &sick->nodes[i];
	}
	return NULL;
}

static struct plx_sick_node *find_or_make(struct plx_sick *sick,
					  const char *node)
{
	struct plx_sick_node *found = find(sick, node);

	if (found || sick->count == PLX_SICK_NODES ||
	    strlen(node) >= PLX_SICK_NAME)
		return found;
	found = &sick->nodes[sick->count++];
	*found = (struct plx_sick_node){ .count = 0 };
	strcpy(found->name, node);
	return found;
}

/* What is to be given up first: of an owner that has his share, or of all. */
static struct plx_complaint *oldest_of(struct plx_sick_node *node, bool all,
				       uint32_t owner)
{
	struct plx_complaint *oldest = NULL;

	for (int i = 0; i < node->count; i++) {
		struct plx_complaint *c = &node->by[i];

		if ((all || c->owner == owner) &&
		    (!oldest || c->last_s < oldest->last_s))
			oldest = c;
	}
	return oldest;
}

/* The job's complaint, or a place for one. */
static struct plx_complaint *place_for(struct plx_sick_node *node,
				       const struct plx_sick_claim *claim)
{
	struct plx_complaint *place = NULL;
	int owned = 0;

	for (int i = 0; i < node->count; i++) {
		if (node->by[i].job == claim->job)
			return &node->by[i];
		owned += node->by[i].owner == claim->owner;
	}
	/* One owner does not drive out what others say. */
	if (owned >= OWN_MOST)
		place = oldest_of(node, false, claim->owner);
	else if (node->count == PLX_SICK_COMPLAINTS)
		place = oldest_of(node, true, 0);
	else
		place = &node->by[node->count++];
	*place = (struct plx_complaint){ .job = claim->job };
	return place;
}

/* Nodes that this owner complains about. */
static int named_by(const struct plx_sick *sick, uint32_t owner)
{
	int nodes = 0;

	for (int i = 0; i < sick->count; i++) {
		const struct plx_sick_node *node = &sick->nodes[i];
		bool names = false;

		for (int c = 0; c < node->count; c++)
			names = names || node->by[c].owner == owner;
		nodes += names;
	}
	return nodes;
}

/* Jobs of one owner that name the node for sure. */
static int jobs_of(const struct plx_sick_node *node, uint32_t owner)
{
	int jobs = 0;

	for (int i = 0; i < node->count; i++)
		jobs += node->by[i].sure && node->by[i].owner == owner;
	return jobs;
}

/* Owners that do, as far as they are believed. */
static int owners_of(const struct plx_sick *sick,
		     const struct plx_sick_node *node)
{
	int owners = 0;

	for (int i = 0; i < node->count; i++) {
		bool first = node->by[i].sure;

		for (int k = 0; k < i; k++)
			first = first &&
				!(node->by[k].sure &&
				  node->by[k].owner == node->by[i].owner);
		owners += first && named_by(sick, node->by[i].owner) <=
					   PLX_SICK_CREDIBLE;
	}
	return owners;
}

/* Is the node closed to all jobs of that owner, and until when? */
static double owner_until_s(const struct plx_sick_node *node, uint32_t owner)
{
	double until_s = 0;

	if (jobs_of(node, owner) < 2)
		return 0;
	for (int i = 0; i < node->count; i++) {
		const struct plx_complaint *c = &node->by[i];

		if (c->sure && c->owner == owner && c->until_s > until_s)
			until_s = c->until_s;
	}
	return until_s;
}

static bool close_to_all(struct plx_sick *sick, struct plx_sick_node *node,
			 const struct plx_sick_claim *claim)
{
	if (owners_of(sick, node) < 2 || claim->now_s < node->until_s ||
	    plx_sick_out_count(sick, claim->now_s) >=
		    plx_sick_most(claim->cluster))
		return false;
	node->outs++;
	node->out = true;
	node->until_s = claim->now_s + wait_of(claim->wait_s, node->outs);
	return true;
}

enum plx_closed plx_sick_complain(struct plx_sick *sick,
				  const struct plx_sick_claim *claim,
				  double *until_s)
{
	struct plx_sick_node *node = NULL;
	struct plx_complaint *mine = NULL;
	double owner_s = 0;

	plx_sick_forget(sick, claim->now_s, claim->wait_s);
	node = find_or_make(sick, claim->node);
	if (!node)
		return PLX_CLOSED_NOT;
	owner_s = owner_until_s(node, claim->owner);
	mine = place_for(node, claim);
	mine->owner = claim->owner;
	mine->sure = mine->sure || claim->sure;
	mine->times++;
	mine->last_s = claim->now_s;
	mine->until_s = claim->now_s + wait_of(claim->wait_s, mine->times);
	*until_s = mine->until_s;
	if (close_to_all(sick, node, claim)) {
		*until_s = node->until_s;
		return PLX_CLOSED_ALL;
	}
	if (owner_until_s(node, claim->owner) > claim->now_s &&
	    owner_s <= claim->now_s)
		return PLX_CLOSED_OWNER;
	return PLX_CLOSED_JOB;
}

enum plx_closed plx_sick_closed(const struct plx_sick *sick, const char *name,
				uint32_t job, uint32_t owner, double now_s)
{
	const struct plx_sick_node *node = find(sick, name);

	if (!node)
		return PLX_CLOSED_NOT;
	for (int i = 0; i < node->count; i++) {
		if (node->by[i].job == job && now_s < node->by[i].until_s)
			return PLX_CLOSED_JOB;
	}
	if (now_s < node->until_s)
		return PLX_CLOSED_ALL;
	return now_s < owner_until_s(node, owner) ? PLX_CLOSED_OWNER
						  : PLX_CLOSED_NOT;
}

double plx_sick_out_s(const struct plx_sick *sick, const char *name,
		      double now_s)
{
	const struct plx_sick_node *node = find(sick, name);

	return node && now_s < node->until_s ? node->until_s : 0;
}

/* The last one; but: of another owner than that. */
static const struct plx_complaint *last_of(const struct plx_sick_node *node,
					   const struct plx_complaint *but)
{
	const struct plx_complaint *last = NULL;

	for (int i = 0; i < node->count; i++) {
		const struct plx_complaint *c = &node->by[i];

		if (but && c->owner == but->owner)
			continue;
		if (!last || c->last_s > last->last_s)
			last = c;
	}
	return last;
}

void plx_sick_jobs(const struct plx_sick *sick, const char *name,
		   uint32_t jobs[2])
{
	const struct plx_sick_node *node = find(sick, name);
	const struct plx_complaint *last = node ? last_of(node, NULL) : NULL;
	const struct plx_complaint *other = last ? last_of(node, last) : NULL;

	jobs[0] = other ? other->job : 0;
	jobs[1] = last ? last->job : 0;
}

int plx_sick_out_count(const struct plx_sick *sick, double now_s)
{
	int out = 0;

	for (int i = 0; i < sick->count; i++)
		out += now_s < sick->nodes[i].until_s;
	return out;
}

/* Complaints older than that, and a node without any. */
static bool drop_older(struct plx_sick *sick, int i, double than_s)
{
	struct plx_sick_node *node = &sick->nodes[i];
	int kept = 0;

	for (int c = 0; c < node->count; c++) {
		if (node->by[c].last_s >= than_s)
			node->by[kept++] = node->by[c];
	}
	if (kept == node->count)
		return false;
	node->count = kept;
	if (!kept)
		*node = sick->nodes[--sick->count];
	return true;
}

bool plx_sick_well(struct plx_sick *sick, const char *name, double began_s)
{
	const struct plx_sick_node *node = find(sick, name);

	return node && drop_older(sick, (int) (node - sick->nodes), began_s);
}

void plx_sick_forget(struct plx_sick *sick, double now_s, double wait_s)
{
	for (int i = sick->count; i-- > 0;) {
		if (now_s < sick->nodes[i].until_s)
			continue;
		drop_older(sick, i, now_s - PLX_SICK_MEMORY * wait_s);
	}
}

const char *plx_sick_opened(struct plx_sick *sick, double now_s)
{
	for (int i = 0; i < sick->count; i++) {
		struct plx_sick_node *node = &sick->nodes[i];

		if (!node->out || now_s < node->until_s)
			continue;
		node->out = false;
		return node->name;
	}
	return NULL;
}

static double sooner(double a, double b, double now_s)
{
	return b > now_s && (!a || b < a) ? b : a;
}

double plx_sick_next_s(const struct plx_sick *sick, double now_s)
{
	double next_s = 0;

	for (int i = 0; i < sick->count; i++) {
		const struct plx_sick_node *node = &sick->nodes[i];

		next_s = sooner(next_s, node->until_s, now_s);
		for (int c = 0; c < node->count; c++)
			next_s = sooner(next_s, node->by[c].until_s, now_s);
	}
	return next_s;
}
