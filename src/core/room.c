/* SPDX-License-Identifier: MIT */
/*
 * room.c - keep GPUs back for jobs that wait for Slurm to start them
 *
 * A guess, then a proof: nodes are chosen where a request displaces least,
 * its GPUs are taken out, and the search's own repair says whether elastic
 * jobs can still have what they must. If not, the guess is taken back and
 * some other nodes are tried.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/calendar.h"
#include "core/room.h"
#include "core/search.h"

#define GUESSES 8 /* sets of nodes tried for one request */

/* A node as the present request sees it. */
struct spare {
	int node;
	int take;     /* GPUs it would take */
	int parks;    /* jobs that would lose the GPU on their home */
	int displace; /* of those, how many elastic jobs have */
};

/* Of a node, besides GPUs. */
struct amount {
	double cpus, memory;
};

struct room {
	struct plx_problem *problem;
	const struct plx_rest *rest; /* NULL: only GPUs matter */
	struct plx_calendar *calendar;
	struct plx_search *search;
	struct amount *given; /* [node_count] to requests so far */
	int *woken;	      /* [node_count] GPUs for parked jobs */
	struct spare *spares; /* [node_count] */
	int spare_count;
	int *gpus;    /* [node_count] before the guess */
	bool *parked; /* [job_count], search order: so far, for granted ones */
	bool tight;   /* jobs have to move already */
	bool *stuck;  /* [job_count], search order: from the beginning */
};

static void room_release(struct room *room)
{
	plx_search_destroy(room->search);
	plx_calendar_destroy(room->calendar);
	free(room->given);
	free(room->woken);
	free(room->spares);
	free(room->gpus);
	free(room->parked);
	free(room->stuck);
}

static int room_init(struct room *room, struct plx_error *err)
{
	struct plx_problem *problem = room->problem;
	size_t nodes = (size_t) problem->node_count + 1;
	size_t jobs = (size_t) problem->job_count + 1;

	room->given = calloc(nodes, sizeof(*room->given));
	room->woken = calloc(nodes, sizeof(*room->woken));
	room->spares = calloc(nodes, sizeof(*room->spares));
	room->gpus = calloc(nodes, sizeof(*room->gpus));
	room->parked = calloc(jobs, sizeof(*room->parked));
	room->stuck = calloc(jobs, sizeof(*room->stuck));
	if (!room->given || !room->woken || !room->spares || !room->gpus ||
	    !room->parked || !room->stuck)
		return plx_fail(err, "no memory to make room");
	room->search = plx_search_create(problem, err);
	return room->search ? 0 : -1;
}

/* Who may be parked for this request, or already is for another one. */
static void set_parking(struct room *room, const struct plx_request *request)
{
	for (int j = 0; j < room->search->job_count; j++) {
		struct plx_elastic *e = &room->search->jobs[j];
		bool keeps = !request->keeps || request->keeps[e->index];

		e->may_park = (e->job->may_park && !keeps) ||
			      e->now.count == 0 || room->parked[j];
	}
}

/* What elastic jobs must keep on the node, at the very least. */
static int must_keep(const struct room *room, int n)
{
	int gpus = 0;

	for (int j = 0; j < room->search->job_count; j++) {
		const struct plx_elastic *e = &room->search->jobs[j];

		if (e->job->pinned || e->stuck)
			gpus += e->job->now[n];
		else if (!e->may_park && e->job->home == n)
			gpus++;
	}
	return gpus;
}

/* Jobs at home on the node that may be parked, but need not be. */
static int at_home(const struct room *room, int n)
{
	int jobs = 0;

	for (int j = 0; j < room->search->job_count; j++) {
		const struct plx_elastic *e = &room->search->jobs[j];

		if (!e->job->pinned && !e->stuck && e->may_park &&
		    !room->parked[j] && e->now.count > 0 && e->job->home == n)
			jobs++;
	}
	return jobs;
}

static int held(const struct room *room, int n)
{
	int gpus = 0;

	for (int j = 0; j < room->problem->job_count; j++)
		gpus += room->problem->jobs[j].now[n];
	return gpus;
}

/* A parked job's batch script stays on its home. */
static bool is_home(const struct room *room, int n)
{
	for (int j = 0; j < room->problem->job_count; j++) {
		if (room->problem->jobs[j].home == n)
			return true;
	}
	return false;
}

/* Parked jobs, some for requests so far, that are at home on the node. */
static int parked_at(const struct room *room, int n)
{
	int jobs = 0;

	for (int j = 0; j < room->search->job_count; j++) {
		const struct plx_elastic *e = &room->search->jobs[j];

		jobs += e->job->home == n &&
			(room->parked[j] || e->now.count == 0);
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
static int gpus_beside(const struct room *room,
		       const struct plx_request *request, int n, int most)
{
	const struct plx_rest *rest = room->rest;
	int parked = rest ? parked_at(room, n) : 0;

	if (rest && rest->cpus)
		most = supplied(rest->cpus[n] - room->given[n].cpus -
					request->cpus -
					parked * rest->home_cpus,
				rest->cpus_per_gpu[n], most);
	if (rest && rest->memory && most >= 0)
		most = supplied(rest->memory[n] - room->given[n].memory -
					request->memory -
					parked * rest->home_memory,
				rest->memory_per_gpu[n], most);
	return most;
}

/* Could the node serve the request? */
static bool node_spare(const struct room *room,
		       const struct plx_request *request, int n,
		       struct spare *spare)
{
	int gpus = room->problem->gpus[n];
	int take = request->gpus_per_node;
	int idle = gpus - held(room, n);
	int beside;
	int left;
	int homes;

	if ((request->allowed && !request->allowed[n]) ||
	    (room->calendar && !plx_calendar_open(room->calendar, request, n)))
		return false;
	if (request->whole_nodes) {
		if (gpus != room->problem->gpus_total[n] || take > gpus ||
		    is_home(room, n))
			return false;
		take = gpus;
	}
	beside = gpus_beside(room, request, n, gpus);
	if (beside < 0)
		return false;
	if (gpus - take > beside)
		take = gpus - beside;
	left = gpus - must_keep(room, n) - take;
	if (left < 0)
		return false;
	homes = at_home(room, n);
	*spare = (struct spare){
		.node = n,
		.take = take,
		.parks = homes > left ? homes - left : 0,
		.displace = take > idle ? take - (idle > 0 ? idle : 0) : 0,
	};
	return true;
}

static int by_displacement(const void *a, const void *b)
{
	const struct spare *x = a;
	const struct spare *y = b;

	if (x->parks != y->parks)
		return x->parks - y->parks;
	if (x->displace != y->displace)
		return x->displace - y->displace;
	return x->node - y->node;
}

static void survey(struct room *room, const struct plx_request *request)
{
	room->spare_count = 0;
	for (int n = 0; n < room->problem->node_count; n++) {
		if (node_spare(room, request, n,
			       &room->spares[room->spare_count]))
			room->spare_count++;
	}
	qsort(room->spares, (size_t) room->spare_count, sizeof(*room->spares),
	      by_displacement);
}

/* Stuck are those that were so from the beginning; their number. */
static int reset_stuck(struct room *room)
{
	int stuck = 0;

	for (int j = 0; j < room->search->job_count; j++) {
		room->search->jobs[j].stuck = room->stuck[j];
		stuck += room->stuck[j];
	}
	return stuck;
}

/* Is there a plan that leaves all elastic jobs what they must have? */
static bool feasible(struct room *room)
{
	int after = plx_search_repair(room->search);

	return after <= reset_stuck(room);
}

/* The nodes of a guess: the first ones, then a window that slides on. */
static const struct spare *guessed(const struct room *room, int guess, int i)
{
	return &room->spares[(guess + i) % room->spare_count];
}

static bool try_guess(struct room *room, const struct plx_request *request,
		      int guess)
{
	int *gpus = room->problem->gpus;
	size_t size = (size_t) room->problem->node_count * sizeof(*gpus);
	bool tight = room->tight;
	int displaced = 0;

	memcpy(room->gpus, gpus, size);
	for (int i = 0; i < request->nodes; i++) {
		const struct spare *spare = guessed(room, guess, i);

		gpus[spare->node] -= spare->take;
		displaced += spare->displace;
	}
	/* Once jobs have to move, they may need what is idle. */
	room->tight = room->tight || displaced > 0;
	if (!room->tight || feasible(room))
		return true;
	room->tight = tight;
	memcpy(gpus, room->gpus, size);
	return false;
}

/* Remember what the grant did. */
static void settle(struct room *room, const struct plx_request *request,
		   int guess, struct plx_grant *grant)
{
	for (int i = 0; i < request->nodes; i++) {
		const struct spare *spare = guessed(room, guess, i);
		struct amount *given = &room->given[spare->node];

		given->cpus += request->cpus;
		given->memory += request->memory;
		grant->displaces = grant->displaces || spare->displace > 0;
		if (grant->nodes)
			grant->nodes[spare->node] = true;
		if (request->wakes)
			room->woken[spare->node] += spare->take;
		else if (room->calendar)
			plx_calendar_start(room->calendar, request, spare->node,
					   spare->take);
	}
	for (int j = 0; room->tight && j < room->search->job_count; j++) {
		if (room->search->jobs[j].at.count == 0)
			room->parked[j] = true;
	}
}

/* Room now? */
static bool serve(struct room *room, const struct plx_request *request,
		  struct plx_grant *grant)
{
	int guesses;

	set_parking(room, request);
	survey(room, request);
	if (room->spare_count < request->nodes)
		return false;
	guesses = 1 + room->spare_count - request->nodes;
	guesses = guesses < GUESSES ? guesses : GUESSES;
	for (int guess = 0; guess < guesses; guess++) {
		if (try_guess(room, request, guess)) {
			settle(room, request, guess, grant);
			return true;
		}
	}
	return false;
}

static bool needs_room(const struct plx_request *request)
{
	return request->gpus_per_node > 0 || request->whole_nodes ||
	       request->cpus > 0 || request->memory > 0;
}

static void answer(struct room *room, const struct plx_request *request,
		   struct plx_grant *grant)
{
	grant->granted = !needs_room(request) || serve(room, request, grant);
	if (grant->granted)
		grant->starts_s = 0;
	else if (room->calendar && !request->wakes)
		grant->starts_s = plx_calendar_promise(room->calendar, request);
}

/* The same job, which another partition would take. */
static bool served_already(const struct plx_request *requests,
			   const struct plx_grant *grants, int i)
{
	for (int k = 0; k < i; k++) {
		if (requests[i].id && requests[k].id == requests[i].id &&
		    grants[k].granted)
			return true;
	}
	return false;
}

static int check_request(const struct plx_request *request,
			 struct plx_error *err)
{
	if (request->nodes < 1 || request->gpus_per_node < 0 ||
	    !(request->cpus >= 0) || !(request->memory >= 0) ||
	    !(request->seconds >= 0))
		return plx_fail(err, "job %u wants %d GPUs on each of %d nodes",
				request->id, request->gpus_per_node,
				request->nodes);
	return 0;
}

/* What is impossible already is nobody's fault here. */
static void begin(struct room *room)
{
	plx_search_repair(room->search);
	for (int j = 0; j < room->search->job_count; j++) {
		const struct plx_elastic *e = &room->search->jobs[j];

		room->stuck[j] = e->stuck;
		room->parked[j] = e->at.count == 0;
		room->tight = room->tight || !plx_seat_equal(&e->at, &e->now);
	}
}

static void serve_all(struct room *room, const struct plx_request *requests,
		      int count, struct plx_grant *grants)
{
	for (int i = 0; i < count; i++) {
		grants[i] = (struct plx_grant){ .nodes = grants[i].nodes,
						.starts_s = INFINITY };
		if (!served_already(requests, grants, i))
			answer(room, &requests[i], &grants[i]);
	}
	for (int n = 0; n < room->problem->node_count; n++)
		room->problem->gpus[n] += room->woken[n];
}

int plx_room_reserve(struct plx_problem *problem, const struct plx_rest *rest,
		     const struct plx_request *requests, int count,
		     struct plx_grant *grants, struct plx_error *err)
{
	struct room room = { .problem = problem, .rest = rest };
	int rc = -1;

	if (plx_problem_check(problem, err) < 0)
		goto done;
	for (int i = 0; i < count; i++) {
		if (check_request(&requests[i], err) < 0)
			goto done;
	}
	if (room_init(&room, err) < 0)
		goto done;
	if (rest) {
		room.calendar = plx_calendar_create(problem, rest, requests,
						    count, err);
		if (!room.calendar)
			goto done;
	}
	begin(&room);
	serve_all(&room, requests, count, grants);
	rc = 0;
done:
	room_release(&room);
	return rc;
}
