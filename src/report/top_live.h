/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_live.h - pollux-top on a terminal */
#ifndef PLX_REPORT_TOP_LIVE_H
#define PLX_REPORT_TOP_LIVE_H

#include "report/top.h"

struct plx_live {
	double interval_s; /* between looks */
	long looks;	   /* leave after so many; 0: when told to */
	bool colour;
	bool utf8;
};

/*
 * Show and obey until told to leave. 0; -1 with err set when the terminal
 * could not be taken or the last look failed. Slurm may still be asked by a
 * thread when it returns: leave by _exit().
 */
int plx_live_run(const struct plx_live *live, struct plx_top *top,
		 struct plx_error *err);

#endif
