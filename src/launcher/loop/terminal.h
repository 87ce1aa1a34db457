/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * terminal.h - a line at the foot of the terminal that is drawn in place
 *
 * What the ranks print would run into it, so it comes through here: a thread
 * takes it from two pipes, takes the line away, prints, and draws it again.
 * Only on a terminal; elsewhere there is no such object, and ranks print
 * straight to where our own output goes.
 */
#ifndef PLX_LAUNCHER_TERMINAL_H
#define PLX_LAUNCHER_TERMINAL_H

#include <stdbool.h>

struct plx_terminal;

/* NULL: stderr is no terminal, or there is nothing to be had. */
struct plx_terminal *plx_terminal_create(void);

/* Pass on what is still in the pipes, leave the line empty. Takes NULL. */
void plx_terminal_destroy(struct plx_terminal *terminal);

/* Two descriptors for the ranks' stdout and stderr; -1: our own will do. */
const int *plx_terminal_output(const struct plx_terminal *terminal);

/* Print a whole line (without its newline) on stderr. */
void plx_terminal_say(struct plx_terminal *terminal, const char *text);

/* Draw the line anew; "": none. Cut to the width of the terminal. */
void plx_terminal_draw(struct plx_terminal *terminal, const char *text);

#endif
