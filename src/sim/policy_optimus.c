/* SPDX-License-Identifier: MIT */
/*
 * policy_optimus.c - one GPU at a time to the job that gains most from it
 *
 * Peng et al., "Optimus", EuroSys '18, as the published simulator has it,
 * with an oracle: true step times on packed placements and true remaining
 * iterations. The batch is the user's; only the number of GPUs changes, and
 * a job whose number stays keeps its GPUs.
 */
#include <stdlib.h>

#include "sim/policy.h"

/* A job in the making of one decision. */
struct bid {
	int j; /* of the turn */
	int gpus;
	int most;	     /* GPUs its batch can be divided among */
	double left;	     /* iterations */
	double seconds;	     /* of a step on gpus */
	double next_seconds; /* of a step on one more */
};

static double step_seconds(const struct plx_round *round,
			   const struct plx_simjob *job, int gpus)
{
	int per_node = round->setting->node_gpus;
	int nodes = (gpus - 1) / per_node + 1;
	struct plx_batch batch =
		plx_fixed_batch(job->app, job->fixed_batch, gpus);
	struct plx_app_times t;

	/* The job's own memory for counts is in use: it says where it is. */
	for (int i = 0; i < nodes; i++)
		round->free[i] = i < nodes - 1 ? per_node : gpus - i * per_node;
	t = plx_app_step(job->app, round->free, nodes, batch.per_gpu);
	return t.step + (t.step - t.sync) * batch.accum;
}

static int most_gpus(const struct plx_simjob *job)
{
	const struct plx_limits *limits = &job->app->limits.batch;

	/* Published so: ncf never leaves its one GPU. */
	if (job->app->limits.fixed_batch)
		return 1;
	return job->fixed_batch / limits->min_per_gpu;
}

static void look_ahead(const struct plx_round *round, struct bid *bid,
		       int cluster_gpus)
{
	bid->next_seconds = bid->seconds;
	if (bid->gpus < bid->most && bid->gpus < cluster_gpus)
		bid->next_seconds =
			step_seconds(round, round->jobs[bid->j], bid->gpus + 1);
}

static double gain(const struct bid *bid)
{
	return (bid->seconds - bid->next_seconds) * bid->left;
}

/* Hand out the GPUs; bids are in the order of jobs. */
static void auction(struct plx_round *round, struct bid *bids)
{
	int total = round->setting->node_count * round->setting->node_gpus;
	int left = total;

	for (int j = 0; j < round->job_count && left > 0; j++) {
		const struct plx_simjob *job = round->jobs[j];

		bids[j].gpus = 1;
		bids[j].most = most_gpus(job);
		bids[j].left = plx_app_iterations_left(job->app, job->epoch,
						       job->fixed_batch);
		bids[j].seconds = step_seconds(round, job, 1);
		look_ahead(round, &bids[j], total);
		left--;
	}
	while (left > 0) {
		struct bid *best = &bids[0];

		for (int j = 1; j < round->job_count; j++) {
			if (gain(&bids[j]) > gain(best))
				best = &bids[j];
		}
		if (!(gain(best) > 0))
			return;
		best->gpus++;
		best->seconds = best->next_seconds;
		look_ahead(round, best, total);
		left--;
	}
}

static int by_gpus(const void *a, const void *b)
{
	const struct bid *x = a;
	const struct bid *y = b;

	return x->gpus != y->gpus ? x->gpus - y->gpus : x->j - y->j;
}

static int decide(struct plx_round *round, void *states, struct plx_error *err)
{
	struct bid *bids = calloc((size_t) round->job_count + 1, sizeof(*bids));

	(void) states;
	if (!bids)
		return plx_fail(err, "no memory for %d jobs", round->job_count);
	for (int j = 0; j < round->job_count; j++)
		bids[j].j = j;
	auction(round, bids);
	for (int j = 0; j < round->job_count; j++) {
		if (round->next[j].gpus != bids[j].gpus) {
			round->next[j].count = 0;
			round->next[j].gpus = 0;
		}
	}
	plx_round_count_free(round);
	qsort(bids, (size_t) round->job_count, sizeof(*bids), by_gpus);
	for (int i = 0; i < round->job_count; i++) {
		if (bids[i].gpus > 0 && round->next[bids[i].j].count == 0)
			plx_round_place(round, bids[i].j, bids[i].gpus);
	}
	free(bids);
	return 0;
}

const struct plx_policy plx_policy_optimus = {
	.name = "optimus",
	.what = "GPUs one by one to who gains most; fixed batch, true times",
	.decide = decide,
};
