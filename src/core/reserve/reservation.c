/* SPDX-License-Identifier: MIT */
/*
 * reservation.c - keep GPUs back for jobs that wait for Slurm to start them
 *
 * A guess, then a proof: nodes are chosen where a request displaces least,
 * its GPUs are taken out, and the search's own repair says whether elastic
 * jobs can still have what they must. If not, the guess is taken back and
 * some other nodes are tried.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve/timeline.h"
#include "core/reserve/reservation.h"
#include "core/reserve/reservation_private.h"
#include "core/search/search.h"

#define GUESSES 8 /* sets of nodes tried for one request */

enum outcome {
	IMPOSSIBLE,
	AT_A_LOSS, /* possible if somebody is left without a GPU */
	TAKEN,
};

/* What elastic jobs may be asked for beside GPUs. */
struct way {
	bool leaving; /* to leave their batch host, as a whole */
	bool parks;   /* to have no GPU, where they yield */
};

/* There may be none: then `from` may be NULL. */
static void copy(void *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
}

int plx_kept_problem_init(struct plx_kept_problem *kept,
			  struct plx_problem *problem)
{
	*kept = (struct plx_kept_problem){
		.problem = problem,
		.gpus = calloc((size_t) problem->node_count + 1, sizeof(int)),
		.consumables = calloc(plx_consumable_size(problem) + 1,
				      sizeof(double)),
		.batch_hosts =
			calloc((size_t) problem->job_count + 1, sizeof(int)),
	};
	if (!kept->gpus || !kept->consumables || !kept->batch_hosts)
		return -1;
	plx_kept_problem_take(kept);
	return 0;
}

void plx_kept_problem_take(struct plx_kept_problem *kept)
{
	const struct plx_problem *problem = kept->problem;

	copy(kept->gpus, problem->gpus,
	     (size_t) problem->node_count * sizeof(int));
	copy(kept->consumables, problem->consumables,
	     plx_consumable_size(problem) * sizeof(double));
	for (int j = 0; j < problem->job_count; j++)
		kept->batch_hosts[j] = problem->jobs[j].batch_host;
}

void plx_kept_problem_restore(const struct plx_kept_problem *kept)
{
	struct plx_problem *problem = kept->problem;

	copy(problem->gpus, kept->gpus,
	     (size_t) problem->node_count * sizeof(int));
	copy(problem->consumables, kept->consumables,
	     plx_consumable_size(problem) * sizeof(double));
	for (int j = 0; j < problem->job_count; j++)
		problem->jobs[j].batch_host = kept->batch_hosts[j];
}

void plx_kept_problem_release(struct plx_kept_problem *kept)
{
	free(kept->gpus);
	free(kept->consumables);
	free(kept->batch_hosts);
}

static void reserving_release(struct plx_reserving *reserving)
{
	plx_search_destroy(reserving->search);
	plx_timeline_destroy(reserving->timeline);
	free(reserving->given);
	free(reserving->grouped);
	free(reserving->woken);
	free(reserving->idle_nodes);
	free(reserving->woken_consumables);
	plx_kept_problem_release(&reserving->before);
	free(reserving->parked);
	free(reserving->pools);
	free(reserving->stuck);
	free(reserving->there);
	free(reserving->there_first);
}

static int reserving_init(struct plx_reserving *reserving,
			  struct plx_error *err)
{
	struct plx_problem *problem = reserving->problem;
	size_t nodes = (size_t) problem->node_count + 1;
	size_t jobs = (size_t) problem->job_count + 1;
	size_t consumables = plx_consumable_size(problem) + 1;
	size_t pools = reserving->residual
			       ? (size_t) reserving->residual->pool_count
			       : 0;

	reserving->given = calloc(nodes, sizeof(*reserving->given));
	reserving->grouped = calloc(nodes, sizeof(*reserving->grouped));
	reserving->woken = calloc(nodes, sizeof(*reserving->woken));
	reserving->idle_nodes = calloc(nodes, sizeof(*reserving->idle_nodes));
	reserving->woken_consumables =
		calloc(consumables, sizeof(*reserving->woken_consumables));
	reserving->parked = calloc(jobs, sizeof(*reserving->parked));
	reserving->stuck = calloc(jobs, sizeof(*reserving->stuck));
	reserving->pools = calloc(pools + 1, sizeof(*reserving->pools));
	if (!reserving->given || !reserving->grouped || !reserving->woken ||
	    !reserving->idle_nodes || !reserving->woken_consumables ||
	    !reserving->parked || !reserving->stuck || !reserving->pools ||
	    plx_kept_problem_init(&reserving->before, problem) < 0)
		return plx_fail(err, "no memory for reservations");
	for (size_t i = 0; i < pools; i++)
		reserving->pools[i] = reserving->residual->pools[i];
	reserving->search = plx_search_create(problem, err);
	if (!reserving->search)
		return -1;
	return plx_idle_index(reserving) == 0
		       ? 0
		       : plx_fail(err, "no memory for reservations");
}

/* Who may be parked for this request, or already is for another one. */
static void set_parking(struct plx_reserving *reserving,
			const struct plx_request *request)
{
	for (int j = 0; j < reserving->search->job_count; j++) {
		struct plx_search_job *e = &reserving->search->jobs[j];
		bool keeps = !request->keeps || request->keeps[e->index];

		e->may_park = (e->job->may_park && !keeps) ||
			      e->now.count == 0 || reserving->parked[j];
	}
}

/* Stuck are those that were so from the beginning; their number. */
static int reset_stuck(struct plx_reserving *reserving)
{
	int stuck = 0;

	for (int j = 0; j < reserving->search->job_count; j++) {
		reserving->search->jobs[j].stuck = reserving->stuck[j];
		stuck += reserving->stuck[j];
	}
	return stuck;
}

/* Is there a plan that leaves all elastic jobs what they must have? */
static bool feasible(struct plx_reserving *reserving)
{
	int after = plx_search_repair(reserving->search);

	return after <= reset_stuck(reserving);
}

/* The nodes of a guess: the first ones, then a window that slides on. */
static const struct plx_idle_node *guessed(
	const struct plx_reserving *reserving, int guess, int i)
{
	return &reserving->idle_nodes[(guess + i) % reserving->idle_count];
}

static bool is_guessed(const struct plx_reserving *reserving,
		       const struct plx_request *request, int guess, int n)
{
	for (int i = 0; i < request->nodes; i++) {
		if (guessed(reserving, guess, i)->node == n)
			return true;
	}
	return false;
}

/* Who lives on nodes of the guess and may leave need not stay; their number. */
static int free_leavers(struct plx_reserving *reserving,
			const struct plx_request *request, int guess)
{
	int leavers = 0;

	for (int j = 0; j < reserving->problem->job_count; j++) {
		struct plx_job *job = &reserving->problem->jobs[j];

		if (!reserving->leaving || job->batch_host < 0 ||
		    !plx_idle_leaves(request, job, j) ||
		    !is_guessed(reserving, request, guess, job->batch_host))
			continue;
		job->batch_host = -1;
		leavers++;
	}
	return leavers;
}

static bool sits_on(const struct plx_placement *placement, int n)
{
	for (int i = 0; i < placement->count; i++) {
		if (placement->slots[i].node == n)
			return true;
	}
	return false;
}

/* Who could leave and need not stays where it is. */
static void stay_on_batch_host(struct plx_reserving *reserving)
{
	for (int j = 0; j < reserving->search->job_count; j++) {
		const struct plx_search_job *e = &reserving->search->jobs[j];
		int batch_host = reserving->before.batch_hosts[e->index];

		if (batch_host >= 0 && sits_on(&e->at, batch_host))
			reserving->problem->jobs[e->index].batch_host =
				batch_host;
	}
}

/* Jobs that would lose all they have, after a repair. */
static int losers(const struct plx_reserving *reserving)
{
	int jobs = 0;

	for (int j = 0; j < reserving->search->job_count; j++)
		jobs += reserving->search->jobs[j].at.count == 0 &&
			!reserving->parked[j];
	return jobs;
}

/* Of the node, for the request. */
static void take(struct plx_reserving *reserving,
		 const struct plx_request *request,
		 const struct plx_idle_node *idle)
{
	struct plx_problem *problem = reserving->problem;
	size_t kinds = (size_t) problem->consumable_kinds;
	size_t first = (size_t) idle->node * kinds;

	problem->gpus[idle->node] -= idle->take;
	for (size_t k = 0; request->demand && k < kinds; k++)
		problem->consumables[first + k] -= request->demand[k];
}

static enum outcome try_guess(struct plx_reserving *reserving,
			      const struct plx_request *request, int guess,
			      bool parks)
{
	bool tight = reserving->tight;
	int displaced = 0;
	enum outcome outcome = IMPOSSIBLE;

	plx_kept_problem_take(&reserving->before);
	displaced = free_leavers(reserving, request, guess);
	for (int i = 0; i < request->nodes; i++) {
		const struct plx_idle_node *idle = guessed(reserving, guess, i);

		take(reserving, request, idle);
		displaced += idle->displace;
	}
	/* Once jobs have to move, they may need what is idle. */
	reserving->tight = reserving->tight || displaced > 0;
	if (!reserving->tight)
		return TAKEN;
	if ((request->effort != PLX_EFFORT_IDLE || !displaced) &&
	    feasible(reserving))
		outcome = parks || losers(reserving) == 0 ? TAKEN : AT_A_LOSS;
	if (outcome == TAKEN) {
		stay_on_batch_host(reserving);
		return TAKEN;
	}
	reserving->tight = tight;
	plx_kept_problem_restore(&reserving->before);
	return outcome;
}

/* A parked job takes part in the search, which gives it its GPUs. */
static void count_woken(struct plx_reserving *reserving,
			const struct plx_request *request,
			const struct plx_idle_node *idle)
{
	size_t kinds = (size_t) reserving->problem->consumable_kinds;
	size_t first = (size_t) idle->node * kinds;

	reserving->woken[idle->node] += idle->take;
	for (size_t k = 0; request->demand && k < kinds; k++)
		reserving->woken_consumables[first + k] += request->demand[k];
}

/* Remember what the grant did. */
static void settle(struct plx_reserving *reserving,
		   const struct plx_request *request, int guess,
		   struct plx_grant *grant)
{
	for (int i = 0; i < request->nodes; i++) {
		const struct plx_idle_node *idle = guessed(reserving, guess, i);

		plx_resources_add(&reserving->given[idle->node], &request->each,
				  1);
		if (request->group)
			reserving->grouped[idle->node] = true;
		grant->displaces = grant->displaces || idle->displace > 0 ||
				   idle->leavers > 0;
		if (grant->nodes)
			grant->nodes[idle->node] = true;
		if (request->wakes)
			count_woken(reserving, request, idle);
		if (reserving->timeline)
			plx_timeline_start(reserving->timeline, request,
					   idle->node, idle->take);
	}
	for (int j = 0; reserving->tight && j < reserving->search->job_count;
	     j++) {
		if (reserving->search->jobs[j].at.count == 0)
			reserving->parked[j] = true;
	}
}

/* Room now, in this way? AT_A_LOSS: only by parking somebody. */
static enum outcome serve_so(struct plx_reserving *reserving,
			     const struct plx_request *request,
			     const struct way *way, struct plx_grant *grant)
{
	enum outcome best = IMPOSSIBLE;
	int guesses = 0;

	reserving->leaving = way->leaving;
	plx_idle_survey(reserving, request);
	if (reserving->idle_count < request->nodes)
		return IMPOSSIBLE;
	guesses = 1 + reserving->idle_count - request->nodes;
	guesses = guesses < GUESSES ? guesses : GUESSES;
	for (int guess = 0; guess < guesses; guess++) {
		enum outcome outcome =
			try_guess(reserving, request, guess, way->parks);

		if (outcome == TAKEN) {
			settle(reserving, request, guess, grant);
			return TAKEN;
		}
		best = outcome > best ? outcome : best;
	}
	return best;
}

/* Room now? */
static bool serve(struct plx_reserving *reserving,
		  const struct plx_request *request, struct plx_grant *grant)
{
	/* Shrink; go elsewhere; be parked on the batch host; wait in the queue.
	 */
	static const struct way ways[] = {
		{ .leaving = false, .parks = false },
		{ .leaving = true, .parks = false },
		{ .leaving = false, .parks = true },
		{ .leaving = true, .parks = true },
	};
	/* Of ways without parking, by leaving: what came of it. */
	enum outcome outcome[2] = { AT_A_LOSS, AT_A_LOSS };

	set_parking(reserving, request);
	for (int i = 0; i < 4; i++) {
		const struct way *way = &ways[i];

		if (way->leaving && !request->leaves)
			continue;
		if (request->effort == PLX_EFFORT_IDLE && i > 0)
			break;
		if (request->effort == PLX_EFFORT_SHRINK && way->parks)
			break;
		if (way->parks && outcome[way->leaving] == IMPOSSIBLE)
			continue;
		outcome[way->leaving] =
			serve_so(reserving, request, way, grant);
		if (outcome[way->leaving] == TAKEN)
			return true;
	}
	return false;
}

static bool needs_resources(const struct plx_request *request)
{
	static const struct plx_resources none;

	return request->whole_nodes ||
	       !plx_resources_fit(&request->each, &none);
}

/* Is it to be told when it could start? */
static bool may_promise(const struct plx_reserving *reserving,
			const struct plx_request *request, bool promised)
{
	return reserving->timeline && !request->wakes && !request->tentative &&
	       !(request->once && promised);
}

static int pool_count(const struct plx_reserving *reserving,
		      const struct plx_request *request)
{
	return reserving->residual && request->draws
		       ? reserving->residual->pool_count
		       : 0;
}

static bool may_draw(const struct plx_reserving *reserving,
		     const struct plx_request *request)
{
	for (int i = 0; i < pool_count(reserving, request); i++) {
		if (request->draws[i] > 0 &&
		    request->draws[i] > reserving->pools[i])
			return false;
	}
	return true;
}

/* As far as there is anything. */
static void draw(struct plx_reserving *reserving,
		 const struct plx_request *request)
{
	for (int i = 0; i < pool_count(reserving, request); i++)
		reserving->pools[i] =
			fmax(reserving->pools[i] - request->draws[i], 0);
}

/*
 * A parked job that cannot come back yet is to have its GPUs on the first of
 * its nodes: those behind it are promised none of these.
 */
static void expect_back(struct plx_reserving *reserving,
			const struct plx_request *request)
{
	int n = 0;

	if (!reserving->timeline)
		return;
	while (n < reserving->problem->node_count && request->allowed &&
	       !request->allowed[n])
		n++;
	if (n < reserving->problem->node_count)
		plx_timeline_start(reserving->timeline, request, n,
				   (int) request->each.gpus);
}

static void answer(struct plx_reserving *reserving,
		   const struct plx_request *request, bool promised,
		   struct plx_grant *grant)
{
	grant->lacks = !may_draw(reserving, request);
	grant->granted = !grant->lacks && (!needs_resources(request) ||
					   serve(reserving, request, grant));
	grant->gpus = grant->granted ? (int) request->each.gpus : 0;
	if (grant->granted) {
		grant->starts_s = 0;
		draw(reserving, request);
	} else if (request->wakes) {
		if (!promised)
			expect_back(reserving, request);
	} else if (!grant->lacks && may_promise(reserving, request, promised)) {
		grant->starts_s = plx_timeline_promise(
			reserving->timeline, request, grant->promised);
	}
}

/* Is it the last that comes of a job that is not served? */
static bool waits_on(const struct plx_request *requests, int count,
		     const struct plx_grant *grants, int i)
{
	bool waits = !grants[i].granted && !requests[i].wakes &&
		     !requests[i].tentative;

	for (int k = 0; requests[i].id && k < count && waits; k++) {
		if (k != i && requests[k].id == requests[i].id)
			waits = k < i && !grants[k].granted;
	}
	return waits;
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

/* The same, later; a parked job is expected back once. */
static bool promised_already(const struct plx_request *requests,
			     const struct plx_grant *grants, int i)
{
	for (int k = 0; k < i; k++) {
		if (requests[i].id && requests[k].id == requests[i].id &&
		    (requests[k].wakes || isfinite(grants[k].starts_s)))
			return true;
	}
	return false;
}

static int check_request(const struct plx_request *request,
			 struct plx_error *err)
{
	static const struct plx_resources none;

	if (request->nodes < 1 || !plx_resources_fit(&none, &request->each) ||
	    request->each.gpus > INT_MAX || !(request->seconds >= 0))
		return plx_fail(err, "job %u wants %g GPUs on each of %d nodes",
				request->id, request->each.gpus,
				request->nodes);
	return 0;
}

/* What is impossible already is nobody's fault here. */
static void begin(struct plx_reserving *reserving)
{
	plx_search_repair(reserving->search);
	for (int j = 0; j < reserving->search->job_count; j++) {
		const struct plx_search_job *e = &reserving->search->jobs[j];

		reserving->stuck[j] = e->stuck;
		reserving->parked[j] = e->at.count == 0;
		reserving->tight = reserving->tight ||
				   !plx_placement_equal(&e->at, &e->now);
	}
}

/*
 * Nobody grows onto what is somebody's in a moment; who has to move may need
 * it all the same.
 */
static void keep_idle(struct plx_reserving *reserving)
{
	struct plx_problem *problem = reserving->problem;
	int lost = 0;

	if (!reserving->timeline || reserving->residual->soon_s <= 0)
		return;
	plx_kept_problem_take(&reserving->before);
	if (reserving->tight && feasible(reserving))
		lost = losers(reserving);
	for (int n = 0; n < problem->node_count; n++) {
		int held = plx_idle_held(reserving, n);

		if (plx_timeline_soon(reserving->timeline, n) &&
		    problem->gpus[n] > held)
			problem->gpus[n] = held;
	}
	if (reserving->tight &&
	    (!feasible(reserving) || losers(reserving) > lost))
		plx_kept_problem_restore(&reserving->before);
}

static void serve_all(struct plx_reserving *reserving,
		      const struct plx_request *requests, int count,
		      struct plx_grant *grants)
{
	for (int i = 0; i < count; i++) {
		grants[i] = (struct plx_grant){ .nodes = grants[i].nodes,
						.promised = grants[i].promised,
						.starts_s = INFINITY };
		if (!served_already(requests, grants, i))
			answer(reserving, &requests[i],
			       promised_already(requests, grants, i),
			       &grants[i]);
		if (reserving->residual && reserving->residual->pools_wait &&
		    waits_on(requests, count, grants, i))
			draw(reserving, &requests[i]);
	}
	keep_idle(reserving);
	for (int n = 0; n < reserving->problem->node_count; n++)
		reserving->problem->gpus[n] += reserving->woken[n];
	for (size_t i = 0; i < plx_consumable_size(reserving->problem); i++)
		reserving->problem->consumables[i] +=
			reserving->woken_consumables[i];
}

int plx_reservation_make(struct plx_problem *problem,
			 const struct plx_residual *residual,
			 const struct plx_request *requests, int count,
			 struct plx_grant *grants, struct plx_error *err)
{
	struct plx_reserving reserving = { .problem = problem,
					   .residual = residual };
	int rc = -1;

	if (plx_problem_check(problem, err) < 0)
		goto done;
	for (int i = 0; i < count; i++) {
		if (check_request(&requests[i], err) < 0)
			goto done;
	}
	if (reserving_init(&reserving, err) < 0)
		goto done;
	if (residual) {
		reserving.timeline = plx_timeline_create(problem, residual,
							 requests, count, err);
		if (!reserving.timeline)
			goto done;
	}
	begin(&reserving);
	serve_all(&reserving, requests, count, grants);
	rc = 0;
done:
	reserving_release(&reserving);
	return rc;
}
