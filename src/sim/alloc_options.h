/* SPDX-License-Identifier: MIT */
/* alloc_options.h - pollux-alloc's command line */
#ifndef PLX_SIM_ALLOC_OPTIONS_H
#define PLX_SIM_ALLOC_OPTIONS_H

#include "sim/alloc.h"

#define PLX_EXIT_MISUSE 2

/*
 * Parse; ends the program for --help, and with PLX_EXIT_MISUSE after one
 * sentence when something is wrong. Texts belong to argv.
 */
void plx_alloc_options_parse(int argc, char **argv,
			     struct plx_alloc_options *options);

#endif
