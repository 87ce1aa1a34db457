/* SPDX-License-Identifier: MIT */
/* room_spare.c - which nodes could serve a job that waits, and at what price */

#include <stdlib.h>

#include "core/room_state.h"

bool plx_spare_leaves(const struct plx_request *request,
		      const struct plx_job *job, int index)
{
	return request->leaves && request->leaves[index] && !job->pinned;
}

/* At home there, and to stay? */
static bool lives(const struct plx_making *making,
		  const struct plx_request *request, int index, int n)
{
	const struct plx_job *job = &making->problem->jobs[index];

	return job->home == n &&
	       !(making->leaving && plx_spare_leaves(request, job, index));
}

/* What elastic jobs must keep on the node, at the very least. */
static int must_keep(const struct plx_making *making,
		     const struct plx_request *request, int n)
{
	int gpus = 0;

	for (int j = 0; j < making->search->job_count; j++) {
		const struct plx_elastic *e = &making->search->jobs[j];

		if (e->job->pinned || e->stuck)
			gpus += e->job->now[n];
		else if (!e->may_park && lives(making, request, e->index, n))
			gpus++;
	}
	return gpus;
}

/* Jobs at home on the node that may be parked, but need not be. */
static int at_home(const struct plx_making *making,
		   const struct plx_request *request, int n)
{
	int jobs = 0;

	for (int j = 0; j < making->search->job_count; j++) {
		const struct plx_elastic *e = &making->search->jobs[j];

		if (!e->job->pinned && !e->stuck && e->may_park &&
		    !making->parked[j] && e->now.count > 0 &&
		    lives(making, request, e->index, n))
			jobs++;
	}
	return jobs;
}

static int held(const struct plx_making *making, int n)
{
	int gpus = 0;

	for (int j = 0; j < making->problem->job_count; j++)
		gpus += making->problem->jobs[j].now[n];
	return gpus;
}

/* A parked job's batch script stays on its home. */
static bool is_home(const struct plx_making *making,
		    const struct plx_request *request, int n)
{
	for (int j = 0; j < making->problem->job_count; j++) {
		if (lives(making, request, j, n))
			return true;
	}
	return false;
}

/* Jobs at home there that would be asked to leave. */
static int leavers_at(const struct plx_making *making,
		      const struct plx_request *request, int n)
{
	int jobs = 0;

	for (int j = 0; j < making->problem->job_count; j++)
		jobs += making->problem->jobs[j].home == n &&
			!lives(making, request, j, n);
	return jobs;
}

/* Parked jobs, some for requests so far, that are at home on the node. */
static int parked_at(const struct plx_making *making,
		     const struct plx_request *request, int n)
{
	int jobs = 0;

	for (int j = 0; j < making->search->job_count; j++) {
		const struct plx_elastic *e = &making->search->jobs[j];

		jobs += lives(making, request, e->index, n) &&
			(making->parked[j] || e->now.count == 0);
	}
	return jobs;
}

/* GPUs for which elastic jobs find so much there, at most `most`. */
static int supplied(double left, double per_gpu, int most)
{
	if (left < 0)
		return -1;
	return per_gpu > 0 && left < per_gpu * most ? (int) (left / per_gpu)
						    : most;
}

/*
 * GPUs of the node that elastic jobs may have if the request is to find its
 * CPUs and memory there; negative: it cannot.
 */
static int gpus_beside(const struct plx_making *making,
		       const struct plx_request *request, int n, int most)
{
	const struct plx_rest *rest = making->rest;
	int parked = rest ? parked_at(making, request, n) : 0;

	if (rest && rest->cpus)
		most = supplied(rest->cpus[n] - making->given[n].cpus -
					request->cpus -
					parked * rest->home_cpus,
				rest->cpus_per_gpu[n], most);
	if (rest && rest->memory && most >= 0)
		most = supplied(rest->memory[n] - making->given[n].memory -
					request->memory -
					parked * rest->home_memory,
				rest->memory_per_gpu[n], most);
	return most;
}

/* Could the node serve the request? */
static bool node_spare(const struct plx_making *making,
		       const struct plx_request *request, int n,
		       struct plx_spare *spare)
{
	int gpus = making->problem->gpus[n];
	int take = request->gpus_per_node;
	int idle = gpus - held(making, n);
	int beside;
	int left;
	int homes;

	if ((request->allowed && !request->allowed[n]) ||
	    (making->calendar &&
	     !plx_calendar_open(making->calendar, request, n)))
		return false;
	if (request->whole_nodes) {
		if (gpus != making->problem->gpus_total[n] || take > gpus ||
		    is_home(making, request, n))
			return false;
		take = gpus;
	}
	beside = gpus_beside(making, request, n, gpus);
	if (beside < 0)
		return false;
	if (gpus - take > beside)
		take = gpus - beside;
	left = gpus - must_keep(making, request, n) - take;
	if (left < 0)
		return false;
	homes = at_home(making, request, n);
	*spare = (struct plx_spare){
		.node = n,
		.take = take,
		.parks = homes > left ? homes - left : 0,
		.leavers = leavers_at(making, request, n),
		.displace = take > idle ? take - (idle > 0 ? idle : 0) : 0,
	};
	return true;
}

static int by_displacement(const void *a, const void *b)
{
	const struct plx_spare *x = a;
	const struct plx_spare *y = b;

	if (x->parks != y->parks)
		return x->parks - y->parks;
	if (x->leavers != y->leavers)
		return x->leavers - y->leavers;
	if (x->displace != y->displace)
		return x->displace - y->displace;
	return x->node - y->node;
}

void plx_spare_survey(struct plx_making *making,
		      const struct plx_request *request)
{
	making->spare_count = 0;
	for (int n = 0; n < making->problem->node_count; n++) {
		if (node_spare(making, request, n,
			       &making->spares[making->spare_count]))
			making->spare_count++;
	}
	qsort(making->spares, (size_t) making->spare_count,
	      sizeof(*making->spares), by_displacement);
}
