/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * terms.h - what the operator told Slurm's backfill scheduler
 *
 * Room is made for whom backfill would start, so its own words of
 * SchedulerParameters count here, too. One that makes no sense has its
 * default, without a word: that is for backfill to say.
 */
#ifndef SCHED_POLLUX_TERMS_H
#define SCHED_POLLUX_TERMS_H

#include <stdbool.h>
#include <stdint.h>

struct pollux_terms {
	int max_job_test; /* bf_max_job_test: waiting jobs looked at ... */
	int max_job_user; /* ... of a user, 0: any number; as are: */
	int max_job_user_part;
	int max_job_part;
	int max_job_assoc;
	uint32_t min_prio_reserve; /* bf_min_prio_reserve: less, no promise */
	int min_age_reserve;	   /* bf_min_age_reserve: seconds, the same */
	bool one_resv_per_job;	   /* bf_one_resv_per_job */
	bool licences;		   /* bf_licenses: kept for who waits */
	double interval_s;	   /* bf_interval, between its looks */
	double window_s;	   /* bf_window, how far ahead it plans */
	double resolution_s;	   /* bf_resolution, of its plans */
};

/* text may be NULL. */
void pollux_terms_read(const char *text, struct pollux_terms *terms);

#endif
