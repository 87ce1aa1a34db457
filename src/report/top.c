/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top.c - what pollux-top shows now: looks taken in, keys obeyed (top.h) */

#define _GNU_SOURCE

#include <stdlib.h>
#include <string.h>

#include "report/top.h"

static bool is_open(const struct plx_view_job *job)
{
	return job->running || job->waiting || !strcmp(job->state, "SUSPENDED");
}

static void forget(struct plx_top *top)
{
	for (size_t i = 0; i < top->memory_count; i++)
		free(top->memory[i].changes);
	free(top->memory);
	top->memory = NULL;
	top->memory_count = 0;
}

void plx_top_init(struct plx_top *top, const struct plx_top_column *sort)
{
	*top = (struct plx_top){
		.sort = sort ? sort : plx_top_column_named("state"),
		.page = 1,
	};
}

void plx_top_release(struct plx_top *top)
{
	forget(top);
	plx_view_release(&top->view);
	free(top->order);
	free(top->accounts);
	plx_top_init(top, NULL);
}

const struct plx_view_job *plx_top_job(const struct plx_top *top)
{
	if (top->row >= top->shown)
		return NULL;
	return &top->view.jobs[top->order[top->row]];
}

const struct plx_top_memory *plx_top_recall(const struct plx_top *top,
					    uint32_t number)
{
	size_t low = 0;
	size_t high = top->memory_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (top->memory[middle].number == number)
			return &top->memory[middle];
		if (top->memory[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The place of the job pointed to may be another one now. */
static void point(struct plx_top *top)
{
	for (size_t i = 0; i < top->shown; i++) {
		if (top->view.jobs[top->order[i]].number == top->at) {
			top->row = i;
			return;
		}
	}
	/* It is gone: whoever stands there now, or nobody in its story. */
	if (top->mode == PLX_TOP_STORY) {
		top->row = top->shown;
		return;
	}
	if (top->row >= top->shown)
		top->row = top->shown ? top->shown - 1 : 0;
	top->at = top->shown ? plx_top_job(top)->number : 0;
}

static bool is_wanted(const struct plx_top *top, const struct plx_view_job *job)
{
	if (top->mode == PLX_TOP_STORY && job->number == top->at)
		return true;
	if (top->user && strcmp(top->user, job->user) != 0)
		return false;
	return !top->no_ended || is_open(job);
}

static int by_column(const void *a, const void *b, void *arg)
{
	const struct plx_top *top = arg;

	return plx_top_compare(top->sort, top->reverse,
			       &top->view.jobs[*(const size_t *) a],
			       &top->view.jobs[*(const size_t *) b]);
}

void plx_top_arrange(struct plx_top *top)
{
	top->shown = 0;
	for (size_t i = 0; i < top->view.count; i++) {
		if (is_wanted(top, &top->view.jobs[i]))
			top->order[top->shown++] = i;
	}
	if (top->shown)
		qsort_r(top->order, top->shown, sizeof(*top->order), by_column,
			top);
	point(top);
}

static void note_change(struct plx_top_memory *memory, struct plx_view_job *job,
			int64_t now_s)
{
	struct plx_top_change *changes = memory->changes;
	int64_t when_s = job->changed_s > 0 ? job->changed_s : now_s;

	if (!changes)
		changes = calloc(PLX_TOP_CHANGES, sizeof(*changes));
	if (!changes)
		return;
	memory->changes = changes;
	if (memory->change_count == PLX_TOP_CHANGES)
		memmove(changes, changes + 1,
			(size_t) (--memory->change_count) * sizeof(*changes));
	changes += memory->change_count++;
	*changes = (struct plx_top_change){
		.when_s = when_s,
		.from = memory->gpus,
		.to = job->gpus,
	};
	snprintf(changes->placement, sizeof(changes->placement), "%.63s",
		 job->placement);
	snprintf(changes->why, sizeof(changes->why), "%s", job->target.why);
}

/* What was remembered of the job goes over into now. */
static void remember(struct plx_top_memory *now, struct plx_top_memory *before,
		     struct plx_view_job *job, int64_t now_s)
{
	bool lent;

	*now = (struct plx_top_memory){ .number = job->number, .letter = -1 };
	if (before) {
		*now = *before;
		before->changes = NULL;
	}
	/* What is lent is had for the time of a handover only. */
	lent = now->ran && job->target.state == PLX_TARGET_LENT;
	if (job->running && now->ran && !lent &&
	    strcmp(now->placement, job->placement) != 0)
		note_change(now, job, now_s);
	if (now->change_count)
		job->was_gpus = now->changes[now->change_count - 1].from;
	now->ran = job->running;
	if (job->running && !lent) {
		now->gpus = job->gpus;
		memcpy(now->placement, job->placement, sizeof(now->placement));
	}
	if (!job->running || job->gpus == 0)
		now->letter = -1;
}

static int by_letter(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

/* The lowest signs that are free, to those who need one. */
static void give_letters(struct plx_top *top)
{
	int *taken = calloc(top->memory_count + 1, sizeof(*taken));
	size_t count = 0;
	size_t seen = 0;
	int next = 0;

	for (size_t i = 0; taken && i < top->memory_count; i++) {
		if (top->memory[i].letter >= 0)
			taken[count++] = top->memory[i].letter;
	}
	if (count)
		qsort(taken, count, sizeof(*taken), by_letter);
	for (size_t i = 0; taken && i < top->memory_count; i++) {
		struct plx_top_memory *memory = &top->memory[i];

		if (memory->letter >= 0 || !memory->ran || memory->gpus == 0)
			continue;
		for (; seen < count && taken[seen] == next; seen++)
			next++;
		memory->letter = next++;
	}
	free(taken);
}

/* Both are sorted by number. */
static int remember_all(struct plx_top *top, struct plx_view *view)
{
	struct plx_top_memory *memory =
		calloc(view->count + 1, sizeof(*memory));
	size_t count = 0;
	size_t old = 0;

	if (!memory)
		return -1;
	for (size_t i = 0; i < view->count; i++) {
		struct plx_view_job *job = &view->jobs[i];
		struct plx_top_memory *before = NULL;

		while (old < top->memory_count &&
		       top->memory[old].number < job->number)
			old++;
		if (old < top->memory_count &&
		    top->memory[old].number == job->number)
			before = &top->memory[old];
		if (is_open(job))
			remember(&memory[count++], before, job, view->now_s);
	}
	forget(top);
	top->memory = memory;
	top->memory_count = count;
	give_letters(top);
	return 0;
}

bool plx_top_take(struct plx_top *top, struct plx_view *view)
{
	const struct plx_top_memory *memory = plx_top_recall(top, top->at);
	int64_t before_s = 0;
	int64_t after_s = 0;
	size_t *order = calloc(view->count + 1, sizeof(*order));

	if (memory && memory->change_count)
		before_s = memory->changes[memory->change_count - 1].when_s;
	if (!order || remember_all(top, view) < 0) {
		free(order);
		plx_view_release(view);
		plx_top_fail(top, "out of memory");
		return false;
	}
	memory = plx_top_recall(top, top->at);
	if (memory && memory->change_count)
		after_s = memory->changes[memory->change_count - 1].when_s;
	free(top->order);
	plx_view_release(&top->view);
	top->order = order;
	top->view = *view;
	*view = (struct plx_view){ .count = 0 };
	top->seen = true;
	top->trouble.text[0] = '\0';
	plx_top_arrange(top);
	return top->mode == PLX_TOP_STORY && before_s != after_s;
}

void plx_top_fail(struct plx_top *top, const char *why)
{
	plx_fail(&top->trouble, "%s", why);
}

void plx_top_notify(struct plx_top *top, uint32_t number, char *text,
		    bool failed)
{
	free(top->accounts);
	top->accounts = text;
	top->untold = failed;
	top->told = number;
}
