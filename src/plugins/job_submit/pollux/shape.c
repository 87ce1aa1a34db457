/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shape.c - the shape an elastic job starts in */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "job_submit/pollux/shape.h"

/* GPUs on each of n nodes, 0 when there is no such number. */
static uint32_t per_node(const struct plx_options *options,
			 const struct shape_request *request, uint32_t n)
{
	uint32_t min = (uint32_t) options->min_gpus;

	if (request->gpus_per_node)
		return request->gpus && request->gpus_per_node * (uint64_t) n !=
						request->gpus
			       ? 0
			       : request->gpus_per_node;
	if (request->gpus)
		return request->gpus % n ? 0 : request->gpus / n;
	return (min + n - 1) / n;
}

static int refuse(const struct plx_options *options,
		  const struct shape_request *request,
		  const struct shape_cluster *cluster, struct plx_error *err)
{
	uint64_t all = (uint64_t) cluster->nodes * cluster->gpus;
	bool asked = request->gpus || request->gpus_per_node ||
		     request->min_nodes || request->max_nodes;
	char range[PLX_SIZES_TEXT];

	if (!all && request->type && request->type[0])
		return plx_fail(err,
				"no node of this cluster has GPUs of type %s",
				request->type);
	if (!all)
		return plx_fail(err, "no node of this cluster has GPUs");
	if ((uint64_t) options->min_gpus > all &&
	    !plx_sizes_given(&options->sizes))
		return plx_fail(err,
				"min=%d: the cluster has %u nodes of at "
				"most %u GPUs",
				options->min_gpus, cluster->nodes,
				cluster->gpus);
	if (plx_sizes_given(&options->sizes))
		plx_sizes_text(&options->sizes, range, sizeof(range));
	else if (options->max_gpus)
		snprintf(range, sizeof(range), "min=%d to max=%d",
			 options->min_gpus, options->max_gpus);
	else
		snprintf(range, sizeof(range), "at least min=%d",
			 options->min_gpus);
	return plx_fail(err,
			"the job cannot start with %.120s GPUs, %s on each "
			"node%s",
			range, request->whole ? "all" : "as many",
			asked ? ", within --nodes, --gpus and --gpus-per-node"
			      : "");
}

/* All GPUs of the fewest nodes that suffice. */
static bool choose_whole(const struct plx_options *options,
			 const struct shape_request *request,
			 const struct shape_cluster *cluster, uint32_t low,
			 uint32_t high, struct shape *shape)
{
	uint64_t most = options->max_gpus ? options->max_gpus : PLX_GPUS_MAX;
	uint64_t least = (uint64_t) options->min_gpus;

	if (request->gpus_per_node > cluster->gpus || !cluster->gpus)
		return false;
	if (request->gpus > least)
		least = request->gpus;
	for (uint32_t n = low; n <= high; n++) {
		uint64_t all = (uint64_t) n * cluster->gpus;

		if (all < least || all > most ||
		    !plx_sizes_allow(&options->sizes, (int) all))
			continue;
		*shape = (struct shape){ .nodes = n,
					 .gpus_per_node = cluster->gpus };
		return true;
	}
	return false;
}

/* The smallest of its sizes that is even on some nodes, the fewest of them. */
static bool choose_size(const struct plx_options *options,
			const struct shape_cluster *cluster, uint32_t low,
			uint32_t high, struct shape *shape)
{
	int most = options->max_gpus ? options->max_gpus : PLX_GPUS_MAX;

	for (int gpus = options->min_gpus; gpus && gpus <= most;
	     gpus = plx_sizes_up(&options->sizes, gpus + 1)) {
		for (uint32_t n = low; n <= high && n <= (uint32_t) gpus; n++) {
			uint32_t k = (uint32_t) gpus / n;

			if ((uint32_t) gpus % n || k > cluster->gpus)
				continue;
			*shape = (struct shape){ .nodes = n,
						 .gpus_per_node = k };
			return true;
		}
	}
	return false;
}

int shape_choose(const struct plx_options *options,
		 const struct shape_request *request,
		 const struct shape_cluster *cluster, struct shape *shape,
		 struct plx_error *err)
{
	uint64_t most = options->max_gpus ? options->max_gpus : PLX_GPUS_MAX;
	uint32_t low = request->min_nodes ? request->min_nodes : 1;
	uint32_t high = cluster->nodes;

	if (request->max_nodes && request->max_nodes < high)
		high = request->max_nodes;
	if (request->whole)
		return choose_whole(options, request, cluster, low, high, shape)
			       ? 0
			       : refuse(options, request, cluster, err);
	if (plx_sizes_given(&options->sizes) && !request->gpus &&
	    !request->gpus_per_node)
		return choose_size(options, cluster, low, high, shape)
			       ? 0
			       : refuse(options, request, cluster, err);
	for (uint32_t n = low; n <= high && n <= most; n++) {
		uint32_t k = per_node(options, request, n);
		uint64_t all = (uint64_t) n * k;

		if (k < 1 || k > cluster->gpus || all > most ||
		    all < (uint64_t) options->min_gpus ||
		    !plx_sizes_allow(&options->sizes, (int) all))
			continue;
		*shape = (struct shape){ .nodes = n, .gpus_per_node = k };
		return 0;
	}
	return refuse(options, request, cluster, err);
}
