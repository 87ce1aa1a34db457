/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_correction.c - Slurm's usage right across a resize */

#include <string.h>

#include "src/common/assoc_mgr.h"

#include "sched/pollux/rules/usage.h"
#include "sched/pollux/rules/usage_correction.h"

/*
 * What the decay thread, or the job's end, will count a second time: it
 * begins with its last run, not with the resize. It cannot be taken off at
 * once, as usage must not become negative. The plugin's thread's own.
 */
struct debt {
	uint32_t job_id;
	int tres_count;
	long double *tres; /* TRES-seconds */
	long double billed;
	long double wall_s;
};

static struct {
	struct debt *at;
	int count;
} debts;

static const assoc_mgr_lock_t write_lock = {
	.assoc = WRITE_LOCK,
	.qos = WRITE_LOCK,
	.tres = READ_LOCK,
};

static void _open_array(const job_record_t *job,
			struct pollux_usage_correction *correction)
{
	const job_record_t *base = NULL;

	correction->ran = job->bit_flags & JOB_WAS_RUNNING;
	if (job->array_task_id == NO_VAL && !job->array_recs)
		return;
	base = find_job_record(job->array_job_id);
	if (!base || !base->array_recs)
		return;
	correction->array = true;
	correction->run_tasks = base->array_recs->tot_run_tasks;
	correction->comp_tasks = base->array_recs->tot_comp_tasks;
	correction->min_code = base->array_recs->min_exit_code;
	correction->max_code = base->array_recs->max_exit_code;
}

/* The task goes on. */
static void _close_array(job_record_t *job,
			 const struct pollux_usage_correction *correction)
{
	job_record_t *base = NULL;

	if (correction->ran)
		job->bit_flags |= JOB_WAS_RUNNING;
	if (correction->array)
		base = find_job_record(job->array_job_id);
	if (!base || !base->array_recs)
		return;
	base->array_recs->tot_run_tasks = correction->run_tasks;
	base->array_recs->tot_comp_tasks = correction->comp_tasks;
	base->array_recs->min_exit_code = correction->min_code;
	base->array_recs->max_exit_code = correction->max_code;
}

void pollux_usage_correction_open(job_record_t *job,
				  struct pollux_usage_correction *correction)
{
	assoc_mgr_lock_t lock = write_lock;
	size_t size = sizeof(uint64_t) * (size_t) slurmctld_tres_cnt;
	struct pollux_usage_counters counters;

	*correction = (struct pollux_usage_correction){
		.limits = (accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) &&
			  job->assoc_ptr && job->tres_alloc_cnt,
	};
	_open_array(job, correction);
	if (!correction->limits)
		return;
	correction->had = xmalloc(size);
	memcpy(correction->had, job->tres_alloc_cnt, size);
	assoc_mgr_lock(&lock);
	pollux_usage_open(job, &counters);
	correction->run_s = xcalloc(counters.count, size);
	for (int b = 0; b < counters.count; b++) {
		if (counters.at[b].run_s)
			memcpy(correction->run_s + b * slurmctld_tres_cnt,
			       counters.at[b].run_s, size);
	}
	correction->spent = counters.at[0].spent[TRES_ARRAY_CPU];
	pollux_usage_release(&counters);
	assoc_mgr_unlock(&lock);
}

void pollux_usage_correction_ended(job_record_t *job,
				   struct pollux_usage_correction *correction)
{
	assoc_mgr_lock_t lock = write_lock;
	slurmdb_assoc_usage_t *usage = NULL;
	uint64_t cpus = pollux_usage_count(correction->had, TRES_ARRAY_CPU);
	uint64_t run_s = 0;

	if (!correction->limits || !job->assoc_ptr || !cpus)
		return;
	assoc_mgr_lock(&lock);
	usage = job->assoc_ptr->usage;
	run_s = usage->grp_used_tres_run_secs[TRES_ARRAY_CPU];
	/* Nobody says how much Slurm took away, or added: what is missing. */
	if (correction->run_s[TRES_ARRAY_CPU] > run_s)
		correction->unused_s =
			(correction->run_s[TRES_ARRAY_CPU] - run_s) / cpus;
	correction->twice_s =
		(usage->usage_tres_raw[TRES_ARRAY_CPU] - correction->spent) /
		cpus;
	assoc_mgr_unlock(&lock);
}

/* What the job had is exchanged for what it has, and nothing else. */
static void _correct(const job_record_t *job,
		     const struct pollux_usage_correction *correction, int b,
		     struct pollux_usage_counter *counter)
{
	const uint64_t *before = correction->run_s + b * slurmctld_tres_cnt;

	for (int i = 0; counter->run_s && i < slurmctld_tres_cnt; i++) {
		uint64_t less = pollux_usage_count(correction->had, i);
		uint64_t more = pollux_usage_count(job->tres_alloc_cnt, i);
		uint64_t sum = before[i] + more * correction->unused_s;

		less *= correction->unused_s;
		counter->run_s[i] = sum > less ? sum - less : 0;
	}
}

static struct debt *_find_debt(uint32_t job_id)
{
	for (int i = 0; i < debts.count; i++) {
		if (debts.at[i].job_id == job_id &&
		    debts.at[i].tres_count == slurmctld_tres_cnt)
			return &debts.at[i];
	}
	return NULL;
}

static struct debt *_add_debt(uint32_t job_id)
{
	struct debt *debt = _find_debt(job_id);

	if (debt)
		return debt;
	xrecalloc(debts.at, debts.count + 1, sizeof(*debts.at));
	debt = &debts.at[debts.count++];
	*debt = (struct debt){
		.job_id = job_id,
		.tres_count = slurmctld_tres_cnt,
		.tres = xcalloc(slurmctld_tres_cnt, sizeof(*debt->tres)),
	};
	return debt;
}

static void _remember(const job_record_t *job, long double twice_s)
{
	struct debt *debt = NULL;

	if (twice_s <= 0)
		return;
	debt = _add_debt(job->job_id);
	for (int i = 0; i < slurmctld_tres_cnt; i++)
		debt->tres[i] +=
			twice_s * pollux_usage_count(job->tres_alloc_cnt, i);
	debt->billed += twice_s * job->billable_tres;
	debt->wall_s += twice_s;
}

void pollux_usage_correction_close(job_record_t *job,
				   struct pollux_usage_correction *correction)
{
	assoc_mgr_lock_t lock = write_lock;
	struct pollux_usage_counters counters;

	_close_array(job, correction);
	if (correction->limits && job->assoc_ptr) {
		assoc_mgr_lock(&lock);
		pollux_usage_open(job, &counters);
		for (int b = 0; b < counters.count; b++)
			_correct(job, correction, b, &counters.at[b]);
		pollux_usage_release(&counters);
		assoc_mgr_unlock(&lock);
		_remember(job, correction->twice_s);
	}
	xfree(correction->had);
	xfree(correction->run_s);
}

static bool _covers(const struct pollux_usage_counter *counter,
		    const struct debt *debt)
{
	if (!counter->spent)
		return true;
	for (int i = 0; i < debt->tres_count; i++) {
		if (counter->spent[i] < debt->tres[i])
			return false;
	}
	return *counter->billed >= debt->billed &&
	       *counter->wall_s >= debt->wall_s;
}

static void _take_off(struct pollux_usage_counter *counter,
		      const struct debt *debt)
{
	if (!counter->spent)
		return;
	for (int i = 0; i < debt->tres_count; i++)
		counter->spent[i] -= debt->tres[i];
	*counter->billed -= debt->billed;
	*counter->wall_s -= (double) debt->wall_s;
}

/* True when there is nothing left to do. */
static bool _pay(const struct debt *debt)
{
	job_record_t *job = find_job_record(debt->job_id);
	struct pollux_usage_counters counters;
	bool covered = true;

	if (!job || !job->assoc_ptr || debt->tres_count != slurmctld_tres_cnt)
		return true;
	pollux_usage_open(job, &counters);
	for (int b = 0; b < counters.count; b++)
		covered = covered && _covers(&counters.at[b], debt);
	for (int b = 0; covered && b < counters.count; b++)
		_take_off(&counters.at[b], debt);
	pollux_usage_release(&counters);
	return covered;
}

bool pollux_usage_correction_any(void)
{
	return debts.count > 0;
}

void pollux_usage_correction_settle(void)
{
	assoc_mgr_lock_t lock = write_lock;

	if (!debts.count)
		return;
	assoc_mgr_lock(&lock);
	for (int i = debts.count - 1; i >= 0; i--) {
		if (!_pay(&debts.at[i]))
			continue;
		xfree(debts.at[i].tres);
		debts.at[i] = debts.at[--debts.count];
	}
	assoc_mgr_unlock(&lock);
	if (!debts.count)
		xfree(debts.at);
}
