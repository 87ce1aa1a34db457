/* SPDX-License-Identifier: MIT */
/* web_page.c - a page with pictures that needs nothing but itself */

#include <string.h>

#include "chart/web_page.h"

/* GPU counts of one colour: up to this many. */
static const struct {
	int most;
	const char *text;
} grades[PLX_GRADES] = {
	{ 1, "1 GPU" },	   { 2, "2" },	      { 4, "3 to 4" },
	{ 8, "5 to 8" },   { 16, "9 to 16" }, { 32, "17 to 32" },
	{ 65536, "more" },
};

static const char common_style[] =
	/* clang-format off */
	":root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--dim:#5c6670;"
	"--grid:#e3e7eb;--axis:#9aa4ae;--wait:#b9c0c7;--best:#e7f4ea;"
	"--p0:#0b62c4;--p1:#d1580a;--p2:#16835a;--p3:#8a4fbf;--p4:#b8316f;"
	"--p5:#6b6f00;"
	"--g0:#bfe3b4;--g1:#7fcdbb;--g2:#41b6c4;--g3:#1d91c0;--g4:#225ea8;"
	"--g5:#253494;--g6:#0a1a4f}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14181c;--fg:#e4e8ec;"
	"--dim:#98a4b0;--grid:#2b3239;--axis:#66727e;--wait:#56606a;"
	"--best:#1d3626;"
	"--p0:#6cb0ff;--p1:#ff9d57;--p2:#5fd39b;--p3:#c79bff;--p4:#ff8dbd;"
	"--p5:#d4d860;"
	"--g0:#2e6380;--g1:#2f8496;--g2:#35a79e;--g3:#5fc996;--g4:#a3e08a;"
	"--g5:#dff07a;--g6:#fffcc0}}\n"
	".p0{--c:var(--p0)}.p1{--c:var(--p1)}.p2{--c:var(--p2)}"
	".p3{--c:var(--p3)}.p4{--c:var(--p4)}.p5{--c:var(--p5)}\n"
	".g0{--c:var(--g0)}.g1{--c:var(--g1)}.g2{--c:var(--g2)}"
	".g3{--c:var(--g3)}.g4{--c:var(--g4)}.g5{--c:var(--g5)}"
	".g6{--c:var(--g6)}\n"
	".a0{--c:#4e79a7}.a1{--c:#f28e2b}.a2{--c:#59a14f}.a3{--c:#e15759}"
	".a4{--c:#b07aa1}.a5{--c:#76b7b2}.a6{--c:#edc948}.a7{--c:#9c755f}\n"
	"body{background:var(--bg);color:var(--fg);margin:0 auto;padding:1rem;"
	"max-width:1500px;font:15px/1.45 system-ui,sans-serif}\n"
	"h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.2rem;"
	"margin:2rem 0 .4rem;border-top:1px solid var(--grid);"
	"padding-top:1rem}p{margin:.4rem 0}.dim,figcaption{color:var(--dim)}\n"
	"figure{margin:0;min-width:0;max-width:46rem;display:flex;"
	"flex-direction:column;justify-content:space-between}figcaption{font-size:.85rem}"
	"figcaption b{color:var(--fg)}\n"
	".grid{display:grid;gap:1rem 1.5rem;"
	"grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr))}\n"
	".scroll{overflow-x:auto}table{border-collapse:collapse;"
	"font-variant-numeric:tabular-nums;margin:.5rem 0}"
	"th,td{padding:.2rem .5rem;text-align:right;white-space:nowrap;"
	"border-bottom:1px solid var(--grid)}th{font-weight:600}"
	"th small{display:block;color:var(--dim);font-weight:400}"
	"th:first-child,td:first-child{text-align:left}"
	"td.best{background:var(--best);font-weight:600}\n"
	".keys{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem}"
	".key i{display:inline-block;width:.9em;height:.9em;"
	"margin-right:.35em;border-radius:2px;background:var(--c);"
	"vertical-align:-.1em;print-color-adjust:exact}\n"
	"svg{display:block;width:100%;height:auto;font:11px system-ui,"
	"sans-serif}svg text{fill:var(--dim)}svg path{fill:none}"
	"svg .label{fill:var(--fg)}"
	"svg .grid{stroke:var(--grid)}svg .axis{stroke:var(--axis)}"
	"svg .line{stroke:var(--c);stroke-width:1.6;"
	"stroke-linejoin:round}svg .area{fill:var(--c)}\n"
	".gantt path{stroke:var(--c)}.gantt .wait{stroke:var(--wait);"
	"stroke-width:var(--w)}\n";
/* clang-format on */

void plx_web_begin(FILE *out, const char *title, const char *style)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head>"
		"<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
		"content=\"width=device-width,initial-scale=1\"/>\n"
		"<title>%s</title>\n<style>\n%s%s</style></head><body>\n",
		title, common_style, style);
}

void plx_web_end(FILE *out)
{
	fputs("</body></html>\n", out);
}

void plx_web_text(FILE *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (strchr("&<>\"'", *c))
			fprintf(out, "&#%d;", *c);
		else
			/* Control characters have no place in a page. */
			fputc((unsigned char) *c < ' ' ? ' ' : *c, out);
	}
}

void plx_web_key(FILE *out, char class, int number, const char *text)
{
	fprintf(out, "<span class=\"key %c%d\"><i></i>", class, number);
	plx_web_text(out, text);
	fprintf(out, "</span>\n");
}

int plx_web_grade(int gpus)
{
	int g = 0;

	while (gpus > grades[g].most && g + 1 < PLX_GRADES)
		g++;
	return g;
}

void plx_web_grade_keys(FILE *out)
{
	fprintf(out, "<p class=\"keys\">GPUs of a job:\n");
	for (int g = 0; g < PLX_GRADES; g++)
		plx_web_key(out, 'g', g, grades[g].text);
	fprintf(out, "</p>\n");
}
