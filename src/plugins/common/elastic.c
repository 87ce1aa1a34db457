/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elastic.c - is this job elastic, and what did its user allow? */

#include <string.h>

#include "common/elastic.h"

/* As SPANK names the option "scheduler-params" of plugin "pollux". */
static const char prefix[] = "_SLURM_SPANK_OPTION_pollux_scheduler_params=";

const char *elastic_text(char **spank_job_env, uint32_t count)
{
	size_t length = sizeof(prefix) - 1;

	for (uint32_t i = 0; spank_job_env && i < count; i++) {
		if (spank_job_env[i] &&
		    !strncmp(spank_job_env[i], prefix, length))
			return spank_job_env[i] + length;
	}
	return NULL;
}

int elastic_options(char **spank_job_env, uint32_t count,
		    struct plx_options *options, struct plx_error *err)
{
	const char *text = elastic_text(spank_job_env, count);

	if (!text)
		return 0;
	return plx_options_parse(text, options, err) < 0 ? -1 : 1;
}
