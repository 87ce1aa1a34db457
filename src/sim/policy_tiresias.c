/* SPDX-License-Identifier: MIT */
/*
 * policy_tiresias.c - least attained service first, in two queues
 *
 * Gu et al., "Tiresias", NSDI '19, as the published simulator has it: a job
 * falls to the second queue once it has run for a fixed number of
 * GPU-seconds. Jobs run on what their user asked for. Who does not fit is
 * preempted and passed over; who runs on keeps its GPUs.
 */
#include <stdlib.h>

#include "sim/policy.h"

#define DEMOTED_AFTER_GPU_S 57600

enum { FIRST, SECOND };

struct state {
	bool seen;
	int queue;
	long ticket; /* order within the queue: when it came, then who */
	double checked_s;
	double ran_s; /* while it had GPUs, restarts included */
};

struct waiter {
	int j; /* of the turn */
	const struct state *state;
};

static int by_ticket(const void *a, const void *b)
{
	const struct state *x = ((const struct waiter *) a)->state;
	const struct state *y = ((const struct waiter *) b)->state;

	if (x->queue != y->queue)
		return x->queue - y->queue;
	return (x->ticket > y->ticket) - (x->ticket < y->ticket);
}

/* Queues are as long as time is: tickets grow with turns, then jobs. */
static void join(struct state *state, int queue, const struct plx_round *round,
		 int j)
{
	state->queue = queue;
	state->ticket =
		(long) (round->now_s / round->setting->interval_s) * 65536 +
		round->jobs[j]->index;
}

static void update(struct plx_round *round, struct state *states)
{
	for (int j = 0; j < round->job_count; j++) {
		const struct plx_simjob *job = round->jobs[j];
		struct state *state = &states[job->index];

		if (!state->seen)
			join(state, FIRST, round, j);
		else if (job->place.count > 0)
			state->ran_s += round->now_s - state->checked_s;
		state->seen = true;
		state->checked_s = round->now_s;
		if (state->queue == FIRST &&
		    state->ran_s * job->entry->gpus >= DEMOTED_AFTER_GPU_S)
			join(state, SECOND, round, j);
	}
}

static int decide(struct plx_round *round, void *memory, struct plx_error *err)
{
	struct state *states = memory;
	int left = round->setting->node_count * round->setting->node_gpus;
	struct waiter *queue =
		calloc((size_t) round->job_count + 1, sizeof(*queue));

	if (!queue)
		return plx_fail(err, "no memory for %d jobs", round->job_count);
	update(round, states);
	for (int j = 0; j < round->job_count; j++) {
		queue[j].j = j;
		queue[j].state = &states[round->jobs[j]->index];
	}
	qsort(queue, (size_t) round->job_count, sizeof(*queue), by_ticket);
	for (int i = 0; i < round->job_count; i++) {
		int gpus = round->jobs[queue[i].j]->entry->gpus;

		if (gpus > left) {
			round->next[queue[i].j].count = 0;
			round->next[queue[i].j].gpus = 0;
			queue[i].j = -1;
			continue;
		}
		left -= gpus;
	}
	plx_round_count_free(round);
	for (int i = 0; i < round->job_count; i++) {
		int j = queue[i].j;

		if (j >= 0 && round->next[j].count == 0)
			plx_round_place(round, j, round->jobs[j]->entry->gpus);
	}
	free(queue);
	return 0;
}

const struct plx_policy plx_policy_tiresias = {
	.name = "tiresias",
	.what = "least attained service first, preemptive, as users asked",
	.state_size = sizeof(struct state),
	.decide = decide,
};
