/* SPDX-License-Identifier: MIT */
/*
 * reservation_nodes.c - which nodes could serve a job that waits, and at what
 * price
 */

#include <math.h>
#include <stdlib.h>

#include "core/reserve/reservation_private.h"

bool plx_idle_leaves(const struct plx_request *request,
		     const struct plx_job *job, int index)
{
	return request->leaves && request->leaves[index] && !job->fixed;
}

/* Runs its script there, and to stay? */
static bool lives(const struct plx_reserving *reserving,
		  const struct plx_request *request, int index, int n)
{
	const struct plx_job *job = &reserving->problem->jobs[index];

	return job->batch_host == n &&
	       !(reserving->leaving && plx_idle_leaves(request, job, index));
}

/* The same, and needs a GPU there if it has any. */
static bool is_bound(const struct plx_reserving *reserving,
		     const struct plx_request *request, int index, int n)
{
	return !reserving->problem->jobs[index].roams &&
	       lives(reserving, request, index, n);
}

/*
 * The i-th job that has GPUs or its batch host on the node, in search order;
 * NULL: there are no more. A batch host that is left in a guess counts as
 * before.
 */
static const struct plx_search_job *at_node(
	const struct plx_reserving *reserving, int n, int i)
{
	int k = reserving->there_first[n] + i;

	return k < reserving->there_first[n + 1]
		       ? &reserving->search->jobs[reserving->there[k]]
		       : NULL;
}

/* GPUs that the job must keep on the node, at the very least. */
static int job_keeps(const struct plx_reserving *reserving,
		     const struct plx_request *request,
		     const struct plx_search_job *e, int n)
{
	if (e->job->fixed || e->stuck)
		return e->job->now[n];
	return !e->may_park && is_bound(reserving, request, e->index, n) ? 1
									 : 0;
}

/* The same, of all elastic jobs. */
static int must_keep(const struct plx_reserving *reserving,
		     const struct plx_request *request, int n)
{
	const struct plx_search_job *e;
	int gpus = 0;

	for (int i = 0; (e = at_node(reserving, n, i)); i++)
		gpus += job_keeps(reserving, request, e, n);
	return gpus;
}

static bool is_parked(const struct plx_reserving *reserving,
		      const struct plx_search_job *e)
{
	return reserving->parked[e - reserving->search->jobs];
}

/* Jobs with their batch host there that may be parked, but need not be. */
static int on_batch_host(const struct plx_reserving *reserving,
			 const struct plx_request *request, int n)
{
	const struct plx_search_job *e;
	int jobs = 0;

	for (int i = 0; (e = at_node(reserving, n, i)); i++) {
		if (!e->job->fixed && !e->stuck && e->may_park &&
		    !is_parked(reserving, e) && e->now.count > 0 &&
		    is_bound(reserving, request, e->index, n))
			jobs++;
	}
	return jobs;
}

int plx_idle_held(const struct plx_reserving *reserving, int n)
{
	const struct plx_search_job *e;
	int gpus = 0;

	for (int i = 0; (e = at_node(reserving, n, i)); i++)
		gpus += e->job->now[n];
	return gpus;
}

/* GPUs there of jobs that may be parked for the request. */
static int yielded(const struct plx_reserving *reserving, int n)
{
	const struct plx_search_job *e;
	int gpus = 0;

	for (int i = 0; (e = at_node(reserving, n, i)); i++) {
		if (e->may_park && !e->job->fixed)
			gpus += e->job->now[n];
	}
	return gpus;
}

/* Jobs whose batch scripts are there, and stay. */
static int batch_hosts_at(const struct plx_reserving *reserving,
			  const struct plx_request *request, int n)
{
	const struct plx_search_job *e;
	int jobs = 0;

	for (int i = 0; (e = at_node(reserving, n, i)); i++)
		jobs += lives(reserving, request, e->index, n);
	return jobs;
}

/* Jobs with their batch host there that would be asked to leave. */
static int leavers_at(const struct plx_reserving *reserving,
		      const struct plx_request *request, int n)
{
	const struct plx_search_job *e;
	int jobs = 0;

	for (int i = 0; (e = at_node(reserving, n, i)); i++)
		jobs += e->job->batch_host == n &&
			!lives(reserving, request, e->index, n);
	return jobs;
}

/*
 * What a node has beside a request: of CPUs, or of memory. Scripts keep of it
 * what they keep where their jobs have no GPU.
 */
struct share {
	double left;
	double scripts;	    /* of jobs that have no GPU there, or are parked */
	double batch_hosts; /* of all jobs that live there */
	double per_gpu;	    /* of those that they have */
	double per_gain;    /* of another one */
};

/* What one script keeps for each of them. */
static void add_scripts(const struct plx_reserving *reserving,
			const struct plx_request *request, int n,
			enum plx_resource k, struct share *share)
{
	const struct plx_resources *scripts = reserving->residual->scripts;
	const struct plx_search_job *e;

	for (int i = 0; scripts && (e = at_node(reserving, n, i)); i++) {
		double keeps = scripts[e->index].of[k];

		if (!lives(reserving, request, e->index, n))
			continue;
		share->batch_hosts += keeps;
		if (is_parked(reserving, e) || e->job->now[n] == 0)
			share->scripts += keeps;
	}
}

/* GPUs for which so much suffices, at most `most`. */
static int supplied(double left, double per_gpu, int most)
{
	return per_gpu > 0 && left < per_gpu * most ? (int) (left / per_gpu)
						    : most;
}

/*
 * GPUs of the node that elastic jobs may have: those that they do, and others
 * as far as whoever takes most finds it. Negative: it is not enough for their
 * scripts.
 */
static int keepable(const struct share *share, int has, int most)
{
	double left = share->left - share->scripts;
	int kept;

	if (left < 0 || share->left < share->batch_hosts)
		return -1;
	kept = supplied(left, share->per_gpu, most);
	if (kept <= has)
		return kept;
	return has + supplied(left - has * share->per_gpu, share->per_gain,
			      kept - has);
}

/*
 * GPUs of the node that elastic jobs may have if the request is to find its
 * CPUs and memory there; negative: it cannot.
 */
static int gpus_beside(const struct plx_reserving *reserving,
		       const struct plx_request *request, int n, int most)
{
	const struct plx_residual *residual = reserving->residual;
	const struct plx_resources *gain = NULL;

	if (!residual || !residual->left)
		return most;
	gain = residual->per_gain ? residual->per_gain : residual->per_gpu;
	for (int k = PLX_CPUS; k < PLX_RESOURCES && most >= 0; k++) {
		struct share share = {
			.left = residual->left[n].of[k] -
				reserving->given[n].of[k] - request->each.of[k],
			.per_gpu = residual->per_gpu[n].of[k],
			.per_gain = gain[n].of[k],
		};

		add_scripts(reserving, request, n, k, &share);
		most = keepable(&share, plx_idle_held(reserving, n), most);
	}
	return most;
}

/*
 * So much of one kind of consumables does the job take there with so many GPUs.
 */
static double consumable_of(const struct plx_reserving *reserving,
			    const struct plx_request *request,
			    const struct plx_search_job *e, int n, int gpus,
			    int k)
{
	/* Whoever leaves takes its script along. */
	if (e->job->batch_host == n && !lives(reserving, request, e->index, n))
		return e->job->demand ? gpus * e->job->demand[k] : 0;
	return plx_job_demand(e->job, n, gpus, k);
}

/*
 * GPUs that elastic jobs there have to give up before there is so much of one
 * kind of consumables as the request takes; negative: some that they must keep.
 */
static int in_its_way(const struct plx_reserving *reserving,
		      const struct plx_request *request, int n, int k)
{
	const struct plx_problem *problem = reserving->problem;
	double left = problem->consumables[n * problem->consumable_kinds + k] -
		      request->demand[k];
	double held = 0;
	double kept = 0;
	double most = 0;
	const struct plx_search_job *e;

	for (int i = 0; (e = at_node(reserving, n, i)); i++) {
		double demand = e->job->demand ? e->job->demand[k] : 0;

		held += consumable_of(reserving, request, e, n, e->job->now[n],
				      k);
		kept += consumable_of(reserving, request, e, n,
				      job_keeps(reserving, request, e, n), k);
		if (e->job->now[n] > 0 && demand > most)
			most = demand;
	}
	if (left < kept || (held > left && most <= 0))
		return -1;
	return held > left ? (int) ceil((held - left) / most) : 0;
}

/* The same, of all kinds. */
static int short_of(const struct plx_reserving *reserving,
		    const struct plx_request *request, int n)
{
	int most = 0;

	for (int k = 0;
	     request->demand && k < reserving->problem->consumable_kinds; k++) {
		int gpus = request->demand[k] > 0
				   ? in_its_way(reserving, request, n, k)
				   : 0;

		if (gpus < 0)
			return -1;
		most = gpus > most ? gpus : most;
	}
	return most;
}

/* Could the node serve the request? */
static bool node_idle(const struct plx_reserving *reserving,
		      const struct plx_request *request, int n,
		      struct plx_idle_node *idle)
{
	int gpus = reserving->problem->gpus[n];
	int take = (int) request->each.gpus;
	int unheld = gpus - plx_idle_held(reserving, n);
	int displaced = short_of(reserving, request, n);
	int beside;
	int left;
	int batch_hosts;
	int yielding;

	if ((request->allowed && !request->allowed[n]) ||
	    (request->group && reserving->grouped[n]) ||
	    (reserving->timeline &&
	     !plx_timeline_open(reserving->timeline, request, n)))
		return false;
	if (request->whole_nodes) {
		if (gpus != reserving->problem->gpus_total[n] || take > gpus ||
		    batch_hosts_at(reserving, request, n) > 0)
			return false;
		take = gpus;
	}
	beside = gpus_beside(reserving, request, n, gpus);
	if (beside < 0)
		return false;
	if (gpus - take > beside)
		take = gpus - beside;
	left = gpus - must_keep(reserving, request, n) - take;
	if (left < 0 || displaced < 0)
		return false;
	if (take - (unheld > 0 ? unheld : 0) > displaced)
		displaced = take - (unheld > 0 ? unheld : 0);
	batch_hosts = on_batch_host(reserving, request, n);
	yielding = yielded(reserving, n);
	*idle = (struct plx_idle_node){
		.node = n,
		.take = take,
		.parks = batch_hosts > left ? batch_hosts - left : 0,
		.leavers = leavers_at(reserving, request, n),
		.displace = displaced,
		.kept = displaced > yielding ? displaced - yielding : 0,
	};
	return true;
}

static int by_displacement(const void *a, const void *b)
{
	const struct plx_idle_node *x = a;
	const struct plx_idle_node *y = b;

	if (x->parks != y->parks)
		return x->parks - y->parks;
	if (x->leavers != y->leavers)
		return x->leavers - y->leavers;
	if (x->displace != y->displace)
		return x->displace - y->displace;
	if (x->kept != y->kept)
		return x->kept - y->kept;
	return x->node - y->node;
}

static bool is_there(const struct plx_search_job *e, int n)
{
	return e->job->batch_host == n || e->job->now[n] > 0;
}

int plx_idle_index(struct plx_reserving *reserving)
{
	const struct plx_search *search = reserving->search;
	int nodes = reserving->problem->node_count;
	int *first = calloc((size_t) nodes + 2, sizeof(*first));

	reserving->there_first = first;
	if (!first)
		return -1;
	/* Numbers first, two places on; then where the next one goes. */
	for (int j = 0; j < search->job_count; j++)
		for (int n = 0; n < nodes; n++)
			first[n + 2] += is_there(&search->jobs[j], n);
	for (int n = 0; n < nodes; n++)
		first[n + 2] += first[n + 1];
	reserving->there = calloc((size_t) first[nodes + 1] + 1, sizeof(int));
	if (!reserving->there)
		return -1;
	for (int j = 0; j < search->job_count; j++)
		for (int n = 0; n < nodes; n++)
			if (is_there(&search->jobs[j], n))
				reserving->there[first[n + 1]++] = j;
	return 0;
}

void plx_idle_survey(struct plx_reserving *reserving,
		     const struct plx_request *request)
{
	reserving->idle_count = 0;
	for (int n = 0; n < reserving->problem->node_count; n++) {
		if (node_idle(reserving, request, n,
			      &reserving->idle_nodes[reserving->idle_count]))
			reserving->idle_count++;
	}
	qsort(reserving->idle_nodes, (size_t) reserving->idle_count,
	      sizeof(*reserving->idle_nodes), by_displacement);
}
