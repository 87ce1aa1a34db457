/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tty.h - the terminal taken over for full frames, and given back
 *
 * There is one, that of stdin and stdout. However the program ends, but for
 * SIGKILL, the terminal is as it was: after exit(), by a signal, stopped by
 * ^Z. While it is taken, what libraries print on stderr is not shown.
 */
#ifndef PLX_REPORT_TTY_H
#define PLX_REPORT_TTY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

/* stdin and stdout are a terminal that can do more than print lines. */
bool plx_tty_is_there(void);

/* Take it: no echo, keys as they come, a screen of our own. */
int plx_tty_open(struct plx_error *err);
/* Give it back; does nothing when it is not taken. */
void plx_tty_close(void);

/* Readable when plx_tty_event() has something. */
int plx_tty_fd(void);

enum plx_tty_event {
	PLX_TTY_NOTHING,
	PLX_TTY_RESIZED,
	PLX_TTY_STOP, /* ^Z: plx_tty_suspend() */
	PLX_TTY_END,  /* SIGINT, SIGTERM, ... */
};

enum plx_tty_event plx_tty_event(void);

/* Stand back for the shell until we are to go on. */
int plx_tty_suspend(struct plx_error *err);

/* Columns and rows; 80 and 24 where it does not say. */
void plx_tty_size(int *width, int *height);

/* Write it all. -1: the terminal is gone. */
int plx_tty_write(const char *text, size_t size);

#endif
