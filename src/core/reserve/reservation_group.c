/* SPDX-License-Identifier: MIT */
/*
 * reservation_group.c - jobs that start together or not at all
 *
 * Reservations are made as if nobody were in a group. Where a group is not
 * served as a whole its requests are left out, and all is made anew from the
 * problem as it was: who comes behind gets what the group would have taken.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve/reservation.h"
#include "core/reserve/reservation_group.h"
#include "core/reserve/reservation_private.h"

/* After so many, all groups are left out that are not served. */
#define ROUNDS 4

struct groups {
	struct plx_problem *problem;
	const struct plx_request *requests;
	struct plx_grant *grants;
	int count;
	struct plx_kept_problem before;
	double *idle; /* [node_count] */
	/* Those that are not left out. */
	bool *left_out; /* [count] */
	struct plx_request *kept;
	struct plx_grant *kept_grants;
	int *from; /* [kept_count] index of the request */
	int kept_count;
};

static void release(struct groups *groups)
{
	plx_kept_problem_release(&groups->before);
	free(groups->idle);
	free(groups->left_out);
	free(groups->kept);
	free(groups->kept_grants);
	free(groups->from);
}

static int get_memory(struct groups *groups, struct plx_error *err)
{
	size_t count = (size_t) groups->count + 1;

	groups->idle = calloc((size_t) groups->problem->node_count + 1,
			      sizeof(double));
	groups->left_out = calloc(count, sizeof(bool));
	groups->kept = calloc(count, sizeof(*groups->kept));
	groups->kept_grants = calloc(count, sizeof(*groups->kept_grants));
	groups->from = calloc(count, sizeof(int));
	if (!groups->idle || !groups->left_out || !groups->kept ||
	    !groups->kept_grants || !groups->from ||
	    plx_kept_problem_init(&groups->before, groups->problem) < 0)
		return plx_fail(err, "no memory for groups of reservations");
	return 0;
}

static void clear_grant(const struct groups *groups, struct plx_grant *grant)
{
	size_t nodes = (size_t) groups->problem->node_count;

	if (grant->nodes)
		memset(grant->nodes, 0, nodes * sizeof(bool));
	if (grant->promised)
		memset(grant->promised, 0, nodes * sizeof(bool));
	*grant = (struct plx_grant){ .nodes = grant->nodes,
				     .promised = grant->promised,
				     .starts_s = INFINITY };
}

static int make(struct groups *groups, const struct plx_residual *residual,
		struct plx_error *err)
{
	groups->kept_count = 0;
	for (int i = 0; i < groups->count; i++) {
		int k = groups->kept_count;

		if (groups->left_out[i])
			continue;
		groups->kept[k] = groups->requests[i];
		groups->kept_grants[k] = groups->grants[i];
		groups->from[k] = i;
		groups->kept_count++;
	}
	if (plx_reservation_make(groups->problem, residual, groups->kept,
				 groups->kept_count, groups->kept_grants,
				 err) < 0)
		return -1;
	for (int k = 0; k < groups->kept_count; k++)
		groups->grants[groups->from[k]] = groups->kept_grants[k];
	return 0;
}

/* Of one job at most one request is granted. */
static int granted(const struct groups *groups, uint32_t group)
{
	int members = 0;

	for (int i = 0; i < groups->count; i++)
		members += groups->requests[i].group == group &&
			   groups->grants[i].granted;
	return members;
}

/* Is there an earlier request of the same job? Id 0 is no job's. */
static bool is_again(const struct groups *groups, int i)
{
	uint32_t id = groups->requests[i].id;

	for (int k = 0; id && k < i; k++) {
		if (groups->requests[k].id == id &&
		    groups->requests[k].group == groups->requests[i].group)
			return true;
	}
	return false;
}

/* Jobs of it that there are. */
static int members(const struct groups *groups, uint32_t group)
{
	int count = 0;

	for (int i = 0; i < groups->count; i++)
		count += groups->requests[i].group == group &&
			 !is_again(groups, i);
	return count;
}

static void leave_out(struct groups *groups, uint32_t group)
{
	for (int i = 0; i < groups->count; i++) {
		if (groups->requests[i].group == group)
			groups->left_out[i] = true;
	}
}

/* No round can serve these. */
static void leave_incomplete_out(struct groups *groups)
{
	for (int i = 0; i < groups->count; i++) {
		const struct plx_request *request = &groups->requests[i];

		if (request->group && !groups->left_out[i] &&
		    members(groups, request->group) != request->group_size)
			leave_out(groups, request->group);
		if (groups->left_out[i])
			clear_grant(groups, &groups->grants[i]);
	}
}

/*
 * The first group in turn that is not served as a whole: one behind it may be
 * served without it. All of them in the last round. None: false.
 */
static bool leave_any_out(struct groups *groups, bool all)
{
	bool any = false;

	for (int i = 0; i < groups->count && (all || !any); i++) {
		const struct plx_request *request = &groups->requests[i];

		if (!request->group || groups->left_out[i] ||
		    granted(groups, request->group) == request->group_size)
			continue;
		leave_out(groups, request->group);
		any = true;
	}
	return any;
}

/* GPUs of elastic jobs there. */
static int held(const struct plx_problem *problem, int n)
{
	int gpus = 0;

	for (int j = 0; j < problem->job_count; j++)
		gpus += problem->jobs[j].now[n];
	return gpus;
}

/* GPUs that nobody has on each node, and those whose epilog is not over. */
static bool fill_idle(const struct groups *groups,
		      const struct plx_residual *residual, double *idle)
{
	const struct plx_problem *problem = groups->problem;
	bool closing = false;

	for (int n = 0; n < problem->node_count; n++)
		idle[n] = fmax(problem->gpus[n] - held(problem, n), 0);
	for (int i = 0; i < residual->alloc_count; i++) {
		const struct plx_node_alloc *alloc = &residual->allocs[i];

		if (alloc->elastic || alloc->has.gpus <= 0 ||
		    alloc->ends_s > residual->together_s)
			continue;
		idle[alloc->node] += alloc->has.gpus;
		closing = true;
	}
	return closing;
}

/* Would the group have room on these, each member on enough nodes? */
static bool may_fit(const struct groups *groups, const double *idle,
		    uint32_t group)
{
	double left = 0;

	for (int n = 0; n < groups->problem->node_count; n++)
		left += idle[n];
	for (int i = 0; i < groups->count; i++) {
		const struct plx_request *request = &groups->requests[i];
		int nodes = 0;

		if (request->group != group || is_again(groups, i))
			continue;
		for (int n = 0; n < groups->problem->node_count; n++)
			nodes += (!request->allowed || request->allowed[n]) &&
				 idle[n] >= request->each.gpus;
		if (nodes < request->nodes)
			return false;
		left -= request->each.gpus * request->nodes;
	}
	return left >= 0;
}

/*
 * Some gave up GPUs for the group, and an epilog is not over: nobody grows onto
 * the others meanwhile, or it would begin anew each time.
 */
static void hold_idle(struct groups *groups,
		      const struct plx_residual *residual)
{
	struct plx_problem *problem = groups->problem;
	double *idle = groups->idle;

	if (!fill_idle(groups, residual, idle))
		return;
	for (int i = 0; i < groups->count; i++) {
		const struct plx_request *request = &groups->requests[i];
		uint32_t group = request->group;

		if (!group || !groups->left_out[i] ||
		    members(groups, group) != request->group_size ||
		    !may_fit(groups, idle, group))
			continue;
		for (int n = 0; n < problem->node_count; n++) {
			int has = held(problem, n);

			if ((!request->allowed || request->allowed[n]) &&
			    problem->gpus[n] > has)
				problem->gpus[n] = has;
		}
	}
}

int plx_reservation_make_groups(struct plx_problem *problem,
				const struct plx_residual *residual,
				const struct plx_request *requests, int count,
				struct plx_grant *grants, struct plx_error *err)
{
	struct groups groups = {
		.problem = problem,
		.requests = requests,
		.grants = grants,
		.count = count,
	};
	int rc = -1;

	if (get_memory(&groups, err) < 0)
		goto done;
	leave_incomplete_out(&groups);
	for (int round = 1; (rc = make(&groups, residual, err)) == 0; round++) {
		if (!leave_any_out(&groups, round >= ROUNDS))
			break;
		plx_kept_problem_restore(&groups.before);
		for (int i = 0; i < count; i++)
			clear_grant(&groups, &grants[i]);
	}
	if (rc == 0 && residual && residual->together_s > 0)
		hold_idle(&groups, residual);
done:
	release(&groups);
	return rc;
}
