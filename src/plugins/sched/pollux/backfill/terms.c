/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terms.c - what the operator told Slurm's backfill scheduler */

#include <stdlib.h>
#include <string.h>

#include "sched/pollux/backfill/terms.h"

/* The number after "key=", a word of its own; or the default. */
static long number(const char *text, const char *key, long most, long standard)
{
	size_t length = strlen(key);

	for (const char *at = text; at && *at; at += strcspn(at, ",")) {
		at += strspn(at, ", ");
		if (!strncmp(at, key, length)) {
			char *end = NULL;
			long value = strtol(at + length, &end, 10);

			if (end != at + length && value > 0 && value <= most)
				return value;
		}
	}
	return standard;
}

/* A word of its own, with or without a value. */
static bool has(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; at && *at; at += strcspn(at, ",")) {
		at += strspn(at, ", ");
		if (!strncmp(at, word, length) && strchr(",= ", at[length]))
			return true;
	}
	return false;
}

void pollux_terms_read(const char *text, struct pollux_terms *terms)
{
	terms->max_job_test =
		(int) number(text, "bf_max_job_test=", 1000000, 500);
	terms->max_job_user =
		(int) number(text, "bf_max_job_user=", 1000000, 0);
	terms->max_job_user_part =
		(int) number(text, "bf_max_job_user_part=", 1000000, 0);
	terms->max_job_part =
		(int) number(text, "bf_max_job_part=", 1000000, 0);
	terms->max_job_assoc =
		(int) number(text, "bf_max_job_assoc=", 1000000, 0);
	terms->min_prio_reserve =
		(uint32_t) number(text, "bf_min_prio_reserve=", UINT32_MAX, 0);
	terms->min_age_reserve =
		(int) number(text, "bf_min_age_reserve=", 2592000, 0);
	terms->licences = has(text, "bf_licenses");
	terms->one_resv_per_job = has(text, "bf_one_resv_per_job");
	terms->interval_s = (double) number(text, "bf_interval=", 10800, 30);
	terms->window_s =
		60.0 * (double) number(text, "bf_window=", 43200, 1440);
	terms->resolution_s = (double) number(text, "bf_resolution=", 3600, 60);
}
