/* SPDX-License-Identifier: GPL-2.0-or-later */
/* end.c - how long a running job may go on beyond its time limit */

#include "src/common/assoc_mgr.h"

#include "sched/pollux/locks.h"
#include "sched/pollux/rules/usage.h"
#include "sched/pollux/rules/limit_walk.h"
#include "sched/pollux/rules/end.h"
#include "sched/pollux/rules/reserved.h"

static const assoc_mgr_lock_t read_lock = {
	.assoc = READ_LOCK,
	.qos = READ_LOCK,
	.tres = READ_LOCK,
};

static int _test_partition(const job_record_t *job, uint32_t minutes,
			   struct plx_error *err)
{
	const part_record_t *part = job->part_ptr;

	if (!part || part->max_time == INFINITE || minutes <= part->max_time)
		return 0;
	return plx_fail(err, "partition %.60s has MaxTime=%u minutes",
			part->name, part->max_time);
}

static bool _is_wall(uint32_t minutes)
{
	return minutes != INFINITE && minutes != NO_VAL;
}

/* The first QOS that says counts, else its association. Under assoc_mgr's. */
static int _test_wall(job_record_t *job, uint32_t minutes,
		      struct plx_error *err)
{
	slurmdb_qos_rec_t *qos[2] = { NULL, NULL };

	if (job->limit_set.time == ADMIN_SET_LIMIT)
		return 0;
	acct_policy_set_qos_order(job, &qos[0], &qos[1]);
	for (int i = 0; i < 2; i++) {
		if (!qos[i] || !_is_wall(qos[i]->max_wall_pj))
			continue;
		if (minutes <= qos[i]->max_wall_pj)
			return 0;
		return plx_fail(err, "QOS %.60s has MaxWall=%u minutes",
				qos[i]->name, qos[i]->max_wall_pj);
	}
	if (!_is_wall(job->assoc_ptr->max_wall_pj) ||
	    minutes <= job->assoc_ptr->max_wall_pj)
		return 0;
	return plx_fail(err, "account %.60s has MaxWall=%u minutes",
			job->assoc_ptr->acct, job->assoc_ptr->max_wall_pj);
}

struct minutes {
	const job_record_t *job;
	uint32_t limit; /* the new one */
	bool over;
};

/* Limits of TRES-minutes, with what it holds now. */
static bool _see_minutes(const struct pollux_tres_limit *limit, void *context)
{
	struct minutes *minutes = context;
	uint64_t count =
		pollux_usage_count(minutes->job->tres_alloc_cnt, limit->tres);
	uint64_t more = minutes->limit - minutes->job->time_limit;

	if (limit->unit != POLLUX_MINUTES || !count)
		return true;
	if (limit->scope == POLLUX_OF_JOB)
		minutes->over = count * minutes->limit > limit->most;
	else if (limit->run_s)
		minutes->over = *limit->run_s / 60 + count * more > limit->most;
	return !minutes->over;
}

static int _test_limits(job_record_t *job, uint32_t minutes,
			struct plx_error *err)
{
	assoc_mgr_lock_t lock = read_lock;
	struct minutes asked = { .job = job, .limit = minutes };
	int rc = 0;

	if (!(accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) ||
	    !job->assoc_ptr || minutes <= job->time_limit)
		return 0;
	assoc_mgr_lock(&lock);
	rc = _test_wall(job, minutes, err);
	if (rc == 0) {
		pollux_limit_walk(job, _see_minutes, &asked);
		if (asked.over)
			rc = plx_fail(err, "its account or QOS has a limit of "
					   "TRES-minutes");
	}
	assoc_mgr_unlock(&lock);
	return rc;
}

/* Are some cores of its nodes kept from it? */
static bool _is_barred(const job_record_t *job, const pollux_barred_t *barred)
{
	const bitstr_t *cores = barred->core_bitmap;

	for (int n = 0; cores && n < node_record_count; n++) {
		int at = 0;

		if (!bit_test(job->node_bitmap, n) || !node_record_table_ptr[n])
			continue;
		at = (int) cr_get_coremap_offset((uint32_t) n);
		for (int c = 0; c < node_record_table_ptr[n]->tot_cores; c++) {
			if (at + c < (int) bit_size((bitstr_t *) cores) &&
			    bit_test((bitstr_t *) cores, at + c))
				return true;
		}
	}
	return false;
}

/* Slurm's own test, about a job that ends then. */
static int _test_reserved(const job_record_t *job, time_t end,
			  struct plx_error *err)
{
	const slurmctld_resv_t *own = job->resv_ptr;
	struct pollux_reserved *reserved = NULL;
	pollux_barred_t barred = { 0 };
	job_record_t probe = *job;
	bitstr_t *nodes = NULL;
	bool free = false;

	if (own && end > own->end_time)
		return plx_fail(err, "its reservation %.60s ends", own->name);
	probe.end_time = end;
	nodes = bit_copy(job->node_bitmap);
	reserved = pollux_reserved_create();
	pollux_reserved_filter(reserved, &probe, POLLUX_TIME_LEFT, nodes,
			       &barred);
	pollux_reserved_destroy(reserved);
	free = bit_equal(nodes, job->node_bitmap) && !_is_barred(job, &barred);
	pollux_slurm_barred_release(&barred);
	FREE_NULL_BITMAP(nodes);
	return free ? 0 : plx_fail(err, "one of its nodes is reserved");
}

int pollux_end_test(job_record_t *job, time_t end, uint32_t minutes,
		    struct plx_error *err)
{
	if (job->deadline && job->deadline != NO_VAL && end > job->deadline)
		return plx_fail(err, "its deadline");
	if (_test_partition(job, minutes, err) < 0 ||
	    _test_limits(job, minutes, err) < 0)
		return -1;
	return _test_reserved(job, end, err);
}

/* Looking for the first start. */
struct promises {
	const job_record_t *job;
	uint32_t id;
	time_t start;
};

/* Where backfill means to start it; everywhere, if it does not say. */
static bool _is_there(const job_record_t *waits, const bitstr_t *nodes)
{
	bitstr_t *planned = NULL;
	bool there = true;

	if (waits->sched_nodes &&
	    pollux_slurm_nodes(waits->sched_nodes, &planned) == SLURM_SUCCESS)
		there = bit_overlap_any(planned, (bitstr_t *) nodes);
	FREE_NULL_BITMAP(planned);
	return there;
}

static int _see_waiting(void *x, void *arg)
{
	const job_record_t *waits = x;
	struct promises *found = arg;

	if (!IS_JOB_PENDING(waits) || !waits->priority ||
	    waits->start_time < found->job->end_time ||
	    (found->id && waits->start_time >= found->start) ||
	    !_is_there(waits, found->job->node_bitmap))
		return 0;
	found->id = waits->job_id;
	found->start = waits->start_time;
	return 0;
}

uint32_t pollux_end_promised(const job_record_t *job, time_t *start)
{
	struct promises found = { .job = job };

	list_for_each_ro(job_list, _see_waiting, &found);
	*start = found.start;
	return found.id;
}

void pollux_end_set(job_record_t *job, time_t end, uint32_t minutes)
{
	acct_policy_alter_job(job, minutes);
	job->time_limit = minutes;
	job->end_time = end;
	job->end_time_exp = end;
	last_job_update = time(NULL);
	pollux_save_jobs();
}
