/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cgroups.c - where control groups are mounted, and which a process is in */

#define _GNU_SOURCE /* fopen("re") */
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
