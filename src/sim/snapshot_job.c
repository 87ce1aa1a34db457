/* SPDX-License-Identifier: MIT */
/* snapshot_job.c - numbers of a snapshot, and its jobs */

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/snapshot/snapshot.h"
#include "sim/snapshot_parts.h"

#define SIZES_MAX   65536
#define SPEEDUP_MAX 1e6

static int read_field(const struct plx_json *up,
		      const struct plx_snapshot_field *field, void *owner,
		      struct plx_error *err)
{
	struct plx_json json = plx_json_at(up, field->key);
	char *at = (char *) owner + field->offset;
	double value = field->standard;
	bool flag = field->standard > 0;
	bool absent = !json.value && !isnan(field->standard);

	if (field->kind == PLX_FLAG) {
		if (!absent && plx_json_flag(&json, &flag, err) < 0)
			return -1;
		*(bool *) at = flag;
	} else if (field->kind == PLX_WHOLE) {
		if (!absent && plx_json_whole(&json, field->low, field->high,
					      &value, err) < 0)
			return -1;
		*(int *) at = (int) value;
	} else {
		if (!absent && plx_json_real(&json, field->low, field->high,
					     &value, err) < 0)
			return -1;
		*(double *) at = value;
	}
	return 0;
}

int plx_snapshot_settings(const struct plx_json *up,
			  struct plx_problem *problem, struct plx_error *err)
{
	for (int i = 0; plx_snapshot_fields[i].key; i++) {
		const struct plx_snapshot_field *field =
			&plx_snapshot_fields[i];

		if (field->part == PLX_IN_PROBLEM &&
		    json_object_get(up->value, field->key) &&
		    read_field(up, field, problem, err) < 0)
			return -1;
	}
	return 0;
}

static int read_part(const struct plx_json *up, enum plx_snapshot_part part,
		     struct plx_job *job, struct plx_error *err)
{
	for (int i = 0; plx_snapshot_fields[i].key; i++) {
		if (plx_snapshot_fields[i].part == part &&
		    read_field(up, &plx_snapshot_fields[i], job, err) < 0)
			return -1;
	}
	return 0;
}

/* One of the two sizes of a pass; null stands for no limit. */
static int read_size(const struct plx_json *range, size_t which, int standard,
		     int *out, struct plx_error *err)
{
	struct plx_json json = plx_json_item(range, which);
	double value = standard;

	if (!json_is_null(json.value) &&
	    plx_json_whole(&json, 1, INT_MAX, &value, err) < 0)
		return -1;
	*out = (int) value;
	return 0;
}

static int read_range(const struct plx_json *up, struct plx_limits *limits,
		      struct plx_error *err)
{
	struct plx_json json = plx_json_at(up, "atomic_bsz_range");
	size_t count;

	limits->min_per_gpu = 1;
	limits->max_per_gpu = limits->max_batch;
	if (!json.value || json_is_null(json.value))
		return 0;
	if (plx_json_list(&json, 2, 2, &count, err) < 0 ||
	    read_size(&json, 0, 1, &limits->min_per_gpu, err) < 0 ||
	    read_size(&json, 1, limits->max_batch, &limits->max_per_gpu, err) <
		    0)
		return -1;
	return 0;
}

static int read_goodput(const struct plx_json *up, struct plx_job *job,
			struct plx_error *err)
{
	struct plx_json model = plx_json_at(up, "perf_params");
	struct plx_json noise = plx_json_at(up, "grad_params");

	if (plx_json_object(&model, err) < 0 ||
	    plx_json_object(&noise, err) < 0 ||
	    read_part(up, PLX_IN_PROFILE, job, err) < 0 ||
	    read_part(&model, PLX_IN_MODEL, job, err) < 0 ||
	    read_part(&noise, PLX_IN_NOISE, job, err) < 0 ||
	    read_range(up, &job->goodput.limits, err) < 0)
		return -1;
	if (!plx_goodput_valid(&job->goodput))
		return plx_json_fail(up, err,
				     "want alpha_c + beta_c and sqr + var above"
				     " 0, init_batch_size and the least of "
				     "atomic_bsz_range up to max_batch_size");
	job->profiled = true;
	return 0;
}

static int read_table(const struct plx_json *up, struct plx_job *job,
		      struct plx_error *err)
{
	struct plx_json table = plx_json_at(up, "table");
	struct plx_json nodes = plx_json_at(&table, "nodes");
	struct plx_json gpus = plx_json_at(&table, "gpus");
	struct plx_json kept = plx_json_at(&table, "kept");
	struct plx_json list = plx_json_at(&table, "speedup");
	double n;
	double g;
	size_t count;

	job->table = calloc(1, sizeof(*job->table));
	if (!job->table)
		return plx_fail(err, "no memory");
	if (plx_json_object(&table, err) < 0 ||
	    plx_json_whole(&nodes, 1, INT_MAX, &n, err) < 0 ||
	    plx_json_whole(&gpus, 1, INT_MAX, &g, err) < 0 ||
	    plx_json_real(&kept, 0, 1, &job->table->kept, err) < 0 ||
	    plx_json_list(&list, 1, SIZE_MAX, &count, err) < 0)
		return -1;
	if (n * g != (double) count)
		return plx_json_fail(&list, err,
				     "%zu numbers for %.10g x %.10g shapes",
				     count, n, g);
	job->table->nodes = (int) n;
	job->table->gpus = (int) g;
	job->table->speedup = calloc(count, sizeof(double));
	if (!job->table->speedup)
		return plx_fail(err, "no memory");
	for (size_t i = 0; i < count; i++) {
		struct plx_json item = plx_json_item(&list, i);

		if (plx_json_real(&item, 0, SPEEDUP_MAX,
				  &job->table->speedup[i], err) < 0)
			return -1;
	}
	return 0;
}

/* How useful GPUs are to it. */
static int read_speedup(const struct plx_json *up, struct plx_job *job,
			struct plx_error *err)
{
	struct plx_json model = plx_json_at(up, "perf_params");
	struct plx_json linear = plx_json_at(up, "speedup");
	struct plx_json table = plx_json_at(up, "table");
	const char *text = json_string_value(linear.value);

	if (linear.value && (!text || strcmp(text, "linear") != 0))
		return plx_json_fail(&linear, err, "want \"linear\"");
	if (table.value && read_table(up, job, err) < 0)
		return -1;
	if (linear.value || (table.value && !model.value))
		return 0;
	return read_goodput(up, job, err);
}

/* [[first, last], ...] of nodes. */
static int read_ranges(const struct plx_json *list, int node_count, bool *nodes,
		       struct plx_error *err)
{
	size_t count;

	memset(nodes, 0, sizeof(*nodes) * (size_t) node_count);
	if (plx_json_list(list, 0, (size_t) node_count, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct plx_json pair = plx_json_item(list, i);
		struct plx_json first = plx_json_item(&pair, 0);
		struct plx_json last = plx_json_item(&pair, 1);
		double from;
		double to;
		size_t two;

		if (plx_json_list(&pair, 2, 2, &two, err) < 0 ||
		    plx_json_whole(&first, 0, node_count - 1, &from, err) < 0 ||
		    plx_json_whole(&last, from, node_count - 1, &to, err) < 0)
			return -1;
		memset(nodes + (int) from, 1,
		       sizeof(*nodes) * (size_t) (to - from + 1));
	}
	return 0;
}

static int read_nodes(struct plx_reading *reading, const struct plx_json *up,
		      int j, struct plx_error *err)
{
	struct plx_problem *problem = reading->snapshot->problem;
	struct plx_job *job = &problem->jobs[j];
	struct plx_json allowed = plx_json_at(up, "allowed");
	struct plx_json required = plx_json_at(up, "required");

	if (allowed.value &&
	    (plx_problem_restrict(problem, j, err) < 0 ||
	     read_ranges(&allowed, problem->node_count, job->allowed, err) < 0))
		return -1;
	if (required.value && (plx_problem_require(problem, j, err) < 0 ||
			       read_ranges(&required, problem->node_count,
					   job->required, err) < 0))
		return -1;
	return 0;
}

static int read_sizes(const struct plx_json *up, struct plx_job *job,
		      struct plx_error *err)
{
	struct plx_json list = plx_json_at(up, "sizes");
	double size = 0;
	size_t count;

	if (!list.value)
		return 0;
	if (plx_json_list(&list, 1, SIZES_MAX, &count, err) < 0)
		return -1;
	job->sizes = calloc(count, sizeof(*job->sizes));
	if (!job->sizes)
		return plx_fail(err, "no memory");
	for (size_t i = 0; i < count; i++) {
		struct plx_json item = plx_json_item(&list, i);

		/* Rising. */
		if (plx_json_whole(&item, size + 1, INT_MAX, &size, err) < 0)
			return -1;
		job->sizes[i] = (int) size;
	}
	job->size_count = (int) count;
	return 0;
}

static int read_identity(const struct plx_json *up, int j, int nodes,
			 struct plx_job *job, struct plx_error *err)
{
	struct plx_json id = plx_json_at(up, "id");
	struct plx_json batch_host = plx_json_at(up, "home");
	double value = j;
	double at = -1;

	if (id.value && plx_json_whole(&id, 0, UINT32_MAX, &value, err) < 0)
		return -1;
	if (batch_host.value &&
	    plx_json_whole(&batch_host, 0, nodes - 1, &at, err) < 0)
		return -1;
	job->id = (uint32_t) value;
	job->batch_host = (int) at;
	return 0;
}

int plx_snapshot_job(struct plx_reading *reading, const struct plx_json *json,
		     int j, struct plx_error *err)
{
	struct plx_problem *problem = reading->snapshot->problem;
	struct plx_job *job = &problem->jobs[j];

	if (read_identity(json, j, problem->node_count, job, err) < 0 ||
	    read_part(json, PLX_IN_JOB, job, err) < 0)
		return -1;
	/* None at all is always better said by may_park. */
	job->min_gpus = job->min_gpus > 1 ? job->min_gpus : 1;
	if (job->min_gpus > job->max_gpus)
		return plx_json_fail(json, err,
				     "max_replicas %d is below min_replicas %d",
				     job->max_gpus, job->min_gpus);
	/* Recorded elsewhere, max_replicas has this in it already. */
	if (!plx_json_at(json, "profiled_replicas").value)
		job->profiled_gpus = job->max_gpus;
	if (read_speedup(json, job, err) < 0 ||
	    read_nodes(reading, json, j, err) < 0 ||
	    read_sizes(json, job, err) < 0)
		return -1;
	return 0;
}
