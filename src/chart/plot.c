/* SPDX-License-Identifier: MIT */
/* plot.c - axes and text of pictures, as inline SVG */

#include <math.h>
#include <time.h>

#include "chart/plot.h"
#include "chart/web_page.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum {
	TICKS = 5,
	MARGIN_TOP = 22,
	MARGIN_BOTTOM = 34,
	WIDTH = 560,
	MARGIN_LEFT = 44,
	MARGIN_RIGHT = 14,
	WIDE = 1080,
	WIDE_LEFT = 150,
	WIDE_RIGHT = 44,
};

/* Of this width, of which the plot has what the margins leave. */
static struct plx_plot begin(FILE *out, int width, const int margins[2],
			     double height, const char *title)
{
	struct plx_plot plot = {
		.out = out,
		.left = margins[0],
		.top = MARGIN_TOP,
		.width = width - margins[0] - margins[1],
		.height = height,
	};

	fprintf(out, "<svg viewBox=\"0 0 %d %g\" role=\"img\" aria-label=\"",
		width, height + MARGIN_TOP + MARGIN_BOTTOM);
	plx_web_text(out, title);
	fprintf(out, "\">\n");
	return plot;
}

struct plx_plot plx_plot_begin(FILE *out, double height, const char *title)
{
	static const int margins[] = { MARGIN_LEFT, MARGIN_RIGHT };

	return begin(out, WIDTH, margins, height, title);
}

struct plx_plot plx_plot_begin_wide(FILE *out, double height, const char *title)
{
	static const int margins[] = { WIDE_LEFT, WIDE_RIGHT };

	return begin(out, WIDE, margins, height, title);
}

void plx_plot_end(const struct plx_plot *plot)
{
	fprintf(plot->out, "</svg>\n");
}

struct plx_axis plx_axis_time(double end_s)
{
	bool hours = end_s > 3 * 3600;

	return (struct plx_axis){
		.high = fmax(end_s, 1),
		.unit = hours ? PLX_UNIT_HOURS : PLX_UNIT_MINUTES,
		.label = hours ? "hours" : "minutes",
	};
}

/* 0 to 1 along the axis. */
static double part(const struct plx_axis *axis, double value)
{
	double at = (value - axis->low) / (axis->high - axis->low);

	if (axis->unit == PLX_UNIT_LOG_TIME)
		at = log(fmax(value, axis->low) / axis->low) /
		     log(axis->high / axis->low);
	return fmin(fmax(at, 0), 1);
}

double plx_plot_x(const struct plx_plot *plot, double value)
{
	return plot->left + plot->width * part(&plot->x, value);
}

double plx_plot_y(const struct plx_plot *plot, double value)
{
	return plot->top + plot->height * (1 - part(&plot->y, value));
}

/* 1, 2 or 5 times a power of ten: about TICKS of them fit. */
static double tick_step(double range)
{
	double rough = range / TICKS;
	double power = pow(10, floor(log10(rough)));
	double digit = rough / power;

	return power * (digit > 5 ? 10 : digit > 2 ? 5 : digit > 1 ? 2 : 1);
}

double plx_plot_end_for(double value)
{
	double step;

	if (!(value > 0))
		return 1;
	step = tick_step(value);
	return ceil(value / step - 1e-9) * step;
}

static void tick_x(const struct plx_plot *plot, double value, const char *text)
{
	double x = plx_plot_x(plot, value);
	double bottom = plot->top + plot->height;

	fprintf(plot->out,
		"<path class=\"grid\" d=\"M%.1f %gV%g\"/>"
		"<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n",
		x, plot->top, bottom, x, bottom + 14, text);
}

static void tick_y(const struct plx_plot *plot, double value, const char *text)
{
	double y = plx_plot_y(plot, value);

	fprintf(plot->out,
		"<path class=\"grid\" d=\"M%g %.1fH%g\"/>"
		"<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		plot->left, y, plot->left + plot->width, plot->left - 6, y + 4,
		text);
}

typedef void tick_fn(const struct plx_plot *plot, double value,
		     const char *text);

static void log_ticks(const struct plx_plot *plot, const struct plx_axis *axis,
		      tick_fn *tick)
{
	static const struct {
		double seconds;
		const char *text;
	} marks[] = {
		/* clang-format off */
		{ 1, "1 s" }, { 10, "10 s" }, { 60, "1 min" },
		{ 180, "3 min" }, { 600, "10 min" }, { 1800, "30 min" },
		{ 3600, "1 h" }, { 3 * 3600., "3 h" }, { 10 * 3600., "10 h" },
		{ 86400, "1 d" }, { 4 * 86400., "4 d" }, { 20 * 86400., "20 d" },
		{ 100 * 86400., "100 d" },
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (marks[i].seconds >= axis->low &&
		    marks[i].seconds <= axis->high)
			tick(plot, marks[i].seconds, marks[i].text);
	}
}

static void linear_ticks(const struct plx_plot *plot,
			 const struct plx_axis *axis, tick_fn *tick)
{
	double scale = axis->unit == PLX_UNIT_HOURS	? 3600
		       : axis->unit == PLX_UNIT_MINUTES ? 60
							: 1;
	double low = fmin(axis->low, axis->high);
	double high = fmax(axis->low, axis->high);
	double step = tick_step((high - low) / scale) * scale;
	double first = ceil(low / step - 1e-9) * step;
	char text[32];

	for (int i = 0; first + i * step <= high + step * 1e-6; i++) {
		double value = first + i * step;
		double shown = axis->unit == PLX_UNIT_PERCENT ? value * 100
							      : value / scale;

		snprintf(text, sizeof(text), "%.6g%s", shown,
			 axis->unit == PLX_UNIT_PERCENT ? "%" : "");
		tick(plot, value, text);
	}
}

static void clock_ticks(const struct plx_plot *plot,
			const struct plx_axis *axis, tick_fn *tick)
{
	for (int i = 0; i < TICKS; i++) {
		double value =
			axis->low + (axis->high - axis->low) * i / (TICKS - 1);
		time_t at = (time_t) value;
		char text[24] = "";
		struct tm tm;

		if (localtime_r(&at, &tm))
			strftime(text, sizeof(text), "%m-%d %H:%M:%S", &tm);
		tick(plot, value, text);
	}
}

static void ticks(const struct plx_plot *plot, const struct plx_axis *axis,
		  tick_fn *tick)
{
	if (axis->unit == PLX_UNIT_LOG_TIME)
		log_ticks(plot, axis, tick);
	else if (axis->unit == PLX_UNIT_CLOCK)
		clock_ticks(plot, axis, tick);
	else if (axis->unit != PLX_UNIT_NONE)
		linear_ticks(plot, axis, tick);
}

void plx_plot_frame(const struct plx_plot *plot)
{
	double bottom = plot->top + plot->height;

	ticks(plot, &plot->x, tick_x);
	ticks(plot, &plot->y, tick_y);
	fprintf(plot->out,
		"<path class=\"axis\" d=\"M%g %gV%gH%g\"/>\n"
		"<text class=\"label\" x=\"%g\" y=\"%g\">%s</text>\n"
		"<text class=\"label\" x=\"%g\" y=\"%g\" text-anchor=\"end\">"
		"%s</text>\n",
		plot->left, plot->top, bottom, plot->left + plot->width,
		plot->left - 38, plot->top - 9, plot->y.label,
		plot->left + plot->width, bottom + 29, plot->x.label);
}

void plx_plot_steps(const struct plx_plot *plot, const char *class,
		    const double *values, int count, bool area)
{
	double before = plx_plot_y(plot, 0);

	fprintf(plot->out, "<path class=\"%s\" d=\"M%.1f %.1f", class,
		plot->left, before);
	for (int i = 0; i < count; i++) {
		double y = plx_plot_y(plot, values[i]);

		if (fabs(y - before) >= 0.05) {
			fprintf(plot->out, "V%.1f", y);
			before = y;
		}
		fprintf(plot->out, "H%.1f",
			plot->left + plot->width * (i + 1) / count);
	}
	fprintf(plot->out, "V%.1f%s\"/>\n", plx_plot_y(plot, 0),
		area ? "Z" : "");
}
