/* SPDX-License-Identifier: GPL-2.0-or-later */
/* print.h - a history for people, and for programs */
#ifndef PLX_REPORT_PRINT_H
#define PLX_REPORT_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "report/history.h"

/* The table: a line a job, its shapes below it, the totals at the end. */
void plx_print_table(const struct plx_history *history, FILE *out);

/* {"jobs": [...], "total": {...}}; NULL when out of memory. */
json_t *plx_print_json(const struct plx_history *history);

#endif
