/* SPDX-License-Identifier: MIT */
/* sim_print.c - simulated workloads for people and for programs */

#include <jansson.h>

#include "sim/sim_print.h"

const struct plx_summary *plx_results_summary(const struct plx_results *results,
					      int policy, int workload)
{
	return &results->summaries[policy * results->workload_count + workload];
}

const struct plx_run_result *plx_results_of(const struct plx_results *results,
					    int policy, int workload)
{
	return &results->tasks[policy * results->workload_count + workload]
			.run_result;
}

double plx_results_mean_s(const struct plx_results *results, int policy)
{
	double sum = 0;

	for (int w = 0; w < results->workload_count; w++)
		sum += plx_results_summary(results, policy, w)->avg_jct_s;
	return sum / results->workload_count;
}

static void print_row(const struct plx_results *results, const char *name,
		      const char *policy, const struct plx_summary *s,
		      FILE *out)
{
	fprintf(out,
		"%-16s %-9s %5d %8.0f %8.0f %8.0f %9.0f %8.1f %7.0f %5.2f "
		"%5.2f %6.2f %5.0f%% %7.2f %6.2f",
		name, policy, s->jobs, s->avg_jct_s, s->p50_jct_s, s->p99_jct_s,
		s->makespan_s, (double) s->restarts / s->jobs, s->gpu_hours,
		s->avg_efficiency, s->avg_goodput_ratio, s->worst_ftf,
		100 * s->unfair_jobs, s->decision_p99_ms, s->wall_s);
	if (results->scales)
		fprintf(out, " %7.1f %6.2f", s->node_hours, s->mean_nodes);
	fputc('\n', out);
}

void plx_print_table(const struct plx_results *results, FILE *out)
{
	fprintf(out,
		"%-16s %-9s %5s %8s %8s %8s %9s %8s %7s %5s %5s %6s %6s %7s "
		"%6s",
		"WORKLOAD", "POLICY", "JOBS", "AVG JCT", "P50", "P99",
		"MAKESPAN", "RESTARTS", "GPU H", "EFF", "GOOD", "FTF", "UNFAIR",
		"P99 MS", "WALL S");
	if (results->scales)
		fprintf(out, " %7s %6s", "NODE H", "NODES");
	fputc('\n', out);
	for (int w = 0; w < results->workload_count; w++) {
		for (int p = 0; p < results->policy_count; p++) {
			const struct plx_summary *s =
				plx_results_summary(results, p, w);

			print_row(results, p ? "" : s->name,
				  results->policies[p]->name, s, out);
		}
	}
	if (results->workload_count < 2)
		return;
	for (int p = 0; p < results->policy_count; p++)
		fprintf(out, "%-16s %-9s %5s %8.0f\n", p ? "" : "mean",
			results->policies[p]->name, "",
			plx_results_mean_s(results, p));
}

static json_t *summary_json(const struct plx_summary *s, bool scales)
{
	json_t *row = json_pack(
		"{s:s, s:i, s:f, s:f, s:f, s:f, s:i, s:f, s:f, s:f, s:f, s:f, "
		"s:i, s:f, s:f, s:f}",
		"name", s->name, "jobs", s->jobs, "avg_jct_s", s->avg_jct_s,
		"p50_jct_s", s->p50_jct_s, "p99_jct_s", s->p99_jct_s,
		"makespan_s", s->makespan_s, "restarts", s->restarts,
		"gpu_hours", s->gpu_hours, "avg_efficiency", s->avg_efficiency,
		"avg_goodput_ratio", s->avg_goodput_ratio, "worst_ftf",
		s->worst_ftf, "unfair_jobs", s->unfair_jobs, "decisions",
		s->decisions, "decision_p50_ms", s->decision_p50_ms,
		"decision_p99_ms", s->decision_p99_ms, "wall_s", s->wall_s);
	json_t *nodes = NULL;

	if (row && scales) {
		nodes = json_pack("{s:f, s:f}", "node_hours", s->node_hours,
				  "mean_nodes", s->mean_nodes);
		if (!nodes || json_object_update(row, nodes) < 0) {
			json_decref(row);
			row = NULL;
		}
	}
	json_decref(nodes);
	return row;
}

static int print_policy(const struct plx_results *results, int p, FILE *out)
{
	json_t *workloads = json_array();
	json_t *root = json_pack("{s:s, s:f, s:O}", "policy",
				 results->policies[p]->name, "mean_avg_jct_s",
				 plx_results_mean_s(results, p), "workloads",
				 workloads);
	int rc = root ? 0 : -1;

	for (int w = 0; rc == 0 && w < results->workload_count; w++)
		rc = json_array_append_new(
			workloads,
			summary_json(plx_results_summary(results, p, w),
				     results->scales));
	if (rc == 0)
		rc = json_dumpf(root, out, JSON_REAL_PRECISION(10));
	fputc('\n', out);
	json_decref(root);
	json_decref(workloads);
	return rc;
}

int plx_print_json(const struct plx_results *results, FILE *out,
		   struct plx_error *err)
{
	for (int p = 0; p < results->policy_count; p++) {
		if (print_policy(results, p, out) < 0)
			return plx_fail(err, "the results cannot be written "
					     "as JSON");
	}
	return 0;
}

void plx_print_jobs_header(FILE *out)
{
	fprintf(out, "policy,workload,name,application,submit_s,start_s,"
		     "finish_s,jct_s,restarts,gpu_s,ftf\n");
}

void plx_print_jobs(const struct plx_run_result *run_result, FILE *out)
{
	for (int i = 0; i < run_result->workload->count; i++) {
		const struct plx_job_result *job_result =
			&run_result->job_results[i];
		const struct plx_workload_entry *entry = job_result->entry;

		fprintf(out,
			"%s,%s,%s,%s,%.10g,%.10g,%.10g,%.10g,%d,%.10g,%.6g\n",
			run_result->policy->name, run_result->workload->name,
			entry->name, entry->app->name, entry->submit_s,
			job_result->start_s, job_result->finish_s,
			job_result->finish_s - entry->submit_s,
			job_result->restarts, job_result->gpu_s,
			job_result->fairness);
	}
}
