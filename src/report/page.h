/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page.h - a history as one page with pictures
 *
 * It needs nothing but itself (chart/web_page.h). Bars have their number of
 * GPUs in them, so it can be read without colours. All texts of users are
 * escaped.
 */
#ifndef PLX_REPORT_PAGE_H
#define PLX_REPORT_PAGE_H

#include <stdio.h>

#include "report/history.h"

/* Drawn and listed: those with the most GPU time. */
#define PLX_PAGE_JOBS 1000

/* cluster_gpus: the line that 100 % is. */
int plx_page_print(const struct plx_history *history, int cluster_gpus,
		   FILE *out, struct plx_error *err);

#endif
