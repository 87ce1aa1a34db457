/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reserved.c - what reservations leave to a job, its own among them
 *
 * Slurm's own job_test_resv() is asked about a copy of the record that wants
 * to start now, for the time that is left to the job.
 */

#include "sched/pollux/rules/reserved.h"

/* A job leaves nodes this long before somebody's reservation begins. */
#define SOON_MINUTES 2
/* Slurm logs each refusal of access: do not ask again so soon. */
#define DENIED_S     60
#define DENIED_COUNT 16

#define RECURS                                                                 \
	(RESERVE_FLAG_HOURLY | RESERVE_FLAG_DAILY | RESERVE_FLAG_WEEKDAY |     \
	 RESERVE_FLAG_WEEKEND | RESERVE_FLAG_WEEKLY)

struct pollux_reserved {
	time_t now;
	bool any;
	bool turning;
};

/* Users who lost access to the reservation of their job; the thread's own. */
static struct {
	uint32_t reservation;
	uint32_t user;
	time_t until;
} denied[DENIED_COUNT];
static unsigned next_denied;

struct pollux_reserved *pollux_reserved_create(void)
{
	struct pollux_reserved *reserved = xmalloc(sizeof(*reserved));
	ListIterator iter = NULL;
	slurmctld_resv_t *at = NULL;

	reserved->now = time(NULL);
	if (!resv_list)
		return reserved;
	reserved->any = list_count(resv_list) > 0;
	iter = list_iterator_create(resv_list);
	while ((at = list_next(iter))) {
		if (at->flags & RECURS && at->end_time <= reserved->now)
			reserved->turning = true;
	}
	list_iterator_destroy(iter);
	return reserved;
}

void pollux_reserved_destroy(struct pollux_reserved *reserved)
{
	xfree(reserved);
}

bool pollux_reserved_any(const struct pollux_reserved *reserved)
{
	return reserved->any;
}

bool pollux_reserved_turning(const struct pollux_reserved *reserved)
{
	return reserved->turning;
}

static bool _is_denied(const job_record_t *job, time_t now)
{
	for (int i = 0; i < DENIED_COUNT; i++) {
		if (denied[i].reservation == job->resv_ptr->resv_id &&
		    denied[i].user == job->user_id && now < denied[i].until)
			return true;
	}
	return false;
}

static void _deny(const job_record_t *job, time_t now)
{
	unsigned i = next_denied++ % DENIED_COUNT;

	denied[i].reservation = job->resv_ptr->resv_id;
	denied[i].user = job->user_id;
	denied[i].until = now + DENIED_S;
}

/* Slurm's minutes, of a job that was started long ago. */
static uint32_t _minutes(const job_record_t *job, enum pollux_time time,
			 time_t now)
{
	time_t left = job->end_time > now ? job->end_time - now : 0;

	if (time == POLLUX_TIME_SOON)
		return SOON_MINUTES;
	if (IS_JOB_PENDING(job) || job->time_limit == INFINITE ||
	    job->time_limit == NO_VAL)
		return job->time_limit;
	return MAX((uint32_t) ((left + 59) / 60), 1);
}

/* NULL when it may use none. */
static bitstr_t *_ask(const job_record_t *job, uint32_t minutes, time_t now,
		      pollux_barred_t *barred)
{
	job_details_t details = *job->details;
	job_record_t probe = *job;
	bitstr_t *nodes = NULL;
	pollux_barred_t kept = { 0 };
	int rc = SLURM_SUCCESS;

	details.req_node_bitmap = NULL;
	details.begin_time = 0;
	probe.details = &details;
	probe.time_limit = minutes;
	if (probe.resv_ptr)
		probe.resv_id = probe.resv_ptr->resv_id;
	rc = pollux_slurm_test_resv(&probe, now, &nodes, &kept);
	if (rc != SLURM_SUCCESS)
		FREE_NULL_BITMAP(nodes);
	if (rc == ESLURM_RESERVATION_ACCESS && job->resv_name)
		_deny(job, now);
	if (barred && rc == SLURM_SUCCESS)
		*barred = kept;
	else
		pollux_slurm_barred_release(&kept);
	return nodes;
}

/* Whom nobody asked to leave: who is in a reservation already. */
static bool _may_stay(const job_record_t *job, enum pollux_time time)
{
	return time == POLLUX_TIME_SOON && job->resv_name;
}

void pollux_reserved_filter(struct pollux_reserved *reserved,
			    const job_record_t *job, enum pollux_time time,
			    bitstr_t *nodes, pollux_barred_t *barred)
{
	time_t now = reserved->now;
	bitstr_t *free = NULL;

	if (_may_stay(job, time) || (!reserved->any && !job->resv_name))
		return;
	if (reserved->turning) {
		if (time != POLLUX_TIME_SOON)
			bit_clear_all(nodes);
		return;
	}
	if (job->resv_name && (!job->resv_ptr || _is_denied(job, now))) {
		bit_clear_all(nodes);
		return;
	}
	free = _ask(job, _minutes(job, time, now), now, barred);
	if (free)
		bit_and(nodes, free);
	else
		bit_clear_all(nodes);
	FREE_NULL_BITMAP(free);
}
