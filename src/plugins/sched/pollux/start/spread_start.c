/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spread_start.c - an elastic job starts with its least GPUs on several nodes
 */

#include "core/records/refusal.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/start/launch.h"
#include "sched/pollux/start/spread_start.h"

bool pollux_spread_is(const struct pollux_waiting *waiting,
		      const struct plx_grant *grant)
{
	return grant->granted && waiting->spread.least &&
	       waiting->moldable < 0 && grant->gpus != waiting->each.gpus;
}

/* Has it GPUs on several nodes, these among them? */
static bool _spans(const job_record_t *job, bitstr_t *nodes)
{
	int *gpus = xcalloc(node_record_count, sizeof(*gpus));
	bool here = false;
	int count = 0;

	pollux_record_gpus(job, gpus);
	for (int n = 0; n < node_record_count; n++) {
		count += gpus[n] > 0;
		here = here || (gpus[n] > 0 && bit_test(nodes, n));
	}
	xfree(gpus);
	return here && count > 1;
}

/* An elastic job of several nodes, on one of these. */
static int _is_in_the_way(void *x, void *arg)
{
	job_record_t *job = x;
	bitstr_t *nodes = arg;

	return IS_JOB_RUNNING(job) && job->node_bitmap && job->node_cnt > 1 &&
	       bit_overlap_any(job->node_bitmap, nodes) &&
	       pollux_is_elastic(job) && _spans(job, nodes);
}

int pollux_spread_start(job_record_t *job, bitstr_t *nodes, int gpus,
			bool alone, struct plx_error *err)
{
	struct pollux_shape shape = { .nodes = nodes, .gpus = gpus };

	if (alone && list_find_first(job_list, _is_in_the_way, nodes))
		return plx_fail_as(err, PLX_REFUSED_NODES,
				   "another job has several nodes there");
	if (pollux_launch(job, &shape, "", err) < 0)
		return -1;
	pollux_info("sched/pollux: JobId=%u starts on %d GPUs on %s, where its "
		    "least are free",
		    job->job_id, pollux_shape_gpus(&shape), job->nodes);
	return 0;
}
