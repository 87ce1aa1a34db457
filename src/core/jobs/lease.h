/* SPDX-License-Identifier: MIT */
/*
 * lease.h - GPUs above a job's minimum are a lease
 *
 * A job keeps what it has above its minimum for as long as it trains. One that
 * does not (no status that can be believed, done, saving or waiting for ever)
 * has so much time, and then gives it up. Pure; a zeroed plx_lease is new.
 */
#ifndef PLX_CORE_LEASE_H
#define PLX_CORE_LEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/records/sizes.h"
#include "core/records/status.h"

struct plx_lease {
	double last_s; /* last look; 0: none yet, or it did not count */
	bool idle;     /* then */
	double idle_s; /* without training, less what was trained since */
};

/*
 * Why a job that says this does not train, a sentence; NULL: it does, or is
 * about to. NULL as status: it says nothing that can be believed.
 */
const char *plx_lease_why(const struct plx_status *status);

/*
 * A look at a job that has more than its minimum; now_s is of a clock that
 * never jumps. Training makes good for as much time without, so that a job
 * which trains now and then gains nothing. True when it had term_s without; 0:
 * it may have any.
 */
bool plx_lease_look(struct plx_lease *lease, double now_s, bool idle,
		    double term_s);

/* Begin anew: it has no more than its minimum, or time stands still for it. */
void plx_lease_pause(struct plx_lease *lease);
void plx_lease_reset(struct plx_lease *lease);

/* What a job has, and the least that it may be left with. */
struct plx_least {
	const int *gpus; /* [node_count] that it has */
	int node_count;
	int batch_host;	    /* kept before others; -1: none */
	const bool *wanted; /* [node_count] to be kept; NULL: none is */
	int min_gpus;
	int min_nodes;
	bool whole;		       /* of a node all or nothing */
	const struct plx_sizes *sizes; /* that it may have; NULL: any */
};

/*
 * Choose what it keeps, keep[node_count]: as few GPUs as it may have, each on
 * a node where it has one. Returns their number.
 */
int plx_lease_least(const struct plx_least *least, int *keep);

#endif
