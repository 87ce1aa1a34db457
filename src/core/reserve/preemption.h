/* SPDX-License-Identifier: MIT */
/*
 * preemption.h - for how long elastic jobs are spared Slurm's preemption
 *
 * Slurm asks of each running job whether a pending one, the preemptor, may
 * preempt it. A job that can give up GPUs in place is spared while room is made
 * for the preemptor, and so is any other victim: Slurm would take a whole job
 * where a few GPUs suffice. Who waits for too long is left to Slurm.
 *
 * All times are seconds on one clock that only goes forward. The caller locks.
 */
#ifndef PLX_CORE_PREEMPTION_H
#define PLX_CORE_PREEMPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* Preemptors that are remembered; of more, the one not heard of for longest
 * is forgotten. */
#define PLX_PREEMPTORS_MAX 1024
/* So long no rigid victim is offered where nobody knows of room yet. */
#define PLX_PREEMPTION_LOOK_S 10.0
/* So much later than who was asked and does not answer, others are offered. */
#define PLX_PREEMPTION_MORE_S 10.0

struct plx_preemption;

/* A running job that can give up GPUs in place. */
struct plx_giver {
	uint32_t id;
	bool asked;	/* it is being resized */
	double since_s; /* it may be preempted from then on: PreemptExemptTime
			 */
};

/* A job that waits, as a cycle sees it. */
struct plx_preemptor_seen {
	uint32_t id;
	bool made; /* elastic jobs make room for it, or will in a moment */
	int tasks; /* that wait, of an array: one less waits anew */
};

/* Nobody waits, nobody gives. The caller's to destroy; NULL with err set. */
struct plx_preemption *plx_preemption_create(struct plx_error *err);
void plx_preemption_destroy(struct plx_preemption *preemption);

/*
 * A cycle has looked. givers[giver_count] rise by id and are copied;
 * seen[seen_count] may name a job more than once. 0, or -1 with err set: then
 * nobody gives.
 */
int plx_preemption_look(struct plx_preemption *preemption,
			const struct plx_giver *givers, int giver_count,
			const struct plx_preemptor_seen *seen, int seen_count,
			double now_s, struct plx_error *err);

/*
 * Slurm asks: is the victim spared this preemptor, who may preempt it? bound_s:
 * how long the preemptor waits for it. O(1) but for a search in the givers.
 */
bool plx_preemption_exempts(struct plx_preemption *preemption,
			    uint32_t preemptor, uint32_t victim, double bound_s,
			    double now_s);

/* Has the job waited for too long, so that all is left to Slurm? */
bool plx_preemption_is_over(const struct plx_preemption *preemption,
			    uint32_t id, double now_s);

/*
 * True once each time that a preemptor is offered victims that it was not
 * offered before: Slurm's scheduler is to look.
 */
bool plx_preemption_offers(struct plx_preemption *preemption, double now_s);

/* Was the job asked for GPUs, and not through with that when its time was? */
bool plx_preemption_was_late(const struct plx_preemption *preemption,
			     uint32_t victim);

#endif
