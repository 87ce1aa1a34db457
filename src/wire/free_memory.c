/* SPDX-License-Identifier: MIT */
/* free_memory.c - how much memory may be taken without harm */
#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "wire/free_memory.h"

#define PATH_SIZE    4352
#define UNLIMITED_V1 ((uint64_t) 1 << 60)

ssize_t plx_kernel_file(const char *path, char *text, size_t size)
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
	return plx_kernel_file(path, text, sizeof(text)) > 0 &&
	       sscanf(text, "%" SCNu64, value) == 1; /* not "max" */
}

/* Files as pages in memory are given up before anything is killed. */
static uint64_t reclaimable(const char *folder, const char *name)
{
	char path[PATH_SIZE + 64];
	char text[16384];
	uint64_t value = 0;

	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	if (plx_kernel_file(path, text, sizeof(text)) <= 0 ||
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
	if (plx_kernel_file(path, text, sizeof(text)) <= 0)
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

uint64_t plx_free_memory(const char *root)
{
	uint64_t machine = UINT64_MAX;
	uint64_t groups = left_in_groups(root);
	char path[PATH_SIZE];
	char text[8192];

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	if (plx_kernel_file(path, text, sizeof(text)) > 0 &&
	    find_number(text, "MemAvailable:", &machine))
		machine *= 1024;
	return machine < groups ? machine : groups;
}
