/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_name.c - what a job is called after: its script, not python3 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "launcher/job/program_name.h"

/* Which run files, and their one-letter options that take an argument. */
static const struct {
	const char *name; /* a version may follow */
	const char *with_argument;
	char command; /* option whose argument is the program itself */
	char module;  /* option whose argument is a module; 0: none */
} interpreters[] = {
	{ "python", "WX", 'c', 'm' }, { "pypy", "WX", 'c', 'm' },
	{ "bash", "oO", 'c', 0 },     { "dash", "o", 'c', 0 },
	{ "sh", "o", 'c', 0 },	      { "perl", "I", 'e', 0 },
	{ "ruby", "I", 'e', 0 },      { "julia", "tpJ", 'e', 0 },
	{ "Rscript", "", 'e', 0 },
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Its row, or -1. */
static int find_interpreter(const char *base)
{
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters);
	     i++) {
		size_t length = strlen(interpreters[i].name);

		if (!strncmp(base, interpreters[i].name, length) &&
		    strspn(base + length, "0123456789.") ==
			    strlen(base + length))
			return (int) i;
	}
	return -1;
}

/* The file or, with *is_module, the module it is to run; NULL: neither. */
static const char *find_script(int row, char *const args[], bool *is_module)
{
	*is_module = false;
	for (; *args && **args == '-' && (*args)[1]; args++) {
		char last = (*args)[strlen(*args) - 1];

		if ((*args)[1] == '-') /* a long option, or the last */
			continue;
		if (last == interpreters[row].command)
			return NULL;
		*is_module = last == interpreters[row].module;
		if (*is_module)
			return args[1];
		if (strchr(interpreters[row].with_argument, last) && args[1])
			args++;
	}
	return *args && **args != '-' ? *args : NULL;
}

void plx_program_name(char *const program[], char *name, size_t size)
{
	const char *base = base_of(program[0]);
	int row = find_interpreter(base);
	const char *script = NULL;
	bool is_module = false;
	char *dot;

	if (row >= 0)
		script = find_script(row, program + 1, &is_module);
	snprintf(name, size, "%s", script ? base_of(script) : base);
	dot = strrchr(name, '.');
	if (script && !is_module && dot && dot != name)
		*dot = '\0';
}
