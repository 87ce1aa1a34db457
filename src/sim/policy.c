/* SPDX-License-Identifier: MIT */
/* policy.c - the table of policies, and what they share */

#include <assert.h>
#include <string.h>

#include "sim/policy.h"

const struct plx_policy *const plx_policies[] = {
	&plx_policy_pollux,  &plx_policy_ga,   &plx_policy_tiresias,
	&plx_policy_optimus, &plx_policy_fifo, NULL,
};

const struct plx_policy *plx_policy_find(const char *name)
{
	int i = 0;

	while (plx_policies[i] && strcmp(plx_policies[i]->name, name))
		i++;
	return plx_policies[i];
}

void plx_round_count_free(struct plx_round *round)
{
	for (int n = 0; n < round->setting->node_count; n++)
		round->free[n] = round->setting->node_gpus;
	for (int j = 0; j < round->job_count; j++) {
		const struct plx_sim_placement *next = &round->next[j];

		for (int i = 0; i < next->count; i++)
			round->free[next->parts[i].node] -= next->parts[i].gpus;
	}
}

void plx_round_place(struct plx_round *round, int j, int gpus)
{
	struct plx_sim_placement *next = &round->next[j];

	assert(next->count == 0);
	next->gpus = gpus;
	while (gpus > 0) {
		int most = 0;
		int taken;

		for (int n = 1; n < round->setting->node_count; n++) {
			if (round->free[n] > round->free[most])
				most = n;
		}
		taken = round->free[most] < gpus ? round->free[most] : gpus;
		assert(taken > 0);
		next->parts[next->count].node = most;
		next->parts[next->count++].gpus = taken;
		round->free[most] -= taken;
		gpus -= taken;
	}
}
