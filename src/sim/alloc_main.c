/* SPDX-License-Identifier: MIT */
/*
 * alloc_main.c - pollux-alloc: a recorded problem decided once more
 *
 * Exit codes: 0 printed; 1 failed; 2 bad options or file.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/alloc_options.h"

static int print(const struct plx_answer *answer,
		 const struct plx_alloc_options *options, struct plx_error *err)
{
	if (options->json && plx_answer_print_json(answer, stdout, err) < 0)
		return -1;
	if (!options->json)
		plx_answer_print(answer, options, stdout);
	if (fflush(stdout) != 0)
		return plx_fail(err, "standard output: %s", strerror(errno));
	return 0;
}

int main(int argc, char **argv)
{
	struct plx_alloc_options options;
	struct plx_answer answer = { 0 };
	struct plx_error err;
	int status = EXIT_FAILURE;

	plx_alloc_options_parse(argc, argv, &options);
	if (plx_alloc_load(&options, &answer, &err) < 0)
		status = PLX_EXIT_MISUSE;
	else if (plx_alloc_decide(&options, &answer, &err) == 0 &&
		 print(&answer, &options, &err) == 0)
		status = EXIT_SUCCESS;
	if (status != EXIT_SUCCESS)
		fprintf(stderr, "pollux-alloc: %s\n", err.text);
	plx_answer_release(&answer);
	return status;
}
