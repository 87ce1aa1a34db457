/* SPDX-License-Identifier: GPL-2.0-or-later */
/* held.c - slurmctld's locks as the plugin takes them, and how long it does */

#include <time.h>

#include "common/slurm_compat.h"
#include "sched/pollux/held.h"

static const struct {
	const char *name;
	slurmctld_lock_t lock;
} purposes[] = {
	[POLLUX_LOOK] = { .name = "look",
			  .lock = { .conf = READ_LOCK,
				    .job = READ_LOCK,
				    .node = READ_LOCK,
				    .part = READ_LOCK } },
	[POLLUX_JUDGE] = { .name = "judge",
			   .lock = { .conf = READ_LOCK,
				     .job = READ_LOCK,
				     .node = READ_LOCK,
				     .part = READ_LOCK } },
	[POLLUX_ASKING] = { .name = "ask",
			    .lock = { .conf = READ_LOCK,
				      .job = WRITE_LOCK,
				      .node = WRITE_LOCK,
				      .part = READ_LOCK,
				      .fed = READ_LOCK } },
	[POLLUX_TOUCH] = { .name = "touch",
			   .lock = { .conf = READ_LOCK,
				     .job = WRITE_LOCK,
				     .node = WRITE_LOCK,
				     .part = READ_LOCK,
				     .fed = READ_LOCK } },
	[POLLUX_ACCOUNT] = { .name = "account",
			     .lock = { .conf = READ_LOCK,
				       .job = WRITE_LOCK,
				       .part = READ_LOCK } },
	[POLLUX_MENDING] = { .name = "mend",
			     .lock = { .conf = READ_LOCK,
				       .job = WRITE_LOCK,
				       .node = WRITE_LOCK,
				       .part = READ_LOCK,
				       .fed = READ_LOCK } },
};

static struct {
	pthread_mutex_t mutex;
	struct plx_held held[POLLUX_PURPOSES];
} shared = {
	/* held[] is protected by the mutex, a leaf */
	.mutex = PTHREAD_MUTEX_INITIALIZER,
};

static __thread double wall_s, cpu_s; /* when it was taken */

static double _clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

void pollux_lock(enum pollux_purpose purpose)
{
	lock_slurmctld(purposes[purpose].lock);
	wall_s = _clock(CLOCK_MONOTONIC);
	cpu_s = _clock(CLOCK_THREAD_CPUTIME_ID);
}

void pollux_unlock(enum pollux_purpose purpose)
{
	struct plx_held *held = &shared.held[purpose];
	double used_s = _clock(CLOCK_THREAD_CPUTIME_ID) - cpu_s;
	double took_s = 0;

	unlock_slurmctld(purposes[purpose].lock);
	took_s = _clock(CLOCK_MONOTONIC) - wall_s;
	slurm_mutex_lock(&shared.mutex);
	plx_times_add(&held->times, took_s);
	held->cpu_s += used_s;
	slurm_mutex_unlock(&shared.mutex);
}

void pollux_held_read(struct plx_metrics *metrics)
{
	slurm_mutex_lock(&shared.mutex);
	for (int i = 0; i < POLLUX_PURPOSES && i < PLX_LOCKS; i++) {
		metrics->held[i] = shared.held[i];
		metrics->held[i].lock = purposes[i].name;
		metrics->held_count = i + 1;
	}
	slurm_mutex_unlock(&shared.mutex);
}
