/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preempt.c - elastic jobs give up GPUs before Slurm preempts them */

#include <pthread.h>
#include <stdlib.h>

#include "common/preempt_link.h"
#include "core/reserve/preemption.h"
#include "sched/pollux/snapshot/preempts.h"
#include "sched/pollux/preempt.h"
#include "sched/pollux/monotonic.h"

static struct {
	pthread_mutex_t mutex;
	struct plx_preemption *preemption; /* NULL: nobody is spared */
	double wait_s;			   /* without a GraceTime */
} shared = {
	/* all protected by the mutex, a leaf */
	.mutex = PTHREAD_MUTEX_INITIALIZER,
};

void pollux_preempt_set(double wait_s)
{
	slurm_mutex_lock(&shared.mutex);
	shared.wait_s = wait_s;
	slurm_mutex_unlock(&shared.mutex);
}

/* Those whom a look has never, or for whom nothing can be done in place. */
static bool _is_elsewhere(const job_record_t *preemptor)
{
	return preemptor->het_job_id || preemptor->resv_name ||
	       preemptor->fed_details || preemptor->burst_buffer;
}

static bool _exempts(const job_record_t *victim, const job_record_t *preemptor,
		     uint32_t grace_s)
{
	bool exempts = false;

	slurm_mutex_lock(&shared.mutex);
	/* Where no cycle was ever run, records may be of another Slurm. */
	if (shared.preemption && !_is_elsewhere(preemptor) &&
	    (IS_JOB_RUNNING(victim) || IS_JOB_SUSPENDED(victim)))
		exempts = plx_preemption_exempts(
			shared.preemption, preemptor->job_id, victim->job_id,
			grace_s ? grace_s : shared.wait_s, pollux_now_s());
	slurm_mutex_unlock(&shared.mutex);
	return exempts;
}

static bool _had_grace(const job_record_t *victim)
{
	bool had = false;

	slurm_mutex_lock(&shared.mutex);
	had = shared.preemption &&
	      plx_preemption_was_late(shared.preemption, victim->job_id);
	slurm_mutex_unlock(&shared.mutex);
	return had;
}

static void _detach(void)
{
	pollux_preempts_by(NULL);
	pollux_preempt_forget();
}

/* By this name preempt/pollux_* finds it. */
extern const struct pollux_preempt_link pollux_preempt_link;
const struct pollux_preempt_link pollux_preempt_link = {
	.size = sizeof(pollux_preempt_link),
	.attach = pollux_preempts_by,
	.detach = _detach,
	.exempts = _exempts,
	.had_grace = _had_grace,
};

static int _by_id(const void *a, const void *b)
{
	const struct plx_giver *x = a;
	const struct plx_giver *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static struct plx_giver *_givers(const struct pollux_snapshot *snapshot,
				 const bool *giving, const bool *asked,
				 double now_s, int *count)
{
	struct plx_giver *givers =
		xcalloc(snapshot->job_count + 1, sizeof(*givers));

	*count = 0;
	for (int j = 0; j < snapshot->job_count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];

		if (giving[j])
			givers[(*count)++] = (struct plx_giver){
				.id = job->id,
				.asked = asked[j],
				.since_s = job->exempt_s > 0
						   ? now_s + job->exempt_s
						   : 0,
			};
	}
	qsort(givers, (size_t) *count, sizeof(*givers), _by_id);
	return givers;
}

static struct plx_preemptor_seen *_seen(const struct pollux_snapshot *snapshot,
					const struct plx_grant *grants)
{
	struct plx_preemptor_seen *seen =
		xcalloc(snapshot->waiting_count + 1, sizeof(*seen));

	for (int i = 0; i < snapshot->waiting_count; i++) {
		seen[i].id = snapshot->waiting[i].id;
		seen[i].made = grants[i].granted;
		seen[i].tasks = snapshot->waiting[i].tasks;
	}
	return seen;
}

void pollux_preempt_note(const struct pollux_snapshot *snapshot,
			 const struct plx_grant *grants, const bool *giving,
			 const bool *asked, double now_s)
{
	int count = 0;
	struct plx_giver *givers =
		_givers(snapshot, giving, asked, now_s, &count);
	struct plx_preemptor_seen *seen = _seen(snapshot, grants);
	struct plx_error err;
	int rc = 0;

	slurm_mutex_lock(&shared.mutex);
	if (!shared.preemption)
		shared.preemption = plx_preemption_create(&err);
	rc = !shared.preemption
		     ? -1
		     : plx_preemption_look(shared.preemption, givers, count,
					   seen, snapshot->waiting_count, now_s,
					   &err);
	slurm_mutex_unlock(&shared.mutex);
	if (rc < 0)
		error("sched/pollux: %s: they are preempted whole", err.text);
	xfree(givers);
	xfree(seen);
}

bool pollux_preempt_is_over(uint32_t id, double now_s)
{
	bool over = false;

	slurm_mutex_lock(&shared.mutex);
	over = shared.preemption &&
	       plx_preemption_is_over(shared.preemption, id, now_s);
	slurm_mutex_unlock(&shared.mutex);
	return over;
}

bool pollux_preempt_offers(double now_s)
{
	bool offers = false;

	slurm_mutex_lock(&shared.mutex);
	offers = shared.preemption &&
		 plx_preemption_offers(shared.preemption, now_s);
	slurm_mutex_unlock(&shared.mutex);
	return offers;
}

void pollux_preempt_forget(void)
{
	slurm_mutex_lock(&shared.mutex);
	plx_preemption_destroy(shared.preemption);
	shared.preemption = NULL;
	slurm_mutex_unlock(&shared.mutex);
}
