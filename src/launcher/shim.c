/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shim.c - the command line of pollux-rank, which starts each rank */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/rank_notes.h"
#include "launcher/shim.h"

#define NAME "/pollux-rank"

/* Where it was built or moved with us, else where it was installed. */
static int find_program(char path[PATH_MAX], struct plx_error *err)
{
	char self[PATH_MAX] = "";
	char *slash;

	if (readlink("/proc/self/exe", self, sizeof(self) - sizeof(NAME)) > 0) {
		slash = strrchr(self, '/');
		if (slash)
			strcpy(slash, NAME);
	}
	if (self[0] && access(self, X_OK) == 0) {
		strcpy(path, self);
		return 0;
	}
	snprintf(path, PATH_MAX, "%s" NAME, PLX_LIBEXEC);
	if (access(path, X_OK) == 0)
		return 0;
	return plx_fail(err,
			"cannot find pollux-rank, neither beside pollux-launch "
			"nor as %s: is Pollux installed whole?",
			path);
}

static int make_logs(struct plx_shim *shim, const char *given,
		     struct plx_error *err)
{
	char cwd[PATH_MAX] = "";
	int length;

	if (!getcwd(cwd, sizeof(cwd)))
		return plx_fail(err, "no working directory: %s",
				strerror(errno));
	length = snprintf(shim->logs, sizeof(shim->logs), "%s%s%s",
			  given[0] == '/' ? "" : cwd,
			  given[0] == '/' ? "" : "/", given);
	if (length < 0 || (size_t) length >= sizeof(shim->logs))
		return plx_fail(err, "--log-dir=%.80s...: too long", given);
	if (mkdir(shim->logs, 0777) < 0 && errno != EEXIST)
		return plx_fail(err, "cannot make %s: %s", shim->logs,
				strerror(errno));
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
