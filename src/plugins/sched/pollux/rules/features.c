/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * features.c - which nodes have what --constraint asks for
 *
 * Slurm's own functions write into the job record, which a reader may not:
 * they are given a record that has the constraint and nothing else.
 */

#include "sched/pollux/rules/features.h"

/* One constraint, read and compared with the nodes. */
struct constraint {
	char *text;
	bool counted;
	bitstr_t *nodes; /* by all but what is in brackets; NULL: not read */
	int choice_count;
	bitstr_t **choices; /* what is in brackets */
};

struct pollux_features {
	struct constraint *at;
	int count;
	int size;
};

struct pollux_features *pollux_features_create(void)
{
	return xmalloc(sizeof(struct pollux_features));
}

static void _release(struct constraint *constraint)
{
	for (int i = 0; i < constraint->choice_count; i++)
		FREE_NULL_BITMAP(constraint->choices[i]);
	xfree(constraint->choices);
	FREE_NULL_BITMAP(constraint->nodes);
	xfree(constraint->text);
}

void pollux_features_destroy(struct pollux_features *features)
{
	if (!features)
		return;
	for (int i = 0; i < features->count; i++)
		_release(&features->at[i]);
	xfree(features->at);
	xfree(features);
}

/* The next feature, or those in parentheses as one; NULL after the last. */
static bitstr_t *_next(ListIterator iter, uint8_t *op)
{
	job_feature_t *feature = list_next(iter);
	bitstr_t *nodes = NULL;

	if (!feature)
		return NULL;
	nodes = bit_copy(feature->node_bitmap_active);
	while (feature->paren) {
		uint8_t inner = feature->op_code;
		job_feature_t *next = list_next(iter);

		if (!next)
			break;
		feature = next;
		if (inner == FEATURE_OP_OR)
			bit_or(nodes, feature->node_bitmap_active);
		else
			bit_and(nodes, feature->node_bitmap_active);
	}
	*op = feature->op_code;
	return nodes;
}

static void _read_choices(List list, struct constraint *constraint)
{
	ListIterator iter = list_iterator_create(list);
	bitstr_t *nodes = NULL;
	bool inside = false;
	uint8_t op = FEATURE_OP_END;

	constraint->choices =
		xcalloc(list_count(list), sizeof(*constraint->choices));
	while ((nodes = _next(iter, &op))) {
		if (inside || op == FEATURE_OP_XOR)
			constraint->choices[constraint->choice_count++] = nodes;
		else
			FREE_NULL_BITMAP(nodes);
		inside = op == FEATURE_OP_XOR;
	}
	list_iterator_destroy(iter);
}

static bool _is_counted(List list)
{
	ListIterator iter = list_iterator_create(list);
	job_feature_t *feature = NULL;
	bool counted = false;

	while ((feature = list_next(iter)))
		counted = counted || feature->count ||
			  feature->op_code == FEATURE_OP_XAND;
	list_iterator_destroy(iter);
	return counted;
}

static void _read(const char *text, struct constraint *constraint)
{
	job_record_t *job = xmalloc(sizeof(*job));
	job_details_t *details = xmalloc(sizeof(*details));
	bool choices = false;

	constraint->text = xstrdup(text);
	details->features = xstrdup(text);
	job->details = details;
	if (pollux_slurm_read_features(job) == SLURM_SUCCESS &&
	    details->feature_list) {
		constraint->counted = _is_counted(details->feature_list);
		constraint->nodes = node_conf_get_active_bitmap();
		valid_feature_counts(job, true, constraint->nodes, &choices);
		if (choices && !constraint->counted)
			_read_choices(details->feature_list, constraint);
	}
	FREE_NULL_LIST(details->feature_list);
	xfree(details->features);
	xfree(details);
	xfree(job);
}

/* NULL: the job asks for none. Valid until the next call. */
static const struct constraint *_find(struct pollux_features *features,
				      const job_record_t *job)
{
	const char *text = job->details->features;

	if (!text || !text[0])
		return NULL;
	for (int i = 0; i < features->count; i++) {
		if (!xstrcmp(features->at[i].text, text))
			return &features->at[i];
	}
	if (features->count == features->size) {
		features->size = features->size ? 2 * features->size : 8;
		xrecalloc(features->at, features->size, sizeof(*features->at));
	}
	_read(text, &features->at[features->count]);
	return &features->at[features->count++];
}

/* A job that runs has made its choice; others may still make any. */
static void _choose(const struct constraint *constraint,
		    const job_record_t *job, bitstr_t *nodes)
{
	bitstr_t *any = bit_alloc(node_record_count);

	for (int i = 0; i < constraint->choice_count; i++) {
		bitstr_t *choice = constraint->choices[i];

		if (IS_JOB_PENDING(job)) {
			bit_or(any, choice);
		} else if (bit_super_set(job->node_bitmap, choice)) {
			bit_or(any, choice);
			break;
		}
	}
	bit_and(nodes, any);
	FREE_NULL_BITMAP(any);
}

void pollux_features_filter(struct pollux_features *features,
			    const job_record_t *job, bitstr_t *nodes)
{
	const struct constraint *constraint = _find(features, job);

	if (!constraint)
		return;
	if (!constraint->nodes) {
		bit_clear_all(nodes);
		return;
	}
	bit_and(nodes, constraint->nodes);
	if (constraint->choice_count)
		_choose(constraint, job, nodes);
}

bool pollux_features_counted(struct pollux_features *features,
			     const job_record_t *job)
{
	const struct constraint *constraint = _find(features, job);

	return constraint && constraint->counted;
}
