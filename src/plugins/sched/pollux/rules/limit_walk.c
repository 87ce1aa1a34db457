/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limit_walk.c - every limit of an association or a QOS that applies to a job
 */

#include <stddef.h>

#include "src/common/assoc_mgr.h"

#include "sched/pollux/rules/limit_walk.h"

#define NOWHERE	     SIZE_MAX
#define QOS(field)   offsetof(slurmdb_qos_rec_t, field)
#define ASSOC(field) offsetof(slurmdb_assoc_rec_t, field)

struct kind {
	enum pollux_scope scope;
	enum pollux_unit unit;
	size_t of_qos;	 /* uint64_t * there */
	size_t of_assoc; /* the same; those above count for POLLUX_OF_ALL */
};

/* clang-format off */
static const struct kind kinds[] = {
	{ POLLUX_OF_ALL, POLLUX_SPENT,
	  QOS(grp_tres_mins_ctld), ASSOC(grp_tres_mins_ctld) },
	{ POLLUX_OF_ALL, POLLUX_NOW,
	  QOS(grp_tres_ctld), ASSOC(grp_tres_ctld) },
	{ POLLUX_OF_ALL, POLLUX_MINUTES,
	  QOS(grp_tres_run_mins_ctld), ASSOC(grp_tres_run_mins_ctld) },
	{ POLLUX_OF_JOB, POLLUX_MINUTES,
	  QOS(max_tres_mins_pj_ctld), ASSOC(max_tres_mins_ctld) },
	{ POLLUX_OF_JOB, POLLUX_NOW,
	  QOS(max_tres_pj_ctld), ASSOC(max_tres_ctld) },
	{ POLLUX_OF_NODE, POLLUX_NOW,
	  QOS(max_tres_pn_ctld), ASSOC(max_tres_pn_ctld) },
	{ POLLUX_OF_ACCOUNT, POLLUX_NOW, QOS(max_tres_pa_ctld), NOWHERE },
	{ POLLUX_OF_USER, POLLUX_NOW, QOS(max_tres_pu_ctld), NOWHERE },
};
/* clang-format on */

struct walk {
	const job_record_t *job;
	const slurmdb_qos_rec_t *qos[2]; /* the first one that says counts */
	double factor;			 /* on limits of associations; or 0 */
	bool (*see)(const struct pollux_tres_limit *limit, void *context);
	void *context;
};

/* A limit, or INFINITE64. */
static uint64_t _limit(const void *record, size_t offset, int i)
{
	const uint64_t *limits = NULL;

	if (!record || offset == NOWHERE)
		return INFINITE64;
	limits = *(uint64_t *const *) ((const char *) record + offset);
	if (!limits || limits[i] == NO_VAL64)
		return INFINITE64;
	return limits[i];
}

static int _same_user(void *entry, void *key)
{
	return ((slurmdb_used_limits_t *) entry)->uid == *(uint32_t *) key;
}

static int _same_account(void *entry, void *key)
{
	return !xstrcmp(((slurmdb_used_limits_t *) entry)->acct, key);
}

/* Slurm's own search makes an entry where there is none; this one looks. */
static void _read_part(const struct walk *walk, struct pollux_tres_limit *limit)
{
	const slurmdb_used_limits_t *part = NULL;
	uint32_t user = walk->job->user_id;
	slurmdb_qos_usage_t *usage = limit->qos->usage;

	if (limit->scope == POLLUX_OF_USER && usage->user_limit_list)
		part = list_find_first(usage->user_limit_list, _same_user,
				       &user);
	if (limit->scope == POLLUX_OF_ACCOUNT && usage->acct_limit_list)
		part = list_find_first(usage->acct_limit_list, _same_account,
				       walk->job->assoc_ptr->acct);
	limit->used = part ? &part->tres[limit->tres] : NULL;
	limit->nodes = part ? part->node_bitmap : NULL;
}

static bool _see_qos(const struct walk *walk, struct pollux_tres_limit *limit)
{
	slurmdb_qos_usage_t *usage = limit->qos->usage;

	if (limit->scope == POLLUX_OF_ALL) {
		limit->used = &usage->grp_used_tres[limit->tres];
		limit->run_s = &usage->grp_used_tres_run_secs[limit->tres];
		limit->spent = &usage->usage_tres_raw[limit->tres];
		limit->nodes = usage->grp_node_bitmap;
	} else {
		_read_part(walk, limit);
	}
	return walk->see(limit, walk->context);
}

static uint64_t _factored(const struct walk *walk,
			  const struct pollux_tres_limit *limit, uint64_t most)
{
	if (most == INFINITE64 || walk->factor <= 0 ||
	    limit->unit != POLLUX_NOW || limit->scope == POLLUX_OF_NODE)
		return most;
	return (uint64_t) ((double) most * walk->factor);
}

static bool _see_associations(const struct walk *walk, const struct kind *kind,
			      struct pollux_tres_limit *limit)
{
	const slurmdb_assoc_rec_t *assoc = walk->job->assoc_ptr;

	for (; assoc; assoc = assoc->usage->parent_assoc_ptr) {
		const slurmdb_assoc_usage_t *usage = assoc->usage;

		limit->most =
			_factored(walk, limit,
				  _limit(assoc, kind->of_assoc, limit->tres));
		limit->assoc = assoc;
		limit->used = &usage->grp_used_tres[limit->tres];
		limit->run_s = &usage->grp_used_tres_run_secs[limit->tres];
		limit->spent = &usage->usage_tres_raw[limit->tres];
		limit->nodes = usage->grp_node_bitmap;
		if (limit->most != INFINITE64 &&
		    !walk->see(limit, walk->context))
			return false;
		if (limit->scope != POLLUX_OF_ALL)
			break; /* inherited already */
	}
	return true;
}

static bool _see(const struct walk *walk, const struct kind *kind, int i)
{
	struct pollux_tres_limit limit = {
		.scope = kind->scope,
		.unit = kind->unit,
		.tres = i,
	};
	const uint16_t *set = walk->job->limit_set.tres;
	bool running =
		kind->scope == POLLUX_OF_ALL && kind->unit == POLLUX_MINUTES;

	/* An administrator's word counts, but not here. */
	if (set && set[i] == ADMIN_SET_LIMIT && !running)
		return true;
	for (int q = 0; q < 2; q++) {
		limit.most = _limit(walk->qos[q], kind->of_qos, i);
		limit.qos = walk->qos[q];
		if (limit.most != INFINITE64)
			return _see_qos(walk, &limit);
	}
	limit.qos = NULL;
	return _see_associations(walk, kind, &limit);
}

void pollux_limit_walk(const job_record_t *job,
		       bool (*see)(const struct pollux_tres_limit *limit,
				   void *context),
		       void *context)
{
	struct walk walk = { .job = job, .see = see, .context = context };
	slurmdb_qos_rec_t *first = NULL;
	slurmdb_qos_rec_t *second = NULL;

	if (!(accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) ||
	    !job->assoc_ptr)
		return;
	acct_policy_set_qos_order((job_record_t *) job, &first, &second);
	walk.qos[0] = first;
	walk.qos[1] = second;
	for (int q = 1; q >= 0; q--) {
		if (walk.qos[q] && walk.qos[q]->limit_factor > 0 &&
		    walk.qos[q]->limit_factor < (double) INFINITE)
			walk.factor = walk.qos[q]->limit_factor;
	}
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (int i = 0; i < slurmctld_tres_cnt; i++) {
			if (i != TRES_ARRAY_ENERGY &&
			    !_see(&walk, &kinds[k], i))
				return;
		}
	}
}

uint64_t pollux_limit_minutes(const job_record_t *job)
{
	const slurmdb_qos_rec_t *qos = job->qos_ptr;
	uint32_t minutes = job->time_limit;

	if (qos && qos->usage_factor >= 0 &&
	    (qos->flags & QOS_FLAG_USAGE_FACTOR_SAFE) &&
	    (minutes != INFINITE || qos->usage_factor < 1))
		minutes = (uint32_t) (minutes * qos->usage_factor);
	return minutes;
}
