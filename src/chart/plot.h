/* SPDX-License-Identifier: MIT */
/*
 * plot.h - axes and text of pictures, as inline SVG
 *
 * A plot is a rectangle of a picture, and what its edges stand for. Lengths
 * are pixels of the picture's own width, which the browser scales. Colours
 * are classes (web_page.h).
 */
#ifndef PLX_CHART_PLOT_H
#define PLX_CHART_PLOT_H

#include <stdbool.h>
#include <stdio.h>

enum plx_unit {
	PLX_UNIT_COUNT,
	PLX_UNIT_PERCENT,  /* values are 0 to 1 */
	PLX_UNIT_MINUTES,  /* values are seconds */
	PLX_UNIT_HOURS,	   /* values are seconds */
	PLX_UNIT_LOG_TIME, /* the same, each power as wide; low < high, > 0 */
	PLX_UNIT_CLOCK,	   /* values are seconds since 1970 */
	PLX_UNIT_NONE	   /* without numbers */
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

/* Open a picture for a plot of this height; title is told to the blind. */
struct plx_plot plx_plot_begin(FILE *out, double height, const char *title);
/* One that is as wide as a page, with names beside it, from x = 0 on. */
struct plx_plot plx_plot_begin_wide(FILE *out, double height,
				    const char *title);
void plx_plot_end(const struct plx_plot *plot);

/* Grid, numbers and labels. */
void plx_plot_frame(const struct plx_plot *plot);

/* Of time from 0, in hours or minutes. */
struct plx_axis plx_axis_time(double end_s);

/* Where a value is; kept within the rectangle. */
double plx_plot_x(const struct plx_plot *plot, double value);
double plx_plot_y(const struct plx_plot *plot, double value);

/*
 * As many values side by side, each of which lasts: a line, or the area from
 * 0 up to it.
 */
void plx_plot_steps(const struct plx_plot *plot, const char *class,
		    const double *values, int count, bool area);

/* The end of an axis from 0 that holds the value. */
double plx_plot_end_for(double value);

#endif
