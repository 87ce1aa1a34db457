/* SPDX-License-Identifier: MIT */
/*
 * html_plot.h - axes and text of pictures, as inline SVG
 *
 * A plot is a rectangle of a picture, and what its edges stand for. Lengths
 * are pixels of the picture's own width, which the browser scales. Colours
 * are classes: html_style.c knows what they are by day and by night.
 */
#ifndef PLX_SIM_HTML_PLOT_H
#define PLX_SIM_HTML_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#define PLX_PLOT_WIDTH 560.0 /* of a picture */

enum plx_unit {
	PLX_UNIT_COUNT,
	PLX_UNIT_PERCENT, /* values are 0 to 1 */
	PLX_UNIT_MINUTES, /* values are seconds */
	PLX_UNIT_HOURS,	  /* values are seconds */
	PLX_UNIT_LOG_TIME /* the same, each power as wide; low < high, > 0 */
};

struct plx_axis {
	double low, high; /* at left or below, and at right or above */
	enum plx_unit unit;
	const char *label;
};

struct plx_plot {
	FILE *out;
	double left, top, width, height; /* of the rectangle */
	struct plx_axis x, y;
};

/* Text of others, harmless in HTML. */
void plx_html_text(FILE *out, const char *text);

/* Open a picture for a plot of this height; title is told to the blind. */
struct plx_plot plx_plot_begin(FILE *out, double height, const char *title);
void plx_plot_end(const struct plx_plot *plot);

/* Grid, numbers and labels. */
void plx_plot_frame(const struct plx_plot *plot);

/* Of time from 0, in hours or minutes. */
struct plx_axis plx_axis_time(double end_s);

/* Where a value is; kept within the rectangle. */
double plx_plot_x(const struct plx_plot *plot, double value);
double plx_plot_y(const struct plx_plot *plot, double value);

/* The end of an axis from 0 that holds the value. */
double plx_plot_end_for(double value);

#endif
