/* SPDX-License-Identifier: MIT */
/*
 * room.c - keep GPUs back for jobs that wait for Slurm to start them
 *
 * A guess, then a proof: nodes are chosen where a request displaces least,
 * its GPUs are taken out, and the search's own repair says whether elastic
 * jobs can still have what they must. If not, the guess is taken back and
 * some other nodes are tried.
 */
#include <stdlib.h>
#include <string.h>

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

struct room {
	struct plx_problem *problem;
	struct plx_search *search;
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
	free(room->spares);
	free(room->gpus);
	free(room->parked);
	free(room->stuck);
}

static int room_init(struct room *room, struct plx_problem *problem,
		     struct plx_error *err)
{
	size_t nodes = (size_t) problem->node_count + 1;
	size_t jobs = (size_t) problem->job_count + 1;

	room->problem = problem;
	room->spares = calloc(nodes, sizeof(*room->spares));
	room->gpus = calloc(nodes, sizeof(*room->gpus));
	room->parked = calloc(jobs, sizeof(*room->parked));
	room->stuck = calloc(jobs, sizeof(*room->stuck));
	if (!room->spares || !room->gpus || !room->parked || !room->stuck)
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

/* Could the node serve the request? */
static bool node_spare(const struct room *room,
		       const struct plx_request *request, int n,
		       struct spare *spare)
{
	int gpus = room->problem->gpus[n];
	int take = request->gpus_per_node;
	int idle = gpus - held(room, n);
	int left;
	int homes;

	if ((request->allowed && !request->allowed[n]))
		return false;
	if (request->whole_nodes) {
		if (gpus != room->problem->gpus_total[n] || take > gpus ||
		    is_home(room, n))
			return false;
		take = gpus;
	}
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
static void settle(struct room *room)
{
	for (int j = 0; room->tight && j < room->search->job_count; j++) {
		if (room->search->jobs[j].at.count == 0)
			room->parked[j] = true;
	}
}

static bool serve(struct room *room, const struct plx_request *request)
{
	int guesses;

	if (request->nodes < 1)
		return false;
	if (request->gpus_per_node == 0 && !request->whole_nodes)
		return true;
	set_parking(room, request);
	survey(room, request);
	if (room->spare_count < request->nodes)
		return false;
	guesses = 1 + room->spare_count - request->nodes;
	guesses = guesses < GUESSES ? guesses : GUESSES;
	for (int guess = 0; guess < guesses; guess++) {
		if (try_guess(room, request, guess)) {
			settle(room);
			return true;
		}
	}
	return false;
}

static int check_request(const struct plx_request *request,
			 struct plx_error *err)
{
	if (request->nodes < 1 || request->gpus_per_node < 0)
		return plx_fail(err, "job %u wants %d GPUs on each of %d nodes",
				request->id, request->gpus_per_node,
				request->nodes);
	return 0;
}

int plx_room_reserve(struct plx_problem *problem,
		     const struct plx_request *requests, int count,
		     bool *granted, struct plx_error *err)
{
	struct room room = { 0 };
	int rc = -1;

	if (plx_problem_check(problem, err) < 0)
		goto done;
	for (int i = 0; i < count; i++) {
		if (check_request(&requests[i], err) < 0)
			goto done;
	}
	if (room_init(&room, problem, err) < 0)
		goto done;
	/* What is impossible already is nobody's fault here. */
	plx_search_repair(room.search);
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_elastic *e = &room.search->jobs[j];

		room.stuck[j] = e->stuck;
		room.parked[j] = e->at.count == 0;
		room.tight = room.tight || !plx_seat_equal(&e->at, &e->now);
	}
	for (int i = 0; i < count; i++)
		granted[i] = serve(&room, &requests[i]);
	rc = 0;
done:
	room_release(&room);
	return rc;
}
