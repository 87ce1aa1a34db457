/* SPDX-License-Identifier: MIT */
/* limit.c - a job and its time limit */

#include <math.h>
#include <string.h>

#include "core/jobs/limit.h"

#define ROUNDED 1e-5

double plx_limit_lead(double want_s, double limit_s)
{
	if (want_s <= 0)
		want_s = PLX_LIMIT_MARGIN_S;
	return fmin(want_s, limit_s / 2);
}

bool plx_limit_again(enum plx_came came, int *rounds)
{
	int most =
		came == PLX_CAME_UNTOLD ? PLX_LIMIT_UNTOLD : PLX_LIMIT_ROUNDS;

	*rounds = came == PLX_CAME_FURTHER ? 0 : *rounds + 1;
	return *rounds < most;
}

enum plx_came plx_limit_came(double progress, double mark)
{
	/* A mark has the digits of a text. */
	return progress > mark * (1 + ROUNDED) ? PLX_CAME_FURTHER
					       : PLX_CAME_NOWHERE;
}

bool plx_limit_misses(const struct plx_hint *hint, struct plx_shape shape,
		      double left_s)
{
	double goodput = 0;

	if (!(hint->samples_left > 0) || !isfinite(left_s) || shape.gpus < 1)
		return false;
	return plx_batch_best(&hint->job, shape, NULL, &goodput) &&
	       goodput > 0 && hint->samples_left / goodput > left_s;
}

void plx_limit_warn(const struct plx_hint *hint, struct plx_shape shape,
		    double left_s, char *why, size_t size)
{
	static const char warning[] = "; will not finish by its time limit";
	size_t length = strlen(why);

	if (!plx_limit_misses(hint, shape, left_s))
		return;
	/* Of a long reason the end counts for less. */
	if (length + sizeof(warning) > size)
		length = size > sizeof(warning) ? size - sizeof(warning) : 0;
	if (size >= sizeof(warning))
		strcpy(why + length, warning);
}
