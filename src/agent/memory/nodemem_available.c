/* SPDX-License-Identifier: MIT */
/*
 * nodemem_available.c - how much memory may be taken without harm
 *
 * Shared memory that is not to be had is not refused by the kernel: it kills
 * somebody, later. So look first, at the machine and at the control group
 * that Slurm or a container put us in.
 */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/memory/nodemem.h"

#define GROUPS "/sys/fs/cgroup"

/* The first number in a file; UINT64_MAX when there is none ("max"). */
static uint64_t number_in(const char *path)
{
	FILE *in = fopen(path, "re");
	uint64_t number = UINT64_MAX;

	if (!in)
		return UINT64_MAX;
	if (fscanf(in, "%" SCNu64, &number) != 1)
		number = UINT64_MAX;
	fclose(in);
	return number;
}

static uint64_t machine_bytes(void)
{
	FILE *in = fopen("/proc/meminfo", "re");
	uint64_t kb = UINT64_MAX / 1024;
	char line[128];

	if (!in)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "MemAvailable: %" SCNu64, &kb) == 1)
			break;
	}
	fclose(in);
	return kb * 1024;
}

/* Of one group: files of version 2, or of version 1. */
static uint64_t group_bytes(const char *group, const char *limit,
			    const char *used)
{
	char path[1024];
	uint64_t max;
	uint64_t now;

	snprintf(path, sizeof(path), GROUPS "%s/%s", group, limit);
	max = number_in(path);
	snprintf(path, sizeof(path), GROUPS "%s/%s", group, used);
	now = number_in(path);
	if (max == UINT64_MAX || now == UINT64_MAX)
		return UINT64_MAX;
	return now < max ? max - now : 0;
}

/* The least of a group and those it is in. Cuts the path down. */
static uint64_t tree_bytes(char *group, const char *limit, const char *used)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		uint64_t here = group_bytes(group, limit, used);
		char *slash = strrchr(group, '/');

		least = here < least ? here : least;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* "0::/path", or "N:...memory...:/path" of version 1. */
static uint64_t line_bytes(char *line)
{
	char group[768];
	char *names = strchr(line, ':');
	char *path = names ? strchr(names + 1, ':') : NULL;

	if (!path)
		return UINT64_MAX;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (!strcmp(names, ":")) {
		snprintf(group, sizeof(group), "%s", path);
		return tree_bytes(group, "memory.max", "memory.current");
	}
	if (!strstr(names, "memory"))
		return UINT64_MAX;
	snprintf(group, sizeof(group), "/memory%s", path);
	return tree_bytes(group, "memory.limit_in_bytes",
			  "memory.usage_in_bytes");
}

uint64_t plx_nodemem_available(void)
{
	FILE *in = fopen("/proc/self/cgroup", "re");
	uint64_t least = machine_bytes();
	char line[768];

	if (!in)
		return least;
	while (fgets(line, sizeof(line), in)) {
		uint64_t group = line_bytes(line);

		least = group < least ? group : least;
	}
	fclose(in);
	return least;
}
