/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster_scale.c - how many nodes elastic jobs may have, where nodes can be
 * had
 */

#include <string.h>

#include "common/slurm_compat.h"
#include "core/jobs/scale.h"
#include "sched/pollux/plan/cluster_scale.h"
#include "sched/pollux/start/power.h"
#include "sched/pollux/report/count.h"

/* The thread's own. */
static struct {
	struct plx_scaler scaler;
	int wanted; /* 0: nothing was decided */
	bool complained;
} last;

static bool _is_on(const struct pollux_params *params)
{
	return params->utility.high > 0;
}

static bool _is_up(const struct pollux_node *node)
{
	return node->usable && node->gpus > 0;
}

static int _count_up(const struct pollux_snapshot *snapshot)
{
	int up = 0;

	for (int n = 0; n < snapshot->node_count; n++)
		up += _is_up(&snapshot->nodes[n]);
	return up;
}

/* GPUs of elastic jobs; -1: it cannot be emptied of them, or of others. */
static int _load(const struct pollux_snapshot *snapshot, int n)
{
	const struct pollux_node *node = &snapshot->nodes[n];
	int held = 0;

	for (int j = 0; j < snapshot->job_count; j++) {
		held += snapshot->jobs[j].gpus[n];
		if (snapshot->jobs[j].batch_host == n)
			return -1;
	}
	return node->gpus - node->left.gpus > held ? -1 : held;
}

/* The emptiest that can be emptied, of equals the last; -1: none. */
static int _next_surplus(const struct pollux_snapshot *snapshot)
{
	int best = -1;
	int least = 0;

	for (int n = 0; n < snapshot->node_count; n++) {
		int load = 0;

		if (!_is_up(&snapshot->nodes[n]) || snapshot->nodes[n].surplus)
			continue;
		load = _load(snapshot, n);
		if (load >= 0 && (best < 0 || load <= least)) {
			best = n;
			least = load;
		}
	}
	return best;
}

void pollux_scale_apply(struct pollux_snapshot *snapshot,
			const struct pollux_params *params)
{
	if (!_is_on(params) || !last.wanted)
		return;
	for (int up = _count_up(snapshot); up > last.wanted; up--) {
		int n = _next_surplus(snapshot);

		if (n < 0)
			return;
		snapshot->nodes[n].surplus = true;
	}
}

/* Nodes that nobody else may shorten: those that jobs that stay rigid hold. */
static int _rigid_nodes(const struct pollux_snapshot *snapshot, int node_gpus)
{
	int gpus = 0;

	for (int n = 0; n < snapshot->node_count; n++) {
		const struct pollux_node *node = &snapshot->nodes[n];

		if (!_is_up(node))
			continue;
		gpus += node->gpus - node->left.gpus;
		for (int j = 0; j < snapshot->job_count; j++)
			gpus -= snapshot->jobs[j].gpus[n];
	}
	return node_gpus > 0 && gpus > 0 ? gpus / node_gpus : 0;
}

/* GPUs of the largest node: others are taken to have as many. */
static int _node_gpus(const struct pollux_snapshot *snapshot)
{
	int most = 0;

	for (int n = 0; n < snapshot->node_count; n++)
		most = MAX(most, snapshot->nodes[n].gpus);
	return most;
}

/* How many are missing, counting those that are on their way. */
static int _missing(const struct pollux_snapshot *snapshot, int wanted)
{
	int missing = wanted - _count_up(snapshot);

	for (int n = 0; n < snapshot->node_count; n++)
		missing -= snapshot->nodes[n].waking &&
			   snapshot->nodes[n].gpus > 0;
	return missing;
}

/* So many that jobs could use, or of the others. Returns how many. */
static int _wake(const struct pollux_snapshot *snapshot, int missing,
		 bool asked)
{
	int woken = 0;

	for (int n = 0; n < snapshot->node_count && woken < missing; n++) {
		const struct pollux_node *node = &snapshot->nodes[n];

		if (node->asleep && node->gpus && node->asked == asked)
			woken += pollux_power_up(snapshot, n);
	}
	return woken;
}

/* What no job could use is woken only to have as many as there should be. */
static void _wake_all(const struct pollux_snapshot *snapshot, int least)
{
	int woken = _wake(snapshot, _missing(snapshot, last.wanted), true);

	(void) _wake(snapshot, _missing(snapshot, least) - woken, false);
}

static void _complain(const struct plx_error *err)
{
	if (!last.complained)
		error("sched/pollux: cannot tell how many nodes would do: %s",
		      err->text);
	last.complained = true;
}

static void _decide(const struct pollux_snapshot *snapshot,
		    const struct plx_problem *problem,
		    const struct pollux_params *params, double now_s)
{
	int node_gpus = _node_gpus(snapshot);
	int rigid = _rigid_nodes(snapshot, node_gpus);
	int most = params->scale_nodes.high > 0 ? (int) params->scale_nodes.high
						: snapshot->node_count;
	struct plx_scale_rule rule = {
		.min_nodes = MAX((int) params->scale_nodes.low - rigid, 0),
		.max_nodes = MAX(most - rigid, 0),
		.low = params->utility.low,
		.high = params->utility.high,
		.window_s = params->scale_window_s,
	};
	/* While some are on their way, they count as there. */
	int near = last.wanted ? last.wanted : _count_up(snapshot);
	struct plx_error err;
	double utility = 0;
	int wanted = 0;

	if (plx_scale_decide(&last.scaler, &rule, problem, node_gpus,
			     MAX(near - rigid, 0), now_s, &wanted, &utility,
			     &err) < 0) {
		_complain(&err);
		return;
	}
	wanted = MAX(wanted + rigid, 1);
	if (wanted != last.wanted)
		info("sched/pollux: %d nodes wanted, %d are up: utility of %d "
		     "would be %.2f",
		     wanted, _count_up(snapshot), near, utility);
	last.wanted = wanted;
	pollux_count_wanted(wanted, rule.low, rule.high);
}

void pollux_scale_decide(const struct pollux_snapshot *snapshot,
			 const struct plx_problem *problem,
			 const struct pollux_params *params, double now_s)
{
	if (!_is_on(params)) {
		memset(&last, 0, sizeof(last));
		pollux_count_wanted(0, 0, 0);
		return;
	}
	_decide(snapshot, problem, params, now_s);
	_wake_all(snapshot, (int) params->scale_nodes.low);
}
