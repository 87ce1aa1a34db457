/* SPDX-License-Identifier: MIT */
/* html.c - simulated workloads as one page with pictures */

#include <math.h>

#include "chart/web_page.h"
#include "sim/html.h"
#include "sim/html_chart.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* A number of a summary. */
static const struct column {
	const char *head, *unit;
	size_t offset; /* of a double, or of an int where whole */
	bool whole;
	double scale; /* shown is as many times the value */
	int decimals;
	int better; /* 1: more, -1: less; 0: nobody can say */
	bool scaling;
} columns[] = {
/* clang-format off */
#define AT(member) offsetof(struct plx_summary, member)
	{ "Mean time", "s", AT(avg_jct_s), false, 1, 0, -1, false },
	{ "Median", "s", AT(p50_jct_s), false, 1, 0, -1, false },
	{ "99th pct.", "s", AT(p99_jct_s), false, 1, 0, -1, false },
	{ "Makespan", "h", AT(makespan_s), false, 1 / 3600., 2, -1, false },
	{ "Restarts", "of all jobs", AT(restarts), true, 1, 0, 0, false },
	{ "GPU time", "h", AT(gpu_hours), false, 1, 1, 0, false },
	{ "Efficiency", "statistical, %", AT(avg_efficiency), false, 100, 1, 0,
	  false },
	{ "Goodput ratio", "per GPU held", AT(avg_goodput_ratio), false, 1, 3,
	  1, false },
	{ "Worst fairness", "1: fair share", AT(worst_ftf), false, 1, 2, -1,
	  false },
	{ "Unfair jobs", "%", AT(unfair_jobs), false, 100, 1, -1, false },
	{ "Decision", "99th pct., ms", AT(decision_p99_ms), false, 1, 2, 0,
	  false },
	{ "Node time", "h", AT(node_hours), false, 1, 1, -1, true },
	{ "Nodes", "mean", AT(mean_nodes), false, 1, 2, 0, true },
#undef AT
	/* clang-format on */
};

static double cell(const struct column *column,
		   const struct plx_summary *summary)
{
	const char *at = (const char *) summary + column->offset;
	double value = column->whole ? *(const int *) at : *(const double *) at;

	return value * column->scale;
}

/* Nobody is as good, and there is somebody to compare with. */
static bool is_best(const struct plx_results *results,
		    const struct column *column, int policy, int workload)
{
	double mine =
		cell(column, plx_results_summary(results, policy, workload));

	for (int p = 0; p < results->policy_count; p++) {
		double other =
			cell(column, plx_results_summary(results, p, workload));

		if (p != policy && (mine - other) * column->better <= 0)
			return false;
	}
	return results->policy_count > 1;
}

static void print_row(const struct plx_results *results, int p, int w,
		      FILE *out)
{
	fprintf(out, "<tr><td>");
	plx_web_text(out, results->policies[p]->name);
	fprintf(out, "</td>");
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		if (columns[c].scaling && !results->scales)
			continue;
		fprintf(out, "<td%s>%.*f</td>",
			is_best(results, &columns[c], p, w) ? " class=\"best\""
							    : "",
			columns[c].decimals,
			cell(&columns[c], plx_results_summary(results, p, w)));
	}
	fprintf(out, "</tr>\n");
}

static void print_table(const struct plx_results *results, int w, FILE *out)
{
	fprintf(out, "<div class=\"scroll\"><table><thead><tr>"
		     "<th>Policy<small>&#160;</small></th>");
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		if (!columns[c].scaling || results->scales)
			fprintf(out, "<th>%s<small>%s</small></th>",
				columns[c].head, columns[c].unit);
	}
	fprintf(out, "</tr></thead><tbody>\n");
	for (int p = 0; p < results->policy_count; p++)
		print_row(results, p, w, out);
	fprintf(out, "</tbody></table></div>\n");
}

static void print_policy_keys(const struct plx_results *results, FILE *out)
{
	fprintf(out, "<p class=\"keys\">Policies:\n");
	for (int p = 0; p < results->policy_count; p++)
		plx_web_key(out, 'p', p % PLX_POLICY_COLOURS,
			    results->policies[p]->name);
	fprintf(out, "</p>\n");
}

static int print_workload(const struct plx_results *results, int w, FILE *out,
			  struct plx_error *err)
{
	const struct plx_summary *any = plx_results_summary(results, 0, w);

	fprintf(out, "<section><h2>");
	plx_web_text(out, any->name);
	fprintf(out, " <span class=\"dim\">%d jobs</span></h2>\n", any->jobs);
	print_table(results, w, out);
	print_policy_keys(results, out);
	fprintf(out, "<div class=\"grid\">\n");
	if (plx_chart_jct(results, w, out, err) < 0)
		return -1;
	plx_chart_lines(results, w, out);
	fprintf(out, "</div>\n");
	plx_chart_band_keys(results, out);
	fprintf(out, "<div class=\"grid\">\n");
	for (int p = 0; p < results->policy_count; p++) {
		if (plx_chart_bands(results, p, w, out, err) < 0)
			return -1;
	}
	fprintf(out, "</div>\n");
	plx_web_grade_keys(out);
	fprintf(out, "<div class=\"grid\">\n");
	for (int p = 0; p < results->policy_count; p++) {
		if (plx_chart_gantt(results, p, w, out, err) < 0)
			return -1;
	}
	fprintf(out, "</div></section>\n");
	return 0;
}

/* Mean completion times of all: what most people want to know first. */
static void print_means(const struct plx_results *results, FILE *out)
{
	fprintf(out, "<h2>Mean completion time <span class=\"dim\">s</span>"
		     "</h2>\n<div class=\"scroll\"><table><thead><tr>"
		     "<th>Policy</th>");
	for (int w = 0; w < results->workload_count; w++) {
		fprintf(out, "<th>");
		plx_web_text(out, plx_results_summary(results, 0, w)->name);
		fprintf(out, "</th>");
	}
	fprintf(out, "<th>mean</th><th>to the first</th></tr></thead>"
		     "<tbody>\n");
	for (int p = 0; p < results->policy_count; p++) {
		double mean_s = plx_results_mean_s(results, p);

		fprintf(out, "<tr><td>%s</td>", results->policies[p]->name);
		for (int w = 0; w < results->workload_count; w++)
			fprintf(out, "<td%s>%.0f</td>",
				is_best(results, &columns[0], p, w)
					? " class=\"best\""
					: "",
				plx_results_summary(results, p, w)->avg_jct_s);
		fprintf(out, "<td>%.0f</td><td>%.2f</td></tr>\n", mean_s,
			mean_s / plx_results_mean_s(results, 0));
	}
	fprintf(out, "</tbody></table></div>\n");
}

static void print_setting(const struct plx_results *results, FILE *out)
{
	const struct plx_setting *setting = results->tasks[0].setting;

	fprintf(out, "<p class=\"dim\">");
	if (results->scales)
		fprintf(out,
			"%d to %d nodes for a utility of %g, each with %d GPUs",
			setting->scaling.min_nodes, setting->scaling.max_nodes,
			setting->scaling.target, setting->node_gpus);
	else
		fprintf(out, "%d nodes with %d GPUs each", setting->node_count,
			setting->node_gpus);
	fprintf(out, "; a decision every %g s; ", setting->interval_s);
	if (setting->restart_auto)
		fprintf(out, "a restart costs what it costs the application");
	else
		fprintf(out, "a restart costs %g s", setting->restart_s);
	fprintf(out, "; interference %g; ", setting->interference);
	if (!isnan(setting->fairness))
		fprintf(out, "fairness p = %g; ", setting->fairness);
	fprintf(out, "jobs %stell how much they have to do; seed %llu.</p>\n",
		setting->remaining ? "" : "do not ",
		(unsigned long long) setting->seed);
}

int plx_html_print(const struct plx_results *results, FILE *out,
		   struct plx_error *err)
{
	plx_web_begin(out, "pollux-sim", "");
	fprintf(out, "<h1>Simulated workloads</h1>\n");
	print_setting(results, out);
	if (results->workload_count > 1)
		print_means(results, out);
	for (int w = 0; w < results->workload_count; w++) {
		if (print_workload(results, w, out, err) < 0)
			return -1;
	}
	plx_web_end(out);
	return 0;
}
