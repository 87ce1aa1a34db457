/* SPDX-License-Identifier: MIT */
/*
 * backlog.h - which of the jobs that wait are looked at
 *
 * A queue may have thousands; the first of them get room. Backfill bounds how
 * many it looks at of one user, partition or association, and so is it here.
 * Without such a bound one user's jobs would still be all that is looked at:
 * beyond a fair share they come after those of all others.
 *
 * A backlog is filled in the order in which jobs are found, and asked once. Not
 * thread-safe.
 */
#ifndef PLX_CORE_BACKLOG_H
#define PLX_CORE_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* A job that waits, in one of its partitions. */
struct plx_backlog_entry {
	uint64_t priority;
	uint32_t id;	       /* of equals the lowest goes first */
	uint32_t user;	       /* compared only, as are: */
	uint32_t assoc;	       /* 0: none, which is not bounded */
	const void *partition; /* borrowed */
	bool first;	       /* before others, whatever the priorities */
	const void *job;       /* the caller's, as is `partition` */
};

/* At most so many entries each; 0: any number. */
struct plx_backlog_bounds {
	int user;
	int user_partition; /* of a user in a partition */
	int partition;
	int assoc;
	/* Of a user, as long as others wait. */
	int fair;
	/* Of those that go first, ahead of others; 0: none. */
	int first;
};

struct plx_backlog;

/* For at most so many in the end. NULL: no memory. */
struct plx_backlog *plx_backlog_create(int most);
/* Accepts NULL. */
void plx_backlog_destroy(struct plx_backlog *backlog);

/*
 * Take it in, copied. What many better ones of its user, association and
 * partition leave no place for is forgotten at once. -1: no memory.
 */
int plx_backlog_offer(struct plx_backlog *backlog,
		      const struct plx_backlog_entry *entry);

/*
 * The first within the bounds, by priority, into chosen[most] of the caller's;
 * how many. -1 with err set: no memory.
 */
int plx_backlog_choose(const struct plx_backlog *backlog,
		       const struct plx_backlog_bounds *bounds,
		       struct plx_backlog_entry *chosen, struct plx_error *err);

#endif
