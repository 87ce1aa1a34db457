/* SPDX-License-Identifier: MIT */
/*
 * html.h - simulated workloads as one page with pictures
 *
 * The page needs nothing but itself: styles and pictures are inline, and
 * there are no scripts. It can be read by day and by night, on paper and by
 * mail.
 */
#ifndef PLX_SIM_HTML_H
#define PLX_SIM_HTML_H

#include "sim/sim_print.h"

/* Stories must have a timeline. -1: no memory. */
int plx_html_print(const struct plx_results *results, FILE *out,
		   struct plx_error *err);

extern const char plx_html_style[]; /* for <style> */

#endif
