/* SPDX-License-Identifier: MIT */
/* moldable.c - moldable jobs: when another shape is worth a requeue */

#include <math.h>
#include <stdio.h>

#include "core/jobs/moldable.h"

/* Samples of an assumed job's batch; some more where that does not divide. */
#define BATCH	 (1 << 20)
#define MORE	 65536
#define SERIAL_S 0.05 /* of a step that takes one second on one GPU */
#define NODES_S	 0.02

double plx_mold_loss(const struct plx_mold *mold)
{
	double loss = mold->age_s;

	if (mold->saved_s >= 0)
		loss = fmin(loss, mold->saved_s);
	if (mold->may_lose_s > 0)
		loss = fmin(loss, mold->may_lose_s);
	return fmax(loss, 0);
}

enum plx_mold_answer plx_mold_may(const struct plx_mold *mold)
{
	if (plx_mold_loss(mold) > fmax(mold->may_lose_s, PLX_MOLD_RECENT_S))
		return PLX_MOLD_UNSAVED;
	if (mold->ends_s < PLX_MOLD_LAST_S ||
	    (mold->left_s > 0 && mold->left_s < PLX_MOLD_LAST_S))
		return PLX_MOLD_ENDS;
	return PLX_MOLD_YES;
}

/* Who does not tell goes on about as long as it went on so far. */
static double left(const struct plx_mold *mold)
{
	double untold_s = fmax(mold->age_s, PLX_MOLD_LEFT_S);

	return fmin(mold->left_s > 0 ? mold->left_s : untold_s, mold->ends_s);
}

double plx_mold_saved(const struct plx_mold *mold, double ratio)
{
	return ratio > 0 ? left(mold) * (1 - 1 / ratio) : -INFINITY;
}

double plx_mold_cost(const struct plx_mold *mold, double ratio)
{
	return ratio > 0 ? mold->restart_s + plx_mold_loss(mold) / ratio
			 : INFINITY;
}

enum plx_mold_answer plx_mold_judge(const struct plx_mold *mold, double ratio,
				    enum plx_mold_reason reason)
{
	enum plx_mold_answer may = plx_mold_may(mold);

	if (may != PLX_MOLD_YES)
		return may;
	/* It gets smaller as often as others come; but is not pushed about. */
	if (reason == PLX_MOLD_FOR_OTHERS)
		return ratio >= 1 && mold->requeued_s < PLX_MOLD_RECENT_S
			       ? PLX_MOLD_AGAIN
			       : PLX_MOLD_YES;
	if (mold->requeued_s < mold->least_gap_s)
		return PLX_MOLD_AGAIN;
	if (plx_mold_saved(mold, ratio) <
	    PLX_MOLD_MARGIN * plx_mold_cost(mold, ratio))
		return PLX_MOLD_LITTLE;
	return PLX_MOLD_YES;
}

void plx_mold_text(const struct plx_mold *mold, double ratio,
		   enum plx_mold_answer answer, char *text, size_t size)
{
	static const char *const fixed[] = {
		[PLX_MOLD_UNSAVED] = "its last checkpoint is not known to be "
				     "recent, and checkpoint= was not given",
		[PLX_MOLD_ENDS] = "it ends soon",
	};

	if (answer == PLX_MOLD_AGAIN)
		snprintf(text, size,
			 "it was requeued %.0f s ago, at least %.0f s are to "
			 "pass",
			 mold->requeued_s, mold->least_gap_s);
	else if (answer == PLX_MOLD_YES ||
		 (answer == PLX_MOLD_LITTLE && ratio > 1))
		snprintf(text, size,
			 "to be %.2f times as fast saves %.0f s and costs "
			 "%.0f s",
			 ratio, plx_mold_saved(mold, ratio),
			 plx_mold_cost(mold, ratio));
	else if (answer == PLX_MOLD_LITTLE)
		snprintf(text, size, "nobody waits for its GPUs");
	else
		snprintf(text, size, "%s", fixed[answer]);
}

void plx_mold_assume(struct plx_job *job)
{
	job->profiled = true;
	job->profiled_gpus = job->max_gpus;
	job->goodput = (struct plx_goodput){
		.model = {
			.alpha_c = SERIAL_S,
			.beta_c = (1 - SERIAL_S) / BATCH,
			.alpha_n = NODES_S,
			.gamma = 1,
		},
		/* No noise: a batch is worth what it has. */
		.noise = { .sqr = 1, .var = 0 },
		.limits = {
			.base_batch = BATCH,
			.max_batch = BATCH + MORE,
			.min_per_gpu = 1,
			.max_per_gpu = BATCH,
		},
	};
}
