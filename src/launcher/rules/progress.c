/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress.c - one line that says how far the training is; pure */

#include <stdarg.h>
#include <stdio.h>

#include "launcher/rules/progress.h"

#define ETA_MAX_S (1000 * 86400.0)

static void add(char **text, size_t *size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add(char **text, size_t *size, const char *fmt, ...)
{
	va_list ap;
	int length;

	va_start(ap, fmt);
	length = vsnprintf(*text, *size, fmt, ap);
	va_end(ap);
	if (length < 0 || (size_t) length >= *size)
		length = *size ? (int) *size - 1 : 0;
	*text += length;
	*size -= (size_t) length;
}

static void add_eta(char **text, size_t *size, double eta_s)
{
	long s = (long) eta_s;

	if (!(eta_s < ETA_MAX_S))
		return;
	if (s >= 86400)
		add(text, size, "  ETA %ld d %ld h", s / 86400,
		    s % 86400 / 3600);
	else
		add(text, size, "  ETA %ld:%02ld:%02ld", s / 3600,
		    s % 3600 / 60, s % 60);
}

void plx_progress_text(const struct plx_status *status, int ranks,
		       const char *unit, char *text, size_t size)
{
	const struct plx_hint *hint = &status->hint;
	long batch = (long) ranks * hint->now.per_gpu * (hint->now.accum + 1);

	text[0] = '\0';
	if (status->has_hint)
		add(&text, &size, "%5.1f %%  loss %.4g", 1e2 * hint->progress,
		    hint->loss);
	else
		add(&text, &size, "%s", plx_phase_name(status->phase));
	if (status->has_hint && hint->goodput > 0)
		add(&text, &size, "  %.0f samples/s", hint->goodput);
	add(&text, &size, "  %d %s", ranks, unit);
	if (!status->has_hint)
		return;
	add(&text, &size, "  batch %ld", batch);
	if (status->phase != PLX_PHASE_TRAINING)
		add(&text, &size, "  %s", plx_phase_name(status->phase));
	else if (hint->goodput > 0 && hint->samples_left > 0)
		add_eta(&text, &size, hint->samples_left / hint->goodput);
}
