/* SPDX-License-Identifier: GPL-2.0-or-later */
/* noted.c - nodes that noted by a job's number which steps are late */

#include "sched/pollux/resize/noted.h"
#include "sched/pollux/rules/slurmds.h"

void pollux_noted_add(job_record_t *job, struct pollux_job_state *state,
		      bitstr_t *nodes, double now_s)
{
	const node_record_t *host =
		job->batch_flag ? find_node_record(job->batch_host) : NULL;
	bitstr_t *noted = bit_copy(nodes);

	if (host)
		bit_clear(noted, host->index);
	if (bit_ffs(noted) < 0) {
		FREE_NULL_BITMAP(noted);
		return;
	}
	if (pollux_noted_bars(state, NULL, now_s) &&
	    bit_size(noted) == bit_size(state->noted))
		bit_or(noted, state->noted);
	FREE_NULL_BITMAP(state->noted);
	state->noted = noted;
	state->noted_until_s = now_s + pollux_slurmds_credential_s() + 1;
}

bool pollux_noted_bars(const struct pollux_job_state *state, bitstr_t *nodes,
		       double now_s)
{
	return state->noted && now_s < state->noted_until_s &&
	       (!nodes || bit_size(nodes) != bit_size(state->noted) ||
		bit_overlap_any(nodes, state->noted));
}
