/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record.c - reading and writing one job record */

#include <string.h>

#include "core/base/section.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/kept_types.h"
#include "sched/pollux/record.h"

void pollux_record_each(void (*act)(job_record_t *job))
{
	ListIterator iter = NULL;
	job_record_t *job = NULL;

	if (!job_list)
		return;
	iter = list_iterator_create(job_list);
	while ((job = list_next(iter)))
		act(job);
	list_iterator_destroy(iter);
}

/*
 * GPUs of one entry (one type of them) of the job's allocation, added to those
 * of each node; gpus NULL: they are only counted.
 */
static int _add_entry(const job_record_t *job, const gres_job_state_t *entry,
		      int *gpus)
{
	bitstr_t *nodes = job->job_resrcs->node_bitmap;
	int n = pollux_slurm_next_bit(nodes, 0, node_record_count);
	int count = 0;

	if (!entry->gres_cnt_node_alloc)
		return 0;
	for (uint32_t i = 0; n < node_record_count && i < entry->node_cnt;
	     i++) {
		count += (int) entry->gres_cnt_node_alloc[i];
		if (gpus)
			gpus[n] += (int) entry->gres_cnt_node_alloc[i];
		n = pollux_slurm_next_bit(nodes, n + 1, node_record_count);
	}
	return count;
}

static int _add_all(const job_record_t *job, int *gpus)
{
	uint32_t gpu = pollux_gpu_id();
	ListIterator iter = NULL;
	gres_state_t *state = NULL;
	int count = 0;

	if (!job->gres_list_alloc || !job->job_resrcs ||
	    !job->job_resrcs->node_bitmap)
		return 0;
	iter = list_iterator_create(job->gres_list_alloc);
	while ((state = list_next(iter))) {
		if (state->plugin_id == gpu)
			count += _add_entry(job, state->gres_data, gpus);
	}
	list_iterator_destroy(iter);
	return count;
}

void pollux_record_gpus(const job_record_t *job, int *gpus)
{
	memset(gpus, 0, sizeof(*gpus) * (size_t) node_record_count);
	(void) _add_all(job, gpus);
}

int pollux_record_gpu_count(const job_record_t *job)
{
	return _add_all(job, NULL);
}

bool pollux_record_is_moldable(const job_record_t *job)
{
	struct pollux_job_options asked;

	return pollux_job_options(job, &asked) &&
	       asked.options.mode == PLX_MODE_REQUEUE;
}

bool pollux_record_may_requeue(const job_record_t *job)
{
	return job->batch_flag && job->details && job->details->requeue &&
	       !job->het_job_id && !job->fed_details;
}

bool pollux_record_runs(const job_record_t *job)
{
	return IS_JOB_RUNNING(job) && !IS_JOB_COMPLETING(job) &&
	       !IS_JOB_CONFIGURING(job) && !IS_JOB_RESIZING(job) &&
	       job->details && job->part_ptr && job->node_bitmap &&
	       job->node_cnt && job->job_resrcs &&
	       job->job_resrcs->node_bitmap && job->batch_host;
}

/*
 * The request counts, as commit.c forgets what a step holds, and slurmctld
 * saves the one and the other.
 */
static bool _holds_gres(const step_record_t *step)
{
	return step->gres_list_alloc || pollux_asks_gres(step->tres_per_step) ||
	       pollux_asks_gres(step->tres_per_node) ||
	       pollux_asks_gres(step->tres_per_socket) ||
	       pollux_asks_gres(step->tres_per_task);
}

/*
 * A user can choose a step's number, and say that it is of a component: then it
 * may be another step's number, and slurmctld does not count it.
 */
static bool _is_launcher(const step_record_t *step,
			 const struct plx_status *status)
{
	return status->launcher < SLURM_MAX_NORMAL_STEP_ID &&
	       step->step_id.step_id == status->launcher && !_holds_gres(step);
}

static bool _is_uncounted(const job_record_t *job, const step_record_t *step)
{
	return step->step_id.step_id >= job->next_step_id;
}

/* Steps of Slurm itself hold none. */
bool pollux_record_is_users(const step_record_t *step)
{
	return step->step_id.step_id < SLURM_MAX_NORMAL_STEP_ID ||
	       _holds_gres(step);
}

bool pollux_record_is_rank(const job_record_t *job, const step_record_t *step,
			   const struct plx_status *status, uint32_t from,
			   uint32_t before)
{
	uint32_t number = step->step_id.step_id;

	return step->state == JOB_RUNNING && pollux_record_is_users(step) &&
	       ((number >= from && number < before) ||
		_is_uncounted(job, step)) &&
	       !_is_launcher(step, status);
}

static step_record_t *_find_step(job_record_t *job, uint32_t number)
{
	slurm_step_id_t id = {
		.job_id = job->job_id,
		.step_het_comp = NO_VAL,
		.step_id = number,
	};

	return job->step_list ? find_step_record(job, &id) : NULL;
}

int pollux_record_batch_host(job_record_t *job, const struct plx_status *status)
{
	step_record_t *step = NULL;
	node_record_t *node = NULL;

	if (status->launcher < SLURM_MAX_NORMAL_STEP_ID)
		step = _find_step(job, status->launcher);
	if (step && step->step_node_bitmap &&
	    bit_ffs(step->step_node_bitmap) >= 0)
		return bit_ffs(step->step_node_bitmap);
	if (job->batch_host)
		node = find_node_record(job->batch_host);
	return node ? (int) node->index : -1;
}

int pollux_record_steps(job_record_t *job, const struct plx_status *status,
			uint32_t before)
{
	ListIterator iter = NULL;
	step_record_t *step = NULL;
	int count = 0;

	if (!job->step_list)
		return 0;
	iter = list_iterator_create(job->step_list);
	while ((step = list_next(iter))) {
		if (pollux_record_is_rank(job, step, status, 0, before))
			count++;
	}
	list_iterator_destroy(iter);
	return count;
}

bool pollux_record_outlived(const job_record_t *job)
{
	ListIterator iter = NULL;
	step_record_t *step = NULL;
	bool any = false;

	if (!job->step_list)
		return false;
	iter = list_iterator_create(job->step_list);
	while (!any && (step = list_next(iter)))
		any = step->state == JOB_RUNNING && !step->gres_list_alloc &&
		      _holds_gres(step);
	list_iterator_destroy(iter);
	return any;
}

int pollux_record_believe(job_record_t *job, struct plx_status *status,
			  struct plx_error *err)
{
	uint32_t launcher = status->launcher;
	const step_record_t *step = NULL;

	if (launcher < SLURM_MAX_NORMAL_STEP_ID)
		step = _find_step(job, launcher);
	if (!step || !_holds_gres(step))
		return 0;
	memset(status, 0, sizeof(*status));
	status->launcher = PLX_WAKE_NONE;
	return plx_fail(err,
			"launcher: step %u holds GPUs; start it with srun "
			"--gres=none",
			launcher);
}

void pollux_record_status(job_record_t *job, struct plx_status *status)
{
	if (plx_status_read_answer(job->comment, status, NULL) == 1 &&
	    pollux_record_believe(job, status, NULL) == 0)
		return;
	memset(status, 0, sizeof(*status));
	status->launcher = PLX_WAKE_NONE;
}

time_t pollux_record_since(const job_record_t *job)
{
	return job->resize_time > job->start_time ? job->resize_time
						  : job->start_time;
}

/*
 * Of a job that is about to have no GPU, or has none: see kept_types.h. Of one
 * on its way elsewhere they were noted when it left.
 */
static void _keep_types(const job_record_t *job, struct plx_target *target)
{
	if (target->state == PLX_TARGET_MOVING)
		return;
	target->types[0] = '\0';
	if (IS_JOB_PENDING(job) ||
	    (pollux_record_gpu_count(job) && plx_target_gpus(target)))
		return;
	pollux_kept_types(job, target->types);
}

void pollux_record_publish(job_record_t *job, const struct plx_target *asked)
{
	struct plx_target told = *asked;
	const struct plx_target *target = &told;
	size_t size = PLX_COMMENT_MAX;
	char fields[PLX_FIELDS_MAX];
	struct plx_error err;
	char *text = NULL;

	_keep_types(job, &told);
	size += job->system_comment ? strlen(job->system_comment) : 0;
	text = xmalloc(size);
	if (plx_target_write(target, fields, sizeof(fields), &err) < 0 ||
	    plx_section_put(job->system_comment, fields, text, size, &err) <
		    0) {
		error("sched/pollux: JobId=%u cannot be told its target: %s",
		      job->job_id, err.text);
		xfree(text);
		return;
	}
	xfree(job->system_comment);
	job->system_comment = text;
}
