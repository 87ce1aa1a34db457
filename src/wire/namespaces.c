/* SPDX-License-Identifier: MIT */
/* namespaces.c - whether a rank runs in a container of its own */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/env.h"
#include "wire/namespaces.h"

#define NAME_SIZE 64 /* "user:[4026531837]" */

/* "" where there is no /proc. */
static void read_name(const char *kind, char name[NAME_SIZE])
{
	char path[NAME_SIZE];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	length = readlink(path, name, NAME_SIZE - 1);
	name[length > 0 ? length : 0] = '\0';
}

int plx_namespaces_export(struct plx_error *err)
{
	char text[2 * NAME_SIZE];
	char pid[NAME_SIZE];
	char user[NAME_SIZE];

	read_name("pid", pid);
	read_name("user", user);
	snprintf(text, sizeof(text), "%s %s", pid, user);
	if (setenv(PLX_ENV_NAMESPACES, text, 1) < 0)
		return plx_fail(err, "out of memory");
	return 0;
}

bool plx_namespace_is_own(const char *kind)
{
	const char *outside = getenv(PLX_ENV_NAMESPACES);
	char name[NAME_SIZE];

	read_name(kind, name);
	return outside && !strstr(outside, name);
}
