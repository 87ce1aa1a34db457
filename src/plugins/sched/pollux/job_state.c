/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_state.c - what the plugin remembers of each elastic job */

#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/job_state.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/monotonic.h"

/* Of more jobs some are looked for one by one. */
#define PLACES 4096

static struct {
	struct pollux_job_state *at;
	int count;
	int size;
	int places[PLACES]; /* where a job with that number was last */
} states;

struct pollux_job_state *pollux_job_state_find(uint32_t job_id)
{
	int *place = &states.places[job_id % PLACES];

	if (*place < states.count && states.at[*place].job_id == job_id)
		return &states.at[*place];
	for (int i = 0; i < states.count; i++) {
		if (states.at[i].job_id == job_id) {
			*place = i;
			return &states.at[i];
		}
	}
	return NULL;
}

struct pollux_job_state *pollux_job_state_get(uint32_t job_id)
{
	struct pollux_job_state *state = pollux_job_state_find(job_id);

	if (state)
		return state;
	if (states.count == states.size) {
		states.size = states.size ? 2 * states.size : 16;
		xrecalloc(states.at, states.size, sizeof(*states.at));
	}
	states.places[job_id % PLACES] = states.count;
	state = &states.at[states.count++];
	memset(state, 0, sizeof(*state));
	state->job_id = job_id;
	return state;
}

struct pollux_job_state *pollux_job_state_at(int i)
{
	return i < states.count ? &states.at[i] : NULL;
}

void pollux_job_state_outlive(struct pollux_job_state *state, void **outlived,
			      int count)
{
	for (int n = 0; state->outlived && n < state->outlived_count; n++)
		FREE_NULL_BITMAP(state->outlived[n]);
	xfree(state->outlived);
	state->outlived = outlived;
	state->outlived_count = count;
}

void pollux_before_release(struct pollux_before *before)
{
	xfree(before->nodes);
	xfree(before->gpus);
	*before = (struct pollux_before){ 0 };
}

void pollux_left_node_free(struct pollux_left_node *left)
{
	xfree(left->name);
	FREE_NULL_BITMAP(left->devices);
	xfree(left);
}

static void _free_left_nodes(struct pollux_left_node *left)
{
	while (left) {
		struct pollux_left_node *next = left->next;

		pollux_left_node_free(left);
		left = next;
	}
}

static void _free_strings(struct pollux_job_state *state)
{
	xfree(state->nodes);
	xfree(state->want);
	xfree(state->from_nodes);
	xfree(state->complaint);
	pollux_before_release(&state->had);
	pollux_before_release(&state->back);
	xfree(state->shuns);
	xfree(state->fresh);
	FREE_NULL_BITMAP(state->left);
	_free_left_nodes(state->left_nodes);
	FREE_NULL_BITMAP(state->noted);
	pollux_job_state_outlive(state, NULL, 0);
}

void pollux_job_state_remove(struct pollux_job_state *state)
{
	_free_strings(state);
	*state = states.at[--states.count];
}

void pollux_job_state_remove_all(void)
{
	for (int i = 0; i < states.count; i++)
		_free_strings(&states.at[i]);
	xfree(states.at);
	memset(&states, 0, sizeof(states));
}

void pollux_job_state_hold(struct pollux_job_state *state, const char *nodes,
			   int gpus, time_t since)
{
	state->most_gpus = MAX(state->most_gpus, gpus);
	if (state->since == since && state->gpus == gpus &&
	    !xstrcmp(state->nodes, nodes))
		return;
	if (state->since != since)
		pollux_job_state_close(state, since);
	xfree(state->nodes);
	state->nodes = xstrdup(nodes);
	state->gpus = gpus;
	state->since = since;
}

void pollux_job_state_close(struct pollux_job_state *state, time_t end)
{
	if (!state->since)
		return;
	end = MAX(end, state->since);
	pollux_info("sched/pollux: JobId=%u held %d GPUs on %s from %ld to "
		    "%ld: %ld "
		    "GPU-seconds",
		    state->job_id, state->gpus, state->nodes,
		    (long) state->since, (long) end,
		    (long) (end - state->since) * state->gpus);
	state->service_s += (double) (end - state->since) * state->gpus;
	state->since = 0;
}

double pollux_job_state_service(const struct pollux_job_state *state,
				time_t now)
{
	double present = state->since && now > state->since
				 ? (double) (now - state->since) * state->gpus
				 : 0;

	return state->service_s + present;
}

void pollux_job_state_adopt(uint32_t job_id, const struct plx_target *target)
{
	struct pollux_job_state *state = pollux_job_state_get(job_id);

	if (state->phase == POLLUX_MOVING)
		return;
	state->target = *target;
	xfree(state->want);
	state->want = xstrdup(target->on);
	xfree(state->from_nodes);
	state->phase = POLLUX_MOVING;
	state->departed_s = pollux_now_s();
	state->freed_s = 0;
	state->deadline_s = 0;
	pollux_info("sched/pollux: JobId=%u was on its way to %s before "
		    "slurmctld was "
		    "started",
		    job_id, state->want);
}

bool pollux_job_state_any_busy(void)
{
	for (int i = 0; i < states.count; i++) {
		if (states.at[i].phase != POLLUX_IDLE)
			return true;
	}
	return false;
}
