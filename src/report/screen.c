/* SPDX-License-Identifier: GPL-2.0-or-later */
/* screen.c - a frame of a terminal, drawn in memory (screen.h) */

#define _GNU_SOURCE

#include <stdarg.h>
#include <stdlib.h>
#include <wchar.h>

#include "report/screen.h"
#include "report/text.h"

#define TEXT_SIZE 1024

static const char *const hues[] = {
	[PLX_PLAIN] = "",
	[PLX_GOOD] = ";32",
	[PLX_WARN] = ";33",
	[PLX_BAD] = ";31",
	[PLX_GREY] = ";30;47",
	[PLX_JOB_HUES] = ";30;46",
	[PLX_JOB_HUES + 1] = ";30;43",
	[PLX_JOB_HUES + 2] = ";30;45",
	[PLX_JOB_HUES + 3] = ";30;42",
	[PLX_JOB_HUES + 4] = ";37;44",
	[PLX_JOB_HUES + 5] = ";37;41",
};

static int within(int value, int min, int max)
{
	return value < min ? min : value > max ? max : value;
}

int plx_screen_init(struct plx_screen *screen, int width, int height, bool utf8)
{
	width = within(width, 1, PLX_SCREEN_WIDTH_MAX);
	height = within(height, 1, PLX_SCREEN_HEIGHT_MAX);
	*screen = (struct plx_screen){
		.width = width,
		.height = height,
		.utf8 = utf8,
		.cells = calloc((size_t) (width * height),
				sizeof(struct plx_cell)),
	};
	if (!screen->cells)
		return -1;
	for (int i = 0; i < width * height; i++)
		screen->cells[i].glyph = ' ';
	return 0;
}

void plx_screen_release(struct plx_screen *screen)
{
	free(screen->cells);
	*screen = (struct plx_screen){ .cells = NULL };
}

/* The character at *text, which is valid UTF-8 and not at its end. */
static uint32_t next_glyph(const char **text)
{
	const unsigned char *u = (const unsigned char *) *text;
	int more = *u < 0x80 ? 0 : *u < 0xe0 ? 1 : *u < 0xf0 ? 2 : 3;
	uint32_t glyph = more ? *u & (0x3f >> more) : *u;

	for (int i = 1; i <= more; i++)
		glyph = glyph << 6 | (u[i] & 0x3f);
	*text += more + 1;
	return glyph;
}

/* Columns of a glyph; one that has none, or no place here, becomes '?'. */
static int measure(const struct plx_screen *screen, uint32_t *glyph)
{
	int width = 1;

	if (*glyph >= 0x80)
		width = screen->utf8 ? wcwidth((wchar_t) *glyph) : -1;
	if (width == 1 || width == 2)
		return width;
	*glyph = '?';
	return 1;
}

static struct plx_cell *at(struct plx_screen *screen, int x, int y)
{
	if (x < 0 || y < 0 || x >= screen->width || y >= screen->height)
		return NULL;
	return &screen->cells[y * screen->width + x];
}

/* Halves of wide glyphs that are written over in part become blank. */
static void set(struct plx_screen *screen, int x, int y, uint32_t glyph,
		int paint)
{
	struct plx_cell *cell = at(screen, x, y);
	struct plx_cell *before = at(screen, x - 1, y);
	struct plx_cell *behind = at(screen, x + 1, y);

	if (!cell)
		return;
	if (!cell->glyph && glyph && before)
		before->glyph = ' ';
	if (behind && !behind->glyph)
		behind->glyph = ' ';
	*cell = (struct plx_cell){ .glyph = glyph, .paint = (uint8_t) paint };
}

int plx_screen_put(struct plx_screen *screen, int x, int y, int paint,
		   const char *text)
{
	char clean[TEXT_SIZE];
	const char *p = plx_text_clean(text, clean, sizeof(clean));

	while (*p && x < screen->width) {
		uint32_t glyph = next_glyph(&p);
		int width = measure(screen, &glyph);

		if (width == 2 && x + 1 >= screen->width)
			glyph = '?';
		set(screen, x++, y, glyph, paint);
		if (width == 2 && x < screen->width)
			set(screen, x++, y, 0, paint);
	}
	return x;
}

int plx_screen_printf(struct plx_screen *screen, int x, int y, int paint,
		      const char *fmt, ...)
{
	char text[TEXT_SIZE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return plx_screen_put(screen, x, y, paint, text);
}

int plx_screen_width(const struct plx_screen *screen, const char *text)
{
	char clean[TEXT_SIZE];
	const char *p = plx_text_clean(text, clean, sizeof(clean));
	int width = 0;

	while (*p) {
		uint32_t glyph = next_glyph(&p);

		width += measure(screen, &glyph);
	}
	return width;
}

void plx_screen_paint(struct plx_screen *screen, int x, int y, int width,
		      int paint)
{
	for (int i = 0; i < width; i++) {
		struct plx_cell *cell = at(screen, x + i, y);

		if (cell)
			cell->paint = (uint8_t) paint;
	}
}

void plx_screen_bar(struct plx_screen *screen, int x, int y, int width,
		    int paint, double share)
{
	static const uint32_t part[] = { 0x2591, 0x258f, 0x258e, 0x258d, 0x258c,
					 0x258b, 0x258a, 0x2589, 0x2588 };
	int eighths;

	if (!(share > 0))
		share = 0;
	if (share > 1)
		share = 1;
	eighths = (int) (share * 8 * width + 0.5);
	for (int i = 0; i < width; i++, eighths -= 8) {
		int full = within(eighths, 0, 8);

		if (screen->utf8)
			set(screen, x + i, y, part[full], paint);
		else
			set(screen, x + i, y, full >= 4 ? '#' : '.', paint);
	}
}

static void write_glyph(uint32_t glyph, FILE *out)
{
	if (glyph < 0x80) {
		putc((int) glyph, out);
		return;
	}
	if (glyph < 0x800) {
		putc((int) (0xc0 | glyph >> 6), out);
	} else {
		if (glyph < 0x10000) {
			putc((int) (0xe0 | glyph >> 12), out);
		} else {
			putc((int) (0xf0 | glyph >> 18), out);
			putc((int) (0x80 | (glyph >> 12 & 0x3f)), out);
		}
		putc((int) (0x80 | (glyph >> 6 & 0x3f)), out);
	}
	putc((int) (0x80 | (glyph & 0x3f)), out);
}

/* Flags are no colours: they stay without. */
static void write_paint(int paint, bool colour, FILE *out)
{
	int hue = paint & PLX_HUE_MASK;

	fprintf(out, "\033[0%s%s%s%s%sm", paint & PLX_BOLD ? ";1" : "",
		paint & PLX_FAINT ? ";2" : "",
		paint & PLX_UNDERLINE ? ";4" : "",
		paint & PLX_REVERSE ? ";7" : "", colour ? hues[hue] : "");
}

/* Columns of a row up to its last that is not blank. */
static int used(const struct plx_screen *screen, int y)
{
	const struct plx_cell *row = &screen->cells[y * screen->width];
	int width = screen->width;

	while (width > 0 && row[width - 1].glyph == ' ' &&
	       !row[width - 1].paint)
		width--;
	return width;
}

void plx_screen_write(const struct plx_screen *screen, bool colour, FILE *out)
{
	for (int y = 0; y < screen->height; y++) {
		const struct plx_cell *row = &screen->cells[y * screen->width];
		int width = used(screen, y);
		int paint = PLX_PLAIN;

		fprintf(out, "\033[%d;1H\033[0m", y + 1);
		for (int x = 0; x < width; x++) {
			if (row[x].paint != paint)
				write_paint(row[x].paint, colour, out);
			paint = row[x].paint;
			if (row[x].glyph)
				write_glyph(row[x].glyph, out);
		}
		if (paint != PLX_PLAIN)
			fputs("\033[0m", out);
		if (width < screen->width)
			fputs("\033[K", out);
	}
}

void plx_screen_row(const struct plx_screen *screen, int y, FILE *out)
{
	const struct plx_cell *row = &screen->cells[y * screen->width];
	int width = screen->width;

	while (width > 0 && row[width - 1].glyph == ' ')
		width--;
	for (int x = 0; x < width; x++) {
		if (row[x].glyph)
			write_glyph(row[x].glyph, out);
	}
}
