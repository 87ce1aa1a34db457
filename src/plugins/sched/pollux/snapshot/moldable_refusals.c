/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moldable_refusals.c - on how many GPUs Slurm did not start a moldable job */

#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/snapshot/moldable_refusals.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/report/count.h"

/* For so long a job is not tried again with as many GPUs. */
#define REFUSED_S 60

struct refusal {
	uint32_t id;
	int most; /* GPUs it may be tried with */
	bool slurms;
	double until_s; /* monotonic clock */
};

/* The thread's own; the one that ends first gives way to another. */
static struct refusal refusals[POLLUX_PENDING_MAX];

static const struct refusal *_find(uint32_t id)
{
	double now_s = pollux_now_s();

	for (int i = 0; i < POLLUX_PENDING_MAX; i++) {
		if (refusals[i].id == id && now_s < refusals[i].until_s)
			return &refusals[i];
	}
	return NULL;
}

int pollux_moldable_most(uint32_t job_id)
{
	const struct refusal *refusal = _find(job_id);

	return refusal ? refusal->most : PLX_GPUS_MAX;
}

bool pollux_moldable_is_slurms(uint32_t job_id)
{
	const struct refusal *refusal = _find(job_id);

	return refusal && refusal->slurms;
}

void pollux_moldable_forget_all(void)
{
	memset(refusals, 0, sizeof(refusals));
}

void pollux_moldable_refused(const struct pollux_job *job, int gpus,
			     const struct plx_error *why)
{
	struct refusal *at = &refusals[0];
	int least = MAX(job->options.min_gpus, 1);

	for (int i = 0; i < POLLUX_PENDING_MAX; i++) {
		if (refusals[i].id == job->id) {
			at = &refusals[i];
			break;
		}
		if (refusals[i].until_s < at->until_s)
			at = &refusals[i];
	}
	*at = (struct refusal){
		.id = job->id,
		.most = MAX(gpus / 2, least),
		.slurms = gpus <= least,
		.until_s = pollux_now_s() + REFUSED_S,
	};
	pollux_count_refusal(why->kind);
	pollux_info("sched/pollux: JobId=%u does not start on %d GPUs: %s",
		    job->id, gpus, why->text);
}
