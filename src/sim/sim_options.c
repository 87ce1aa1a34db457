/* SPDX-License-Identifier: MIT */
/* sim_options.c - pollux-sim's command line */

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "core/records/options.h"
#include "sim/sim_options.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum {
	KEY_POLICY = 0x100,
	KEY_TRACES,
	KEY_JOBS,
	KEY_JSON,
	KEY_SEED,
	KEY_FAIRNESS,
	KEY_HTML,
	KEY_REMAINING,
	KEY_UNIFORM,
	KEY_BATCH_HOST,
	KEY_WITHOUT,
	KEY_RESTART,
	KEY_SIZES,
	KEY_STEP,
	KEY_NUMBER, /* and on: one a row of numbers */
};

const char *argp_program_version = "pollux-sim " PACKAGE_VERSION;

static const struct argp_option options[] = {
	/* clang-format off */
	{ "policy", KEY_POLICY, "NAME", 0, "who gets which GPUs (default: "
	  "pollux); may be repeated, to compare", 0 },
	{ "traces", KEY_TRACES, "DIR", 0, "what applications really do: a "
	  "folder for each", 0 },
	{ "nodes", KEY_NUMBER + 0, "N", 0, "nodes of the cluster (16)", 0 },
	{ "gpus-per-node", KEY_NUMBER + 1, "N", 0, "(4)", 0 },
	{ "interval", KEY_NUMBER + 2, "S", 0, "seconds from one decision to "
	  "the next (60)", 0 },
	{ "restart-delay", KEY_RESTART, "S", 0, "seconds without progress "
	  "after each change of a job's GPUs (30); auto: each application's "
	  "own", 0 },
	{ "interference", KEY_NUMBER + 3, "F", 0, "part of its speed that a "
	  "job on several nodes loses where it meets another (0)", 0 },
	{ "fairness", KEY_FAIRNESS, "P", 0, "p of the fitness that pollux "
	  "maximises: lower is fairer, -inf the worst off alone (0; of "
	  "pollux-ga: -1)", 0 },
	{ "remaining", KEY_REMAINING, NULL, 0, "jobs also tell the policy how "
	  "much they have to do", 0 },
	{ "uniform", KEY_UNIFORM, "mostly", OPTION_ARG_OPTIONAL, "pollux gives "
	  "a job as many GPUs on each of its nodes; mostly: but where GPUs "
	  "would idle, as in slurmctld (with --home=roams)", 0 },
	{ "home", KEY_BATCH_HOST, "WAY", OPTION_ARG_OPTIONAL, "pollux knows of the "
	  "batch scripts, each on the node where its job started; WAY: bound, "
	  "which a job never leaves (default); packed, the same, and jobs "
	  "start as Slurm packs them; roams, started so, but free to have all "
	  "GPUs elsewhere, as in slurmctld", 0 },
	{ "without", KEY_WITHOUT, "PART,...", 0, "leave parts of pollux out, "
	  "to see what each brings: model, measured, profiles, weights, charge, "
	  "hysteresis", 0 },
	{ "sizes", KEY_SIZES, "N,...", 0, "jobs run on these numbers of GPUs "
	  "only (of the policies that search: pollux, pollux-ga)", 0 },
	{ "step", KEY_STEP, "N", 0, "jobs run on multiples of it only", 0 },
	{ "seed", KEY_SEED, "N", 0, "of pollux' search (0)", 0 },
	{ "target-utility", KEY_NUMBER + 4, "U", 0, "let the cluster grow and "
	  "shrink: speedup a GPU that it is to have, from 0 to 1 (0.5)", 0 },
	{ "min-nodes", KEY_NUMBER + 5, "N", 0, "then, at least (1)", 0 },
	{ "max-nodes", KEY_NUMBER + 6, "N", 0, "then, at most (--nodes)", 0 },
	{ "node-delay", KEY_NUMBER + 7, "S", 0, "then, seconds until a new "
	  "node can be used (0)", 0 },
	{ "jobs", KEY_JOBS, "FILE.csv", 0, "write a row for each job", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON, an object a policy", 0 },
	{ "html", KEY_HTML, "FILE", 0, "write a page with pictures", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
	/* clang-format on */
};

/* Where a number goes, and what it may be. */
struct number {
	const char *option;
	double low, high;
	size_t offset; /* in struct plx_setting */
	bool whole;    /* an int there, else a double */
};

static const struct number numbers[] = {
	/* clang-format off */
	{ "nodes", 1, 4096, offsetof(struct plx_setting, node_count), true },
	{ "gpus-per-node", 1, 64, offsetof(struct plx_setting, node_gpus),
	  true },
	{ "interval", 1, 86400, offsetof(struct plx_setting, interval_s),
	  false },
	{ "interference", 0, 0.99, offsetof(struct plx_setting, interference),
	  false },
	{ "target-utility", 0.01, 1,
	  offsetof(struct plx_setting, scaling.target), false },
	{ "min-nodes", 1, 4096, offsetof(struct plx_setting, scaling.min_nodes),
	  true },
	{ "max-nodes", 1, 4096, offsetof(struct plx_setting, scaling.max_nodes),
	  true },
	{ "node-delay", 0, 86400, offsetof(struct plx_setting, scaling.boot_s),
	  false },
	/* clang-format on */
};

/* One sentence, and the end. */
static void refuse(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "pollux-sim: --%s=%s: %s\n", option, value, want);
	exit(PLX_EXIT_MISUSE);
}

static void set_number(struct plx_setting *setting, const struct number *row,
		       const char *value)
{
	char want[80];
	char *end;
	double number = strtod(value, &end);

	snprintf(want, sizeof(want), "want a %s from %g to %g",
		 row->whole ? "whole number" : "number", row->low, row->high);
	if (end == value || *end || !(number >= row->low) ||
	    number > row->high || (row->whole && number != floor(number)))
		refuse(row->option, value, want);
	if (row->whole)
		*(int *) ((char *) setting + row->offset) = (int) number;
	else
		*(double *) ((char *) setting + row->offset) = number;
}

static void set_restart(struct plx_setting *setting, const char *value)
{
	char *end;
	double seconds = strtod(value, &end);

	setting->restart_auto = strcmp(value, "auto") == 0;
	if (setting->restart_auto)
		return;
	if (end == value || *end || !(seconds >= 0 && seconds <= 86400))
		refuse("restart-delay", value,
		       "want a number from 0 to 86400, or auto");
	setting->restart_s = seconds;
}

static void set_fairness(struct plx_setting *setting, const char *value)
{
	char *end;
	double p = strtod(value, &end);

	if (end == value || *end || isnan(p) || p > 10)
		refuse("fairness", value, "want a number up to 10, or -inf");
	setting->fairness = p;
}

static void set_seed(struct plx_setting *setting, const char *value)
{
	char *end;
	unsigned long long seed;

	errno = 0;
	seed = strtoull(value, &end, 10);
	if (errno || *end || value[0] < '0' || value[0] > '9')
		refuse("seed", value, "want a whole number from 0");
	setting->seed = seed;
}

/* In the order of their bits. */
static const char *const parts[] = { "model",	"measured", "profiles",
				     "weights", "charge",   "hysteresis" };

static void set_without(struct plx_setting *setting, const char *value)
{
	const char *rest = value;

	while (*rest) {
		size_t size = strcspn(rest, ",");
		size_t i = 0;

		while (i < ARRAY_SIZE(parts) &&
		       (strlen(parts[i]) != size ||
			strncmp(parts[i], rest, size) != 0))
			i++;
		if (i == ARRAY_SIZE(parts))
			refuse("without", value,
			       "want of model, measured, profiles, weights, "
			       "charge, hysteresis");
		setting->without |= 1u << i;
		rest += size + (rest[size] == ',');
	}
}

/* As a user of Slurm would say it. */
static void set_sizes(struct plx_setting *setting, int option,
		      const char *value)
{
	const char *key = option == KEY_STEP ? "step" : "sizes";
	struct plx_options options;
	struct plx_error err;
	char text[PLX_SIZES_TEXT + 32];

	if (strspn(value, "0123456789,") != strlen(value) ||
	    strlen(value) >= PLX_SIZES_TEXT)
		refuse(key, value, "want numbers of GPUs");
	snprintf(text, sizeof(text), "pollux,%s=%s", key, value);
	if (plx_options_parse(text, &options, &err) < 0)
		refuse(key, value, err.text);
	if (plx_sizes_given(&setting->sizes))
		refuse(key, value, "want either --sizes or --step, once");
	setting->sizes = options.sizes;
}

static void add_policy(struct plx_sim_options *to, const char *name)
{
	const struct plx_policy *policy = plx_policy_find(name);
	char want[160] = "no such policy: want one of";

	for (int i = 0; plx_policies[i]; i++) {
		size_t used = strlen(want);

		snprintf(want + used, sizeof(want) - used, "%s %s",
			 i ? "," : "", plx_policies[i]->name);
	}
	if (!policy)
		refuse("policy", name, want);
	for (int i = 0; i < to->policy_count; i++) {
		if (to->policies[i] == policy)
			refuse("policy", name, "asked for twice");
	}
	to->policies[to->policy_count++] = policy;
}

/* One of its options makes the cluster grow and shrink. */
static void finish_scaling(const struct plx_sim_options *options,
			   struct plx_setting *setting)
{
	struct plx_scaling *scaling = &setting->scaling;

	if (!scaling->target && !scaling->min_nodes && !scaling->max_nodes &&
	    !scaling->boot_s)
		return;
	if (!scaling->target)
		scaling->target = 0.5;
	if (!scaling->min_nodes)
		scaling->min_nodes = 1;
	if (!scaling->max_nodes)
		scaling->max_nodes = setting->node_count;
	if (scaling->min_nodes > scaling->max_nodes) {
		fprintf(stderr,
			"pollux-sim: --min-nodes=%d: more than "
			"--max-nodes=%d\n",
			scaling->min_nodes, scaling->max_nodes);
		exit(PLX_EXIT_MISUSE);
	}
	if (setting->batch_host) {
		fputs("pollux-sim: --home: a cluster that shrinks has jobs "
		      "leave their nodes: want either\n",
		      stderr);
		exit(PLX_EXIT_MISUSE);
	}
	setting->node_count = scaling->min_nodes;
	for (int i = 0; i < options->policy_count; i++) {
		if (!options->policies[i]->plan)
			refuse("policy", options->policies[i]->name,
			       "it does not tell what more nodes would be "
			       "worth:"
			       " a cluster of changing size wants another");
	}
}

static void finish(struct argp_state *state, struct plx_sim_options *to)
{
	if (to->policy_count == 0)
		to->policies[to->policy_count++] = plx_policies[0];
	if (!to->traces)
		argp_error(state, "want --traces=DIR");
	if (to->workload_count == 0)
		argp_error(state, "want a workload: FILE.csv");
	to->setting.timeline = to->html != NULL;
	finish_scaling(to, &to->setting);
}

static void set_batch_host(struct argp_state *state, const char *way,
			   struct plx_setting *setting)
{
	bool bound = strcmp(way, "bound") == 0;

	setting->batch_host = true;
	setting->roams = strcmp(way, "roams") == 0;
	setting->packed = strcmp(way, "packed") == 0 || setting->roams;
	if (!bound && !setting->packed)
		argp_error(state, "--home=%s: want bound, packed or roams",
			   way);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct plx_sim_options *to = state->input;

	switch (key) {
	case KEY_POLICY:
		add_policy(to, value);
		return 0;
	case KEY_TRACES:
		to->traces = value;
		return 0;
	case KEY_JOBS:
		to->jobs = value;
		return 0;
	case KEY_HTML:
		to->html = value;
		return 0;
	case KEY_REMAINING:
		to->setting.remaining = true;
		return 0;
	case KEY_UNIFORM:
		if (value && strcmp(value, "mostly") != 0)
			argp_error(state, "--uniform=%s: want mostly", value);
		to->setting.uniform = true;
		to->setting.idle = value != NULL;
		return 0;
	case KEY_BATCH_HOST:
		set_batch_host(state, value ? value : "bound", &to->setting);
		return 0;
	case KEY_WITHOUT:
		set_without(&to->setting, value);
		return 0;
	case KEY_RESTART:
		set_restart(&to->setting, value);
		return 0;
	case KEY_JSON:
		to->json = true;
		return 0;
	case KEY_SIZES:
	case KEY_STEP:
		set_sizes(&to->setting, key, value);
		return 0;
	case KEY_SEED:
		set_seed(&to->setting, value);
		return 0;
	case KEY_FAIRNESS:
		set_fairness(&to->setting, value);
		return 0;
	case ARGP_KEY_ARGS:
		to->workloads = state->argv + state->next;
		to->workload_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		finish(state, to);
		return 0;
	default:
		break;
	}
	if (key < KEY_NUMBER || key >= KEY_NUMBER + (int) ARRAY_SIZE(numbers))
		return ARGP_ERR_UNKNOWN;
	set_number(&to->setting, &numbers[key - KEY_NUMBER], value);
	return 0;
}

/* What the policies are, after the options. */
static char *filter_help(int key, const char *text, void *input)
{
	char *help = NULL;
	size_t size = 0;
	FILE *out;

	(void) input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *) text;
	out = open_memstream(&help, &size);
	if (!out)
		return NULL;
	fprintf(out, "Policies:\n");
	for (int i = 0; plx_policies[i]; i++)
		fprintf(out, "  %-10s %s\n", plx_policies[i]->name,
			plx_policies[i]->what);
	fclose(out);
	return help;
}

static const struct argp parser = {
	.options = options,
	.parser = parse_option,
	.args_doc = "WORKLOAD.csv...",
	.doc = "Replay workloads on a simulated cluster, from recorded traces."
	       "\v",
	.help_filter = filter_help,
};

void plx_sim_options_parse(int argc, char **argv, struct plx_sim_options *to)
{
	int policies = 0;

	while (plx_policies[policies])
		policies++;
	*to = (struct plx_sim_options){
		.setting = {
			.node_count = 16,
			.node_gpus = 4,
			.interval_s = 60,
			.restart_s = 30,
			.fairness = NAN,
		},
		.policies = calloc((size_t) policies,
				   sizeof(const struct plx_policy *)),
	};
	if (!to->policies) {
		fprintf(stderr, "pollux-sim: no memory\n");
		exit(EXIT_FAILURE);
	}
	argp_err_exit_status = PLX_EXIT_MISUSE;
	argp_parse(&parser, argc, argv, 0, NULL, to);
}
