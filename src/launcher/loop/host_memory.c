/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host_memory.c - is there memory for a second generation beside the first? */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/loop/host_memory.h"
#include "wire/env.h"
#include "wire/free_memory.h"

#define PATH_SIZE 4352
#define TEXT_SIZE 131072 /* of an environment */
#define MARGIN	  1.2	 /* what a rank needs, in what one has now */
#define MIB	  (1024.0 * 1024.0)

static bool has_variable(const char *vars, size_t size, const char *name,
			 const char *value)
{
	size_t length = strlen(name);

	for (const char *at = vars; at < vars + size; at += strlen(at) + 1) {
		if (!strncmp(at, name, length) && at[length] == '=' &&
		    !strcmp(at + length + 1, value))
			return true;
	}
	return false;
}

static uint64_t resident_of(const char *folder)
{
	char path[PATH_SIZE + 64];
	char text[256];
	uint64_t pages = 0;

	snprintf(path, sizeof(path), "%s/statm", folder);
	if (plx_kernel_file(path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*u %" SCNu64, &pages) != 1)
		return 0;
	return pages * (uint64_t) sysconf(_SC_PAGESIZE);
}

uint64_t plx_memory_resident(const char *root, const char *socket,
			     const char *node)
{
	char folder[PATH_SIZE];
	char path[PATH_SIZE + 64];
	struct dirent *entry;
	uint64_t sum = 0;
	char *vars = malloc(TEXT_SIZE);
	DIR *proc;

	snprintf(folder, sizeof(folder), "%s/proc", root);
	proc = opendir(folder);
	while (vars && proc && (entry = readdir(proc))) {
		ssize_t size;

		if (!isdigit((unsigned char) entry->d_name[0]))
			continue;
		snprintf(folder, sizeof(folder), "%s/proc/%.32s", root,
			 entry->d_name);
		snprintf(path, sizeof(path), "%s/environ", folder);
		size = plx_kernel_file(path, vars, TEXT_SIZE);
		if (size > 0 &&
		    has_variable(vars, (size_t) size, PLX_ENV_SOCKET, socket) &&
		    has_variable(vars, (size_t) size, "SLURMD_NODENAME", node))
			sum += resident_of(folder);
	}
	if (proc)
		closedir(proc);
	free(vars);
	return sum;
}

int plx_memory_suffices(const char *socket, const char *node, int now, int more,
			struct plx_error *err)
{
	uint64_t have = plx_free_memory("");
	double need = 0;

	if (now > 0 && node)
		need = MARGIN * more *
		       (double) plx_memory_resident("", socket, node) / now;
	if (need <= (double) have)
		return 0;
	return plx_fail(err,
			"%d ranks need about %.0f MiB of memory here, "
			"%.0f MiB are free",
			more, need / MIB, (double) have / MIB);
}
