/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view_json.c - one look at the cluster, for programs (cluster_view.h) */

#include <math.h>
#include <string.h>

#include "report/text.h"
#include "report/cluster_view.h"

static json_t *clean_string(const char *text)
{
	char clean[512];

	return json_string(plx_text_clean(text, clean, sizeof(clean)));
}

static json_t *real_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* Where it is not known: null. */
static json_t *positive_or_null(int64_t value)
{
	return value > 0 ? json_integer((json_int_t) value) : json_null();
}

static json_t *hint_json(const struct plx_view_job *job)
{
	const struct plx_hint *h = &job->status.hint;
	int64_t left_s = plx_view_left_s(job);

	return json_pack(
		"{s:I, s:i, s:i, s:f, s:o, s:f, s:o, s:f, s:f, s:o}", "batch",
		(json_int_t) plx_view_batch(job), "per_gpu", h->now.per_gpu,
		"passes", h->now.accum + 1, "goodput", h->goodput, "efficiency",
		real_or_null(plx_view_efficiency(job)), "progress", h->progress,
		"left_s",
		left_s < 0 ? json_null() : json_integer((json_int_t) left_s),
		"lr", h->lr, "loss", h->loss, "switch_cost",
		h->job.model.per_switch > 0 ? json_real(h->job.model.per_switch)
					    : json_null());
}

static json_t *elastic_json(const struct plx_view_job *job)
{
	json_t *out =
		json_pack("{s:I, s:s, s:o, s:o}", "serial",
			  (json_int_t) job->target.serial, "target",
			  plx_target_state_name(job->target.state), "speedup",
			  job->target.speedup > 0
				  ? json_real(job->target.speedup)
				  : json_null(),
			  "why", clean_string(job->target.why));

	if (!out || !job->told)
		return out;
	json_object_set_new(out, "phase",
			    json_string(plx_phase_name(job->status.phase)));
	json_object_set_new(out, "resizes", json_integer(job->status.resizes));
	if (job->status.has_hint)
		json_object_update_new(out, hint_json(job));
	return out;
}

static json_t *job_json(const struct plx_view_job *job)
{
	json_t *elastic = job->elastic ? elastic_json(job) : json_null();
	char why[PLX_WHY_SIZE + 64];
	json_t *out = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:o, s:I, s:o, s:s, s:o}",
		"job", clean_string(job->id), "name", clean_string(job->name),
		"user", clean_string(job->user), "account",
		clean_string(job->account), "partition",
		clean_string(job->partition), "state", job->state, "gpus",
		job->gpus, "nodes", clean_string(job->placement), "ran_s",
		(json_int_t) job->ran_s, "reason", clean_string(job->reason),
		"why", plx_view_why(job, why, sizeof(why)), "elastic", elastic);

	if (!out)
		return NULL;
	json_object_set_new(out, "submit", positive_or_null(job->submit_s));
	json_object_set_new(out, "start", positive_or_null(job->start_s));
	json_object_set_new(out, "changed", positive_or_null(job->changed_s));
	json_object_set_new(out, "limit_s", positive_or_null(job->limit_s));
	return out;
}

/* Of each GPU the job that holds it; "?": one that is not to be seen. */
static json_t *node_json(const struct plx_view *view,
			 const struct plx_view_node *node)
{
	json_t *holders = json_array();

	for (int g = 0; g < node->gpus && g < PLX_NODE_GPUS; g++) {
		int32_t holder = node->holders[g];

		if (holder >= 0)
			json_array_append_new(
				holders, clean_string(view->jobs[holder].id));
		else if (holder == PLX_HOLDER_UNKNOWN)
			json_array_append_new(holders, json_string("?"));
		else
			json_array_append_new(holders, json_null());
	}
	return json_pack("{s:o, s:s, s:i, s:i, s:o}", "node",
			 clean_string(node->name), "state", node->state, "gpus",
			 node->gpus, "busy", node->busy, "jobs", holders);
}

json_t *plx_view_json(const struct plx_view *view, const size_t *order,
		      size_t count)
{
	json_t *jobs = json_array();
	json_t *nodes = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(jobs, job_json(&view->jobs[order[i]]));
	for (size_t i = 0; i < view->node_count; i++)
		json_array_append_new(nodes, node_json(view, &view->nodes[i]));
	return json_pack("{s:I, s:I, s:i, s:i, s:o, s:o, s:o}", "time",
			 (json_int_t) view->now_s, "nodes",
			 (json_int_t) view->node_count, "gpus", view->gpus,
			 "gpus_busy", view->gpus_busy, "utility",
			 real_or_null(plx_view_utility(view)), "by_node", nodes,
			 "jobs", jobs);
}
