/* SPDX-License-Identifier: GPL-2.0-or-later */
/* on_resize.c - reads --on-resize */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/job/launch_options.h"

#define TEXT_SIZE   128
#define GRACE_MAX_S 86400.0

static const char *const modes[] = {
	[PLX_ON_RESIZE_AUTO] = "auto",
	[PLX_ON_RESIZE_LIBPOLLUX] = "libpollux",
	[PLX_ON_RESIZE_SIGNAL] = "signal",
};

/* "USR1", "SIGUSR1" or "10"; 0 for what is no signal. */
static int signal_of(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end != text && !*end)
		return number > 0 && number < NSIG ? (int) number : 0;
	if (!strncmp(text, "SIG", 3))
		text += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);

		if (name && !strcmp(name, text))
			return i;
	}
	return 0;
}

static int read_signal(const char *text, struct plx_command *command,
		       struct plx_error *err)
{
	int signal = signal_of(text);

	/* SIGURG is between launcher and ranks; two cannot be caught. */
	if (!signal || signal == SIGKILL || signal == SIGSTOP ||
	    signal == SIGURG || signal == SIGCHLD)
		return plx_fail(err,
				"signal %.20s: want one that a program can "
				"save on, such as USR1 or TERM",
				text);
	command->settings.stop_signal = signal;
	return 0;
}

static int read_mode(char *text, struct plx_command *command,
		     struct plx_error *err)
{
	char *signal = strchr(text, ':');

	if (signal)
		*signal++ = '\0';
	for (int i = PLX_ON_RESIZE_AUTO; i <= PLX_ON_RESIZE_SIGNAL; i++) {
		if (strcmp(text, modes[i]) != 0)
			continue;
		command->settings.on_resize = (enum plx_on_resize) i;
		if (signal && i == PLX_ON_RESIZE_LIBPOLLUX)
			break;
		return signal ? read_signal(signal, command, err) : 0;
	}
	return plx_fail(err, "%.40s: want auto, libpollux or signal[:NAME]",
			text);
}

static int read_number(const char *text, double min, double max, double *value,
		       struct plx_error *err)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !(number >= min && number <= max))
		return plx_fail(err, "%.40s: want a number from %g to %g", text,
				min, max);
	*value = number;
	return 0;
}

static int read_part(const char *text, struct plx_command *command,
		     struct plx_error *err)
{
	double code = 0;

	if (!strncmp(text, "grace=", 6))
		return read_number(text + 6, 0, GRACE_MAX_S, &command->grace_s,
				   err);
	if (strncmp(text, "exit=", 5) != 0)
		return plx_fail(err, "%.40s: want grace=SECONDS or exit=CODE",
				text);
	if (read_number(text + 5, 1, 125, &code, err) < 0)
		return -1;
	command->settings.saved_code = (int) code;
	return 0;
}

int plx_on_resize_read(const char *text, struct plx_command *command,
		       struct plx_error *err)
{
	char copy[TEXT_SIZE];
	char *rest = copy;
	char *part;

	if (strlen(text) >= sizeof(copy))
		return plx_fail(err, "%.40s...: too long", text);
	strcpy(copy, text);
	part = strsep(&rest, ",");
	if (read_mode(part, command, err) < 0)
		return -1;
	while ((part = strsep(&rest, ","))) {
		if (read_part(part, command, err) < 0)
			return -1;
	}
	return 0;
}
