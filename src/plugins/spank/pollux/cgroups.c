/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cgroups.c - where control groups are mounted, and which a process is in */

#define _GNU_SOURCE /* fopen("re") */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spank/pollux/cgroups.h"

/* Is it one of the names, which commas part? */
static bool has_name(const char *names, const char *controller)
{
	size_t length = strlen(controller);

	for (const char *name = names; name; name = strchr(name, ',')) {
		name += *name == ',';
		if (!strncmp(name, controller, length) &&
		    (name[length] == '\0' || name[length] == ','))
			return true;
	}
	return false;
}

/* Of a line of /proc/PID/cgroup, "ID:CONTROLLERS:PATH": its path, or NULL. */
static char *path_in(char *line, const char *controller)
{
	char *names = strchr(line, ':');
	char *path = names ? strchr(names + 1, ':') : NULL;

	if (!path)
		return NULL;
	*path++ = '\0';
	names++;
	path[strcspn(path, "\n")] = '\0';
	if (controller ? !has_name(names, controller) : *names)
		return NULL;
	return strlen(path) < PATH_MAX ? path : NULL;
}

bool plx_cgroup_of(const char *pid, const char *controller, char path[PATH_MAX])
{
	char name[64];
	char *line = NULL;
	size_t size = 0;
	FILE *file = NULL;
	const char *at = NULL;

	snprintf(name, sizeof(name), "/proc/%.20s/cgroup", pid);
	file = fopen(name, "re");
	while (file && !at && getline(&line, &size, file) > 0)
		at = path_in(line, controller);
	if (at)
		strcpy(path, at);
	free(line);
	if (file)
		fclose(file);
	return at;
}

/* A line of mountinfo: is it the controller's hierarchy, and where? */
static bool is_mount_of(const char *line, const char *controller,
			char where[PATH_MAX])
{
	const char *rest =
		strstr(line, controller ? " - cgroup " : " - cgroup2 ");
	const char *options = rest ? strrchr(rest, ' ') : NULL;
	char format[32];

	if (!options || (controller && !strstr(options, controller)))
		return false;
	snprintf(format, sizeof(format), "%%*s %%*s %%*s %%*s %%%ds",
		 PATH_MAX - 1);
	return sscanf(line, format, where) == 1;
}

int plx_cgroup_mount(const char *controller, char where[PATH_MAX],
		     struct plx_error *err)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	while (file && !found && getline(&line, &size, file) > 0)
		found = is_mount_of(line, controller, where);
	free(line);
	if (file)
		fclose(file);
	return found ? 0
		     : plx_fail(err, "the cgroup of %s is not mounted",
				controller ? controller : "version 2");
}

int plx_cgroup_open(const char *controller, const char *node, uint32_t uid,
		    uint32_t job)
{
	char mounted[PATH_MAX];
	char path[PATH_MAX + 512];
	struct plx_error err;
	int folder = -1;

	if (plx_cgroup_mount(controller, mounted, &err) < 0)
		return -1;
	/* Where several slurmd may run on a machine, and where not. */
	snprintf(path, sizeof(path), "%s/slurm_%.255s/uid_%u/job_%u", mounted,
		 node, uid, job);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder >= 0 || errno != ENOENT)
		return folder;
	snprintf(path, sizeof(path), "%s/slurm/uid_%u/job_%u", mounted, uid,
		 job);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Version 2: slurmstepd is in there from its start. */
static int open_own(uint32_t job)
{
	char own[PATH_MAX];
	char mounted[PATH_MAX];
	char path[2 * PATH_MAX];
	char name[32];
	struct plx_error err;
	char *at = NULL;

	snprintf(name, sizeof(name), "/job_%u/", job);
	if (!plx_cgroup_of("self", NULL, own) || !(at = strstr(own, name)) ||
	    plx_cgroup_mount(NULL, mounted, &err) < 0)
		return -1;
	at[strlen(name) - 1] = '\0';
	snprintf(path, sizeof(path), "%s%s", mounted, own);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int plx_cgroup_open_devices(const char *node, uint32_t uid, uint32_t job)
{
	char own[PATH_MAX];

	if (plx_cgroup_of("self", "devices", own))
		return plx_cgroup_open("devices", node, uid, job);
	return open_own(job);
}
