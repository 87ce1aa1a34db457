/* SPDX-License-Identifier: MIT */
/* report_validation.c - are a job's reports of itself true? */

#include <math.h>
#include <stddef.h>

#include "core/jobs/report_validation.h"
#include "core/problem/objective.h"

#define STEP_S	  60.0	/* between two contradictions that count */
#define GAP_S	  120.0 /* of a longer silence only so much is training */
#define SLOW	  4.0	/* model over measurement */
#define SLOW_S	  120.0 /* of training, for that to be no accident */
#define NOISE	  64.0	/* factor by which a claim may leave the last one */
#define SPEED	  16.0
#define RESTART_S 10.0 /* of a job that is not believed */
#define DECAYS	  10   /* that count */

bool plx_validation_trains(const struct plx_claim *claim)
{
	if (!claim->runs || claim->resized || claim->shape.gpus < 1)
		return false;
	return claim->training || claim->shape_s >= PLX_VALIDATION_RESTART_S;
}

/* Is what it has of no use to it, for now? */
static bool in_transition(const struct plx_claim *claim)
{
	return claim->runs && !plx_validation_trains(claim);
}

/* Samples a second that the job's own words promise on its shape. */
static double promised(const struct plx_claim *claim)
{
	double goodput = 0;

	if (claim->shape.gpus < 1 ||
	    !plx_batch_best(&claim->hint->job, claim->shape, NULL, &goodput) ||
	    !isfinite(goodput))
		return 0;
	return goodput;
}

static bool leaps(double from, double to, double factor)
{
	return from > 0 && to > 0 && (to > from * factor || from > to * factor);
}

static double noise_of(const struct plx_claim *claim)
{
	const struct plx_noise *noise = &claim->hint->job.noise;

	return noise->sqr > 0 ? noise->var / noise->sqr : 0;
}

static double speed_of(const struct plx_claim *claim)
{
	if (!plx_validation_trains(claim))
		return 0;
	return claim->hint->speed / claim->shape.gpus;
}

/* The window is over: has it done what it promised, or ended? */
static bool left_stays(const struct plx_validation *validation,
		       const struct plx_claim *claim)
{
	double due = PLX_VALIDATION_SHARE * validation->due;

	return validation->window_s >= PLX_VALIDATION_WINDOW_S &&
	       claim->hint->samples_left > 0 &&
	       (due > validation->window_left ||
		validation->window_left - claim->hint->samples_left < due);
}

static bool model_flatters(const struct plx_validation *validation,
			   const struct plx_claim *claim)
{
	(void) claim;
	return validation->slow_s >= SLOW_S;
}

static bool noise_leaps(const struct plx_validation *validation,
			const struct plx_claim *claim)
{
	return leaps(validation->noise, noise_of(claim), NOISE);
}

static bool speed_leaps(const struct plx_validation *validation,
			const struct plx_claim *claim)
{
	return leaps(validation->speed, speed_of(claim), SPEED);
}

static const struct {
	bool (*is_seen)(const struct plx_validation *validation,
			const struct plx_claim *claim);
	const char *why;
} contradictions[] = {
	{ left_stays, "what it has left does not fall as its model says" },
	{ model_flatters, "it measures less than a quarter of what its model "
			  "says" },
	{ noise_leaps, "its noise scale leaps" },
	{ speed_leaps, "its speed leaps" },
};

/* Training seconds since the last claim, and what was promised for them. */
static void watch(struct plx_validation *validation,
		  const struct plx_claim *claim)
{
	const struct plx_hint *hint = claim->hint;
	double trained_s = 0;

	if (validation->last_s > 0 && validation->trained &&
	    plx_validation_trains(claim))
		trained_s =
			fmin(fmax(claim->now_s - validation->last_s, 0), GAP_S);
	if (validation->left > 0) {
		validation->window_s += trained_s;
		validation->due += trained_s * promised(claim);
	}
	if (hint->speed > 0 && plx_validation_trains(claim) &&
	    plx_throughput(&hint->job.model, claim->shape, hint->now) >
		    SLOW * hint->speed)
		validation->slow_s += trained_s;
	else if (plx_validation_trains(claim))
		validation->slow_s = 0;
}

/* Seen from outside: how long a change keeps it from training. */
static void watch_pause(struct plx_validation *validation,
			const struct plx_claim *claim)
{
	if (in_transition(claim) && validation->trained) {
		validation->moving_s = claim->now_s;
	} else if (plx_validation_trains(claim) && validation->moving_s > 0) {
		validation->pause_s = fmax(validation->pause_s,
					   claim->now_s - validation->moving_s);
		validation->moving_s = 0;
	}
	/* Parked or suspended: how long that lasts is not its doing. */
	if (claim->shape.gpus < 1 || !in_transition(claim))
		validation->moving_s = 0;
}

static void remember(struct plx_validation *validation,
		     const struct plx_claim *claim)
{
	double left = claim->hint->samples_left;
	double speed = speed_of(claim);

	if (left > 0) {
		if (!(validation->left > 0) ||
		    validation->window_s >= PLX_VALIDATION_WINDOW_S) {
			validation->window_left = left;
			validation->window_s = 0;
			validation->due = 0;
		}
		validation->left = left;
	}
	if (validation->slow_s >= SLOW_S)
		validation->slow_s = 0;
	validation->noise = noise_of(claim);
	if (speed > 0)
		validation->speed = speed;
	validation->trained = plx_validation_trains(claim);
	validation->last_s = claim->now_s;
}

static const char *contradiction(const struct plx_validation *validation,
				 const struct plx_claim *claim)
{
	size_t count = sizeof(contradictions) / sizeof(contradictions[0]);

	for (size_t i = 0; i < count; i++) {
		if (contradictions[i].is_seen(validation, claim))
			return contradictions[i].why;
	}
	return NULL;
}

/* One step down, and the hour begins anew. */
static bool add_strike(struct plx_validation *validation, double now_s,
		       const char *why)
{
	enum plx_strikes before = validation->strikes;

	if (before != PLX_STRIKES_NONE &&
	    now_s - validation->changed_s < STEP_S)
		return false;
	validation->strikes =
		before == PLX_STRIKES_NONE ? PLX_STRIKES_ONE : PLX_STRIKES_TWO;
	validation->why = why;
	validation->changed_s = now_s;
	return validation->strikes != before;
}

bool plx_validation_strike(struct plx_validation *validation, double now_s,
			   const char *why)
{
	return add_strike(validation, now_s, why);
}

static bool decay(struct plx_validation *validation, double now_s)
{
	double after_s = PLX_VALIDATION_DECAY_S * (1 << validation->decays);

	if (validation->strikes == PLX_STRIKES_NONE ||
	    now_s - validation->changed_s < after_s)
		return false;
	validation->strikes--;
	validation->decays += validation->decays < DECAYS;
	validation->changed_s = now_s;
	if (validation->strikes == PLX_STRIKES_NONE)
		validation->why = NULL;
	return true;
}

bool plx_validation_check(struct plx_validation *validation,
			  const struct plx_claim *claim)
{
	const char *why = NULL;
	bool changed = false;

	watch(validation, claim);
	watch_pause(validation, claim);
	why = contradiction(validation, claim);
	changed = why ? add_strike(validation, claim->now_s, why)
		      : decay(validation, claim->now_s);
	remember(validation, claim);
	return changed;
}

static double believed_restart(const struct plx_validation *validation,
			       const struct plx_job *job)
{
	double most = fmax(PLX_VALIDATION_RESTART_S,
			   PLX_VALIDATION_RESTARTS * validation->pause_s);

	if (validation->strikes != PLX_STRIKES_NONE)
		most = RESTART_S;
	return fmin(job->restart_s, most);
}

void plx_validation_apply(const struct plx_validation *validation,
			  int most_gpus, struct plx_job *job)
{
	int seen = most_gpus > 1 ? most_gpus : 1;

	if (job->profiled_gpus > seen)
		job->profiled_gpus = seen;
	job->restart_s = believed_restart(validation, job);
	if (validation->strikes != PLX_STRIKES_NONE)
		job->samples_left = PLX_LEFT_LAST;
	if (validation->strikes == PLX_STRIKES_TWO) {
		job->profiled = false;
		job->profiled_gpus = 1;
	}
}
