/* SPDX-License-Identifier: MIT */
/* app_profile.c - what jobs of a kind have measured, lent to the next of it */

#include <math.h>
#include <stddef.h>

#include "core/jobs/app_profile.h"

#define ALIKE 1.25 /* passes this many times longer are another program's */
/* Learnt of a kind without a word from who knows it: that job has ended. */
#define SILENCE_MAX 1000

static bool same_limits(const struct plx_limits *a, const struct plx_limits *b)
{
	return a->base_batch == b->base_batch && a->max_batch == b->max_batch &&
	       a->min_per_gpu == b->min_per_gpu &&
	       a->max_per_gpu == b->max_per_gpu &&
	       a->accumulate == b->accumulate;
}

/* What one user's jobs say is nothing to another's. */
static bool may_be_of(const struct plx_app_profile *profile,
		      const struct plx_job *job)
{
	return profile->owner == job->owner &&
	       profile->gpu_type == job->gpu_type &&
	       same_limits(&profile->goodput.limits, &job->goodput.limits);
}

static bool alike(double a, double b)
{
	return a <= b * ALIKE && b <= a * ALIKE; /* false for NaN */
}

/* How long passes last, of the batch that all of these limits can run. */
static double speed(const struct plx_goodput *goodput)
{
	const struct plx_limits *l = &goodput->limits;
	double m = fmin(fmax(l->base_batch, l->min_per_gpu), l->max_per_gpu);

	return plx_grad_seconds(&goodput->model, m);
}

/* The more knowing of two; of equals the one whose knower is the older job. */
static bool knows_more(const struct plx_app_profile *a,
		       const struct plx_app_profile *b)
{
	return a->profiled_gpus != b->profiled_gpus
		       ? a->profiled_gpus > b->profiled_gpus
		       : a->knower < b->knower;
}

/* The kind whose passes last most nearly as long; -1: none is alike. */
static int find_measured(const struct plx_app_profiles *profiles,
			 const struct plx_job *job)
{
	double own = speed(&job->goodput);
	double least = INFINITY;
	int found = -1;

	for (int i = 0; i < profiles->count; i++) {
		const struct plx_app_profile *profile = &profiles->profile[i];
		double theirs = speed(&profile->goodput);
		double off = fabs(theirs - own);

		if (!may_be_of(profile, job) || !alike(theirs, own))
			continue;
		if (off < least ||
		    (off == least &&
		     knows_more(profile, &profiles->profile[found])))
			found = i;
		least = fmin(least, off);
	}
	return found;
}

/*
 * The most knowing kind of these limits. Nothing else tells kinds apart
 * before a job has run: -1 also where several differ in speed.
 */
static int find_new(const struct plx_app_profiles *profiles,
		    const struct plx_job *job)
{
	double shortest = INFINITY;
	double longest = 0;
	int found = -1;

	for (int i = 0; i < profiles->count; i++) {
		const struct plx_app_profile *profile = &profiles->profile[i];

		if (!may_be_of(profile, job))
			continue;
		shortest = fmin(shortest, speed(&profile->goodput));
		longest = fmax(longest, speed(&profile->goodput));
		if (found < 0 || knows_more(profile, &profiles->profile[found]))
			found = i;
	}
	return alike(shortest, longest) ? found : -1;
}

static int find(const struct plx_app_profiles *profiles,
		const struct plx_job *job)
{
	return job->profiled ? find_measured(profiles, job)
			     : find_new(profiles, job);
}

/* The kind not met for longest, of this owner or (NULL) of all. */
static int oldest_of(const struct plx_app_profiles *profiles,
		     const uint32_t *owner)
{
	int oldest = -1;

	for (int i = 0; i < profiles->count; i++) {
		const struct plx_app_profile *profile = &profiles->profile[i];

		if (owner && profile->owner != *owner)
			continue;
		if (oldest < 0 || profile->met < profiles->profile[oldest].met)
			oldest = i;
	}
	return oldest;
}

/* Room for another kind: who has many makes it for himself. */
static int make_slot(struct plx_app_profiles *profiles, uint32_t owner)
{
	int own = 0;

	if (profiles->count < PLX_APP_PROFILES_MAX)
		return profiles->count++;
	for (int i = 0; i < profiles->count; i++)
		own += profiles->profile[i].owner == owner;
	return oldest_of(profiles, own >= PLX_APP_PROFILES_OWN ? &owner : NULL);
}

static int add(struct plx_app_profiles *profiles, const struct plx_job *job)
{
	int i = make_slot(profiles, job->owner);

	profiles->profile[i] = (struct plx_app_profile){
		.goodput = job->goodput,
		.owner = job->owner,
		.gpu_type = job->gpu_type,
		.knower = job->id,
	};
	return i;
}

/* Whether what the job knows shall stand for its kind. */
static bool supersedes(const struct plx_job *job,
		       const struct plx_app_profile *profile)
{
	if (job->profiled_gpus != profile->profiled_gpus)
		return job->profiled_gpus > profile->profiled_gpus;
	if (job->id == profile->knower || profile->silence > SILENCE_MAX)
		return true;
	if (job->service_s != profile->service_s)
		return job->service_s > profile->service_s;
	return job->id < profile->knower;
}

void plx_app_profile_learn(struct plx_app_profiles *profiles,
			   const struct plx_job *job)
{
	struct plx_app_profile *profile;
	int i;

	if (!job->profiled || job->table || !plx_goodput_valid(&job->goodput))
		return;
	i = find(profiles, job);
	profile = &profiles->profile[i < 0 ? add(profiles, job) : i];
	profile->met = ++profiles->now;
	profile->silence++;
	if (!supersedes(job, profile))
		return;
	profile->silence = 0;
	profile->knower = job->id;
	profile->profiled_gpus = job->profiled_gpus;
	profile->service_s = job->service_s;
	profile->goodput.model = job->goodput.model;
}

bool plx_app_profile_apply(const struct plx_app_profiles *profiles,
			   struct plx_job *job)
{
	int i = job->table ? -1 : find(profiles, job);
	const struct plx_app_profile *profile;

	if (i < 0)
		return false;
	profile = &profiles->profile[i];
	if (job->profiled && job->profiled_gpus >= profile->profiled_gpus)
		return false;
	job->goodput.model = profile->goodput.model;
	if (!job->profiled)
		job->goodput.noise = profile->goodput.noise;
	job->profiled = true;
	job->profiled_gpus = profile->profiled_gpus;
	return true;
}
