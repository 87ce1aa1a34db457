/* SPDX-License-Identifier: MIT */
/*
 * coll_wait.h - how long a rank waits for others, and what it does meanwhile
 *
 * For the vendors' loops: test, plx_wait_more(), test again.
 */
#ifndef PLX_AGENT_COLL_WAIT_H
#define PLX_AGENT_COLL_WAIT_H

#include <stdbool.h>

#include "agent/comm/coll.h"

/* One wait. Set the first three, leave the rest 0. */
struct plx_wait {
	const struct plx_coll *coll;
	const char *what; /* is waited for, for the sentence */
	bool idle;	  /* asleep, without a limit */
	unsigned int tests;
	double begin_s; /* 0: no look at the clock yet */
	double waited_s;
	double leaving_s; /* when we were seen to be told to leave, 0: not */
	long nap_ns;
};

/*
 * Not done yet: give the CPU to others for a moment, at first not at all.
 * -1 with a sentence in err when it has been too long (coll.h).
 */
int plx_wait_more(struct plx_wait *w, struct plx_error *err);

#endif
