/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waiting.c - which pending jobs wait for resources, and for how many */

#include "sched/pollux/job_options.h"
#include "sched/pollux/snapshot/snapshot_fill.h"
#include "sched/pollux/snapshot/moldable_jobs.h"
#include "sched/pollux/snapshot/cpu_limits.h"
#include "sched/pollux/snapshot/licences.h"
#include "sched/pollux/snapshot/queue_reason.h"
#include "sched/pollux/snapshot/waiting.h"
#include "sched/pollux/record.h"
#include "sched/pollux/rules/switches.h"

/* Of the entries that are looked at: one user's, as long as others wait. */
#define FAIR_PARTS 4
/* And those that may preempt elastic jobs, ahead of others. */
#define FIRST_PARTS 2

/* Of what a user wrote: any number. */
static int _whole(uint64_t count)
{
	return (int) MIN(count, INT32_MAX);
}

static int _ceil_div(uint64_t a, uint64_t b)
{
	return _whole(a / b + (a % b > 0));
}

/* Its request for GPUs; NULL: there is none. */
static const gres_job_state_t *_wanted(const job_record_t *job)
{
	uint32_t gpu = pollux_gpu_id();
	gres_state_t *state = NULL;

	if (job->gres_list_req)
		state = list_find_first(job->gres_list_req, gres_find_id, &gpu);
	return state ? state->gres_data : NULL;
}

/* GPUs asked for on each of `nodes` nodes, in whatever form it was asked. */
static int _gpus_per_node(const job_record_t *job, int nodes)
{
	const gres_job_state_t *want = _wanted(job);
	uint64_t tasks = job->details->num_tasks;
	int most = 0;

	if (!want)
		return 0;
	if (!tasks || tasks == NO_VAL)
		tasks = (uint64_t) nodes;
	most = _whole(want->gres_per_node);
	most = MAX(most, _ceil_div(want->gres_per_job, (uint64_t) nodes));
	most = MAX(most,
		   _ceil_div(want->gres_per_task * tasks, (uint64_t) nodes));
	return most;
}

/* What a GPU brings along of CPUs and of memory, by request or partition. */
static struct plx_resources _beside_gpu(const job_record_t *job)
{
	struct plx_resources gpu = { .gpus = 1 };
	const gres_job_state_t *want = _wanted(job);

	if (!want)
		return gpu;
	gpu.cpus = want->cpus_per_gres ? want->cpus_per_gres
				       : want->def_cpus_per_gres;
	gpu.memory = (double) (want->mem_per_gres ? want->mem_per_gres
						  : want->def_mem_per_gres);
	return gpu;
}

/* What it takes of each of its nodes besides GPUs. */
static void _fill_residual(const job_record_t *job,
			   struct pollux_waiting *waiting)
{
	const job_details_t *details = job->details;
	uint64_t memory = details->pn_min_memory;
	struct plx_resources gpu = _beside_gpu(job);
	struct plx_resources gpus =
		plx_resources_part(&gpu, waiting->each.gpus);
	struct plx_resources *each = &waiting->each;

	each->cpus = _ceil_div(details->min_cpus, (uint64_t) waiting->nodes);
	if (details->pn_min_cpus != NO_VAL)
		each->cpus = MAX(each->cpus, details->pn_min_cpus);
	plx_resources_raise(each, &gpus);
	if (!memory || memory == NO_VAL64)
		return;
	if (memory & MEM_PER_CPU)
		each->memory = each->cpus * (double) (memory & ~MEM_PER_CPU);
	else
		each->memory = MAX(each->memory, (double) memory);
}

static double _seconds(const job_record_t *job, const part_record_t *part)
{
	uint32_t minutes = job->time_limit;

	if (job->time_min && job->time_min < minutes)
		minutes = job->time_min;
	if (minutes == NO_VAL || minutes == INFINITE)
		minutes = part->max_time;
	if (minutes == INFINITE)
		minutes = 365 * 24 * 60;
	return 60.0 * minutes;
}

static bool *_allowed(const struct plx_backlog_entry *from, int nodes,
		      const struct pollux_snapshot *snapshot,
		      struct pollux_rules *rules)
{
	bool *allowed = xcalloc(snapshot->node_count, sizeof(*allowed));
	const job_record_t *job = from->job;
	bitstr_t *all = job->details->req_node_bitmap;
	bitstr_t *may = pollux_nodes_waited(rules, job, from->partition);

	if (all && bit_set_count(all) < nodes)
		all = NULL;
	for (int n = 0; n < snapshot->node_count; n++)
		allowed[n] = snapshot->nodes[n].usable && bit_test(may, n) &&
			     !(all && !bit_test(all, n));
	FREE_NULL_BITMAP(may);
	return allowed;
}

/* NULL: nobody is to be told, or it is on its way elsewhere. */
static char *_told(const job_record_t *job)
{
	struct plx_target target;

	if (!pollux_is_elastic(job) ||
	    plx_target_read(job->system_comment, &target, NULL) < 0 ||
	    target.state != PLX_TARGET_NONE)
		return NULL;
	return xstrdup(target.why);
}

/* Where it wants more than there are, one more than there are. */
static int _nodes(uint64_t nodes, const struct pollux_snapshot *snapshot)
{
	return _whole(MIN(nodes, (uint64_t) snapshot->node_count + 1));
}

/*
 * In which other shapes may it start? The request of an array is that of all
 * its tasks, and srun has counted on the nodes that it asked for.
 */
static void _fill_spread(const job_record_t *job,
			 const struct pollux_snapshot *snapshot,
			 struct pollux_waiting *waiting)
{
	const job_details_t *details = job->details;
	uint64_t memory = details->pn_min_memory;
	struct pollux_job range = { 0 };
	const struct plx_options *options = NULL;
	struct pollux_job_options asked;
	int least = 0;

	if (!job->batch_flag || job->array_recs || details->contiguous ||
	    pollux_switches_most(job) ||
	    (details->req_nodes && details->req_nodes[0]) ||
	    !pollux_job_options(job, &asked) || asked.nodes.pack ||
	    asked.options.pack)
		return;
	options = &asked.options;
	pollux_snapshot_node_range(job, &asked, &range);
	least = MAX(options->min_gpus, 1);
	/* Somebody has asked for something else. */
	if (waiting->each.gpus !=
	    _ceil_div((uint64_t) least, (uint64_t) waiting->nodes))
		return;
	waiting->spread = (struct pollux_spread){
		.least = least,
		.most = options->max_gpus ? options->max_gpus : PLX_GPUS_MAX,
		.low = MAX(range.min_nodes, 1),
		.high = range.max_nodes ? range.max_nodes
					: snapshot->node_count,
		.sizes = options->sizes,
	};
	if (memory && memory != NO_VAL64 && !(memory & MEM_PER_CPU))
		waiting->spread.memory = (double) memory;
}

/* Its components start in one moment, and Slurm's backfill starts them. */
static void _fill_het(const job_record_t *job, struct pollux_waiting *waiting)
{
	const job_record_t *leader =
		job->het_job_id ? find_job_record(job->het_job_id) : NULL;

	waiting->het = job->het_job_id;
	if (leader && leader->het_job_list)
		waiting->het_size = list_count(leader->het_job_list);
}

/* Backfill promises it nothing. Without the partition's tier, as it compares.
 */
static bool _is_unpromised(const job_record_t *job,
			   const struct plx_backlog_entry *from,
			   const struct pollux_terms *terms)
{
	uint32_t least =
		acct_policy_get_prio_thresh((job_record_t *) job, false);

	if (!least)
		least = terms->min_prio_reserve;
	if ((uint32_t) from->priority < least)
		return true;
	return terms->min_age_reserve && job->details->begin_time &&
	       time(NULL) - job->details->begin_time < terms->min_age_reserve;
}

/* The type of GPU that it asks for. */
static int _kind(const job_record_t *job, struct pollux_snapshot *snapshot,
		 const struct pollux_rules *rules)
{
	const gres_job_state_t *want = _wanted(job);

	return want && want->type_name
		       ? pollux_snapshot_types(snapshot, want->type_name, rules)
		       : -1;
}

/* GPUs of node n that are of that kind, whoever has them. */
static int _gpus_at(const struct pollux_snapshot *snapshot, int n, int kind)
{
	return kind < 0 ? snapshot->nodes[n].gpus
			: snapshot->kinds[kind].all[n];
}

static void _fill(const struct plx_backlog_entry *from,
		  const struct pollux_terms *terms,
		  struct pollux_snapshot *snapshot, struct pollux_rules *rules,
		  struct pollux_waiting *waiting)
{
	const job_record_t *job = from->job;
	const part_record_t *part = from->partition;
	const job_details_t *details = job->details;
	int largest = 1;
	int gpus = 0;

	waiting->kind = _kind(job, snapshot, rules);
	for (int n = 0; n < snapshot->node_count; n++)
		largest = MAX(largest, _gpus_at(snapshot, n, waiting->kind));
	waiting->id = job->job_id;
	waiting->priority = from->priority;
	waiting->partition = xstrdup(part->name);
	waiting->limited = pollux_reason_is_limit(job);
	waiting->nodes = details->min_nodes > 0 && details->min_nodes < NO_VAL
				 ? _nodes(details->min_nodes, snapshot)
				 : 1;
	gpus = _gpus_per_node(job, waiting->nodes);
	if (gpus > largest) {
		waiting->nodes =
			_ceil_div((uint64_t) waiting->nodes * (uint64_t) gpus,
				  (uint64_t) largest);
		waiting->nodes = _nodes(waiting->nodes, snapshot);
		gpus = largest;
	}
	waiting->each.gpus = gpus;
	waiting->whole_nodes =
		pollux_slurm_whole_nodes(job) || part->max_share == 0;
	waiting->seconds = _seconds(job, part);
	waiting->allowed = _allowed(from, waiting->nodes, snapshot, rules);
	waiting->cpu_limit = pollux_cpu_limit_of(snapshot, part);
	_fill_residual(job, waiting);
	_fill_spread(job, snapshot, waiting);
	_fill_het(job, waiting);
	waiting->unpromised = _is_unpromised(job, from, terms);
	waiting->told = _told(job);
	if (job->array_recs)
		waiting->tasks = (int) job->array_recs->task_cnt;
}

static void _offer(const job_record_t *job, const part_record_t *part,
		   struct pollux_preempts *preempts,
		   struct plx_backlog *backlog)
{
	struct plx_backlog_entry entry = {
		.job = job,
		.partition = part,
		.priority = pollux_priority(job, part),
		.id = job->job_id,
		.user = job->user_id,
		.assoc = job->assoc_id,
	};

	if (!pollux_takes_jobs(part))
		return;
	entry.first = pollux_preempts_any(preempts, &entry);
	(void) plx_backlog_offer(backlog, &entry);
}

void pollux_waiting_offer(const job_record_t *job, time_t now,
			  struct pollux_preempts *preempts,
			  struct plx_backlog *backlog)
{
	ListIterator iter = NULL;
	const part_record_t *part = NULL;

	if (!backlog || !pollux_is_waiting(job, now))
		return;
	if (!job->part_ptr_list) {
		_offer(job, job->part_ptr, preempts, backlog);
		return;
	}
	iter = list_iterator_create(job->part_ptr_list);
	while ((part = list_next(iter)))
		_offer(job, part, preempts, backlog);
	list_iterator_destroy(iter);
}

int pollux_waiting_most(const struct pollux_terms *terms)
{
	return MIN(POLLUX_PENDING_MAX, terms->max_job_test);
}

void pollux_waiting_fill(const struct plx_backlog *backlog,
			 struct pollux_preempts *preempts,
			 const struct pollux_terms *terms,
			 struct pollux_snapshot *snapshot,
			 struct pollux_rules *rules)
{
	struct plx_backlog_entry chosen[POLLUX_PENDING_MAX];
	const struct plx_backlog_bounds bounds = {
		/* Slurm's backfill, too, takes one of the two. */
		.user = terms->max_job_assoc ? 0 : terms->max_job_user,
		.user_partition = terms->max_job_user_part,
		.partition = terms->max_job_part,
		.assoc = terms->max_job_assoc,
		.fair = MAX(pollux_waiting_most(terms) / FAIR_PARTS, 1),
		.first = MAX(pollux_waiting_most(terms) / FIRST_PARTS, 1),
	};
	struct plx_error err;
	int count = backlog ? plx_backlog_choose(backlog, &bounds, chosen, &err)
			    : 0;

	count = pollux_candidates_keep(chosen, count, snapshot->now);
	pollux_preempts_order(chosen, count);
	snapshot->waiting_count = count;
	snapshot->waiting = xcalloc(snapshot->waiting_count + 1,
				    sizeof(*snapshot->waiting));
	for (int i = 0; i < snapshot->waiting_count; i++)
		_fill(&chosen[i], terms, snapshot, rules,
		      &snapshot->waiting[i]);
	pollux_licences_fill(chosen, pollux_rules_turning(rules), snapshot);
	pollux_preempts_fill(preempts, chosen, snapshot);
}

bool pollux_waiting_is_ours(const struct pollux_snapshot *snapshot)
{
	bool ours = snapshot->job_count > 0 || snapshot->moldable_count > 0;

	for (int i = 0; i < snapshot->waiting_count && !ours; i++)
		ours = snapshot->waiting[i].spread.least > 0;
	return ours && snapshot->waiting_count > 0;
}
