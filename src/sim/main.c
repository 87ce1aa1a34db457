/* SPDX-License-Identifier: MIT */
/*
 * main.c - pollux-sim: workloads on a simulated cluster
 *
 * Exit codes: 0 printed; 1 failed; 2 bad options or files.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/html.h"
#include "sim/sim_options.h"
#include "sim/sim_print.h"

/* All that a run of the program holds. */
struct run {
	struct plx_sim_options options;
	struct plx_catalog catalog;
	struct plx_workload *workloads; /* [options.workload_count] */
	struct plx_task *tasks;		/* policies times workloads */
	int task_count;
	struct plx_summary *summaries; /* [task_count] */
};

/* By whatever names; a device takes what comes. */
static bool same_file(const char *a, const char *b)
{
	struct stat x;
	struct stat y;

	if (stat(a, &x) < 0 || stat(b, &y) < 0)
		return strcmp(a, b) == 0;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
	       S_ISREG(x.st_mode);
}

/* What is written must not be what is read. path NULL: none. */
static int check_output(const struct plx_sim_options *options,
			const char *option, const char *path,
			struct plx_error *err)
{
	for (int w = 0; path && w < options->workload_count; w++) {
		if (same_file(path, options->workloads[w]))
			return plx_fail(err,
					"--%s=%s: this is a workload to read",
					option, path);
	}
	return 0;
}

static int check_outputs(const struct plx_sim_options *options,
			 struct plx_error *err)
{
	if (options->jobs && options->html &&
	    same_file(options->jobs, options->html))
		return plx_fail(err, "--html=%s: --jobs is the same file",
				options->html);
	if (check_output(options, "jobs", options->jobs, err) < 0)
		return -1;
	return check_output(options, "html", options->html, err);
}

/* Better told before a simulation than after it. path NULL: none. */
static int check_writable(const char *path, struct plx_error *err)
{
	FILE *out;

	if (!path)
		return 0;
	out = fopen(path, "a");
	if (!out || fclose(out) != 0)
		return plx_fail(err, "%s: %s", path, strerror(errno));
	return 0;
}

static int load(struct run *run, struct plx_error *err)
{
	const struct plx_sim_options *options = &run->options;

	/* Again, once both are there: names may differ. */
	if (check_outputs(options, err) < 0 ||
	    check_writable(options->jobs, err) < 0 ||
	    check_writable(options->html, err) < 0 ||
	    check_outputs(options, err) < 0)
		return -1;
	run->catalog.dir = options->traces;
	run->workloads = calloc((size_t) options->workload_count,
				sizeof(*run->workloads));
	if (!run->workloads)
		return plx_fail(err, "no memory");
	for (int w = 0; w < options->workload_count; w++) {
		if (plx_workload_load(options->workloads[w], &run->catalog,
				      &run->workloads[w], err) < 0)
			return -1;
	}
	for (int p = 0; p < options->policy_count; p++) {
		for (int w = 0; w < options->workload_count; w++) {
			if (plx_simulate_check(&options->setting,
					       options->policies[p],
					       &run->workloads[w], err) < 0)
				return -1;
		}
	}
	return 0;
}

static int simulate(struct run *run, struct plx_error *err)
{
	const struct plx_sim_options *options = &run->options;
	int count = options->policy_count * options->workload_count;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int threads = cores < 1 ? 1 : cores > count ? count : (int) cores;

	run->tasks = calloc((size_t) count, sizeof(*run->tasks));
	run->summaries = calloc((size_t) count, sizeof(*run->summaries));
	if (!run->tasks || !run->summaries)
		return plx_fail(err, "no memory");
	run->task_count = count;
	for (int i = 0; i < count; i++) {
		run->tasks[i].setting = &options->setting;
		run->tasks[i].policy =
			options->policies[i / options->workload_count];
		run->tasks[i].workload =
			&run->workloads[i % options->workload_count];
	}
	if (plx_tasks_run(run->tasks, count, threads, isatty(STDERR_FILENO),
			  err) < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		if (plx_summarize(&run->tasks[i].run_result, &run->summaries[i],
				  err) < 0)
			return -1;
	}
	return 0;
}

static int print_jobs(const struct plx_results *results, FILE *out,
		      struct plx_error *err)
{
	(void) err;
	plx_print_jobs_header(out);
	for (int p = 0; p < results->policy_count; p++) {
		for (int w = 0; w < results->workload_count; w++)
			plx_print_jobs(plx_results_of(results, p, w), out);
	}
	return 0;
}

/* A file of its own for some of the results; path NULL: not asked for. */
static int write_file(const struct plx_results *results, const char *path,
		      int (*print)(const struct plx_results *results, FILE *out,
				   struct plx_error *err),
		      struct plx_error *err)
{
	FILE *out;
	int rc;
	int failed;

	if (!path)
		return 0;
	out = fopen(path, "w");
	if (!out)
		return plx_fail(err, "%s: %s", path, strerror(errno));
	rc = print(results, out, err);
	failed = ferror(out);
	if (fclose(out) != 0 || failed)
		return plx_fail(err, "%s: not all could be written", path);
	return rc;
}

static int print(const struct run *run, struct plx_error *err)
{
	const struct plx_sim_options *options = &run->options;
	struct plx_results results = {
		.policies = options->policies,
		.policy_count = options->policy_count,
		.workload_count = options->workload_count,
		.summaries = run->summaries,
		.tasks = run->tasks,
		.catalog = &run->catalog,
		.gpus = plx_setting_nodes(&options->setting) *
			options->setting.node_gpus,
		.scales = options->setting.scaling.max_nodes > 0,
	};

	if (write_file(&results, options->jobs, print_jobs, err) < 0 ||
	    write_file(&results, options->html, plx_html_print, err) < 0)
		return -1;
	if (options->json && plx_print_json(&results, stdout, err) < 0)
		return -1;
	if (!options->json)
		plx_print_table(&results, stdout);
	if (fflush(stdout) != 0)
		return plx_fail(err, "standard output: %s", strerror(errno));
	return 0;
}

static void release(struct run *run)
{
	for (int i = 0; i < run->task_count; i++)
		plx_run_result_release(&run->tasks[i].run_result);
	for (int w = 0; run->workloads && w < run->options.workload_count; w++)
		plx_workload_release(&run->workloads[w]);
	plx_catalog_release(&run->catalog);
	free(run->summaries);
	free(run->tasks);
	free(run->workloads);
	free(run->options.policies);
}

int main(int argc, char **argv)
{
	struct run run = { 0 };
	struct plx_error err;
	int status = EXIT_FAILURE;

	plx_sim_options_parse(argc, argv, &run.options);
	if (load(&run, &err) < 0)
		status = PLX_EXIT_MISUSE;
	else if (simulate(&run, &err) == 0 && print(&run, &err) == 0)
		status = EXIT_SUCCESS;
	if (status != EXIT_SUCCESS)
		fprintf(stderr, "pollux-sim: %s\n", err.text);
	release(&run);
	return status;
}
