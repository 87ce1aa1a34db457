/* SPDX-License-Identifier: MIT */
/* alloc_options.c - pollux-alloc's command line */

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "sim/alloc_options.h"

#define BUDGET_MAX_MS 3.6e6

enum {
	KEY_CASE = 0x100,
	KEY_POLICY,
	KEY_FITNESS,
	KEY_FAIRNESS,
	KEY_UNIFORM,
	KEY_BUDGET,
	KEY_SEED,
	KEY_JSON,
};

const char *argp_program_version = "pollux-alloc " PACKAGE_VERSION;

static const struct argp_option options[] = {
	/* clang-format off */
	{ "case", KEY_CASE, "NAME", 0, "which of the file's cases", 0 },
	{ "policy", KEY_POLICY, "NAME", 0, "who decides (pollux)", 0 },
	{ "fitness", KEY_FITNESS, "NAME", 0, "what is made as large as "
	  "possible: pollux, as the scheduler does, or osdi21, exactly as "
	  "published (pollux)", 0 },
	{ "fairness", KEY_FAIRNESS, "P", 0, "p of the fitness: lower is "
	  "fairer, -inf the worst off alone (the file's, or -1)", 0 },
	{ "uniform", KEY_UNIFORM, NULL, 0, "give each job the same number of "
	  "GPUs on each of its nodes, even if the file does not ask for it",
	  0 },
	{ "budget-ms", KEY_BUDGET, "N", 0, "answer with the best found in so "
	  "many milliseconds (until the search ends)", 0 },
	{ "seed", KEY_SEED, "N", 0, "for policies that draw lots (the file's, "
	  "or 0)", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
	/* clang-format on */
};

/* One sentence, and the end. */
static void refuse(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "pollux-alloc: --%s=%s: %s\n", option, value, want);
	exit(PLX_EXIT_MISUSE);
}

static double number(const char *option, const char *value, double low,
		     double high)
{
	char want[80];
	char *end;
	double x = strtod(value, &end);

	snprintf(want, sizeof(want), "want a number from %g to %g", low, high);
	if (end == value || *end || !(x >= low && x <= high))
		refuse(option, value, want);
	return x;
}

static uint64_t seed(const char *value)
{
	char *end;
	unsigned long long x;

	errno = 0;
	x = strtoull(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end || errno)
		refuse("seed", value, "want a whole number from 0");
	return x;
}

static const struct plx_policy *policy(const char *value)
{
	const struct plx_policy *found = plx_policy_find(value);

	if (!found)
		refuse("policy", value, "unknown; see --help");
	if (!found->plan)
		refuse("policy", value,
		       "it needs to know more than a snapshot holds: what "
		       "jobs have had and have to do yet");
	return found;
}

static bool osdi21(const char *value)
{
	if (strcmp(value, "osdi21") != 0 && strcmp(value, "pollux") != 0)
		refuse("fitness", value, "want pollux or osdi21");
	return !strcmp(value, "osdi21");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct plx_alloc_options *to = state->input;

	switch (key) {
	case KEY_CASE:
		to->case_name = arg;
		return 0;
	case KEY_POLICY:
		to->policy = policy(arg);
		return 0;
	case KEY_FITNESS:
		to->osdi21 = osdi21(arg);
		return 0;
	case KEY_FAIRNESS:
		to->fairness = number("fairness", arg, -INFINITY, 10);
		to->given_fairness = true;
		return 0;
	case KEY_UNIFORM:
		to->uniform = true;
		return 0;
	case KEY_BUDGET:
		to->budget_ms = number("budget-ms", arg, 1e-3, BUDGET_MAX_MS);
		return 0;
	case KEY_SEED:
		to->seed = seed(arg);
		to->given_seed = true;
		return 0;
	case KEY_JSON:
		to->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (to->path)
			argp_error(state, "one file at a time");
		to->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which problem? See --help");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The policies that can, below the options. */
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
	fprintf(out, "A file that does not say it has p = -1, and moves jobs "
		     "for a gain of 0.005;\nthose of slurmctld say its own: "
		     "0 and 0.08, unless told otherwise.\n\n"
		     "Policies:\n");
	for (int i = 0; plx_policies[i]; i++) {
		if (plx_policies[i]->plan)
			fprintf(out, "  %-10s %s\n", plx_policies[i]->name,
				plx_policies[i]->what);
	}
	fclose(out);
	return help;
}

static const struct argp parser = {
	.options = options,
	.parser = parse_option,
	.args_doc = "PROBLEM.json",
	.doc = "Decide once more who gets which GPUs in a recorded problem, and"
	       " say why.\v",
	.help_filter = filter_help,
};

void plx_alloc_options_parse(int argc, char **argv,
			     struct plx_alloc_options *to)
{
	*to = (struct plx_alloc_options){ .policy = &plx_policy_pollux };
	argp_err_exit_status = PLX_EXIT_MISUSE;
	argp_parse(&parser, argc, argv, 0, NULL, to);
}
