/* SPDX-License-Identifier: GPL-2.0-or-later */
/* script.c - the files of the program's command line: were they changed? */
#include "config.h"

#include <stddef.h>
#include <sys/stat.h>

#include "launcher/script.h"

void plx_script_note(struct plx_script *script, char *const *program)
{
	struct stat st;

	script->count = 0;
	for (int i = 0; program[i] && script->count < PLX_SCRIPT_FILES; i++) {
		if (stat(program[i], &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		script->files[script->count++] = (struct plx_script_file){
			.path = program[i],
			.changed = st.st_mtim,
			.size = st.st_size,
		};
	}
}

const char *plx_script_changed(struct plx_script *script)
{
	for (int i = 0; i < script->count; i++) {
		struct plx_script_file *file = &script->files[i];
		struct stat st;

		if (stat(file->path, &st) < 0 ||
		    (st.st_size == file->size &&
		     st.st_mtim.tv_sec == file->changed.tv_sec &&
		     st.st_mtim.tv_nsec == file->changed.tv_nsec))
			continue;
		file->changed = st.st_mtim;
		file->size = st.st_size;
		return file->path;
	}
	return NULL;
}
