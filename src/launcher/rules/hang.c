/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hang.c - since when has the training not moved, and is that too long? */

#include <math.h>

#include "launcher/rules/hang.h"

#define AUTO_LEAST_S 120.0
#define AUTO_FACTOR  10.0 /* of the longest silence so far */
#define FIRST_S	     600.0
#define STEP_FACTOR  5.0     /* of the limit, for a step at work */
#define BUSY_S	     1800.0  /* without a sign of life */
#define BETWEEN_S    14400.0 /* at work, and nothing says on what */
#define FORGET	     0.8     /* of what is usual, with each beat */
#define ODD_FACTOR   1.5     /* of that */
#define ODD_LEAST_S  1.3     /* a beat is sent each second */
#define ODD_FIRST_S  5.0

void plx_hang_begin(struct plx_hang *hang, double now_s)
{
	hang->beat_s = now_s;
	hang->beats = false;
}

void plx_hang_beat(struct plx_hang *hang, double now_s)
{
	double gap_s = now_s - hang->beat_s;

	if (hang->beats) {
		hang->longest_s = fmax(hang->longest_s, gap_s);
		hang->usual_s = fmax(FORGET * hang->usual_s, gap_s);
	}
	hang->beat_s = now_s;
	hang->beats = true;
}

void plx_hang_busy(struct plx_hang *hang, double now_s)
{
	if (hang->beat_s)
		hang->beat_s = now_s;
}

bool plx_hang_excused(const struct plx_pulse *pulse, double limit_s)
{
	switch (pulse->at) {
	case PLX_AT_STEP:
		return pulse->quiet_s < limit_s &&
		       pulse->since_s < STEP_FACTOR * limit_s;
	case PLX_AT_BETWEEN:
		return pulse->quiet_s < fmax(BUSY_S, limit_s) &&
		       pulse->since_s < fmax(BETWEEN_S, limit_s);
	case PLX_AT_BUSY:
		return pulse->quiet_s < fmax(BUSY_S, limit_s);
	default:
		return false;
	}
}

bool plx_hang_holds(const struct plx_pulse *pulse, double limit_s)
{
	return pulse->hold_s > 0 && pulse->since_s < limit_s;
}

void plx_hang_end(struct plx_hang *hang)
{
	hang->beat_s = 0;
	hang->beats = false;
}

double plx_hang_limit_s(const struct plx_hang *hang, double timeout_s)
{
	double limit_s = timeout_s;

	if (timeout_s == PLX_HANG_OFF)
		return INFINITY;
	if (timeout_s < 0)
		limit_s = fmax(AUTO_LEAST_S, AUTO_FACTOR * hang->longest_s);
	return hang->beats ? limit_s : fmax(FIRST_S, limit_s);
}

double plx_hang_due_s(const struct plx_hang *hang, double timeout_s)
{
	if (!hang->beat_s || timeout_s == PLX_HANG_OFF)
		return 0;
	return hang->beat_s + plx_hang_limit_s(hang, timeout_s);
}

double plx_hang_odd_s(const struct plx_hang *hang)
{
	if (!hang->beat_s)
		return 0;
	return hang->beat_s +
	       (hang->beats ? fmax(ODD_LEAST_S, ODD_FACTOR * hang->usual_s)
			    : ODD_FIRST_S);
}
