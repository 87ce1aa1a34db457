/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answer.c - rows that slurmdbd has told, by job */

#include <stdlib.h>

#include "sched/pollux/acct/answer.h"

struct answer_row {
	slurmdb_job_rec_t *row;
	int i; /* in slurmdbd's order */
};

static int _by_job(const void *a, const void *b)
{
	const struct answer_row *one = a;
	const struct answer_row *other = b;

	if (one->row->jobid != other->row->jobid)
		return one->row->jobid < other->row->jobid ? -1 : 1;
	return one->i - other->i;
}

struct pollux_answer pollux_answer_sort(List rows)
{
	struct pollux_answer answer = { NULL };
	ListIterator iter = NULL;
	slurmdb_job_rec_t *row = NULL;

	if (!rows)
		return answer;
	answer.at = xcalloc(list_count(rows) + 1, sizeof(*answer.at));
	iter = list_iterator_create(rows);
	while ((row = list_next(iter))) {
		answer.at[answer.count] =
			(struct answer_row){ .row = row, .i = answer.count };
		answer.count++;
	}
	list_iterator_destroy(iter);
	qsort(answer.at, (size_t) answer.count, sizeof(*answer.at), _by_job);
	return answer;
}

List pollux_answer_of(const struct pollux_answer *answer, uint32_t job_id)
{
	List rows = NULL;
	int first = 0;
	int end = answer->count;

	if (!answer->at)
		return NULL;
	rows = list_create(NULL);
	while (first < end) {
		int half = first + (end - first) / 2;

		if (answer->at[half].row->jobid < job_id)
			first = half + 1;
		else
			end = half;
	}
	for (; first < answer->count && answer->at[first].row->jobid == job_id;
	     first++)
		list_append(rows, answer->at[first].row);
	return rows;
}

void pollux_answer_release(struct pollux_answer *answer)
{
	xfree(answer->at);
	answer->count = 0;
}
