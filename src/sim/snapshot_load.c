/* SPDX-License-Identifier: MIT */
/* snapshot_load.c - a recorded problem, read from a file */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/snapshot/snapshot.h"
#include "sim/snapshot_parts.h"

#define COUNT_MAX     65536
#define CELLS_MAX     (1 << 24) /* jobs times nodes */
#define NODE_GPUS_MAX 4096
#define FAIRNESS_MAX  10

/* How many of the file's objects there are, and their names. */
static int read_names(const struct plx_json *list, char **names, json_t *index,
		      struct plx_error *err)
{
	size_t count = json_array_size(list->value);

	for (size_t i = 0; i < count; i++) {
		struct plx_json item = plx_json_item(list, i);
		struct plx_json key = plx_json_at(&item, "key");
		const char *name;

		if (plx_json_object(&item, err) < 0 ||
		    plx_json_text(&key, &name, err) < 0)
			return -1;
		if (json_object_get(index, name))
			return plx_json_fail(&key, err,
					     "\"%.40s\" is there "
					     "twice",
					     name);
		names[i] = strdup(name);
		if (!names[i] ||
		    json_object_set_new(index, name,
					json_integer((json_int_t) i)) < 0)
			return plx_fail(err, "no memory");
	}
	return 0;
}

/* GPUs of each node: all of them, and those for the jobs that are told. */
static int read_nodes(const struct plx_json *list, struct plx_problem *problem,
		      struct plx_error *err)
{
	for (int n = 0; n < problem->node_count; n++) {
		struct plx_json node = plx_json_item(list, (size_t) n);
		struct plx_json resources = plx_json_at(&node, "resources");
		struct plx_json gpu = plx_json_at(&resources, "gpu");
		struct plx_json elastic = plx_json_at(&node, "elastic");
		double total = 0;
		double some;

		if (plx_json_object(&resources, err) < 0 ||
		    (gpu.value &&
		     plx_json_whole(&gpu, 0, NODE_GPUS_MAX, &total, err) < 0))
			return -1;
		some = total;
		if (elastic.value &&
		    plx_json_whole(&elastic, 0, total, &some, err) < 0)
			return -1;
		problem->gpus_total[n] = (int) total;
		problem->gpus[n] = (int) some;
	}
	return 0;
}

/* Where any is told; a node that tells none is on switch 0. */
static int read_switches(const struct plx_json *list,
			 struct plx_problem *problem, struct plx_error *err)
{
	for (int n = 0; n < problem->node_count; n++) {
		struct plx_json node = plx_json_item(list, (size_t) n);
		struct plx_json of = plx_json_at(&node, "switch");
		double number;

		if (!of.value)
			continue;
		if (plx_json_whole(&of, 0, problem->node_count - 1, &number,
				   err) < 0 ||
		    plx_problem_add_switches(problem, err) < 0)
			return -1;
		problem->switches[n] = (int) number;
	}
	return 0;
}

static int read_jobs(struct plx_reading *reading, const struct plx_json *list,
		     struct plx_error *err)
{
	for (int j = 0; j < reading->snapshot->problem->job_count; j++) {
		struct plx_json job = plx_json_item(list, (size_t) j);
		struct plx_json resources = plx_json_at(&job, "resources");
		struct plx_json gpu = plx_json_at(&resources, "gpu");
		double one;

		if (gpu.value && plx_json_whole(&gpu, 1, 1, &one, err) < 0)
			return -1;
		if (plx_snapshot_job(reading, &job, j, err) < 0)
			return -1;
	}
	return 0;
}

/* [[job, node, GPUs], ...] */
static int read_base_state(const struct plx_json *list,
			   struct plx_problem *problem, struct plx_error *err)
{
	size_t count;

	if (plx_json_list(list, 0, CELLS_MAX, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct plx_json item = plx_json_item(list, i);
		struct plx_json part[3];
		double value[3] = { problem->job_count - 1,
				    problem->node_count - 1, NODE_GPUS_MAX };
		size_t three;
		int *now;

		if (plx_json_list(&item, 3, 3, &three, err) < 0)
			return -1;
		for (size_t k = 0; k < three; k++) {
			part[k] = plx_json_item(&item, k);
			if (plx_json_whole(&part[k], k == 2, value[k],
					   &value[k], err) < 0)
				return -1;
		}
		now = &problem->jobs[(int) value[0]].now[(int) value[1]];
		if (*now > 0)
			return plx_json_fail(&item, err,
					     "this job and node were there "
					     "before");
		*now = (int) value[2];
	}
	return 0;
}

/* Which of the names a text is; -1 with err set when it is none. */
static int find_name(const struct plx_json *json, const json_t *index,
		     const char *name, struct plx_error *err)
{
	const json_t *found = json_object_get(index, name);

	if (!found)
		return plx_json_fail(json, err, "\"%.40s\" is unknown", name);
	return (int) json_integer_value(found);
}

/* {"job": ["node of each replica", ...], ...}, added to now. */
static int read_base_names(const struct plx_reading *reading,
			   const struct plx_json *object, struct plx_error *err)
{
	const char *key;
	json_t *value;

	if (plx_json_object(object, err) < 0)
		return -1;
	json_object_foreach(object->value, key, value)
	{
		struct plx_json list = plx_json_at(object, key);
		int j = find_name(&list, reading->jobs, key, err);
		size_t count;

		if (j < 0 ||
		    plx_json_list(&list, 0, CELLS_MAX, &count, err) < 0)
			return -1;
		for (size_t i = 0; i < count; i++) {
			struct plx_json item = plx_json_item(&list, i);
			const char *name;
			int n;

			if (plx_json_text(&item, &name, err) < 0)
				return -1;
			n = find_name(&item, reading->nodes, name, err);
			if (n < 0)
				return -1;
			reading->snapshot->problem->jobs[j].now[n]++;
		}
	}
	return 0;
}

/* Either way of telling what jobs have will do; nothing is: nothing. */
static int read_base(const struct plx_reading *reading,
		     const struct plx_json *root, struct plx_error *err)
{
	struct plx_json state = plx_json_at(root, "base_state");
	struct plx_json names = plx_json_at(root, "base_allocations");

	if (state.value)
		return read_base_state(&state, reading->snapshot->problem, err);
	if (names.value)
		return read_base_names(reading, &names, err);
	return 0;
}

/* A job that may not be preempted keeps what it has; before that it starts. */
static int read_preemptible(const struct plx_json *list,
			    struct plx_problem *problem, struct plx_error *err)
{
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_json item = plx_json_item(list, (size_t) j);
		struct plx_json json = plx_json_at(&item, "preemptible");
		struct plx_job *job = &problem->jobs[j];
		bool preemptible = true;

		if (json.value && plx_json_flag(&json, &preemptible, err) < 0)
			return -1;
		if (!preemptible &&
		    plx_shape_of(job->now, problem->node_count).gpus > 0)
			job->fixed = true;
	}
	return 0;
}

static int read_seed(const struct plx_json *root, struct plx_problem *problem,
		     struct plx_error *err)
{
	struct plx_json json = plx_json_at(root, "seed");
	const char *text = json_string_value(json.value);
	char *end = NULL;

	if (!json.value)
		return 0;
	if (json_is_integer(json.value) && json_integer_value(json.value) >= 0)
		problem->seed = (uint64_t) json_integer_value(json.value);
	errno = 0;
	if (text && text[0] >= '0' && text[0] <= '9')
		problem->seed = strtoull(text, &end, 10);
	if ((end && *end) || errno ||
	    (!end && !(json_is_integer(json.value) &&
		       json_integer_value(json.value) >= 0)))
		return plx_json_fail(&json, err,
				     "want a whole number, in "
				     "quotes when it is large");
	return 0;
}

static int read_settings(const struct plx_json *root,
			 struct plx_problem *problem, struct plx_error *err)
{
	struct plx_json format = plx_json_at(root, "format");
	struct plx_json fairness = plx_json_at(root, "fairness");
	const char *text = json_string_value(fairness.value);
	double number;

	problem->interference = true;
	if (text && !strcmp(text, "min"))
		problem->fairness = -INFINITY;
	else if (fairness.value &&
		 plx_json_real(&fairness, -HUGE_VAL, FAIRNESS_MAX,
			       &problem->fairness, err) < 0)
		return -1;
	if (format.value &&
	    plx_json_whole(&format, 1, PLX_SNAPSHOT_FORMAT, &number, err) < 0)
		return -1;
	if (plx_snapshot_settings(root, problem, err) < 0)
		return -1;
	return read_seed(root, problem, err);
}

static struct plx_snapshot *snapshot_create(size_t nodes, size_t jobs,
					    struct plx_error *err)
{
	struct plx_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot) {
		plx_fail(err, "no memory");
		return NULL;
	}
	snapshot->problem = plx_problem_create((int) nodes, (int) jobs, err);
	snapshot->nodes = calloc(nodes + 1, sizeof(*snapshot->nodes));
	snapshot->jobs = calloc(jobs + 1, sizeof(*snapshot->jobs));
	snapshot->shares = calloc(jobs + 1, sizeof(*snapshot->shares));
	if (snapshot->problem && snapshot->nodes && snapshot->jobs &&
	    snapshot->shares)
		return snapshot;
	plx_fail(err, "no memory");
	plx_snapshot_destroy(snapshot);
	return NULL;
}

/* Both NULL-ended, as calloc() left one more. */
static void free_names(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}

void plx_snapshot_destroy(struct plx_snapshot *snapshot)
{
	if (!snapshot)
		return;
	plx_problem_destroy(snapshot->problem);
	for (int i = 0; i < snapshot->kind_count; i++) {
		free(snapshot->kinds[i].has);
		free(snapshot->kinds[i].needs);
	}
	free(snapshot->kinds);
	free_names(snapshot->nodes);
	free_names(snapshot->jobs);
	free(snapshot->shares);
	free(snapshot);
}

/* What was decided is of interest only if it makes sense. */
static double recorded_fitness(const struct plx_json *root)
{
	const json_t *answer = json_object_get(root->value, "answer");
	const json_t *fitness = json_object_get(answer, "fitness");

	return json_is_number(fitness) ? json_number_value(fitness) : NAN;
}

static int read_lists(struct plx_reading *reading, const struct plx_json *root,
		      struct plx_error *err)
{
	struct plx_json nodes = plx_json_at(root, "nodes");
	struct plx_json jobs = plx_json_at(root, "jobs");
	struct plx_snapshot *snapshot;
	size_t node_count;
	size_t job_count;

	if (plx_json_object(root, err) < 0 ||
	    plx_json_list(&nodes, 1, COUNT_MAX, &node_count, err) < 0 ||
	    plx_json_list(&jobs, 0, COUNT_MAX, &job_count, err) < 0)
		return -1;
	if (node_count * job_count > CELLS_MAX)
		return plx_json_fail(root, err,
				     "%zu jobs on %zu nodes: too many",
				     job_count, node_count);
	reading->snapshot = snapshot =
		snapshot_create(node_count, job_count, err);
	if (!snapshot)
		return -1;
	snapshot->recorded = recorded_fitness(root);
	if (read_names(&nodes, snapshot->nodes, reading->nodes, err) < 0 ||
	    read_names(&jobs, snapshot->jobs, reading->jobs, err) < 0 ||
	    read_settings(root, snapshot->problem, err) < 0 ||
	    read_nodes(&nodes, snapshot->problem, err) < 0 ||
	    read_switches(&nodes, snapshot->problem, err) < 0 ||
	    read_jobs(reading, &jobs, err) < 0 ||
	    read_base(reading, root, err) < 0 ||
	    read_preemptible(&jobs, snapshot->problem, err) < 0 ||
	    plx_snapshot_consumables(snapshot->problem, root, err) < 0 ||
	    plx_snapshot_resources(snapshot, root, err) < 0)
		return -1;
	return 0;
}

static int read_problem(const struct plx_json *root, struct plx_snapshot **out,
			struct plx_error *err)
{
	struct plx_reading reading = { .nodes = json_object(),
				       .jobs = json_object() };
	struct plx_error why;
	int rc = -1;

	if (!reading.nodes || !reading.jobs) {
		plx_fail(err, "no memory");
		goto done;
	}
	if (read_lists(&reading, root, err) < 0)
		goto done;
	plx_problem_price(reading.snapshot->problem);
	if (plx_problem_check(reading.snapshot->problem, &why) < 0) {
		plx_json_fail(root, err, "%s", why.text);
		goto done;
	}
	*out = reading.snapshot;
	reading.snapshot = NULL; /* now the caller's */
	rc = 0;
done:
	plx_snapshot_destroy(reading.snapshot);
	json_decref(reading.nodes);
	json_decref(reading.jobs);
	return rc;
}

/* The item of "cases" with this name, or the only one. */
static int find_case(const struct plx_json *cases, const char *name,
		     size_t *found, struct plx_error *err)
{
	size_t count;

	if (plx_json_list(cases, 1, COUNT_MAX, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct plx_json item = plx_json_item(cases, i);
		struct plx_json label = plx_json_at(&item, "name");
		const char *text = json_string_value(label.value);

		if (name ? text && !strcmp(text, name) : count == 1) {
			*found = i;
			return 0;
		}
	}
	if (name)
		return plx_json_fail(cases, err, "none is named \"%.60s\"",
				     name);
	return plx_json_fail(cases, err,
			     "there are %zu, one has to be chosen by its name",
			     count);
}

int plx_snapshot_parse(const char *text, size_t length, const char *path,
		       const char *name, struct plx_snapshot **out,
		       struct plx_error *err)
{
	struct plx_page page = { .name = path, .text = text };
	struct plx_json root;
	struct plx_json cases;
	struct plx_json item;
	size_t i = 0;
	int rc = -1;

	if (plx_page_parse(&page, length, err) < 0)
		return -1;
	root = plx_json_root(&page);
	cases = plx_json_at(&root, "cases");
	if (cases.value) {
		if (find_case(&cases, name, &i, err) < 0)
			goto done;
		item = plx_json_item(&cases, i);
		rc = read_problem(&item, out, err);
	} else if (name) {
		plx_json_fail(&root, err, "there is no list of cases");
	} else {
		rc = read_problem(&root, out, err);
	}
done:
	json_decref(page.root);
	return rc;
}

static char *read_file(const char *path, size_t *length, struct plx_error *err)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;
	size_t used = 0;

	if (!in) {
		plx_fail(err, "%.200s: %s", path, strerror(errno));
		return NULL;
	}
	while (used == size && used <= (size_t) PLX_SNAPSHOT_MAX) {
		char *more;

		size = size ? 2 * size : 65536;
		more = realloc(text, size + 1);
		if (!more)
			break;
		text = more;
		used += fread(text + used, 1, size - used, in);
	}
	if (ferror(in) || used == size || used > (size_t) PLX_SNAPSHOT_MAX) {
		plx_fail(err, "%.200s: %s", path,
			 ferror(in) ? strerror(errno) : "it is too large");
		free(text);
		text = NULL;
	} else {
		text[used] = '\0';
		*length = used;
	}
	fclose(in);
	return text;
}

int plx_snapshot_load(const char *path, const char *name,
		      struct plx_snapshot **out, struct plx_error *err)
{
	size_t length;
	char *text = read_file(path, &length, err);
	int rc;

	if (!text)
		return -1;
	rc = plx_snapshot_parse(text, length, path, name, out, err);
	free(text);
	return rc;
}
