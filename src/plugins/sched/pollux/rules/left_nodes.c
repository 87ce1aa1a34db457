/* SPDX-License-Identifier: GPL-2.0-or-later */
/* left_nodes.c - what steps of a job could still open on nodes that it left */

#include <math.h>

#include "common/node_gpus.h"
#include "core/records/refusal.h"
#include "sched/pollux/job_state.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/rules/left_nodes.h"
#include "sched/pollux/rules/slurmds.h"

/* Credentials are told in whole seconds. */
#define MARGIN_S 2

/* Those of the job that are live; the others are forgotten. */
static struct pollux_left_node *_live(uint32_t job_id)
{
	struct pollux_job_state *state = pollux_job_state_find(job_id);
	struct pollux_left_node **at = state ? &state->left_nodes : NULL;
	double now_s = pollux_now_s();

	while (at && *at) {
		struct pollux_left_node *left = *at;

		if (left->until_s > now_s) {
			at = &left->next;
			continue;
		}
		*at = left->next;
		pollux_left_node_free(left);
	}
	return state ? state->left_nodes : NULL;
}

double pollux_left_s(uint32_t job_id)
{
	double until_s = 0;

	for (struct pollux_left_node *left = _live(job_id); left;
	     left = left->next)
		until_s = fmax(until_s, left->until_s);
	return until_s > 0 ? until_s - pollux_now_s() : 0;
}

/* Found or made. */
static struct pollux_left_node *_of(struct pollux_job_state *state,
				    const char *name)
{
	struct pollux_left_node *left = state->left_nodes;

	while (left && xstrcmp(left->name, name) != 0)
		left = left->next;
	if (left)
		return left;
	left = xcalloc(1, sizeof(*left));
	left->name = xstrdup(name);
	left->next = state->left_nodes;
	state->left_nodes = left;
	return left;
}

/* What it had when it left before counts on. */
static void _note(struct pollux_left_node *left, bitstr_t *devices)
{
	bitstr_t *all = bit_copy(devices);

	if (left->devices && bit_size(left->devices) == bit_size(all))
		bit_or(all, left->devices);
	FREE_NULL_BITMAP(left->devices);
	left->devices = all;
	left->until_s =
		pollux_now_s() + pollux_slurmds_credential_s() + MARGIN_S;
}

void pollux_left_note(uint32_t job_id, bitstr_t *const *had, bitstr_t *keeps)
{
	struct pollux_job_state *state = pollux_job_state_get(job_id);

	(void) _live(job_id);
	for (int n = 0; n < node_record_count; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		if (had[n] && node && bit_ffs(had[n]) >= 0 &&
		    !(keeps && bit_test(keeps, n)))
			_note(_of(state, node->name), had[n]);
	}
}

/* Its index; -1: it is no node any more. */
static int _index(const struct pollux_left_node *left)
{
	const node_record_t *node = find_node_record(left->name);

	return node ? (int) node->index : -1;
}

/* Has nobody any of these, nor a part of one? */
static bool _are_free(const gres_node_state_t *gpus, bitstr_t *devices)
{
	if (!gpus || !gpus->gres_bit_alloc ||
	    bit_size(gpus->gres_bit_alloc) != bit_size(devices) ||
	    bit_overlap_any(gpus->gres_bit_alloc, devices))
		return false;
	for (int i = 0; i < bit_size(devices); i++) {
		if (bit_test(devices, i) && pollux_node_device_shared(gpus, i))
			return false;
	}
	return true;
}

void pollux_left_filter(const job_record_t *job, bitstr_t *nodes)
{
	for (struct pollux_left_node *left = _live(job->job_id); left;
	     left = left->next) {
		int n = _index(left);

		if (n < 0 || !bit_test(nodes, n) ||
		    (job->node_bitmap && bit_test(job->node_bitmap, n)) ||
		    _are_free(pollux_node_gpus(node_record_table_ptr[n]),
			      left->devices))
			continue;
		bit_clear(nodes, n);
	}
}

static int _refuse(const struct pollux_left_node *left, struct plx_error *err)
{
	return plx_fail_as(err, PLX_REFUSED_NODES, "%s %s", left->name,
			   POLLUX_LEFT_WHY);
}

int pollux_left_test(const job_record_t *job, bitstr_t *const *has,
		     struct plx_error *err)
{
	for (struct pollux_left_node *left = _live(job->job_id); left;
	     left = left->next) {
		int n = _index(left);

		if (n < 0 || bit_test(job->node_bitmap, n) ||
		    !bit_test(job->job_resrcs->node_bitmap, n))
			continue;
		if (!has[n] || bit_size(has[n]) != bit_size(left->devices) ||
		    !bit_super_set(left->devices, has[n]))
			return _refuse(left, err);
	}
	return 0;
}

/* All free ones but `count`, of which the first are `devices`. */
static bitstr_t *_surplus(const gres_node_state_t *gpus, bitstr_t *devices,
			  int count)
{
	bitstr_t *surplus = bit_alloc(bit_size(devices));
	int more = count - (int) bit_set_count(devices);

	for (int i = 0; i < bit_size(devices); i++) {
		bool taken = bit_test(gpus->gres_bit_alloc, i) ||
			     pollux_node_device_shared(gpus, i);

		if (!taken && !bit_test(devices, i) && more-- <= 0)
			bit_set(surplus, i);
	}
	return surplus;
}

static int _hide(const struct pollux_left_node *left, int n, int count,
		 bitstr_t ***hidden)
{
	const node_record_t *node = node_record_table_ptr[n];
	const gres_node_state_t *gpus = pollux_node_gpus(node);

	if (!_are_free(gpus, left->devices) ||
	    count < (int) bit_set_count(left->devices))
		return -1;
	if (!*hidden)
		*hidden = xcalloc(node_record_count, sizeof(**hidden));
	(*hidden)[n] = _surplus(gpus, left->devices, count);
	pollux_node_hide(node, (*hidden)[n]);
	return 0;
}

int pollux_left_hide(const job_record_t *job, const struct pollux_shape *shape,
		     bitstr_t ***hidden, struct plx_error *err)
{
	*hidden = NULL;
	for (struct pollux_left_node *left = _live(job->job_id); left;
	     left = left->next) {
		int n = _index(left);

		if (n < 0 || !bit_test(shape->nodes, n))
			continue;
		if (_hide(left, n, pollux_shape_on(shape, n), hidden) < 0)
			return _refuse(left, err);
	}
	return 0;
}
