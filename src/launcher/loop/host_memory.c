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

#define PATH_SIZE    4352
#define TEXT_SIZE    131072 /* of an environment, or a file of /proc */
#define MARGIN	     1.2    /* what a rank needs, in what one has now */
#define MIB	     (1024.0 * 1024.0)
#define UNLIMITED_V1 ((uint64_t) 1 << 60)

/* Read a whole file, NUL-terminated; its length, or -1. */
static ssize_t slurp(const char *path, char *text, size_t size)
{
	FILE *in = fopen(path, "re");
	size_t got;

	if (!in)
		return -1;
	got = fread(text, 1, size - 1, in);
	fclose(in);
	text[got] = '\0';
	return (ssize_t) got;
}

/* The number after name in a file of "name number" lines. */
static bool find_number(const char *text, const char *name, uint64_t *value)
{
	size_t length = strlen(name);

	for (const char *at = text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, name, length) &&
		    sscanf(at + length, "%" SCNu64, value) == 1)
			return true;
	}
	return false;
}

static bool read_number(const char *folder, const char *name, uint64_t *value)
{
	char path[PATH_SIZE + 64];
	char text[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return slurp(path, text, sizeof(text)) > 0 &&
	       sscanf(text, "%" SCNu64, value) == 1; /* not "max" */
}

/* Files as pages in memory are given up before anything is killed. */
static uint64_t reclaimable(const char *folder, const char *name)
{
	char path[PATH_SIZE + 64];
	char text[16384];
	uint64_t value = 0;

	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	if (slurp(path, text, sizeof(text)) <= 0 ||
	    !find_number(text, name, &value))
		return 0;
	return value;
}

struct names {
	const char *limit;
	const char *used;
	const char *files;
};

/* What one control group leaves. */
static uint64_t left_in(const char *folder, const struct names *names)
{
	uint64_t limit;
	uint64_t used;
	uint64_t files;

	if (!read_number(folder, names->limit, &limit) ||
	    limit >= UNLIMITED_V1 || !read_number(folder, names->used, &used))
		return UINT64_MAX;
	files = reclaimable(folder, names->files);
	used -= files < used ? files : used;
	return used < limit ? limit - used : 0;
}

/* The least that our group or one around it leaves; path is cut shorter. */
static uint64_t left_in_all(const char *root, const char *mount, char *group,
			    const struct names *names)
{
	uint64_t least = UINT64_MAX;
	char folder[PATH_SIZE];
	uint64_t left;
	char *slash;

	do {
		snprintf(folder, sizeof(folder), "%s%s%s", root, mount, group);
		left = left_in(folder, names);
		if (left < least)
			least = left;
		slash = strrchr(group, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return least;
}

static uint64_t left_in_groups(const char *root)
{
	static const struct names v2 = { "memory.max", "memory.current",
					 "inactive_file" };
	static const struct names v1 = { "memory.limit_in_bytes",
					 "memory.usage_in_bytes",
					 "total_inactive_file" };
	uint64_t least = UINT64_MAX;
	char path[PATH_SIZE];
	char text[8192];
	char *save = NULL;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (slurp(path, text, sizeof(text)) <= 0)
		return least;
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *group = strchr(line, '/');
		uint64_t left = UINT64_MAX;

		if (group && !strncmp(line, "0::", 3))
			left = left_in_all(root, "/sys/fs/cgroup", group, &v2);
		else if (group && strstr(line, ":memory:"))
			left = left_in_all(root, "/sys/fs/cgroup/memory", group,
					   &v1);
		if (left < least)
			least = left;
	}
	return least;
}

uint64_t plx_memory_available(const char *root)
{
	uint64_t machine = UINT64_MAX;
	uint64_t groups = left_in_groups(root);
	char path[PATH_SIZE];
	char text[8192];

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	if (slurp(path, text, sizeof(text)) > 0 &&
	    find_number(text, "MemAvailable:", &machine))
		machine *= 1024;
	return machine < groups ? machine : groups;
}

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
	if (slurp(path, text, sizeof(text)) <= 0 ||
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
		size = slurp(path, vars, TEXT_SIZE);
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
	uint64_t have = plx_memory_available("");
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
