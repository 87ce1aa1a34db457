/* SPDX-License-Identifier: GPL-2.0-or-later */
/* script.c - the files of the program's command line: were they changed? */
#include "config.h"

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launcher/loop/script.h"

static struct plx_script_stamp stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return (struct plx_script_stamp){ .size = -1 };
	return (struct plx_script_stamp){ .changed = st.st_mtim,
					  .size = st.st_size };
}

static bool is_same(const struct plx_script_stamp *a,
		    const struct plx_script_stamp *b)
{
	return a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

static void add(struct plx_script *script, const char *path, bool named)
{
	struct plx_script_stamp stamp = stamp_of(path);
	struct plx_script_file *file = &script->files[script->count];

	if (script->count >= PLX_SCRIPT_FILES || stamp.size < 0)
		return;
	for (int i = 0; i < script->count; i++) {
		if (!strcmp(script->files[i].path, path))
			return;
	}
	*file = (struct plx_script_file){
		.path = strdup(path),
		.named = named,
		.told = stamp,
		.good = stamp,
		.started = stamp,
	};
	script->count += file->path != NULL;
}

/* Files of the same kind beside it: what it imports is mostly there. */
static void add_beside(struct plx_script *script, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *kind = strrchr(name, '.');
	int length = (int) (name - path);
	char folder[PATH_MAX];
	char other[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if (!kind || snprintf(folder, sizeof(folder), "%.*s.", length, path) >=
			     (int) sizeof(folder))
		return;
	dir = opendir(folder);
	while (dir && (entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (dot && !strcmp(dot, kind) &&
		    snprintf(other, sizeof(other), "%.*s%s", length, path,
			     entry->d_name) < (int) sizeof(other))
			add(script, other, false);
	}
	if (dir)
		closedir(dir);
}

void plx_script_note(struct plx_script *script, char *const *program)
{
	int named;

	script->count = 0;
	for (int i = 0; program[i]; i++)
		add(script, program[i], true);
	named = script->count;
	for (int i = 0; i < named; i++)
		add_beside(script, script->files[i].path);
}

void plx_script_release(struct plx_script *script)
{
	for (int i = 0; i < script->count; i++)
		free(script->files[i].path);
	script->count = 0;
}

const char *plx_script_changed(struct plx_script *script)
{
	for (int i = 0; i < script->count; i++) {
		struct plx_script_file *file = &script->files[i];
		struct plx_script_stamp now = stamp_of(file->path);

		if (!file->named || now.size < 0 || is_same(&now, &file->told))
			continue;
		file->told = now;
		return file->path;
	}
	return NULL;
}

void plx_script_start(struct plx_script *script)
{
	for (int i = 0; i < script->count; i++)
		script->files[i].started = stamp_of(script->files[i].path);
}

void plx_script_runs(struct plx_script *script)
{
	for (int i = 0; i < script->count; i++)
		script->files[i].good = script->files[i].started;
}

bool plx_script_is_new(const struct plx_script *script)
{
	for (int i = 0; i < script->count; i++) {
		struct plx_script_stamp now = stamp_of(script->files[i].path);

		if (!is_same(&now, &script->files[i].good))
			return true;
	}
	return false;
}
