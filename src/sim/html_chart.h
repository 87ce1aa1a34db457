/* SPDX-License-Identifier: MIT */
/*
 * html_chart.h - the pictures of a simulated workload
 *
 * Each is a <figure>. They want stories with a timeline. Policies have the
 * colours p0 and on (chart/web_page.h), in the order asked for, applications
 * a0 and on.
 */
#ifndef PLX_SIM_HTML_CHART_H
#define PLX_SIM_HTML_CHART_H

#include "sim/sim_print.h"

#define PLX_POLICY_COLOURS 6

/* When the last job of any policy was done: the end of the axis of time. */
double plx_chart_end_s(const struct plx_results *results, int workload);

/* The share of jobs that took at most so long, a line a policy. */
int plx_chart_jct(const struct plx_results *results, int workload, FILE *out,
		  struct plx_error *err);

/* Goodput, efficiency, jobs and so on over time, a line a policy. */
void plx_chart_lines(const struct plx_results *results, int workload,
		     FILE *out);

/* What one policy gave: to each application, and to each job. */
int plx_chart_bands(const struct plx_results *results, int policy, int workload,
		    FILE *out, struct plx_error *err);
int plx_chart_gantt(const struct plx_results *results, int policy, int workload,
		    FILE *out, struct plx_error *err);

/* Keys to the colours of applications. */
void plx_chart_band_keys(const struct plx_results *results, FILE *out);

#endif
