/* SPDX-License-Identifier: MIT */
/*
 * web_page.h - a page with pictures that needs nothing but itself
 *
 * Styles and pictures are inline, and nothing is fetched. It can be read by
 * day and by night, on paper and by mail. Every colour is a variable with a
 * value for day and one for night. Classes of colours are p0 to p5 for what is
 * compared, a0 to a7 for kinds of jobs, g0 to g6 for counts of GPUs; each sets
 * --c, which lines, areas, bars and keys use.
 */
#ifndef PLX_CHART_WEB_PAGE_H
#define PLX_CHART_WEB_PAGE_H

#include <stdio.h>

#define PLX_GRADES 7

/* Up to the body. style: what this page adds to the common one. */
void plx_web_begin(FILE *out, const char *title, const char *style);
void plx_web_end(FILE *out);

/* Text of others, harmless in HTML and in its attributes. */
void plx_web_text(FILE *out, const char *text);

/* A colour and what it means. */
void plx_web_key(FILE *out, char class, int number, const char *text);

/* Which class g has so many GPUs, 1 or more. */
int plx_web_grade(int gpus);
/* A key to all of these. */
void plx_web_grade_keys(FILE *out);

#endif
