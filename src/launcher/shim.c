/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shim.c - the command line of pollux-rank, which starts each rank */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/rank_notes.h"
#include "launcher/shim.h"
#include "wire/dir.h"

#define NAME "/pollux-rank"

/* In a folder that is named after the one this program is in. */
static bool is_near(const char *below, char path[PATH_MAX])
{
	char self[PATH_MAX / 2] = "";
	char *slash;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		return false;
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	snprintf(path, PATH_MAX, "%s%s" NAME, self, below);
	return access(path, X_OK) == 0;
}

/* Where it was built, where it was installed, or moved to since then. */
static int find_program(char path[PATH_MAX], struct plx_error *err)
{
	if (is_near("", path))
		return 0;
	snprintf(path, PATH_MAX, "%s" NAME, PLX_LIBEXEC);
	if (access(path, X_OK) == 0 || is_near("/../libexec/pollux", path))
		return 0;
	return plx_fail(err,
			"cannot find pollux-rank, neither beside pollux-launch "
			"nor in " PLX_LIBEXEC ": is Pollux installed whole?");
}

static int make_logs(struct plx_shim *shim, const char *given,
		     struct plx_error *err)
{
	char cwd[PATH_MAX] = "";
	int length;
	int dir;

	if (!getcwd(cwd, sizeof(cwd)))
		return plx_fail(err, "no working directory: %s",
				strerror(errno));
	length = snprintf(shim->logs, sizeof(shim->logs), "%s%s%s",
			  given[0] == '/' ? "" : cwd,
			  given[0] == '/' ? "" : "/", given);
	if (length < 0 || (size_t) length >= sizeof(shim->logs))
		return plx_fail(err, "--log-dir=%.80s...: too long", given);
	dir = plx_dir_shared(shim->logs, err);
	if (dir < 0)
		return -1;
	close(dir);
	return 0;
}

static void add_pair(struct plx_shim *shim, int *count, const char *option,
		     const char *value)
{
	shim->args[(*count)++] = (char *) option;
	shim->args[(*count)++] = (char *) value;
}

int plx_shim_init(struct plx_shim *shim, const struct plx_command *command,
		  const char *folder, struct plx_error *err)
{
	const struct plx_settings *s = &command->settings;
	int count = 0;

	*shim = (struct plx_shim){ 0 };
	if (find_program(shim->program, err) < 0)
		return -1;
	snprintf(shim->notes, sizeof(shim->notes), "%.4000s" PLX_NOTES_FOLDER,
		 folder);
	if (plx_notes_make(shim->notes, err) < 0)
		return -1;
	if (command->log_folder &&
	    make_logs(shim, command->log_folder, err) < 0)
		return -1;
	shim->args[count++] = shim->program;
	add_pair(shim, &count, "-n", shim->notes);
	if (shim->logs[0])
		add_pair(shim, &count, "-l", shim->logs);
	if (!command->bind)
		add_pair(shim, &count, "-b", "none");
	if (s->loudness == PLX_VERBOSE)
		shim->args[count++] = (char *) "-v";
	if (s->on_resize != PLX_ON_RESIZE_LIBPOLLUX) {
		snprintf(shim->signal, sizeof(shim->signal), "%d",
			 s->stop_signal);
		snprintf(shim->code, sizeof(shim->code), "%d", s->saved_code);
		add_pair(shim, &count, "-s", shim->signal);
		add_pair(shim, &count, "-c", shim->code);
	}
	/* What follows is the program's, whatever it looks like. */
	shim->args[count++] = (char *) "--";
	return 0;
}
