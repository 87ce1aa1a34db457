/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_options.h - pollux-report's command line */
#ifndef PLX_REPORT_REPORT_OPTIONS_H
#define PLX_REPORT_REPORT_OPTIONS_H

#include <stdbool.h>

#include "report/columns.h"
#include "report/sacct.h"
#include "report/job_efficiency.h"

/* Texts are argv's. */
struct plx_report_options {
	struct plx_sacct sacct;
	struct plx_efficiency_setting setting;
	const char *from;    /* file in place of sacct */
	const char *log;     /* of slurmctld */
	const char **events; /* [event_count] files of launchers; malloc()ed */
	size_t event_count;
	const char *by;	  /* NULL: a line a job */
	const char *html; /* file, "-": standard output; NULL: no page */
	bool json;
	bool whys;
	bool no_header;
	bool formatted; /* columns are to be printed */
	enum plx_style style;
	struct plx_columns columns;
};

/* Misuse and --help end the program. */
void plx_report_options_read(int argc, char **argv,
			     struct plx_report_options *options);

#endif
