/* SPDX-License-Identifier: MIT */
/* program_error.c - the program's own error, which no other start would mend */
#include <config.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/pollux.h"
#include "wire/env.h"
#include "wire/rank_file.h"

static int number_of(const char *variable)
{
	const char *text = getenv(variable);

	return text ? atoi(text) : 0;
}

int pollux_program_error(const char *why)
{
	const char *folder = getenv(PLX_ENV_CHECKPOINTS);
	struct plx_rank_word word = { .rank = number_of(PLX_ENV_RANK) };
	char inner[PATH_MAX];
	int length;

	if (!getenv(PLX_ENV_SOCKET) || !folder)
		return POLLUX_OK;
	length = snprintf(inner, sizeof(inner), "%s" PLX_INNER_FOLDER, folder);
	if (length < 0 || (size_t) length >= sizeof(inner))
		return POLLUX_OK;
	snprintf(word.why, sizeof(word.why), "%s", why ? why : "");
	return plx_rank_word_write(inner, PLX_WORD_ERROR,
				   number_of(PLX_ENV_GENERATION), &word) == 0;
}
