/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pace.c - how often the hint is written into the job's record */

#include <math.h>
#include <string.h>

#include "launcher/rules/pace.h"

/* By a part of the larger one; nothing and nothing are the same. */
static bool differ(double a, double b)
{
	return fabs(a - b) > PLX_PACE_CHANGE * fmax(fabs(a), fabs(b));
}

/* 0: not measured just now, which is no news. */
static bool measures_else(double before, double now)
{
	return now > 0 && differ(before, now);
}

/* Of what is measured anew all the time. */
static bool moved(const struct plx_hint *a, const struct plx_hint *b)
{
	return measures_else(a->speed, b->speed) ||
	       measures_else(a->goodput, b->goodput) ||
	       differ(a->restart_s, b->restart_s) ||
	       differ(a->samples_left, b->samples_left);
}

/* Of what the scheduler would predict by it, on some shapes. */
static bool predicts_else(const struct plx_hint *a, const struct plx_hint *b)
{
	int gpus = a->profiled.gpus;
	const struct plx_shape shapes[] = {
		{ .nodes = 1, .gpus = 1 },
		{ .nodes = 1, .gpus = gpus },
		{ .nodes = 1, .gpus = 2 * gpus },
		{ .nodes = 2, .gpus = 2 * gpus },
		{ .nodes = 2, .gpus = 2 * gpus, .further = 1 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		double x = 0;
		double y = 0;

		(void) plx_batch_best(&a->job, shapes[i], NULL, &x);
		(void) plx_batch_best(&b->job, shapes[i], NULL, &y);
		if (differ(x, y))
			return true;
	}
	return false;
}

/* What was measured on more GPUs than ever, or others, or is allowed. */
static bool is_urgent(const struct plx_hint *a, const struct plx_hint *b)
{
	const struct plx_limits *x = &a->job.limits;
	const struct plx_limits *y = &b->job.limits;

	return a->profiled.gpus != b->profiled.gpus ||
	       a->profiled.nodes != b->profiled.nodes ||
	       x->base_batch != y->base_batch || x->max_batch != y->max_batch ||
	       x->min_per_gpu != y->min_per_gpu ||
	       x->max_per_gpu != y->max_per_gpu ||
	       x->accumulate != y->accumulate || strcmp(a->type, b->type) != 0;
}

static void count_tokens(struct plx_pace *pace, double now_s)
{
	if (!pace->counted_s)
		pace->tokens = PLX_PACE_TOKENS;
	else if (now_s > pace->counted_s)
		pace->tokens += (now_s - pace->counted_s) / PLX_PACE_TOKEN_S;
	pace->tokens = fmin(pace->tokens, PLX_PACE_TOKENS);
	pace->counted_s = now_s;
}

static bool is_due(const struct plx_pace *pace, const struct plx_hint *hint,
		   double now_s)
{
	if (!pace->has_hint || is_urgent(&pace->hint, hint))
		return true;
	if (pace->tokens < 1)
		return false;
	if (moved(&pace->hint, hint) || predicts_else(&pace->hint, hint))
		return true;
	return pace->tokens > PLX_PACE_TOKENS / 2 &&
	       now_s >= pace->written_s + PLX_PACE_ROUTINE_S;
}

bool plx_pace_due(struct plx_pace *pace, const struct plx_hint *hint,
		  double now_s)
{
	count_tokens(pace, now_s);
	if (!is_due(pace, hint, now_s))
		return false;
	pace->tokens = fmax(pace->tokens - 1, 0);
	return true;
}

void plx_pace_written(struct plx_pace *pace, const struct plx_hint *hint,
		      double now_s)
{
	pace->written_s = now_s;
	pace->has_hint = hint != NULL;
	if (hint)
		pace->hint = *hint;
}

void plx_pace_anew(struct plx_pace *pace)
{
	if (pace->counted_s)
		pace->tokens = fmax(pace->tokens, PLX_PACE_ANEW);
}
