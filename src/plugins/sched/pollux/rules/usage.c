/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage.c - where Slurm counts what a job uses */

#include <string.h>

#include "sched/pollux/rules/usage.h"
#include "sched/pollux/rules/decay.h"

struct pollux_books_copy {
	uint64_t *used;	  /* [book * slurmctld_tres_cnt + i] */
	uint64_t *run_s;  /* the same */
	bitstr_t **nodes; /* [book] */
};

static struct pollux_book *_add(struct pollux_books *books)
{
	xrecalloc(books->at, books->count + 1, sizeof(*books->at));
	return &books->at[books->count++];
}

static void _add_association(struct pollux_books *books,
			     slurmdb_assoc_usage_t *usage)
{
	*_add(books) = (struct pollux_book){
		.used = usage->grp_used_tres,
		.nodes = &usage->grp_node_bitmap,
		.node_jobs = usage->grp_node_job_cnt,
		.run_s = usage->grp_used_tres_run_secs,
		.spent = usage->usage_tres_raw,
		.billed = &usage->usage_raw,
		.wall_s = &usage->grp_used_wall,
	};
}

static void _add_part(struct pollux_books *books, slurmdb_used_limits_t *part)
{
	*_add(books) = (struct pollux_book){
		.used = part->tres,
		.nodes = &part->node_bitmap,
		.node_jobs = part->node_job_cnt,
	};
}

static void _add_qos(job_record_t *job, struct pollux_books *books,
		     slurmdb_qos_rec_t *qos)
{
	slurmdb_qos_usage_t *usage = qos ? qos->usage : NULL;

	if (!usage)
		return;
	*_add(books) = (struct pollux_book){
		.used = usage->grp_used_tres,
		.nodes = &usage->grp_node_bitmap,
		.node_jobs = usage->grp_node_job_cnt,
		.run_s = usage->grp_used_tres_run_secs,
		.spent = usage->usage_tres_raw,
		.billed = &usage->usage_raw,
		.wall_s = &usage->grp_used_wall,
	};
	_add_part(books, acct_policy_get_user_used_limits(
				 &usage->user_limit_list, job->user_id));
	_add_part(books,
		  acct_policy_get_acct_used_limits(&usage->acct_limit_list,
						   job->assoc_ptr->acct));
}

void pollux_books_open(job_record_t *job, struct pollux_books *books)
{
	slurmdb_assoc_rec_t *assoc = job->assoc_ptr;
	slurmdb_qos_rec_t *first = NULL;
	slurmdb_qos_rec_t *second = NULL;

	*books = (struct pollux_books){ 0 };
	if (!assoc)
		return;
	for (; assoc; assoc = assoc->usage->parent_assoc_ptr)
		_add_association(books, assoc->usage);
	acct_policy_set_qos_order(job, &first, &second);
	_add_qos(job, books, first);
	_add_qos(job, books, second);
}

void pollux_books_release(struct pollux_books *books)
{
	xfree(books->at);
	books->count = 0;
}

uint64_t pollux_books_count(const uint64_t *counts, int i)
{
	if (!counts || i < 0 || i == TRES_ARRAY_ENERGY ||
	    counts[i] == NO_VAL64 || counts[i] == NO_CONSUME_VAL64)
		return 0;
	return counts[i];
}

uint64_t pollux_books_unused_s(const job_record_t *job, time_t now)
{
	uint64_t limit_s = (uint64_t) job->time_limit * 60;
	uint64_t ends = (uint64_t) job->start_time + limit_s;
	time_t last = pollux_decay_last();

	/* It takes off what has passed when a job ends, and not before. */
	if (!xstrcmp(slurm_conf.priority_type, "priority/basic"))
		return limit_s;
	/* What has passed is taken off by the decay thread, now and then. */
	if (last && last <= now)
		now = MAX(last, job->start_time);
	if (ends <= (uint64_t) now)
		return 0;
	ends -= (uint64_t) now;
	if (job->qos_ptr && job->qos_ptr->usage_factor >= 0)
		ends = (uint64_t) ((double) ends * job->qos_ptr->usage_factor);
	return ends;
}

/* Nodes on which no other job of the book runs. */
static void _uncount_nodes(const job_record_t *job, struct pollux_book *book)
{
	bitstr_t *nodes = bit_copy(*book->nodes);

	for (int n = 0; n < node_record_count; n++) {
		if (bit_test(nodes, n) && bit_test(job->node_bitmap, n) &&
		    book->node_jobs && book->node_jobs[n] <= 1)
			bit_clear(nodes, n);
	}
	*book->nodes = nodes;
	book->used[TRES_ARRAY_NODE] = (uint64_t) bit_set_count(nodes);
}

static void _uncount(const job_record_t *job, struct pollux_book *book,
		     uint64_t unused_s)
{
	for (int i = 0; i < slurmctld_tres_cnt; i++) {
		uint64_t had = pollux_books_count(job->tres_alloc_cnt, i);

		if (i != TRES_ARRAY_NODE)
			book->used[i] -= MIN(book->used[i], had);
		if (book->run_s)
			book->run_s[i] -= MIN(book->run_s[i], had * unused_s);
	}
	if (*book->nodes && job->node_bitmap)
		_uncount_nodes(job, book);
}

struct pollux_books_copy *pollux_books_uncount(job_record_t *job,
					       struct pollux_books *books)
{
	struct pollux_books_copy *copy = xmalloc(sizeof(*copy));
	size_t size = sizeof(uint64_t) * (size_t) slurmctld_tres_cnt;
	uint64_t unused_s = pollux_books_unused_s(job, time(NULL));

	copy->used = xcalloc(books->count + 1, size);
	copy->run_s = xcalloc(books->count + 1, size);
	copy->nodes = xcalloc(books->count + 1, sizeof(*copy->nodes));
	for (int b = 0; b < books->count; b++) {
		struct pollux_book *book = &books->at[b];

		memcpy(copy->used + b * slurmctld_tres_cnt, book->used, size);
		if (book->run_s)
			memcpy(copy->run_s + b * slurmctld_tres_cnt,
			       book->run_s, size);
		copy->nodes[b] = *book->nodes;
		_uncount(job, book, unused_s);
	}
	return copy;
}

void pollux_books_recount(struct pollux_books *books,
			  struct pollux_books_copy *copy)
{
	size_t size = sizeof(uint64_t) * (size_t) slurmctld_tres_cnt;

	for (int b = 0; b < books->count; b++) {
		struct pollux_book *book = &books->at[b];

		memcpy(book->used, copy->used + b * slurmctld_tres_cnt, size);
		if (book->run_s)
			memcpy(book->run_s,
			       copy->run_s + b * slurmctld_tres_cnt, size);
		if (*book->nodes != copy->nodes[b])
			FREE_NULL_BITMAP(*book->nodes);
		*book->nodes = copy->nodes[b];
	}
	xfree(copy->used);
	xfree(copy->run_s);
	xfree(copy->nodes);
	xfree(copy);
}
