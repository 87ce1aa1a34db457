/* SPDX-License-Identifier: MIT */
/* report_validation.c - how far what a job says of itself is believed */

#include <math.h>
#include <stddef.h>

#include "core/jobs/report_validation.h"
#include "core/problem/worth.h"

#define STEP_S	  60.0	/* between two contradictions that count */
#define GAP_S	  120.0 /* of a longer silence only so much is training */
#define SLOW	  4.0	/* model over measurement */
#define SLOW_S	  120.0 /* of training, for that to be no accident */
#define NOISE	  64.0	/* factor by which a claim may leave the last one */
#define SPEED	  16.0
#define RESTART_S 10.0 /* of a job that is not believed */
#define PARDONS	  10   /* that count */

bool plx_trust_trains(const struct plx_claim *claim)
{
	if (!claim->runs || claim->resized || claim->shape.gpus < 1)
		return false;
	return claim->training || claim->shape_s >= PLX_TRUST_RESTART_S;
}

/* Is what it has of no use to it, for now? */
static bool moves(const struct plx_claim *claim)
{
	return claim->runs && !plx_trust_trains(claim);
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
	if (!plx_trust_trains(claim))
		return 0;
	return claim->hint->speed / claim->shape.gpus;
}

/* The window is over: has it done what it promised, or ended? */
static bool left_stays(const struct plx_trust *trust,
		       const struct plx_claim *claim)
{
	double due = PLX_TRUST_SHARE * trust->due;

	return trust->window_s >= PLX_TRUST_WINDOW_S &&
	       claim->hint->samples_left > 0 &&
	       (due > trust->window_left ||
		trust->window_left - claim->hint->samples_left < due);
}

static bool model_flatters(const struct plx_trust *trust,
			   const struct plx_claim *claim)
{
	(void) claim;
	return trust->slow_s >= SLOW_S;
}

static bool noise_leaps(const struct plx_trust *trust,
			const struct plx_claim *claim)
{
	return leaps(trust->noise, noise_of(claim), NOISE);
}

static bool speed_leaps(const struct plx_trust *trust,
			const struct plx_claim *claim)
{
	return leaps(trust->speed, speed_of(claim), SPEED);
}

static const struct {
	bool (*is_seen)(const struct plx_trust *trust,
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
static void watch(struct plx_trust *trust, const struct plx_claim *claim)
{
	const struct plx_hint *hint = claim->hint;
	double trained_s = 0;

	if (trust->last_s > 0 && trust->trained && plx_trust_trains(claim))
		trained_s = fmin(fmax(claim->now_s - trust->last_s, 0), GAP_S);
	if (trust->left > 0) {
		trust->window_s += trained_s;
		trust->due += trained_s * promised(claim);
	}
	if (hint->speed > 0 && plx_trust_trains(claim) &&
	    plx_throughput(&hint->job.model, claim->shape, hint->now) >
		    SLOW * hint->speed)
		trust->slow_s += trained_s;
	else if (plx_trust_trains(claim))
		trust->slow_s = 0;
}

/* Seen from outside: how long a change keeps it from training. */
static void watch_pause(struct plx_trust *trust, const struct plx_claim *claim)
{
	if (moves(claim) && trust->trained) {
		trust->moving_s = claim->now_s;
	} else if (plx_trust_trains(claim) && trust->moving_s > 0) {
		trust->pause_s =
			fmax(trust->pause_s, claim->now_s - trust->moving_s);
		trust->moving_s = 0;
	}
	/* Parked or suspended: how long that lasts is not its doing. */
	if (claim->shape.gpus < 1 || !moves(claim))
		trust->moving_s = 0;
}

static void remember(struct plx_trust *trust, const struct plx_claim *claim)
{
	double left = claim->hint->samples_left;
	double speed = speed_of(claim);

	if (left > 0) {
		if (!(trust->left > 0) ||
		    trust->window_s >= PLX_TRUST_WINDOW_S) {
			trust->window_left = left;
			trust->window_s = 0;
			trust->due = 0;
		}
		trust->left = left;
	}
	if (trust->slow_s >= SLOW_S)
		trust->slow_s = 0;
	trust->noise = noise_of(claim);
	if (speed > 0)
		trust->speed = speed;
	trust->trained = plx_trust_trains(claim);
	trust->last_s = claim->now_s;
}

static const char *contradiction(const struct plx_trust *trust,
				 const struct plx_claim *claim)
{
	size_t count = sizeof(contradictions) / sizeof(contradictions[0]);

	for (size_t i = 0; i < count; i++) {
		if (contradictions[i].is_seen(trust, claim))
			return contradictions[i].why;
	}
	return NULL;
}

/* One step down, and the hour begins anew. */
static bool doubt(struct plx_trust *trust, double now_s, const char *why)
{
	enum plx_doubt before = trust->doubt;

	if (before != PLX_BELIEVED && now_s - trust->changed_s < STEP_S)
		return false;
	trust->doubt = before == PLX_BELIEVED ? PLX_DOUBTED : PLX_DISBELIEVED;
	trust->why = why;
	trust->changed_s = now_s;
	return trust->doubt != before;
}

bool plx_trust_break(struct plx_trust *trust, double now_s, const char *why)
{
	return doubt(trust, now_s, why);
}

static bool pardon(struct plx_trust *trust, double now_s)
{
	double after_s = PLX_TRUST_PARDON_S * (1 << trust->pardons);

	if (trust->doubt == PLX_BELIEVED || now_s - trust->changed_s < after_s)
		return false;
	trust->doubt--;
	trust->pardons += trust->pardons < PARDONS;
	trust->changed_s = now_s;
	if (trust->doubt == PLX_BELIEVED)
		trust->why = NULL;
	return true;
}

bool plx_trust_hear(struct plx_trust *trust, const struct plx_claim *claim)
{
	const char *why = NULL;
	bool changed = false;

	watch(trust, claim);
	watch_pause(trust, claim);
	why = contradiction(trust, claim);
	changed = why ? doubt(trust, claim->now_s, why)
		      : pardon(trust, claim->now_s);
	remember(trust, claim);
	return changed;
}

static double believed_restart(const struct plx_trust *trust,
			       const struct plx_job *job)
{
	double most =
		fmax(PLX_TRUST_RESTART_S, PLX_TRUST_RESTARTS * trust->pause_s);

	if (trust->doubt != PLX_BELIEVED)
		most = RESTART_S;
	return fmin(job->restart_s, most);
}

void plx_trust_apply(const struct plx_trust *trust, int most_gpus,
		     struct plx_job *job)
{
	int seen = most_gpus > 1 ? most_gpus : 1;

	if (job->profiled_gpus > seen)
		job->profiled_gpus = seen;
	job->restart_s = believed_restart(trust, job);
	if (trust->doubt != PLX_BELIEVED)
		job->samples_left = PLX_LEFT_LAST;
	if (trust->doubt == PLX_DISBELIEVED) {
		job->profiled = false;
		job->profiled_gpus = 1;
	}
}
