/* SPDX-License-Identifier: MIT */
/*
 * search_pack.c - from the counts that jobs would buy to placements
 *
 * Those that would keep what they have stay; the others come by falling
 * count, so that large holes are still there for large jobs, and take what
 * is best for them at the price of what is left.
 */
#include <stddef.h>
#include <stdlib.h>

#include "core/search/search.h"

/* A job's turn. */
struct entry {
	int job;
	int gpus;
	int missed;  /* packs that found nothing for it */
	bool urgent; /* may not be parked */
};

static int by_size(const void *a, const void *b)
{
	const struct entry *x = a;
	const struct entry *y = b;

	if (x->urgent != y->urgent)
		return x->urgent ? -1 : 1;
	if (x->missed != y->missed)
		return y->missed - x->missed;
	if (x->gpus != y->gpus)
		return y->gpus - x->gpus;
	return x->job - y->job;
}

/* Would it keep what it has? */
static bool keeps(const struct plx_search_job *e)
{
	int held = plx_placement_shape(&e->now).gpus;

	return e->now_valid && held > 0 && e->want == held &&
	       (held > e->cap || !(e->counts[held] > e->now.utility));
}

void plx_search_get_up(struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++) {
		if (!search->jobs[j].fixed)
			plx_placement_take(search, &search->jobs[j]);
	}
}

bool plx_search_pack(struct plx_search *search)
{
	size_t size = (size_t) search->job_count * sizeof(struct entry);
	struct entry *entries = malloc(size > 0 ? size : 1);
	bool seated = entries != NULL;
	int count = 0;

	if (!entries)
		return false;
	plx_search_get_up(search);
	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		if (e->fixed || (keeps(e) && plx_search_stay(search, e)))
			continue;
		entries[count++] = (struct entry){
			.job = j,
			.gpus = e->want,
			.missed = e->missed,
			.urgent = !e->may_park,
		};
	}
	qsort(entries, (size_t) count, sizeof(*entries), by_size);
	for (int i = 0; i < count && seated; i++) {
		struct plx_search_job *e = &search->jobs[entries[i].job];

		seated = plx_search_buy(search, e);
		e->missed += seated && e->at.count == 0 && e->want > 0;
	}
	free(entries);
	plx_move_begin(search);
	return seated;
}
