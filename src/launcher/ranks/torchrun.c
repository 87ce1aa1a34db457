/* SPDX-License-Identifier: GPL-2.0-or-later */
/* torchrun.c - a command line of torchrun, without it */

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/ranks/torchrun.h"

#define MODULE "torch.distributed.run"

/* Of torchrun's options, those that take no argument. '_' is '-' to it. */
enum flag { NO_FLAG, FLAG, RUNS_MODULE, RUNS_BINARY };
static const struct {
	const char *name;
	enum flag flag;
} flags[] = {
	{ "--standalone", FLAG },	{ "--run-path", FLAG },
	{ "-m", RUNS_MODULE },		{ "--module", RUNS_MODULE },
	{ "--no-python", RUNS_BINARY },
};

static enum flag find_flag(const char *option)
{
	char name[32];

	snprintf(name, sizeof(name), "%s", option);
	for (char *at = strchr(name, '_'); at; at = strchr(at, '_'))
		*at = '-';
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!strcmp(name, flags[i].name))
			return flags[i].flag;
	}
	return NO_FLAG;
}

/* "--x=3" and "-r3" have it with them. */
static bool takes_next(const char *option)
{
	return option[1] == '-' ? !strchr(option, '=') : !option[2];
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The one beside torchrun, of the same environment; else PATH's. */
static const char *python_beside(const char *torchrun)
{
	static char path[PATH_MAX];
	const char *at = getenv("PATH");
	int length = (int) (base_of(torchrun) - torchrun);

	if (length)
		snprintf(path, sizeof(path), "%.*spython3", length, torchrun);
	while (!length && at && *at) {
		int folder = (int) strcspn(at, ":");

		snprintf(path, sizeof(path), "%.*s/torchrun", folder, at);
		if (access(path, X_OK) == 0) {
			snprintf(path, sizeof(path), "%.*s/python3", folder,
				 at);
			break;
		}
		at += folder;
		at += *at == ':';
	}
	return access(path, X_OK) == 0 ? path : "python3";
}

/* Words of program before torchrun's own arguments; 0: it is something else. */
static int before_options(char *const program[])
{
	if (!strcmp(base_of(program[0]), "torchrun"))
		return 1;
	if (strncmp(base_of(program[0]), "python", 6) != 0)
		return 0;
	for (int i = 1; program[i] && program[i][0] == '-'; i++) {
		if (!strcmp(program[i], "-m"))
			return program[i + 1] && !strcmp(program[i + 1], MODULE)
				       ? i + 2
				       : 0;
	}
	return 0;
}

int plx_torchrun_leave_out(char *const program[], char ***plain,
			   struct plx_error *err)
{
	bool by_name = !strcmp(base_of(program[0]), "torchrun");
	int at = before_options(program);
	enum flag kind = NO_FLAG;
	int count = 0;
	int n = 0;

	*plain = NULL;
	while (program[count])
		count++;
	for (; at && at < count && program[at][0] == '-'; at++) {
		enum flag flag = find_flag(program[at]);

		if (flag > FLAG)
			kind = flag;
		if (!flag && takes_next(program[at]))
			at++;
	}
	if (!at || at >= count)
		return 0;
	*plain = calloc((size_t) count + 3, sizeof(**plain));
	if (!*plain)
		return plx_fail(err, "out of memory");
	if (kind != RUNS_BINARY) {
		(*plain)[n++] = by_name ? (char *) python_beside(program[0])
					: program[0];
		(*plain)[n++] = (char *) "-u"; /* as torchrun does */
	}
	if (kind == RUNS_MODULE)
		(*plain)[n++] = (char *) "-m";
	while (at < count)
		(*plain)[n++] = program[at++];
	return 0;
}
