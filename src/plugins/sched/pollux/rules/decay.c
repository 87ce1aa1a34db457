/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decay.c - up to when Slurm has counted what running jobs use */

#include <limits.h>
#include <stdio.h>

#include "common/slurm_compat.h"
#include "sched/pollux/rules/decay.h"

#define TIME_SIZE 8 /* as Slurm packs it, the highest byte first */

static struct {
	char path[PATH_MAX];
	time_t last;
} decay;

void pollux_decay_find(void)
{
	decay.path[0] = '\0';
	if (xstrcmp(slurm_conf.priority_type, "priority/basic") &&
	    slurm_conf.state_save_location)
		snprintf(decay.path, sizeof(decay.path),
			 "%s/priority_last_decay_ran",
			 slurm_conf.state_save_location);
}

void pollux_decay_read(void)
{
	unsigned char bytes[TIME_SIZE];
	FILE *in = decay.path[0] ? fopen(decay.path, "re") : NULL;
	uint64_t last = 0;

	if (in && fread(bytes, 1, sizeof(bytes), in) == sizeof(bytes)) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			last = last << 8 | bytes[i];
	}
	if (in)
		fclose(in);
	decay.last = last > INT64_MAX ? 0 : (time_t) last;
}

time_t pollux_decay_last(void)
{
	return decay.last;
}
