/* SPDX-License-Identifier: MIT */
/* traces.h - reading an application's folder; for app_*.c and traces.c */
#ifndef PLX_SIM_TRACES_H
#define PLX_SIM_TRACES_H

#include <limits.h>

#include "sim/app.h"

/*
 * Read placements, and where they are there scalability and interpolated
 * times, from an application's folder into app.
 */
int plx_trace_curves(struct plx_app *app, const char *dir,
		     struct plx_error *err);

/* What a restart costs, of restart.csv or an estimate. */
int plx_trace_restart(struct plx_app *app, const char *dir,
		      struct plx_error *err);

void plx_app_curves_release(struct plx_app_curves *curves);

#endif
