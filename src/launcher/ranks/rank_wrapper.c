/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_wrapper.c - the command line of pollux-rank, which starts each rank */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/rank/rank_notes.h"
#include "launcher/ranks/rank_wrapper.h"
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

static int make_logs(struct plx_rank_wrapper *wrapper, const char *given,
		     struct plx_error *err)
{
	char cwd[PATH_MAX] = "";
	int length;
	int dir;

	if (!getcwd(cwd, sizeof(cwd)))
		return plx_fail(err, "no working directory: %s",
				strerror(errno));
	length = snprintf(wrapper->logs, sizeof(wrapper->logs), "%s%s%s",
			  given[0] == '/' ? "" : cwd,
			  given[0] == '/' ? "" : "/", given);
	if (length < 0 || (size_t) length >= sizeof(wrapper->logs))
		return plx_fail(err, "--log-dir=%.80s...: too long", given);
	dir = plx_dir_shared(wrapper->logs, err);
	if (dir < 0)
		return -1;
	close(dir);
	return 0;
}

static void add_pair(struct plx_rank_wrapper *wrapper, int *count,
		     const char *option, const char *value)
{
	wrapper->args[(*count)++] = (char *) option;
	wrapper->args[(*count)++] = (char *) value;
}

int plx_rank_wrapper_init(struct plx_rank_wrapper *wrapper,
			  const struct plx_command *command, const char *folder,
			  struct plx_error *err)
{
	const struct plx_settings *s = &command->settings;
	int count = 0;

	*wrapper = (struct plx_rank_wrapper){ 0 };
	if (find_program(wrapper->program, err) < 0)
		return -1;
	snprintf(wrapper->notes, sizeof(wrapper->notes),
		 "%.4000s" PLX_NOTES_FOLDER, folder);
	if (plx_notes_make(wrapper->notes, err) < 0)
		return -1;
	if (command->log_folder &&
	    make_logs(wrapper, command->log_folder, err) < 0)
		return -1;
	wrapper->args[count++] = wrapper->program;
	add_pair(wrapper, &count, "-n", wrapper->notes);
	if (wrapper->logs[0])
		add_pair(wrapper, &count, "-l", wrapper->logs);
	if (!command->bind)
		add_pair(wrapper, &count, "-b", "none");
	if (s->loudness == PLX_VERBOSE)
		wrapper->args[count++] = (char *) "-v";
	if (s->on_resize != PLX_ON_RESIZE_LIBPOLLUX) {
		snprintf(wrapper->signal, sizeof(wrapper->signal), "%d",
			 s->stop_signal);
		snprintf(wrapper->code, sizeof(wrapper->code), "%d",
			 s->saved_code);
		add_pair(wrapper, &count, "-s", wrapper->signal);
		add_pair(wrapper, &count, "-c", wrapper->code);
	}
	/* What follows is the program's, whatever it looks like. */
	wrapper->args[count++] = (char *) "--";
	return 0;
}
