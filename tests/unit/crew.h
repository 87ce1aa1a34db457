/* SPDX-License-Identifier: MIT */
/*
 * crew.h - ranks that are threads of one process, for tests of the agent
 *
 * Each runs the real library over collectives that only add up what the
 * others have; all else is as under mpirun.
 */
#ifndef PLX_UNIT_CREW_H
#define PLX_UNIT_CREW_H

#include <pthread.h>

#include "agent/state/agent.h"

enum { CREW_MAX = 8 };

struct crew;

/* One rank: what it runs, and what it says in the end. */
struct crew_rank {
	struct crew *crew;
	int rank;
	struct pollux *p;
	void *user; /* the same for all */
	int result; /* of work() */
};

struct crew {
	int ranks;
	bool begins; /* sums in the background can be begun */
	bool mixed;  /* ranks were not at the same operation */
	pthread_barrier_t barrier;
	void *data[CREW_MAX];	/* what each has brought */
	size_t count[CREW_MAX]; /* and how much of it */
	struct crew_rank rank[CREW_MAX];
};

/*
 * Run work() on each of so many ranks, with a struct pollux of this
 * configuration that is yet to be started. All results must be 0 for 0; a
 * sentence of the first other is printed.
 */
int crew_run(struct crew *crew, const struct pollux_config *config,
	     int (*work)(struct crew_rank *rank), void *user);

#endif
