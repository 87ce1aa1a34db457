/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page.c - see page.h */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/records/target.h"
#include "report/columns.h"
#include "report/page.h"
#include "report/print.h"
#include "report/text.h"
#include "report/job_efficiency.h"

#define COLUMNS                                                                \
	"JobID,JobName,User,State,Queued,Ran,Finish,GPUHours,Resizes,Lost,"    \
	"Goodput,Efficiency,FixedGPUs,FixedRange,Rho"

enum {
	LEFT = 150, /* names */
	WIDTH = 900,
	ROW = 20,
	HEIGHT = 140, /* of a chart over time */
	BINS = 300,
};

/* From the first submission to the last end; the jobs that are drawn. */
struct page {
	FILE *out;
	int64_t from_s;
	int64_t to_s;
	const struct plx_record **jobs;
	size_t count;
	double gpus[BINS];
	double goodput[BINS];
};

static const char style[] =
	/* clang-format off */
	"body{font:14px/1.4 system-ui,sans-serif;color:#1c2024;background:#fff;"
	"margin:1.5em;max-width:1080px}h1{font-size:1.4em}h2{font-size:1.1em}"
	"svg{width:100%;height:auto;display:block}text{font-size:11px;"
	"fill:#1c2024}.in{fill:#fff}.dark{fill:#111}.axis{stroke:#9aa4ae;"
	"fill:none}.full{stroke:#555;stroke-dasharray:2 3;fill:none}"
	".wait{stroke:#777;stroke-dasharray:1 3}.held{fill:#bcd9ee;"
	"stroke:#225ea8}.good{fill:none;stroke:#8a3b00;stroke-width:2;"
	"stroke-dasharray:6 2}rect{stroke:#fff;stroke-width:.5}"
	".g0{fill:#fff;stroke:#777}.g1{fill:#cfe8c6}.g2{fill:#92cfbb}"
	".g3{fill:#4fb0c6}.g4{fill:#2b7fb5}.g5{fill:#21509a}.g6{fill:#101c56}"
	"table{border-collapse:collapse;font-size:12px;white-space:nowrap}"
	"th,td{padding:2px 8px;border-bottom:1px solid #dde2e6;text-align:right}"
	"th:nth-child(2),td:nth-child(2){text-align:left}.scroll{overflow:auto}"
	"#tip{position:fixed;display:none;max-width:420px;padding:4px 8px;"
	"background:#111;color:#fff;white-space:pre-line;pointer-events:none;"
	"font-size:12px}[data-t]:hover{stroke:#000;stroke-width:2}"
	"@media print{#tip{display:none}}\n";

static const char script[] =
	"<div id=\"tip\"></div><script>\n"
	"const tip=document.getElementById('tip');\n"
	"document.addEventListener('mousemove',e=>{\n"
	"  const at=e.target.closest('[data-t]');\n"
	"  tip.style.display=at?'block':'none';\n"
	"  if(!at)return;\n"
	"  tip.textContent=at.getAttribute('data-t');\n"
	"  tip.style.left=Math.min(e.clientX+12,innerWidth-tip.offsetWidth-4)+'px';\n"
	"  tip.style.top=Math.min(e.clientY+12,innerHeight-tip.offsetHeight-4)+'px';\n"
	"});\n"
	"</script>\n";
/* clang-format on */

/* A text of a user, clean and escaped; fit for attributes as well. */
static void escape(FILE *out, const char *from)
{
	char clean[512];

	plx_text_clean(from, clean, sizeof(clean));
	for (const char *p = clean; *p; p++) {
		if (strchr("&<>\"'", *p))
			fprintf(out, "&#%d;", *p);
		else
			fputc(*p, out);
	}
}

static double x_of(const struct page *page, int64_t at_s)
{
	return LEFT + (double) WIDTH * (double) (at_s - page->from_s) /
			      (double) (page->to_s - page->from_s);
}

static void clock_text(int64_t at_s, char text[24])
{
	time_t at = (time_t) at_s;
	struct tm tm;

	text[0] = '\0';
	if (localtime_r(&at, &tm))
		strftime(text, 24, "%m-%d %H:%M:%S", &tm);
}

static void axis(const struct page *page, double height)
{
	char when[24];

	for (int i = 0; i <= 4; i++) {
		int64_t at_s =
			page->from_s + (page->to_s - page->from_s) * i / 4;
		double x = x_of(page, at_s);

		clock_text(at_s, when);
		fprintf(page->out,
			"<path class=\"axis\" d=\"M%.1f 0V%.1f\"/><text "
			"x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
			x, height, x, height + 13,
			i == 4 ? "end" : (i ? "middle" : "start"), when);
	}
}

static int grade(int gpus)
{
	int g = 0;

	while (g < 6 && gpus > (1 << g) / 2)
		g++;
	return g;
}

static void bar(const struct page *page, const struct plx_record *r,
		const struct plx_history_span *span, double y)
{
	double x = x_of(page, span->start_s);
	double width = x_of(page, span->end_s) - x;
	char duration[24];
	char why[PLX_WHY_SIZE];
	double goodput;
	double efficiency;

	plx_text_duration(span->end_s - span->start_s, duration,
			  sizeof(duration));
	plx_efficiency_span(span, &goodput, &efficiency);
	plx_print_why(span, why, sizeof(why));
	fprintf(page->out,
		"<rect class=\"g%d\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
		"height=\"%d\" data-t=\"job ",
		grade(span->gpus), x, y + 2, fmax(width, 0.5), ROW - 4);
	escape(page->out, r->id);
	fputc(' ', page->out);
	escape(page->out, r->name);
	fprintf(page->out, "&#10;%d GPUs on ", span->gpus);
	escape(page->out, span->nodes);
	fprintf(page->out, " for %s%s", duration, span->open ? " so far" : "");
	if (isfinite(goodput))
		fprintf(page->out, "&#10;goodput %.0f/s, efficiency %.0f %%",
			goodput, 100 * efficiency);
	if (*why) {
		fputs("&#10;then: ", page->out);
		escape(page->out, why);
	}
	fputs("\"/>", page->out);
	if (width > 16)
		fprintf(page->out,
			"<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\" pointer-events=\"none\">%d"
			"</text>",
			grade(span->gpus) > 3 ? "in" : "dark", x + width / 2,
			y + 14, span->gpus);
}

static void row(const struct page *page, const struct plx_record *r, double y)
{
	char name[24];

	plx_text_clean(r->name, name, sizeof(name));
	fprintf(page->out, "<text x=\"0\" y=\"%.1f\">", y + 14);
	escape(page->out, r->id);
	fputc(' ', page->out);
	escape(page->out, name);
	fprintf(page->out,
		"</text><path class=\"wait\" d=\"M%.1f %.1fH%.1f\"/>",
		x_of(page, r->submit_s), y + ROW / 2., x_of(page, r->end_s));
	for (size_t i = 0; i < r->span_count; i++)
		bar(page, r, &r->spans[i], y);
	fputc('\n', page->out);
}

static void draw_jobs(const struct page *page)
{
	double height = (double) ROW * (double) page->count;

	fprintf(page->out,
		"<h2>GPUs of each job</h2><p>Darker is more; dotted: waiting; "
		"white: parked. Point at a bar for details.</p>\n"
		"<svg viewBox=\"0 0 %d %.0f\" role=\"img\" "
		"aria-label=\"GPUs of each job over time\">\n",
		LEFT + WIDTH + 4, height + 18);
	axis(page, height);
	for (size_t i = 0; i < page->count; i++)
		row(page, page->jobs[i], (double) ROW * (double) i);
	fputs("</svg>\n", page->out);
}

/* Into the bins: as much as the shape covers of each. */
static void pour(struct page *page, const struct plx_history_span *span)
{
	double bin_s = (double) (page->to_s - page->from_s) / BINS;
	double from = (double) (span->start_s - page->from_s) / bin_s;
	double to = (double) (span->end_s - page->from_s) / bin_s;
	double goodput;
	double efficiency;

	plx_efficiency_span(span, &goodput, &efficiency);
	for (int b = (int) fmax(from, 0); b < BINS && b < to; b++) {
		double part = fmin(b + 1, to) - fmax(b, from);

		page->gpus[b] += part * span->gpus;
		if (isfinite(goodput))
			page->goodput[b] += part * goodput;
	}
}

static void draw_line(const struct page *page, const double *values, double top,
		      const char *class, bool closed)
{
	fprintf(page->out, "<path class=\"%s\" d=\"M%d %d", class, LEFT,
		HEIGHT);
	for (int b = 0; b < BINS; b++)
		fprintf(page->out, "V%.1fH%.1f",
			HEIGHT - (HEIGHT - 10) * values[b] / top,
			LEFT + (double) WIDTH * (b + 1) / BINS);
	fprintf(page->out, "V%d%s\"/>\n", HEIGHT, closed ? "Z" : "");
}

static void draw_cluster(const struct page *page, int cluster_gpus)
{
	double top = cluster_gpus > 0 ? cluster_gpus : 1;
	double most = 1;

	for (int b = 0; b < BINS; b++) {
		most = fmax(most, page->goodput[b]);
		top = fmax(top, page->gpus[b]);
	}
	fprintf(page->out,
		"<h2>The cluster</h2><p>Area, left: GPUs held, of %d (dotted)."
		" Dashed line, right: goodput of jobs that tell it, up to "
		"%.0f useful samples a second.</p>\n"
		"<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"GPUs "
		"held and goodput over time\">\n",
		cluster_gpus, most, LEFT + WIDTH + 4, HEIGHT + 18);
	axis(page, HEIGHT);
	draw_line(page, page->gpus, top, "held", true);
	fprintf(page->out,
		"<path class=\"full\" d=\"M%d %.1fh%d\"/><text x=\"%d\" "
		"y=\"%.1f\" text-anchor=\"end\">%d GPUs</text>\n",
		LEFT, HEIGHT - (HEIGHT - 10) * cluster_gpus / top, WIDTH,
		LEFT - 6, HEIGHT - (HEIGHT - 10) * cluster_gpus / top + 4,
		cluster_gpus);
	draw_line(page, page->goodput, most, "good", false);
	fputs("</svg>\n", page->out);
}

/* What the name of a column does not say. */
static const struct {
	const char *name;
	const char *text;
} notes[] = {
	{ "Lost", "how long training stood still for resizes: their number "
		  "times their median pause." },
	{ "FixedRange",
	  "how long the same work would have taken on FixedGPUs GPUs all the "
	  "time, by the job's own models: nobody ran it so. ? warns that the "
	  "job never measured half as many GPUs." },
	{ "Rho", "finish-time fairness: the time from submission to end over "
		 "that of the same job alone on a fair share of the cluster. "
		 "Above 1 it lost by sharing. Only jobs that completed have "
		 "it, and it is right only where all jobs of the cluster are "
		 "shown." },
};

static void explain(const struct page *page)
{
	fputs("<dl>\n", page->out);
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		fprintf(page->out, "<dt><b>%s</b></dt><dd>%s</dd>\n",
			notes[i].name, notes[i].text);
	fputs("</dl>\n", page->out);
}

/* Names say what they are about where they are pointed at. */
static void head(const struct page *page, const struct plx_columns *columns)
{
	for (int c = 0; c < columns->count; c++) {
		fputs("<th data-t=\"", page->out);
		escape(page->out, columns->fields[c]->about);
		fprintf(page->out, "\">%s</th>", columns->fields[c]->name);
	}
}

static void list_jobs(const struct page *page)
{
	struct plx_columns columns;
	char text[512];

	if (plx_columns_read(plx_fields_job, COLUMNS, &columns, NULL) < 0)
		return;
	fputs("<h2>Jobs</h2><div class=\"scroll\"><table><thead><tr>",
	      page->out);
	head(page, &columns);
	fputs("</tr></thead><tbody>\n", page->out);
	for (size_t i = 0; i < page->count; i++) {
		fputs("<tr>", page->out);
		for (int c = 0; c < columns.count; c++) {
			plx_columns_text(columns.fields[c], page->jobs[i], true,
					 text, sizeof(text));
			fputs("<td>", page->out);
			escape(page->out, text);
			fputs("</td>", page->out);
		}
		fputs("</tr>\n", page->out);
	}
	fputs("</tbody></table></div>\n", page->out);
	explain(page);
}

static int by_gpu_time(const void *a, const void *b)
{
	const struct plx_record *x = *(const struct plx_record *const *) a;
	const struct plx_record *y = *(const struct plx_record *const *) b;

	if (x->gpu_seconds != y->gpu_seconds)
		return x->gpu_seconds < y->gpu_seconds ? 1 : -1;
	return (x > y) - (x < y);
}

static int by_submission(const void *a, const void *b)
{
	const struct plx_record *x = *(const struct plx_record *const *) a;
	const struct plx_record *y = *(const struct plx_record *const *) b;

	if (x->submit_s != y->submit_s)
		return x->submit_s > y->submit_s ? 1 : -1;
	return (x > y) - (x < y);
}

/* Times, bins, and the jobs to be drawn: most GPU time, by submission. */
static int prepare(const struct plx_history *history, struct page *page)
{
	page->jobs = calloc(history->count + 1, sizeof(*page->jobs));
	if (!page->jobs)
		return -1;
	page->from_s = history->count ? history->records[0].submit_s : 0;
	for (size_t i = 0; i < history->count; i++) {
		const struct plx_record *r = &history->records[i];

		page->jobs[i] = r;
		if (r->submit_s < page->from_s)
			page->from_s = r->submit_s;
		if (r->end_s > page->to_s)
			page->to_s = r->end_s;
	}
	if (page->to_s <= page->from_s)
		page->to_s = page->from_s + 1;
	for (size_t i = 0; i < history->count; i++) {
		for (size_t s = 0; s < history->records[i].span_count; s++)
			pour(page, &history->records[i].spans[s]);
	}
	page->count = history->count;
	qsort(page->jobs, page->count, sizeof(*page->jobs), by_gpu_time);
	if (page->count > PLX_PAGE_JOBS)
		page->count = PLX_PAGE_JOBS;
	qsort(page->jobs, page->count, sizeof(*page->jobs), by_submission);
	return 0;
}

int plx_page_print(const struct plx_history *history, int cluster_gpus,
		   FILE *out, struct plx_error *err)
{
	const struct plx_totals *t = &history->totals;
	struct page page = { .out = out };
	char wall[24];

	if (prepare(history, &page) < 0)
		return plx_fail(err, "out of memory");
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
		"charset=\"utf-8\"><meta name=\"viewport\" "
		"content=\"width=device-width\">\n<title>pollux-report</title>"
		"<style>%s</style></head><body>\n<h1>Jobs and their GPUs</h1>"
		"<p>%d jobs (%d elastic), %d completed, in %s: %.2f GPU-hours, "
		"%d resizes.",
		style, t->jobs, t->elastic, t->completed,
		plx_text_duration(t->wall_s, wall, sizeof(wall)),
		(double) t->gpu_seconds / 3600, t->resizes);
	if (page.count < history->count)
		fprintf(out, " Shown are the %zu with the most GPU time.",
			page.count);
	fputs("</p>\n", out);
	draw_cluster(&page, cluster_gpus);
	draw_jobs(&page);
	list_jobs(&page);
	fprintf(out, "%s</body></html>\n", script);
	free(page.jobs);
	return 0;
}
