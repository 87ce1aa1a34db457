/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page.c - see page.h */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart/plot.h"
#include "chart/web_page.h"
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

/* What the common style lacks. */
static const char style[] =
	/* clang-format off */
	"svg rect{fill:var(--c);stroke:var(--bg);stroke-width:.5}"
	"svg .parked{fill:var(--bg);stroke:var(--axis)}svg .name{fill:var(--fg)}"
	"svg .light{fill:var(--fg)}svg .dark{fill:var(--bg)}"
	"svg .full{stroke:var(--axis);stroke-dasharray:2 3}"
	"svg .wait{stroke:var(--axis);stroke-dasharray:1 3}"
	"svg .goodput{stroke-dasharray:6 2}svg .held{fill-opacity:.3}"
	"table{font-size:12px}th:nth-child(2),td:nth-child(2){text-align:left}"
	"#tip{position:fixed;display:none;max-width:420px;padding:4px 8px;"
	"background:var(--fg);color:var(--bg);white-space:pre-line;"
	"pointer-events:none;font-size:12px}"
	"[data-t]:hover{stroke:var(--fg);stroke-width:2}"
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
	plx_web_text(out, clean);
}

static struct plx_axis clock_axis(const struct page *page)
{
	return (struct plx_axis){ (double) page->from_s, (double) page->to_s,
				  PLX_UNIT_CLOCK, "" };
}

/* At y, the upper edge of its row. */
static void bar(const struct plx_plot *plot, const struct plx_record *r,
		const struct plx_history_span *span, double y)
{
	double x = plx_plot_x(plot, (double) span->start_s);
	double width = plx_plot_x(plot, (double) span->end_s) - x;
	int grade = plx_web_grade(span->gpus);
	char class[16] = "parked";
	char duration[24];
	char why[PLX_WHY_SIZE];
	FILE *out = plot->out;
	double goodput;
	double efficiency;

	if (span->gpus > 0)
		snprintf(class, sizeof(class), "g%d", grade);
	plx_text_duration(span->end_s - span->start_s, duration,
			  sizeof(duration));
	plx_efficiency_span(span, &goodput, &efficiency);
	plx_print_why(span, why, sizeof(why));
	fprintf(out,
		"<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
		"height=\"%d\" data-t=\"job ",
		class, x, y + 2, fmax(width, 0.5), ROW - 4);
	escape(out, r->id);
	fputc(' ', out);
	escape(out, r->name);
	fprintf(out, "&#10;%d GPUs on ", span->gpus);
	escape(out, span->nodes);
	fprintf(out, " for %s%s", duration, span->open ? " so far" : "");
	if (isfinite(goodput))
		fprintf(out, "&#10;goodput %.0f/s, efficiency %.0f %%", goodput,
			100 * efficiency);
	if (*why) {
		fputs("&#10;then: ", out);
		escape(out, why);
	}
	fputs("\"/>", out);
	if (width > 16)
		fprintf(out,
			"<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\" pointer-events=\"none\">%d"
			"</text>",
			grade > 2 ? "dark" : "light", x + width / 2, y + 14,
			span->gpus);
}

static void row(const struct plx_plot *plot, const struct plx_record *r,
		int number)
{
	double y = plx_plot_y(plot, number);
	char name[24];

	plx_text_clean(r->name, name, sizeof(name));
	fprintf(plot->out, "<text class=\"name\" x=\"0\" y=\"%.1f\">", y + 14);
	escape(plot->out, r->id);
	fputc(' ', plot->out);
	escape(plot->out, name);
	fprintf(plot->out,
		"</text><path class=\"wait\" d=\"M%.1f %.1fH%.1f\"/>",
		plx_plot_x(plot, (double) r->submit_s), y + ROW / 2.,
		plx_plot_x(plot, (double) r->end_s));
	for (size_t i = 0; i < r->span_count; i++)
		bar(plot, r, &r->spans[i], y);
	fputc('\n', plot->out);
}

static void draw_jobs(const struct page *page)
{
	int count = (int) page->count;
	struct plx_plot plot;

	fputs("<h2>GPUs of each job</h2><p>Dotted: waiting; empty: parked. "
	      "Point at a bar for details.</p>\n",
	      page->out);
	plx_web_grade_keys(page->out);
	plot = plx_plot_begin_wide(page->out, ROW * count,
				   "GPUs of each job over time");
	plot.x = clock_axis(page);
	plot.y = (struct plx_axis){ count, 0, PLX_UNIT_NONE, "" };
	plx_plot_frame(&plot);
	for (int i = 0; i < count; i++)
		row(&plot, page->jobs[i], i);
	plx_plot_end(&plot);
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

static void draw_cluster(const struct page *page, int cluster_gpus)
{
	double top = cluster_gpus;
	struct plx_plot plot;
	double most = 1;
	double y;

	for (int b = 0; b < BINS; b++) {
		most = fmax(most, page->goodput[b]);
		top = fmax(top, page->gpus[b]);
	}
	fprintf(page->out,
		"<h2>The cluster</h2><p>Area: GPUs held, of %d (dotted). "
		"Dashed line: goodput of jobs that tell it, up to %.0f useful "
		"samples a second.</p>\n",
		cluster_gpus, most);
	plot = plx_plot_begin_wide(page->out, HEIGHT,
				   "GPUs held and goodput over time");
	plot.x = clock_axis(page);
	plot.y = (struct plx_axis){ 0, plx_plot_end_for(top), PLX_UNIT_COUNT,
				    "GPUs" };
	plx_plot_frame(&plot);
	plx_plot_steps(&plot, "area held p0", page->gpus, BINS, true);
	y = plx_plot_y(&plot, cluster_gpus);
	fprintf(page->out, "<path class=\"full\" d=\"M%g %.1fh%g\"/>\n",
		plot.left, y, plot.width);
	plot.y.high = most;
	plx_plot_steps(&plot, "line goodput p1", page->goodput, BINS, false);
	plx_plot_end(&plot);
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
	plx_web_begin(out, "pollux-report", style);
	fprintf(out,
		"<h1>Jobs and their GPUs</h1>"
		"<p>%d jobs (%d elastic), %d completed, in %s: %.2f GPU-hours, "
		"%d resizes.",
		t->jobs, t->elastic, t->completed,
		plx_text_duration(t->wall_s, wall, sizeof(wall)),
		(double) t->gpu_seconds / 3600, t->resizes);
	if (page.count < history->count)
		fprintf(out, " Shown are the %zu with the most GPU time.",
			page.count);
	fputs("</p>\n", out);
	draw_cluster(&page, cluster_gpus);
	draw_jobs(&page);
	list_jobs(&page);
	fputs(script, out);
	plx_web_end(out);
	free(page.jobs);
	return 0;
}
