/* SPDX-License-Identifier: MIT */
/*
 * policy_fifo.c - rigid jobs in order of submission, with backfill
 *
 * What a cluster without elastic jobs does: a job starts on what its user
 * asked for and keeps it. The first that does not fit is promised the
 * moment when enough will be free; later ones may start before it if they
 * end by then, or leave enough free (EASY backfill). How long a job runs is
 * taken from its true times on as few nodes as hold it: a perfect time limit
 * where it is placed so.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/policy.h"

struct state {
	bool known;
	double needs_s; /* from its start */
};

/* When the job at the head can start, and who may go before it. */
struct promise {
	bool made;
	double start_s;
	int idle; /* GPUs that will be free beside it */
};

struct ending {
	double at_s;
	int gpus;
};

static int needs(struct plx_round *round, int j, struct state *states,
		 double *seconds, struct plx_error *err)
{
	const struct plx_simjob *job = round->jobs[j];
	struct state *state = &states[job->index];

	if (!state->known &&
	    plx_simjob_alone(job, job->entry->gpus, round->setting->node_gpus,
			     plx_setting_restart_s(round->setting, job->app),
			     &state->needs_s, err) < 0)
		return -1;
	state->known = true;
	*seconds = state->needs_s;
	return 0;
}

static int by_end(const void *a, const void *b)
{
	const struct ending *x = a;
	const struct ending *y = b;

	if (x->at_s != y->at_s)
		return x->at_s < y->at_s ? -1 : 1;
	return x->gpus - y->gpus;
}

/* free_gpus: in all, now. */
static int promise(struct plx_round *round, int wanted, int free_gpus,
		   struct state *states, struct promise *promise,
		   struct plx_error *err)
{
	struct ending *ends =
		calloc((size_t) round->job_count + 1, sizeof(*ends));
	int count = 0;
	int rc = -1;

	if (!ends)
		return plx_fail(err, "no memory for %d jobs", round->job_count);
	for (int j = 0; j < round->job_count; j++) {
		const struct plx_simjob *job = round->jobs[j];
		double seconds;

		if (round->next[j].gpus == 0)
			continue;
		if (needs(round, j, states, &seconds, err) < 0)
			goto done;
		ends[count].at_s =
			(job->started ? job->start_s : round->now_s) + seconds;
		ends[count++].gpus = round->next[j].gpus;
	}
	qsort(ends, (size_t) count, sizeof(*ends), by_end);
	promise->start_s = round->now_s;
	for (int i = 0; i < count && free_gpus < wanted; i++) {
		promise->start_s = fmax(round->now_s, ends[i].at_s);
		free_gpus += ends[i].gpus;
	}
	promise->idle = free_gpus - wanted;
	promise->made = true;
	rc = 0;
done:
	free(ends);
	return rc;
}

/* May the job start now without delaying the one that was promised? */
static int harmless(struct plx_round *round, int j, struct state *states,
		    struct promise *promise, struct plx_error *err)
{
	int gpus = round->jobs[j]->entry->gpus;
	double seconds;

	if (needs(round, j, states, &seconds, err) < 0)
		return -1;
	if (round->now_s + seconds <= promise->start_s)
		return 1;
	if (gpus > promise->idle)
		return 0;
	promise->idle -= gpus;
	return 1;
}

static int decide(struct plx_round *round, void *memory, struct plx_error *err)
{
	struct promise head = { .made = false };
	int left = 0;

	plx_round_count_free(round);
	for (int n = 0; n < round->setting->node_count; n++)
		left += round->free[n];
	for (int j = 0; j < round->job_count; j++) {
		int gpus = round->jobs[j]->entry->gpus;
		int go = 1;

		if (round->next[j].count > 0)
			continue;
		if (gpus > left) {
			if (!head.made &&
			    promise(round, gpus, left, memory, &head, err) < 0)
				return -1;
			continue;
		}
		if (head.made)
			go = harmless(round, j, memory, &head, err);
		if (go < 0)
			return -1;
		if (go > 0) {
			plx_round_place(round, j, gpus);
			left -= gpus;
		}
	}
	return 0;
}

const struct plx_policy plx_policy_fifo = {
	.name = "fifo",
	.what = "rigid jobs in order of submission, with backfill",
	.state_size = sizeof(struct state),
	.decide = decide,
};
