/* SPDX-License-Identifier: MIT */
/*
 * snapshot_resources.c - what replicas need besides GPUs
 *
 * The search knows GPUs only. So a job is kept from a node where its
 * replicas would take more of something than an even part a GPU: then the
 * node holds whatever replicas its GPUs hold. That is on the safe side: a
 * node could hold some mixtures that are not considered here.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/snapshot_parts.h"

#define KINDS_MAX  16
#define AMOUNT_MAX 1e15

/* A kind of resource, on all nodes and for all jobs. */
struct kind {
	const char *name;
	double *has;   /* [node_count] */
	double *needs; /* [job_count] a replica */
	double total;
};

static void release(struct kind *kind)
{
	free(kind->has);
	free(kind->needs);
}

/* Amount of this kind in each item's "resources"; 0 where it is absent. */
static int read_amounts(const struct plx_json *list, const char *name,
			double *amounts, struct plx_error *err)
{
	size_t count = json_array_size(list->value);

	for (size_t i = 0; i < count; i++) {
		struct plx_json item = plx_json_item(list, i);
		struct plx_json all = plx_json_at(&item, "resources");
		struct plx_json one = plx_json_at(&all, name);

		if (one.value &&
		    plx_json_real(&one, 0, AMOUNT_MAX, &amounts[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_kind(const struct plx_reading *reading,
		     const struct plx_json *root, struct kind *kind,
		     struct plx_error *err)
{
	const struct plx_problem *problem = reading->snapshot->problem;
	struct plx_json nodes = plx_json_at(root, "nodes");
	struct plx_json jobs = plx_json_at(root, "jobs");

	kind->has = calloc((size_t) problem->node_count + 1, sizeof(double));
	kind->needs = calloc((size_t) problem->job_count + 1, sizeof(double));
	if (!kind->has || !kind->needs)
		return plx_fail(err, "no memory");
	if (read_amounts(&nodes, kind->name, kind->has, err) < 0 ||
	    read_amounts(&jobs, kind->name, kind->needs, err) < 0)
		return -1;
	for (int n = 0; n < problem->node_count; n++)
		kind->total += kind->has[n];
	return 0;
}

/* Names of all that any job's replica needs, other than GPUs. */
static int list_kinds(const struct plx_json *root, struct kind *kinds,
		      int *count, struct plx_error *err)
{
	struct plx_json jobs = plx_json_at(root, "jobs");
	json_t *job;
	size_t j;
	const char *name;
	json_t *amount;

	json_array_foreach(jobs.value, j, job)
	{
		struct plx_json spot = plx_json_item(&jobs, j);
		json_t *resources = json_object_get(job, "resources");

		json_object_foreach(resources, name, amount)
		{
			int i = 0;

			while (i < *count && strcmp(kinds[i].name, name) != 0)
				i++;
			if (i < *count || !strcmp(name, "gpu"))
				continue;
			if (i == KINDS_MAX)
				return plx_json_fail(&spot, err,
						     "more than %d kinds of "
						     "resources",
						     KINDS_MAX);
			kinds[(*count)++].name = name;
		}
	}
	return 0;
}

static int count_share(struct plx_snapshot *snapshot, const struct kind *kind,
		       int j, struct plx_error *err)
{
	double share;

	if (kind->needs[j] <= 0)
		return 0;
	if (kind->total <= 0)
		return plx_fail(err, "needs \"%.40s\", which no node has",
				kind->name);
	share = kind->needs[j] / kind->total;
	if (share > snapshot->shares[j])
		snapshot->shares[j] = share < 1 ? share : 1;
	return 0;
}

/* What is left of a node when all that is pinned there has its part. */
static double left_for_others(const struct plx_problem *problem,
			      const struct kind *kind, int n, int *gpus)
{
	double left = kind->has[n];

	*gpus = problem->gpus[n];
	for (int j = 0; j < problem->job_count; j++) {
		int now = problem->jobs[j].now[n];

		if (!problem->jobs[j].pinned || now == 0)
			continue;
		left -= now * kind->needs[j];
		*gpus -= now;
	}
	return left;
}

static int restrict_jobs(struct plx_problem *problem, const struct kind *kind,
			 struct plx_error *err)
{
	for (int n = 0; n < problem->node_count; n++) {
		int gpus;
		double left = left_for_others(problem, kind, n, &gpus);

		for (int j = 0; j < problem->job_count; j++) {
			struct plx_job *job = &problem->jobs[j];

			if (kind->needs[j] * gpus <= left)
				continue;
			if (!job->allowed &&
			    plx_problem_restrict(problem, j, err) < 0)
				return -1;
			job->allowed[n] = false;
		}
	}
	return 0;
}

static int apply_kind(struct plx_reading *reading, const struct plx_json *root,
		      struct kind *kind, struct plx_error *err)
{
	struct plx_snapshot *snapshot = reading->snapshot;
	struct plx_json jobs = plx_json_at(root, "jobs");
	struct plx_error why;

	if (read_kind(reading, root, kind, err) < 0)
		return -1;
	for (int j = 0; j < snapshot->problem->job_count; j++) {
		struct plx_json job = plx_json_item(&jobs, (size_t) j);

		if (count_share(snapshot, kind, j, &why) < 0)
			return plx_json_fail(&job, err, "%s", why.text);
	}
	return restrict_jobs(snapshot->problem, kind, err);
}

int plx_snapshot_resources(struct plx_reading *reading,
			   const struct plx_json *problem,
			   struct plx_error *err)
{
	struct plx_snapshot *snapshot = reading->snapshot;
	struct kind kinds[KINDS_MAX] = { 0 };
	double gpus = 0;
	int count = 0;
	int rc = 0;

	for (int n = 0; n < snapshot->problem->node_count; n++)
		gpus += snapshot->problem->gpus_total[n];
	for (int j = 0; j < snapshot->problem->job_count; j++)
		snapshot->shares[j] = 1 / (gpus > 1 ? gpus : 1);
	rc = list_kinds(problem, kinds, &count, err);
	for (int i = 0; i < count && rc == 0; i++)
		rc = apply_kind(reading, problem, &kinds[i], err);
	for (int i = 0; i < count; i++)
		release(&kinds[i]);
	return rc;
}
