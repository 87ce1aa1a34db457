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

double plx_moldable_loss(const struct plx_moldable *moldable)
{
	double loss = moldable->age_s;

	if (moldable->saved_s >= 0)
		loss = fmin(loss, moldable->saved_s);
	if (moldable->may_lose_s > 0)
		loss = fmin(loss, moldable->may_lose_s);
	return fmax(loss, 0);
}

enum plx_moldable_answer plx_moldable_may(const struct plx_moldable *moldable)
{
	if (plx_moldable_loss(moldable) >
	    fmax(moldable->may_lose_s, PLX_MOLDABLE_RECENT_S))
		return PLX_MOLDABLE_UNSAVED;
	if (moldable->ends_s < PLX_MOLDABLE_LAST_S ||
	    (moldable->left_s > 0 && moldable->left_s < PLX_MOLDABLE_LAST_S))
		return PLX_MOLDABLE_ENDS;
	return PLX_MOLDABLE_YES;
}

/* Who does not tell goes on about as long as it went on so far. */
static double left(const struct plx_moldable *moldable)
{
	double untold_s = fmax(moldable->age_s, PLX_MOLDABLE_LEFT_S);

	return fmin(moldable->left_s > 0 ? moldable->left_s : untold_s,
		    moldable->ends_s);
}

double plx_moldable_saved(const struct plx_moldable *moldable, double ratio)
{
	return ratio > 0 ? left(moldable) * (1 - 1 / ratio) : -INFINITY;
}

double plx_moldable_cost(const struct plx_moldable *moldable, double ratio)
{
	return ratio > 0 ? moldable->restart_s +
				   plx_moldable_loss(moldable) / ratio
			 : INFINITY;
}

enum plx_moldable_answer plx_moldable_judge(const struct plx_moldable *moldable,
					    double ratio,
					    enum plx_moldable_reason reason)
{
	enum plx_moldable_answer may = plx_moldable_may(moldable);

	if (may != PLX_MOLDABLE_YES)
		return may;
	/* It gets smaller as often as others come; but is not pushed about. */
	if (reason == PLX_MOLDABLE_FOR_OTHERS)
		return ratio >= 1 && moldable->requeued_s <
					       PLX_MOLDABLE_RECENT_S
			       ? PLX_MOLDABLE_AGAIN
			       : PLX_MOLDABLE_YES;
	if (moldable->requeued_s < moldable->least_gap_s)
		return PLX_MOLDABLE_AGAIN;
	if (plx_moldable_saved(moldable, ratio) <
	    PLX_MOLDABLE_MARGIN * plx_moldable_cost(moldable, ratio))
		return PLX_MOLDABLE_LITTLE;
	return PLX_MOLDABLE_YES;
}

void plx_moldable_text(const struct plx_moldable *moldable, double ratio,
		       enum plx_moldable_answer answer, char *text, size_t size)
{
	static const char *const fixed[] = {
		[PLX_MOLDABLE_UNSAVED] =
			"its last checkpoint is not known to be "
			"recent, and checkpoint= was not given",
		[PLX_MOLDABLE_ENDS] = "it ends soon",
	};

	if (answer == PLX_MOLDABLE_AGAIN)
		snprintf(text, size,
			 "it was requeued %.0f s ago, at least %.0f s are to "
			 "pass",
			 moldable->requeued_s, moldable->least_gap_s);
	else if (answer == PLX_MOLDABLE_YES ||
		 (answer == PLX_MOLDABLE_LITTLE && ratio > 1))
		snprintf(text, size,
			 "to be %.2f times as fast saves %.0f s and costs "
			 "%.0f s",
			 ratio, plx_moldable_saved(moldable, ratio),
			 plx_moldable_cost(moldable, ratio));
	else if (answer == PLX_MOLDABLE_LITTLE)
		snprintf(text, size, "nobody waits for its GPUs");
	else
		snprintf(text, size, "%s", fixed[answer]);
}

void plx_moldable_assume(struct plx_job *job)
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
