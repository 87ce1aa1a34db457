/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen.h - a frame of a terminal, drawn in memory
 *
 * Cells in rows. What does not fit is cut at the edges, and a text that is
 * put is made harmless: nothing a user wrote reaches the terminal as a
 * command. The result depends on the arguments, and on the locale's idea of
 * how wide a character is.
 */
#ifndef PLX_REPORT_SCREEN_H
#define PLX_REPORT_SCREEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PLX_SCREEN_WIDTH_MAX  1000
#define PLX_SCREEN_HEIGHT_MAX 500

/* How a cell is painted: a hue, and any of the flags. */
enum {
	PLX_PLAIN = 0,
	PLX_GOOD, /* green text, as the next two */
	PLX_WARN,
	PLX_BAD,
	PLX_GREY, /* background, as the next ones */
	PLX_JOB_HUES,
	PLX_JOB_HUES_END = PLX_JOB_HUES + 6,
	PLX_HUE_MASK = 0x0f,
	PLX_BOLD = 0x10,
	PLX_FAINT = 0x20,
	PLX_REVERSE = 0x40,
	PLX_UNDERLINE = 0x80,
};

struct plx_cell {
	uint32_t glyph; /* 0: the right half of a wide one */
	uint8_t paint;
};

struct plx_screen {
	int width;
	int height;
	bool utf8; /* the terminal shows more than ASCII */
	struct plx_cell *cells;
};

/* A blank one; width and height are brought into range. -1: no memory. */
int plx_screen_init(struct plx_screen *screen, int width, int height,
		    bool utf8);
void plx_screen_release(struct plx_screen *screen);

/* Write at column x of row y; the column behind it, cut or not. */
int plx_screen_put(struct plx_screen *screen, int x, int y, int paint,
		   const char *text);
int plx_screen_printf(struct plx_screen *screen, int x, int y, int paint,
		      const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Columns that a text takes there. */
int plx_screen_width(const struct plx_screen *screen, const char *text);

/* Paint a row from x on, keeping what is written. */
void plx_screen_paint(struct plx_screen *screen, int x, int y, int width,
		      int paint);

/* A bar of so many columns, filled from the left by a share of 0 to 1. */
void plx_screen_bar(struct plx_screen *screen, int x, int y, int width,
		    int paint, double share);

/* The whole frame, with the terminal's escapes; colour: hues as well. */
void plx_screen_write(const struct plx_screen *screen, bool colour, FILE *out);

/* The bare text of a row, without blanks at its end; for tests. */
void plx_screen_row(const struct plx_screen *screen, int y, FILE *out);

#endif
