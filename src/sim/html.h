/* SPDX-License-Identifier: MIT */
/* html.h - simulated workloads as one page with pictures, without scripts */
#ifndef PLX_SIM_HTML_H
#define PLX_SIM_HTML_H

#include "sim/sim_print.h"

/* Stories must have a timeline. -1: no memory. */
int plx_html_print(const struct plx_results *results, FILE *out,
		   struct plx_error *err);

#endif
