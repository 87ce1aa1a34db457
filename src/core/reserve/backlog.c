/* SPDX-License-Identifier: MIT */
/*
 * backlog.c - which of the jobs that wait are looked at
 *
 * Entries of one user, association and partition are a group, those that go
 * first another one. Bounds hold for
 * whole groups: once one has an entry left out, all behind it are. So no more
 * than `most` of a group can ever be chosen, and a heap keeps these: a job that
 * is found costs a look at its group, however many wait.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve/backlog.h"

struct group {
	uint32_t user;
	uint32_t assoc;
	const void *partition;
	bool first;
	struct plx_backlog_entry *at; /* a heap, the last in turn on top */
	int count;
	int size;
};

struct plx_backlog {
	int most;
	struct group *groups;
	int group_count;
	int group_size;
	int *slots; /* [slot_count] index of a group and 1; 0: free */
	size_t slot_count;
};

#define SLOTS 64 /* at first; a power of two, as ever after */

struct plx_backlog *plx_backlog_create(int most)
{
	struct plx_backlog *backlog = calloc(1, sizeof(*backlog));

	if (!backlog)
		return NULL;
	backlog->most = most;
	backlog->slot_count = SLOTS;
	backlog->slots = calloc(SLOTS, sizeof(*backlog->slots));
	if (backlog->slots)
		return backlog;
	free(backlog);
	return NULL;
}

void plx_backlog_destroy(struct plx_backlog *backlog)
{
	if (!backlog)
		return;
	for (int i = 0; i < backlog->group_count; i++)
		free(backlog->groups[i].at);
	free(backlog->groups);
	free(backlog->slots);
	free(backlog);
}

/* Highest priority first, then the oldest; then in a fixed order. */
static int by_priority(const void *a, const void *b)
{
	const struct plx_backlog_entry *x = a;
	const struct plx_backlog_entry *y = b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static bool is_after(const struct plx_backlog_entry *a,
		     const struct plx_backlog_entry *b)
{
	return by_priority(a, b) > 0;
}

static void swap(struct plx_backlog_entry *a, struct plx_backlog_entry *b)
{
	struct plx_backlog_entry kept = *a;

	*a = *b;
	*b = kept;
}

/* The last one moves up to where it belongs. */
static void sift_up(struct group *group)
{
	struct plx_backlog_entry *at = group->at;

	for (int i = group->count - 1;
	     i > 0 && is_after(&at[i], &at[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&at[i], &at[(i - 1) / 2]);
}

/* The first one moves down to where it belongs. */
static void sift_down(struct group *group)
{
	struct plx_backlog_entry *at = group->at;
	int i = 0;

	for (;;) {
		int top = i;

		for (int child = 2 * i + 1;
		     child <= 2 * i + 2 && child < group->count; child++) {
			if (is_after(&at[child], &at[top]))
				top = child;
		}
		if (top == i)
			return;
		swap(&at[i], &at[top]);
		i = top;
	}
}

static bool is_in(const struct group *group,
		  const struct plx_backlog_entry *entry)
{
	return group->user == entry->user && group->assoc == entry->assoc &&
	       group->partition == entry->partition &&
	       group->first == entry->first;
}

static uint64_t hash(const struct group *group)
{
	uint64_t mixed = (uint64_t) group->user << 32 | group->assoc;
	uint64_t partition = (uint64_t) (uintptr_t) group->partition;

	mixed ^= (partition + group->first) * 0x9e3779b97f4a7c15ULL;
	mixed *= 0xff51afd7ed558ccdULL;
	return mixed ^ mixed >> 33;
}

static void put(struct plx_backlog *backlog, int index)
{
	const struct group *group = &backlog->groups[index];
	size_t slot = hash(group);

	while (backlog->slots[slot & (backlog->slot_count - 1)])
		slot++;
	backlog->slots[slot & (backlog->slot_count - 1)] = index + 1;
}

/* At least half of the slots are free. */
static int make_slots(struct plx_backlog *backlog)
{
	size_t count = 2 * backlog->slot_count;
	int *slots = NULL;

	if (2 * ((size_t) backlog->group_count + 1) <= backlog->slot_count)
		return 0;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -1;
	free(backlog->slots);
	backlog->slots = slots;
	backlog->slot_count = count;
	for (int i = 0; i < backlog->group_count; i++)
		put(backlog, i);
	return 0;
}

static struct group *add_group(struct plx_backlog *backlog,
			       const struct plx_backlog_entry *entry)
{
	int i = backlog->group_count;

	if (make_slots(backlog) < 0)
		return NULL;
	if (i == backlog->group_size) {
		int size = 2 * i + 16;
		struct group *groups = realloc(backlog->groups,
					       (size_t) size * sizeof(*groups));

		if (!groups)
			return NULL;
		backlog->groups = groups;
		backlog->group_size = size;
	}
	backlog->groups[i] = (struct group){
		.user = entry->user,
		.assoc = entry->assoc,
		.partition = entry->partition,
		.first = entry->first,
	};
	backlog->group_count++;
	put(backlog, i);
	return &backlog->groups[i];
}

static struct group *group_of(struct plx_backlog *backlog,
			      const struct plx_backlog_entry *entry)
{
	const struct group like = { .user = entry->user,
				    .assoc = entry->assoc,
				    .partition = entry->partition,
				    .first = entry->first };
	size_t slot = hash(&like);
	int index = 0;

	while ((index = backlog->slots[slot & (backlog->slot_count - 1)])) {
		if (is_in(&backlog->groups[index - 1], entry))
			return &backlog->groups[index - 1];
		slot++;
	}
	return add_group(backlog, entry);
}

static int make_place(struct group *group)
{
	int size = 2 * group->count + 4;
	struct plx_backlog_entry *at = NULL;

	if (group->count < group->size)
		return 0;
	at = realloc(group->at, (size_t) size * sizeof(*at));
	if (!at)
		return -1;
	group->at = at;
	group->size = size;
	return 0;
}

int plx_backlog_offer(struct plx_backlog *backlog,
		      const struct plx_backlog_entry *entry)
{
	struct group *group = group_of(backlog, entry);

	if (!group)
		return -1;
	if (group->count < backlog->most) {
		if (make_place(group) < 0)
			return -1;
		group->at[group->count++] = *entry;
		sift_up(group);
	} else if (group->count && is_after(&group->at[0], entry)) {
		group->at[0] = *entry;
		sift_down(group);
	}
	return 0;
}

/* A group, from its first entry that is not taken on. */
struct cursor {
	struct plx_backlog_entry *at; /* [left], the first in turn in front */
	int left;
	bool sorted; /* so are the others */
};

/* While some are chosen. */
struct choice {
	const struct plx_backlog_bounds *bounds;
	struct plx_backlog_entry *entries; /* of all groups */
	struct cursor *cursors;		   /* [group_count] */
	struct cursor **open;		   /* [group_count] by their first */
	int group_count;
	struct plx_backlog_entry *taken; /* [most] */
	int taken_count;
	int most;
	bool first; /* none but those that go first */
};

static bool is_full(int bound, int count)
{
	return bound > 0 && count >= bound;
}

static bool may_take(const struct choice *choice,
		     const struct plx_backlog_entry *entry, int fair)
{
	const struct plx_backlog_bounds *bounds = choice->bounds;
	int user = 0;
	int partition = 0;
	int both = 0;
	int assoc = 0;

	for (int k = 0; k < choice->taken_count; k++) {
		const struct plx_backlog_entry *other = &choice->taken[k];

		user += other->user == entry->user;
		partition += other->partition == entry->partition;
		both += other->user == entry->user &&
			other->partition == entry->partition;
		assoc += entry->assoc && other->assoc == entry->assoc;
	}
	return !is_full(bounds->user, user) && !is_full(fair, user) &&
	       !is_full(bounds->partition, partition) &&
	       !is_full(bounds->user_partition, both) &&
	       !is_full(bounds->assoc, assoc);
}

static void sort(struct plx_backlog_entry *entries, int count)
{
	if (count > 1)
		qsort(entries, (size_t) count, sizeof(*entries), by_priority);
}

/* Of most groups no more than the first is ever looked at. */
static void bring_forward(struct cursor *cursor)
{
	for (int i = 1; i < cursor->left; i++) {
		if (is_after(&cursor->at[0], &cursor->at[i]))
			swap(&cursor->at[0], &cursor->at[i]);
	}
}

static void advance(struct cursor *cursor)
{
	cursor->at++;
	cursor->left--;
	if (!cursor->sorted)
		sort(cursor->at, cursor->left);
	cursor->sorted = true;
}

static int by_first(const void *a, const void *b)
{
	const struct cursor *const *x = a;
	const struct cursor *const *y = b;

	return by_priority((*x)->at, (*y)->at);
}

static int open_all(struct choice *choice)
{
	int count = 0;

	for (int g = 0; g < choice->group_count; g++) {
		struct cursor *cursor = &choice->cursors[g];

		if (cursor->left && (cursor->at->first || !choice->first))
			choice->open[count++] = cursor;
	}
	if (count > 1)
		qsort(choice->open, (size_t) count, sizeof(*choice->open),
		      by_first);
	return count;
}

/* The first of them has another entry in front: to where that belongs. */
static void put_back(struct cursor **open, int count)
{
	for (int i = 0; i + 1 < count && is_after(open[i]->at, open[i + 1]->at);
	     i++) {
		struct cursor *kept = open[i];

		open[i] = open[i + 1];
		open[i + 1] = kept;
	}
}

/* A group of which one may not be taken is passed over, with all behind it. */
static void take_more(struct choice *choice, int fair)
{
	int count = open_all(choice);
	int first = 0;

	while (first < count && choice->taken_count < choice->most) {
		struct cursor *cursor = choice->open[first];

		if (!may_take(choice, cursor->at, fair)) {
			first++;
			continue;
		}
		choice->taken[choice->taken_count++] = *cursor->at;
		advance(cursor);
		if (cursor->left)
			put_back(choice->open + first, count - first);
		else
			first++;
	}
}

static size_t entry_count(const struct plx_backlog *backlog)
{
	size_t count = 0;

	for (int g = 0; g < backlog->group_count; g++)
		count += (size_t) backlog->groups[g].count;
	return count;
}

static int choice_init(struct choice *choice, const struct plx_backlog *backlog,
		       struct plx_error *err)
{
	size_t groups = (size_t) backlog->group_count + 1;
	struct plx_backlog_entry *at = NULL;

	choice->entries =
		calloc(entry_count(backlog) + 1, sizeof(*choice->entries));
	choice->cursors = calloc(groups, sizeof(*choice->cursors));
	choice->open = calloc(groups, sizeof(*choice->open));
	choice->taken =
		calloc((size_t) backlog->most + 1, sizeof(*choice->taken));
	if (!choice->entries || !choice->cursors || !choice->open ||
	    !choice->taken)
		return plx_fail(err, "no memory for the jobs that wait");
	at = choice->entries;
	for (int g = 0; g < backlog->group_count; g++) {
		const struct group *group = &backlog->groups[g];

		if (group->count)
			memcpy(at, group->at,
			       (size_t) group->count * sizeof(*at));
		choice->cursors[g] =
			(struct cursor){ .at = at, .left = group->count };
		bring_forward(&choice->cursors[g]);
		at += group->count;
	}
	return 0;
}

int plx_backlog_choose(const struct plx_backlog *backlog,
		       const struct plx_backlog_bounds *bounds,
		       struct plx_backlog_entry *chosen, struct plx_error *err)
{
	struct choice choice = { .bounds = bounds,
				 .group_count = backlog->group_count,
				 .first = true };
	int count = -1;

	if (choice_init(&choice, backlog, err) < 0)
		goto done;
	choice.most =
		bounds->first < backlog->most ? bounds->first : backlog->most;
	take_more(&choice, bounds->fair);
	choice.most = backlog->most;
	choice.first = false;
	take_more(&choice, bounds->fair);
	if (bounds->fair > 0)
		take_more(&choice, 0);
	count = choice.taken_count;
	sort(choice.taken, count);
	memcpy(chosen, choice.taken, (size_t) count * sizeof(*chosen));
done:
	free(choice.entries);
	free(choice.cursors);
	free(choice.open);
	free(choice.taken);
	return count;
}
