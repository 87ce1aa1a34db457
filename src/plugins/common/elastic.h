/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elastic.h - is this job elastic, and what did its user allow?
 *
 * Shared by job_submit/pollux and sched/pollux. Pure: may be called under
 * any of slurmctld's locks.
 */
#ifndef POLLUX_COMMON_ELASTIC_H
#define POLLUX_COMMON_ELASTIC_H

#include <stdint.h>

#include "core/error.h"
#include "core/options.h"

/*
 * Find the text of --scheduler-params in a job's spank_job_env (count
 * strings, may be NULL) and parse it. 1: elastic; 0: not; -1: elastic but
 * broken, err says why. options is written for 1 only.
 */
int elastic_options(char **spank_job_env, uint32_t count,
		    struct plx_options *options, struct plx_error *err);

/* The option's text, or NULL when the job has none. Borrowed. */
const char *elastic_text(char **spank_job_env, uint32_t count);

#endif
