/* SPDX-License-Identifier: MIT */
/* sim_options.h - pollux-sim's command line */
#ifndef PLX_SIM_SIM_OPTIONS_H
#define PLX_SIM_SIM_OPTIONS_H

#include <stdbool.h>

#include "sim/policy.h"

#define PLX_EXIT_MISUSE 2

struct plx_sim_options {
	struct plx_setting setting;
	const struct plx_policy **policies; /* in the order asked for */
	int policy_count;
	char **workloads; /* paths; of argv */
	int workload_count;
	const char *traces; /* folder; of argv */
	const char *jobs;   /* file to write; NULL: none */
	const char *html;   /* the same */
	bool json;
};

/*
 * Parse; ends the program for --help, and with PLX_EXIT_MISUSE after one
 * sentence when something is wrong. policies is the caller's to free.
 */
void plx_sim_options_parse(int argc, char **argv,
			   struct plx_sim_options *options);

#endif
