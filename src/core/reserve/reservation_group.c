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
	double *idle; /* [node_count] GPUs */
	int *held;    /* the same, of elastic jobs */
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
	free(groups->held);
	free(groups->left_out);
	free(groups->kept);
	free(groups->kept_grants);
	free(groups->from);
}

static int get_memory(struct groups *groups, struct plx_error *err)
{
	size_t count = (size_t) groups->count + 1;
	size_t nodes = (size_t) groups->problem->node_count + 1;

	groups->idle = calloc(nodes, sizeof(*groups->idle));
	groups->held = calloc(nodes, sizeof(*groups->held));
	groups->left_out = calloc(count, sizeof(bool));
	groups->kept = calloc(count, sizeof(*groups->kept));
	groups->kept_grants = calloc(count, sizeof(*groups->kept_grants));
	groups->from = calloc(count, sizeof(int));
	if (!groups->idle || !groups->held || !groups->left_out ||
	    !groups->kept || !groups->kept_grants || !groups->from ||
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

/* GPUs of elastic jobs on each node. */
static void fill_held(const struct plx_problem *problem, int *held)
{
	memset(held, 0, (size_t) problem->node_count * sizeof(*held));
	for (int j = 0; j < problem->job_count; j++) {
		for (int n = 0; n < problem->node_count; n++)
			held[n] += problem->jobs[j].now[n];
	}
}

/* The alloc is what an epilog gives back in a moment. */
static bool is_closing(const struct plx_node_alloc *alloc,
		       const struct plx_residual *residual)
{
	return !alloc->elastic && alloc->has.gpus > 0 &&
	       alloc->ends_s <= residual->together_s;
}

static bool any_closes(const struct plx_residual *residual)
{
	for (int i = 0; i < residual->alloc_count; i++) {
		if (is_closing(&residual->allocs[i], residual))
			return true;
	}
	return false;
}

/* GPUs of each node that nobody has; with those that epilogs give back. */
static void fill_idle(struct groups *groups,
		      const struct plx_residual *residual, bool closing)
{
	const struct plx_problem *problem = groups->problem;

	for (int n = 0; n < problem->node_count; n++)
		groups->idle[n] = fmax(problem->gpus[n] - groups->held[n], 0);
	for (int i = 0; i < residual->alloc_count && closing; i++) {
		const struct plx_node_alloc *alloc = &residual->allocs[i];

		if (is_closing(alloc, residual))
			groups->idle[alloc->node] += alloc->has.gpus;
	}
}

/* The widest member that comes after `last`; -1: there is none. */
static int next_widest(const struct groups *groups, uint32_t group, int last)
{
	const struct plx_request *all = groups->requests;
	int best = -1;

	for (int i = 0; i < groups->count; i++) {
		double gpus = all[i].each.gpus;

		if (all[i].group != group || is_again(groups, i) ||
		    (last >= 0 && (gpus > all[last].each.gpus ||
				   (gpus == all[last].each.gpus && i <= last))))
			continue;
		if (best < 0 || gpus > all[best].each.gpus)
			best = i;
	}
	return best;
}

/* Each member on nodes of its own; takes these out of idle[]. */
static bool has_places(struct groups *groups, uint32_t group)
{
	for (int i = next_widest(groups, group, -1); i >= 0;
	     i = next_widest(groups, group, i)) {
		const struct plx_request *request = &groups->requests[i];
		int nodes = 0;

		for (int n = 0;
		     n < groups->problem->node_count && nodes < request->nodes;
		     n++) {
			if ((request->allowed && !request->allowed[n]) ||
			    groups->idle[n] < request->each.gpus)
				continue;
			groups->idle[n] = -1;
			nodes++;
		}
		if (nodes < request->nodes)
			return false;
	}
	return true;
}

/* Does it lack just what epilogs give back? Else nothing is worth waiting for.
 */
static bool is_close(struct groups *groups, const struct plx_residual *residual,
		     uint32_t group)
{
	fill_idle(groups, residual, false);
	if (has_places(groups, group))
		return false;
	fill_idle(groups, residual, true);
	return has_places(groups, group);
}

/* Is it the first request of a group that is left out, and all there? */
static bool leads_left_out(const struct groups *groups, int i)
{
	uint32_t group = groups->requests[i].group;

	if (!group || !groups->left_out[i] ||
	    members(groups, group) != groups->requests[i].group_size)
		return false;
	for (int k = 0; k < i; k++) {
		if (groups->requests[k].group == group)
			return false;
	}
	return true;
}

/* Nobody grows onto what is idle of nodes that a member may have. */
static void hold_nodes(struct groups *groups, uint32_t group)
{
	struct plx_problem *problem = groups->problem;

	for (int i = 0; i < groups->count; i++) {
		const struct plx_request *request = &groups->requests[i];

		for (int n = 0;
		     request->group == group && n < problem->node_count; n++) {
			if ((!request->allowed || request->allowed[n]) &&
			    problem->gpus[n] > groups->held[n])
				problem->gpus[n] = groups->held[n];
		}
	}
}

/*
 * Some gave up GPUs for a group, and an epilog is not over: what is idle is
 * held meanwhile, or it would begin anew each time.
 */
static void hold_idle(struct groups *groups,
		      const struct plx_residual *residual)
{
	bool any = false;

	for (int i = 0; i < groups->count; i++) {
		if (!leads_left_out(groups, i))
			continue;
		if (!any)
			fill_held(groups->problem, groups->held);
		any = true;
		if (is_close(groups, residual, groups->requests[i].group))
			hold_nodes(groups, groups->requests[i].group);
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
	if (rc == 0 && residual && residual->together_s > 0 &&
	    any_closes(residual))
		hold_idle(&groups, residual);
done:
	release(&groups);
	return rc;
}
