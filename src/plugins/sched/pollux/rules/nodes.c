/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodes.c - the nodes that Slurm lets a job use */

#include <string.h>

#include "core/records/refusal.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/guard.h"
#include "sched/pollux/kept_types.h"
#include "sched/pollux/record.h"
#include "sched/pollux/rules/features.h"
#include "sched/pollux/rules/left_nodes.h"
#include "sched/pollux/rules/nodes.h"
#include "sched/pollux/rules/partition.h"
#include "sched/pollux/rules/reserved.h"
#include "sched/pollux/rules/slurmds.h"
#include "sched/pollux/rules/switches.h"

#define KEPT  4	 /* answers about types of GPUs that are remembered */
#define PLAIN 32 /* kinds of plain jobs, the same */
#define FEW   64 /* nodes that are asked one by one */

/* Nodes, and types of GPUs there. */
struct typed_nodes {
	char types[PLX_TYPES_SIZE];
	bitstr_t *nodes;
};

/*
 * Jobs of which no rule asks but those about their partition and their types of
 * GPUs: all of these may gain GPUs on the same nodes.
 */
struct plain {
	const part_record_t *part;
	bool pending;
	uint16_t spoken; /* pollux_slurmds_spoken() where slurmds differ */
	char asked[POLLUX_GPU_TYPE_SIZE];
	char kept[PLX_TYPES_SIZE];
	bitstr_t *nodes;
	bitstr_t *unlike; /* see pollux_rules.unlike */
};

struct pollux_rules {
	struct typed_nodes typed[KEPT];
	int typed_count;
	struct typed_nodes best[KEPT]; /* the type that is free on them */
	int best_count;
	bitstr_t *idle; /* open nodes with a free GPU; NULL: not asked */
	bool many;	/* jobs are asked about */
	char *only;	/* type of all GPUs; "": they differ; NULL: not asked */
	struct plain plain[PLAIN];
	int plain_count;
	uint32_t kept_of; /* the job that was asked about last; 0: none */
	char asked[POLLUX_GPU_TYPE_SIZE]; /* the type that it asks for */
	char kept[PLX_TYPES_SIZE];	  /* the types that it keeps to */
	struct pollux_features *features;
	struct pollux_reserved *reserved;
	bitstr_t *all;	/* nodes that there are; NULL: few are asked for */
	bitstr_t *open; /* those that take new jobs */
	bool owned;	/* some nodes are one user's */
	bool mixed;	/* slurmds may be of several releases */
	bool labelled;	/* MCS is in use */
	pollux_barred_t *barred; /* to be told, or NULL */
	bitstr_t *unlike;	 /* the same: nodes closed for their types */
};

/* Whole nodes of elastic jobs are no others' now, but may be in a plan. */
static int _add_whole(void *x, void *arg)
{
	const job_record_t *job = x;
	bitstr_t *open = arg;

	if (IS_JOB_RUNNING(job) && job->details && job->node_bitmap &&
	    pollux_slurm_whole_nodes(job) && pollux_is_elastic(job))
		bit_or(open, job->node_bitmap);
	return 0;
}

/* Some of these nodes are in use, and not closed for another reason. */
static bool _any_in_use(bitstr_t *nodes, bitstr_t *open)
{
	bitstr_t *left = bit_copy(nodes);
	bool any = false;

	bit_and(left, avail_node_bitmap);
	bit_and_not(left, open);
	any = bit_ffs(left) >= 0;
	FREE_NULL_BITMAP(left);
	return any;
}

/*
 * As Slurm narrows them down before it starts a job on shared nodes. Only these
 * are asked for; NULL: all. jobs: all that have nodes; NULL: they have to be
 * looked for, which takes long.
 */
static bitstr_t *_open_nodes(bitstr_t *nodes, job_record_t **jobs, int count)
{
	bitstr_t *open = bit_copy(avail_node_bitmap);

	pollux_guard_filter(open);
	for (int i = 0; jobs && i < count; i++)
		(void) _add_whole(jobs[i], open);
	if (!jobs && (!nodes || _any_in_use(nodes, open)))
		list_for_each_ro(job_list, _add_whole, open);
	bit_and(open, avail_node_bitmap);
	bit_and_not(open, cg_node_bitmap);
	bit_and_not(open, rs_node_bitmap);
	/* A running job cannot wait for a node that has to boot first. */
	bit_and_not(open, power_node_bitmap);
	bit_and_not(open, booting_node_bitmap);
	return open;
}

static bool _is_owned(int n)
{
	const node_record_t *node = node_record_table_ptr[n];

	return node && node->owner != NO_VAL;
}

/* The same. */
static bool _any_owned(bitstr_t *nodes)
{
	bool any = false;

	for (int n = 0; !nodes && !any && n < node_record_count; n++)
		any = _is_owned(n);
	if (!nodes)
		return any;
	for (int n = pollux_slurm_first_node(nodes);
	     !any && n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n))
		any = _is_owned(n);
	return any;
}

/* For these nodes; NULL: for all. */
static struct pollux_rules *_create(bitstr_t *nodes, job_record_t **jobs,
				    int count)
{
	struct pollux_rules *rules = xmalloc(sizeof(*rules));

	rules->many = jobs != NULL;
	rules->features = pollux_features_create();
	rules->reserved = pollux_reserved_create();
	if (!nodes)
		rules->all = node_conf_get_active_bitmap();
	rules->open = _open_nodes(nodes, jobs, count);
	rules->owned = _any_owned(nodes);
	rules->mixed = nodes || pollux_slurmds_differ();
	rules->labelled = slurm_conf.mcs_plugin &&
			  xstrcmp(slurm_conf.mcs_plugin, "mcs/none");
	return rules;
}

struct pollux_rules *pollux_rules_create(void)
{
	return _create(NULL, NULL, 0);
}

struct pollux_rules *pollux_rules_create_with(job_record_t **jobs, int count)
{
	return _create(NULL, jobs, count);
}

void pollux_rules_destroy(struct pollux_rules *rules)
{
	if (!rules)
		return;
	pollux_features_destroy(rules->features);
	pollux_reserved_destroy(rules->reserved);
	FREE_NULL_BITMAP(rules->all);
	FREE_NULL_BITMAP(rules->open);
	FREE_NULL_BITMAP(rules->idle);
	for (int i = 0; i < rules->plain_count; i++) {
		FREE_NULL_BITMAP(rules->plain[i].nodes);
		FREE_NULL_BITMAP(rules->plain[i].unlike);
	}
	xfree(rules->only);
	for (int i = 0; i < rules->typed_count; i++)
		FREE_NULL_BITMAP(rules->typed[i].nodes);
	for (int i = 0; i < rules->best_count; i++)
		FREE_NULL_BITMAP(rules->best[i].nodes);
	xfree(rules);
}

bool pollux_rules_turning(const struct pollux_rules *rules)
{
	return pollux_reserved_turning(rules->reserved);
}

bool pollux_node_open(const struct pollux_rules *rules, int n)
{
	return bit_test(rules->open, n);
}

static void _open(struct pollux_rules *rules, const job_record_t *job,
		  bitstr_t *nodes)
{
	bit_and(nodes, rules->open);
}

static void _in_partition(struct pollux_rules *rules, const job_record_t *job,
			  bitstr_t *nodes)
{
	bit_and(nodes, job->part_ptr->node_bitmap);
	if (job->part_ptr->state_up != PARTITION_UP && !IS_JOB_PENDING(job))
		bit_clear_all(nodes);
}

static void _not_excluded(struct pollux_rules *rules, const job_record_t *job,
			  bitstr_t *nodes)
{
	if (job->details->exc_node_bitmap)
		bit_and_not(nodes, job->details->exc_node_bitmap);
}

static void _featured(struct pollux_rules *rules, const job_record_t *job,
		      bitstr_t *nodes)
{
	pollux_features_filter(rules->features, job, nodes);
}

static void _not_reserved(struct pollux_rules *rules, const job_record_t *job,
			  bitstr_t *nodes)
{
	pollux_reserved_filter(rules->reserved, job, POLLUX_TIME_LEFT, nodes,
			       rules->barred);
}

/* Slurm's filters only read the record, though they do not say so. */
static void _not_owned(struct pollux_rules *rules, const job_record_t *job,
		       bitstr_t *nodes)
{
	if (rules->owned || job->details->whole_node ||
	    job->part_ptr->flags & PART_FLAG_EXCLUSIVE_USER)
		filter_by_node_owner((job_record_t *) job, nodes);
	if (rules->labelled)
		filter_by_node_mcs((job_record_t *) job,
				   slurm_mcs_get_select((job_record_t *) job),
				   nodes);
}

static void _reached(struct pollux_rules *rules, const job_record_t *job,
		     bitstr_t *nodes)
{
	if (rules->mixed)
		pollux_slurmds_filter(job, nodes);
}

static void _large(struct pollux_rules *rules, const job_record_t *job,
		   bitstr_t *nodes)
{
	uint32_t disk = job->details->pn_min_tmp_disk;

	for (int n = 0; disk && disk != NO_VAL && n < node_record_count; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		if (node && node->tmp_disk < disk)
			bit_clear(nodes, n);
	}
}

/* Of all nodes; NULL: too many types are remembered already. */
static bitstr_t *_nodes_of(struct pollux_rules *rules, const char *types)
{
	struct typed_nodes *typed = NULL;

	for (int i = 0; i < rules->typed_count; i++) {
		if (!xstrcmp(rules->typed[i].types, types))
			return rules->typed[i].nodes;
	}
	if (rules->typed_count == KEPT)
		return NULL;
	typed = &rules->typed[rules->typed_count++];
	snprintf(typed->types, sizeof(typed->types), "%s", types);
	typed->nodes = bit_alloc(node_record_count);
	bit_set_all(typed->nodes);
	pollux_types_filter(typed->nodes, types);
	return typed->nodes;
}

/* A look asks for each job and all nodes, a resize for a few. */
void pollux_rules_of_types(struct pollux_rules *rules, const char *types,
			   bitstr_t *nodes)
{
	bitstr_t *all = NULL;

	if (types[0] && bit_set_count(nodes) > FEW)
		all = _nodes_of(rules, types);
	if (all)
		bit_and(nodes, all);
	else
		pollux_types_filter(nodes, types);
}

void pollux_rules_best_type(struct pollux_rules *rules, bitstr_t *nodes,
			    char types[PLX_TYPES_SIZE])
{
	struct typed_nodes *best = NULL;

	for (int i = 0; i < rules->best_count && !best; i++) {
		if (bit_equal(rules->best[i].nodes, nodes))
			best = &rules->best[i];
	}
	if (best) {
		memcpy(types, best->types, sizeof(best->types));
		return;
	}
	pollux_types_best(nodes, types);
	if (rules->best_count == KEPT)
		return;
	best = &rules->best[rules->best_count++];
	memcpy(best->types, types, sizeof(best->types));
	best->nodes = bit_copy(nodes);
}

static bitstr_t *_idle_nodes(const struct pollux_rules *rules)
{
	bitstr_t *idle = bit_copy(rules->open);

	for (int n = 0; n < node_record_count; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		if (!node || !pollux_node_free(pollux_node_gpus(node), NULL))
			bit_clear(idle, n);
	}
	return idle;
}

void pollux_rules_idle(struct pollux_rules *rules, bitstr_t *nodes)
{
	if (!rules->idle)
		rules->idle = _idle_nodes(rules);
	bit_and(nodes, rules->idle);
}

/* The type of all GPUs of a node; NULL: they differ. */
static const char *_type_of(const gres_node_state_t *gpus)
{
	if (!gpus->type_cnt)
		return POLLUX_NO_TYPE;
	if (gpus->type_cnt > 1 || pollux_node_count(gpus, POLLUX_NO_TYPE) > 0)
		return NULL;
	return gpus->type_name[0];
}

/* A name that stands as one in a list of them. */
static bool _is_name(const char *type)
{
	char types[PLX_TYPES_SIZE] = "";

	if (strlen(type) >= sizeof(types) || strchr(type, ','))
		return false;
	memcpy(types, type, strlen(type));
	return plx_types_valid(types);
}

/* On most clusters all GPUs are alike, and no job's have to be looked at. */
static char *_only_type(void)
{
	const char *only = NULL;

	for (int n = 0; n < node_record_count; n++) {
		const node_record_t *node = node_record_table_ptr[n];
		const gres_node_state_t *gpus =
			node ? pollux_node_gpus(node) : NULL;
		const char *type = gpus ? _type_of(gpus) : only;

		if (gpus && (!type || (only && strcmp(type, only) != 0)))
			return xstrdup("");
		only = type;
	}
	return xstrdup(only && _is_name(only) ? only : "");
}

static bool _has_gpus(const job_record_t *job)
{
	uint32_t gpu = pollux_gpu_id();
	const gres_state_t *state =
		job->gres_list_alloc && job->job_resrcs &&
				job->job_resrcs->node_bitmap
			? list_find_first(job->gres_list_alloc, gres_find_id,
					  &gpu)
			: NULL;
	const gres_job_state_t *gpus = state ? state->gres_data : NULL;

	return gpus && gpus->total_gres > 0 && gpus->node_cnt > 0;
}

/* Types of the job, found out once for all that ask in turn. */
static void _read_types(struct pollux_rules *rules, const job_record_t *job)
{
	struct pollux_job_options asked;

	if (rules->kept_of == job->job_id)
		return;
	rules->kept_of = job->job_id;
	if (rules->many && !rules->only)
		rules->only = _only_type();
	pollux_job_gpu_type(job, rules->asked);
	if (rules->only && rules->only[0] && !rules->asked[0] &&
	    IS_JOB_RUNNING(job) && _has_gpus(job) &&
	    pollux_job_options(job, &asked) && !asked.options.mix)
		snprintf(rules->kept, sizeof(rules->kept), "%s", rules->only);
	else
		pollux_kept_types(job, rules->kept);
}

static void _typed(struct pollux_rules *rules, const job_record_t *job,
		   bitstr_t *nodes)
{
	_read_types(rules, job);
	pollux_rules_of_types(rules, rules->asked, nodes);
}

const char *pollux_rules_kept_types(struct pollux_rules *rules,
				    const job_record_t *job)
{
	_read_types(rules, job);
	return rules->kept;
}

/* The last one, so that what it clears is open but for this. */
static void _alike(struct pollux_rules *rules, const job_record_t *job,
		   bitstr_t *nodes)
{
	const char *types = pollux_rules_kept_types(rules, job);

	if (!types[0])
		return;
	if (rules->unlike)
		bit_copybits(rules->unlike, nodes);
	pollux_rules_of_types(rules, types, nodes);
	if (rules->unlike)
		bit_and_not(rules->unlike, nodes);
}

/* All rules about nodes; each clears those that it forbids. */
static const struct {
	void (*filter)(struct pollux_rules *rules, const job_record_t *job,
		       bitstr_t *nodes);
	bool passes; /* with the jobs that are there now */
	const char *why;
} filters[] = {
	{ _open, true, "takes no new jobs now" },
	{ _in_partition, false, "is not in its partition, or that is not up" },
	{ _not_excluded, false, "was excluded by its user" },
	{ _featured, false, "lacks the features it asks for" },
	{ _not_reserved, false, "is reserved" },
	{ _not_owned, true, "is in use by another user" },
	{ _reached, false, "has an older slurmd than the node of its script" },
	{ _large, false, "has too little temporary disk space" },
	{ _typed, false, "has no GPU of the type it asks for" },
	{ _alike, false,
	  "has no GPU of the type it runs on; mix=yes lets it use others, "
	  "too" },
};

/* Each of these is what one of the filters asks. */
static bool _is_plain(const struct pollux_rules *rules, const job_record_t *job)
{
	const job_details_t *details = job->details;
	uint32_t disk = details->pn_min_tmp_disk;

	return !details->exc_node_bitmap &&
	       !(details->features && details->features[0]) &&
	       !pollux_reserved_any(rules->reserved) && !job->resv_name &&
	       !rules->owned && !rules->labelled && !details->whole_node &&
	       !(job->part_ptr->flags & PART_FLAG_EXCLUSIVE_USER) &&
	       (!disk || disk == NO_VAL);
}

static bitstr_t *_filter(struct pollux_rules *rules, const job_record_t *job)
{
	bitstr_t *nodes = bit_copy(rules->all);

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		filters[i].filter(rules, job, nodes);
	return nodes;
}

/* Of the jobs that are as plain as this; NULL: no more are remembered. */
static const struct plain *_find_plain(struct pollux_rules *rules,
				       const job_record_t *job)
{
	bitstr_t *unlike = rules->unlike;
	struct plain *plain = NULL;
	bool pending = IS_JOB_PENDING(job);
	uint16_t spoken = rules->mixed ? pollux_slurmds_spoken(job) : 0;

	_read_types(rules, job);
	for (int i = 0; i < rules->plain_count; i++) {
		plain = &rules->plain[i];
		if (plain->part == job->part_ptr && plain->pending == pending &&
		    plain->spoken == spoken &&
		    !strcmp(plain->asked, rules->asked) &&
		    !strcmp(plain->kept, rules->kept))
			return plain;
	}
	if (rules->plain_count == PLAIN)
		return NULL;
	plain = &rules->plain[rules->plain_count++];
	plain->part = job->part_ptr;
	plain->pending = pending;
	plain->spoken = spoken;
	memcpy(plain->asked, rules->asked, sizeof(plain->asked));
	memcpy(plain->kept, rules->kept, sizeof(plain->kept));
	plain->unlike = rules->unlike = bit_alloc(node_record_count);
	plain->nodes = _filter(rules, job);
	rules->unlike = unlike;
	return plain;
}

bitstr_t *pollux_nodes_gain(struct pollux_rules *rules, const job_record_t *job)
{
	const struct plain *plain =
		_is_plain(rules, job) ? _find_plain(rules, job) : NULL;
	bitstr_t *nodes = plain ? bit_copy(plain->nodes) : _filter(rules, job);

	if (plain && rules->unlike)
		bit_copybits(rules->unlike, plain->unlike);
	pollux_left_filter(job, nodes);
	return nodes;
}

bitstr_t *pollux_nodes_waited(struct pollux_rules *rules,
			      const job_record_t *job,
			      const part_record_t *part)
{
	job_record_t there = *job;
	bitstr_t *nodes = bit_copy(rules->all);

	there.part_ptr = (part_record_t *) part;
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		if (!filters[i].passes)
			filters[i].filter(rules, &there, nodes);
	}
	return nodes;
}

bitstr_t *pollux_nodes_asleep(struct pollux_rules *rules,
			      const job_record_t *job)
{
	bitstr_t *nodes = NULL;

	if (bit_ffs(power_node_bitmap) < 0)
		return NULL;
	nodes = pollux_nodes_waited(rules, job, job->part_ptr);
	bit_and(nodes, power_node_bitmap);
	return nodes;
}

bitstr_t *pollux_nodes_allowed(struct pollux_rules *rules,
			       const job_record_t *job, pollux_barred_t *barred,
			       bitstr_t *unlike)
{
	bitstr_t *nodes = NULL;
	bitstr_t *own = NULL;

	rules->barred = barred;
	rules->unlike = unlike;
	nodes = pollux_nodes_gain(rules, job);
	rules->barred = NULL;
	rules->unlike = NULL;
	if (!job->node_bitmap || bit_super_set(job->node_bitmap, nodes))
		return nodes;
	own = bit_copy(job->node_bitmap);
	/* Those of its user it was never on; others by scontrol update. */
	_not_excluded(rules, job, own);
	pollux_reserved_filter(rules->reserved, job, POLLUX_TIME_SOON, own,
			       NULL);
	bit_or(nodes, own);
	FREE_NULL_BITMAP(own);
	return nodes;
}

int pollux_nodes_whole(const job_record_t *job)
{
	int each = 0;

	if (!pollux_slurm_whole_nodes(job) || !job->node_bitmap)
		return 0;
	for (int n = 0; n < node_record_count; n++) {
		int gpus = 0;

		if (!bit_test(job->node_bitmap, n))
			continue;
		gpus = pollux_node_count(
			pollux_node_gpus(node_record_table_ptr[n]), NULL);
		if (!gpus || (each && gpus != each))
			return -1;
		each = gpus;
	}
	return each;
}

/* Why a job that has its nodes for itself keeps them; NULL: no reason. */
static const char *_keeps_nodes(const job_record_t *job)
{
	if (!pollux_slurm_whole_nodes(job))
		return NULL;
	if (!xstrcmp(slurm_conf.select_type, "select/linear"))
		return "select/linear gives out its nodes";
	if (job->details->core_spec != NO_VAL16)
		return "it has cores of its nodes set aside";
	if (pollux_nodes_whole(job) < 0)
		return "its nodes, all its own, differ in their GPUs";
	return NULL;
}

const char *pollux_nodes_fixed(struct pollux_rules *rules,
			       const job_record_t *job)
{
	const char *why = _keeps_nodes(job);

	if (job->het_job_id)
		return "it is part of a heterogeneous job";
	if (why)
		return why;
	if (job->details->contiguous)
		return "it asks for nodes side by side";
	if (job->burst_buffer)
		return "it has a burst buffer";
	if (pollux_slurm_has_stepmgr(job))
		return "its steps are managed on its nodes (--stepmgr)";
	if (pollux_features_counted(rules->features, job))
		return "it asks for a number of nodes with a feature";
	return NULL;
}

const char *pollux_nodes_unreached(const struct pollux_rules *rules,
				   const job_record_t *job)
{
	if (!rules->mixed || !pollux_slurmds_older(job))
		return NULL;
	return "one of its nodes has an older slurmd than the node of its "
	       "script";
}

/* Nodes where the shape has more than the job. */
static bitstr_t *_gained(const job_record_t *job,
			 const struct pollux_shape *shape)
{
	bitstr_t *gained = bit_alloc(node_record_count);
	int *held = xcalloc(node_record_count, sizeof(*held));

	pollux_record_gpus(job, held);
	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n)) {
		if (pollux_shape_on(shape, n) > held[n] ||
		    !bit_test(job->node_bitmap, n))
			bit_set(gained, n);
	}
	xfree(held);
	return gained;
}

static int _test_filters(struct pollux_rules *rules, const job_record_t *job,
			 bitstr_t *gained, struct plx_error *err)
{
	int count = bit_set_count(gained);
	bitstr_t *left = bit_copy(gained);
	const char *why = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(filters) && !why; i++) {
		filters[i].filter(rules, job, left);
		if (bit_set_count(left) < count)
			why = filters[i].why;
	}
	pollux_left_filter(job, left);
	if (!why && bit_set_count(left) < count)
		why = POLLUX_LEFT_WHY;
	if (why) {
		bit_and_not(gained, left);
		plx_fail_as(err, PLX_REFUSED_NODES, "%s %s",
			    node_record_table_ptr[bit_ffs(gained)]->name, why);
	}
	FREE_NULL_BITMAP(left);
	return why ? -1 : 0;
}

/*
 * By their names: while a job is on fewer, newer releases forget the bitmap
 * as soon as anything of the job is updated.
 */
bitstr_t *pollux_nodes_listed(const job_record_t *job)
{
	bitstr_t *listed = NULL;
	char *names = job->details->req_nodes;

	/* One that is no node any more is left out. */
	if (names && names[0])
		(void) pollux_slurm_nodes(names, &listed);
	return listed;
}

/* A new job would have all of these. */
int pollux_nodes_required(const job_record_t *job,
			  const struct pollux_shape *shape,
			  struct plx_error *err)
{
	bitstr_t *listed = shape->gpus ? pollux_nodes_listed(job) : NULL;
	int rc = 0;

	if (listed)
		bit_and_not(listed, shape->nodes);
	if (listed && bit_ffs(listed) >= 0)
		rc = plx_fail_as(err, PLX_REFUSED_NODES,
				 "its user asked for %s, too",
				 node_record_table_ptr[bit_ffs(listed)]->name);
	FREE_NULL_BITMAP(listed);
	return rc;
}

int pollux_nodes_test(const job_record_t *job, const struct pollux_shape *shape,
		      pollux_barred_t *barred, struct plx_error *err)
{
	struct pollux_rules *rules = NULL;
	bitstr_t *gained = _gained(job, shape);
	int rc = 0;

	if (bit_ffs(gained) < 0)
		goto done;
	rules = _create(gained, NULL, 0);
	rules->barred = barred;
	if (_test_filters(rules, job, gained, err) < 0 ||
	    pollux_nodes_required(job, shape, err) < 0 ||
	    pollux_switches_test(job, shape, err) < 0 ||
	    pollux_partition_test(job, shape, err) < 0)
		rc = -1;
done:
	pollux_rules_destroy(rules);
	FREE_NULL_BITMAP(gained);
	return rc;
}
