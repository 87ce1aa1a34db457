/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tty.c - the terminal taken over, and given back (tty.h) */

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "report/tty.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The other screen, no cursor, no wrapping at the edge; and back. */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l\033[H\033[2J";
static const char leave[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

static const int asked[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

static struct termios before;
static int events[2] = { -1, -1 };
static int saved_stderr = -1;
static volatile sig_atomic_t taken;

bool plx_tty_is_there(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

int plx_tty_write(const char *text, size_t size)
{
	while (size > 0) {
		ssize_t wrote = write(STDOUT_FILENO, text, size);

		if (wrote < 0 && errno != EINTR)
			return -1;
		text += wrote > 0 ? wrote : 0;
		size -= wrote > 0 ? (size_t) wrote : 0;
	}
	return 0;
}

/* Calls only what a signal's handler may call. */
void plx_tty_close(void)
{
	if (!taken)
		return;
	taken = 0;
	(void) plx_tty_write(leave, sizeof(leave) - 1);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	if (saved_stderr >= 0) {
		dup2(saved_stderr, STDERR_FILENO);
		close(saved_stderr);
		saved_stderr = -1;
	}
}

static void on_signal(int sig)
{
	int kept = errno;
	char byte = sig == SIGWINCH  ? PLX_TTY_RESIZED
		    : sig == SIGTSTP ? PLX_TTY_STOP
				     : PLX_TTY_END;

	/* A full pipe holds enough to be woken by. */
	if (write(events[1], &byte, 1) < 0)
		errno = kept;
	errno = kept;
}

/* The handler is the default one by now: the signal does what it does. */
static void on_fatal(int sig)
{
	plx_tty_close();
	raise(sig);
}

static void mute_stderr(void)
{
	int null;

	if (!isatty(STDERR_FILENO))
		return;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (null >= 0 && saved_stderr >= 0)
		dup2(null, STDERR_FILENO);
	if (null >= 0)
		close(null);
}

static void handle_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART };

	for (size_t i = 0; i < COUNT(asked); i++)
		sigaction(asked[i], &action, NULL);
	sigaction(SIGWINCH, &action, NULL);
	sigaction(SIGTSTP, &action, NULL);
	action.sa_handler = on_fatal;
	action.sa_flags = SA_RESETHAND | SA_NODEFER;
	for (size_t i = 0; i < COUNT(fatal); i++)
		sigaction(fatal[i], &action, NULL);
}

int plx_tty_open(struct plx_error *err)
{
	struct termios raw;

	if (events[0] < 0) {
		if (pipe2(events, O_CLOEXEC | O_NONBLOCK) < 0)
			return plx_fail(err, "pipe: %s", strerror(errno));
		atexit(plx_tty_close);
	}
	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return plx_fail(err, "terminal: %s", strerror(errno));
	handle_signals();
	taken = 1;
	raw = before;
	raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
	raw.c_iflag &= ~(tcflag_t) IXON;
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0 ||
	    plx_tty_write(enter, sizeof(enter) - 1) < 0) {
		plx_tty_close();
		return plx_fail(err, "terminal: %s", strerror(errno));
	}
	mute_stderr();
	return 0;
}

int plx_tty_fd(void)
{
	return events[0];
}

enum plx_tty_event plx_tty_event(void)
{
	char byte;

	if (read(events[0], &byte, 1) != 1)
		return PLX_TTY_NOTHING;
	return (enum plx_tty_event) byte;
}

int plx_tty_suspend(struct plx_error *err)
{
	plx_tty_close();
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	return plx_tty_open(err);
}

void plx_tty_size(int *width, int *height)
{
	struct winsize size = { 0 };

	*width = 80;
	*height = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return;
	if (size.ws_col > 0)
		*width = size.ws_col;
	if (size.ws_row > 0)
		*height = size.ws_row;
}
