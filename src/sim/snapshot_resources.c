/* SPDX-License-Identifier: MIT */
/* snapshot_resources.c - what replicas need besides GPUs, and nodes have */

#include <stdlib.h>
#include <string.h>

#include "sim/snapshot_parts.h"

#define KINDS_MAX  16 /* of "resources" */
#define AMOUNT_MAX 1e15

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

static int read_kind(struct plx_snapshot *snapshot, const struct plx_json *root,
		     const char *name, struct plx_error *err)
{
	struct plx_kind *kind = &snapshot->kinds[snapshot->kind_count++];
	struct plx_json nodes = plx_json_at(root, "nodes");
	struct plx_json jobs = plx_json_at(root, "jobs");

	kind->has = calloc((size_t) snapshot->problem->node_count + 1,
			   sizeof(*kind->has));
	kind->needs = calloc((size_t) snapshot->problem->job_count + 1,
			     sizeof(*kind->needs));
	if (!kind->has || !kind->needs)
		return plx_fail(err, "no memory");
	if (read_amounts(&nodes, name, kind->has, err) < 0 ||
	    read_amounts(&jobs, name, kind->needs, err) < 0)
		return -1;
	return 0;
}

/* Names of all that any job's replica needs, other than GPUs. */
static int list_kinds(const struct plx_json *root, const char **names,
		      int *count, struct plx_error *err)
{
	struct plx_json jobs = plx_json_at(root, "jobs");
	json_t *job;
	size_t j;
	const char *name;
	json_t *amount;

	json_array_foreach(jobs.value, j, job)
	{
		struct plx_json json = plx_json_item(&jobs, j);
		json_t *resources = json_object_get(job, "resources");

		json_object_foreach(resources, name, amount)
		{
			int i = 0;

			while (i < *count && strcmp(names[i], name) != 0)
				i++;
			if (i < *count || !strcmp(name, "gpu"))
				continue;
			if (i == KINDS_MAX)
				return plx_json_fail(&json, err,
						     "more than %d kinds of "
						     "resources",
						     KINDS_MAX);
			names[(*count)++] = name;
		}
	}
	return 0;
}

static int count_shares(struct plx_snapshot *snapshot,
			const struct plx_json *root,
			const struct plx_kind *kind, const char *name,
			struct plx_error *err)
{
	struct plx_json jobs = plx_json_at(root, "jobs");
	double total = 0;

	for (int n = 0; n < snapshot->problem->node_count; n++)
		total += kind->has[n];
	for (int j = 0; j < snapshot->problem->job_count; j++) {
		struct plx_json job = plx_json_item(&jobs, (size_t) j);
		double share = 0;

		if (kind->needs[j] > 0 && total <= 0)
			return plx_json_fail(&job, err,
					     "needs \"%.40s\", which no node "
					     "has",
					     name);
		if (kind->needs[j] > 0)
			share = kind->needs[j] / total;
		if (share > snapshot->shares[j])
			snapshot->shares[j] = share < 1 ? share : 1;
	}
	return 0;
}

/* As many amounts as there are kinds; absent: zeros stay. */
static int read_list(const struct plx_json *list, int count, double *amounts,
		     struct plx_error *err)
{
	size_t length;

	if (!list->value)
		return 0;
	if (plx_json_list(list, (size_t) count, (size_t) count, &length, err) <
	    0)
		return -1;
	for (size_t i = 0; i < length; i++) {
		struct plx_json item = plx_json_item(list, i);

		if (plx_json_real(&item, 0, AMOUNT_MAX, &amounts[i], err) < 0)
			return -1;
	}
	return 0;
}

/* *takes, which stays NULL where there are none, is the caller's to free. */
static int read_demand(const struct plx_json *json, const char *key, int kinds,
		       double **demand, struct plx_error *err)
{
	struct plx_json list = plx_json_at(json, key);

	if (!list.value)
		return 0;
	*demand = calloc((size_t) kinds, sizeof(**demand));
	if (!*demand)
		return plx_fail(err, "no memory");
	return read_list(&list, kinds, *demand, err);
}

int plx_snapshot_consumables(struct plx_problem *problem,
			     const struct plx_json *root, struct plx_error *err)
{
	struct plx_json nodes = plx_json_at(root, "nodes");
	struct plx_json jobs = plx_json_at(root, "jobs");
	struct plx_json first = plx_json_item(&nodes, 0);
	struct plx_json consumables = plx_json_at(&first, "stock");
	size_t kinds;

	if (!consumables.value)
		return 0;
	if (plx_json_list(&consumables, 1, PLX_KINDS_MAX, &kinds, err) < 0)
		return -1;
	problem->consumables = calloc((size_t) problem->node_count * kinds,
				      sizeof(*problem->consumables));
	if (!problem->consumables)
		return plx_fail(err, "no memory");
	problem->consumable_kinds = (int) kinds;
	for (int n = 0; n < problem->node_count; n++) {
		struct plx_json node = plx_json_item(&nodes, (size_t) n);
		struct plx_json list = plx_json_at(&node, "stock");

		if (read_list(&list, (int) kinds,
			      problem->consumables + (size_t) n * kinds,
			      err) < 0)
			return -1;
	}
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_json job = plx_json_item(&jobs, (size_t) j);

		struct plx_job *to = &problem->jobs[j];

		if (read_demand(&job, "takes", (int) kinds, &to->demand, err) <
			    0 ||
		    read_demand(&job, "home_takes", (int) kinds,
				&to->batch_host_demand, err) < 0)
			return -1;
	}
	return 0;
}

int plx_snapshot_resources(struct plx_snapshot *snapshot,
			   const struct plx_json *problem,
			   struct plx_error *err)
{
	const char *names[KINDS_MAX];
	double gpus = 0;
	int count = 0;

	for (int n = 0; n < snapshot->problem->node_count; n++)
		gpus += snapshot->problem->gpus_total[n];
	for (int j = 0; j < snapshot->problem->job_count; j++)
		snapshot->shares[j] = 1 / (gpus > 1 ? gpus : 1);
	snapshot->kinds = calloc(KINDS_MAX, sizeof(*snapshot->kinds));
	if (!snapshot->kinds)
		return plx_fail(err, "no memory");
	if (list_kinds(problem, names, &count, err) < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		if (read_kind(snapshot, problem, names[i], err) < 0 ||
		    count_shares(snapshot, problem, &snapshot->kinds[i],
				 names[i], err) < 0)
			return -1;
	}
	return 0;
}
