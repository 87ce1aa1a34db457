/* SPDX-License-Identifier: MIT */
/* target.h - what the scheduler tells a job (docs/resize.md) */
#ifndef PLX_CORE_TARGET_H
#define PLX_CORE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/records/gpu_type.h"

enum plx_target_state {
	PLX_TARGET_NONE, /* nothing was ever asked of this job */
	PLX_TARGET_REQUESTED,
	PLX_TARGET_DONE,
	PLX_TARGET_REFUSED,
	PLX_TARGET_PARKED,
	PLX_TARGET_LENT,   /* it has what it had and what it is to have */
	PLX_TARGET_MOVING, /* ended here, to be started there */
};

#define PLX_WHY_SIZE 224
#define PLX_ON_SIZE  256

struct plx_target {
	uint32_t serial; /* grows with every request to this job, from 1; 0:
			    none yet, and state is PLX_TARGET_NONE */
	enum plx_target_state state;
	int nodes;
	int gpus_per_node;	/* the fewest, where each says more */
	char each[PLX_ON_SIZE]; /* GPUs on each of `on`, as "4,1,2", where
				   they differ; else "" */
	bool cold;		/* asked: only of ranks that have left before */
	bool move;		/* of the whole job, its script included */
	int accrued;		/* moving: since when its age counts; 0: none */
	int left_s;		/* moving: of its time limit; 0: no limit */
	int given_s;	  /* of its time limit: what was added to it so far */
	int extended_min; /* its time limit since; 0: not known */
	int credited; /* parked: time until which that is; 0: since it was */
	int rounds;   /* put into the queue at its limit without progress */
	double mark;  /* its progress when it was so last, 0 to 1 */
	char on[PLX_ON_SIZE]; /* the nodes, as "n[1-4]"; "" when too many */
	char types[PLX_TYPES_SIZE]; /* of GPUs that a job without any keeps to,
				       as "a100,h100"; "": not known */
	double speedup;		    /* over its fair share; 0: not known */
	char why[PLX_WHY_SIZE];
};

const char *plx_target_state_name(enum plx_target_state state);

/* " [pollux ...]" put into system_comment by plx_section_put(). */
int plx_target_write(const struct plx_target *target, char *fields, size_t size,
		     struct plx_error *err);

/* 1: found; 0: no section (target zeroed); -1: broken, err says why. */
int plx_target_read(const char *system_comment, struct plx_target *target,
		    struct plx_error *err);

/* GPUs on the i-th node of `on`. */
int plx_target_each(const struct plx_target *target, int i);
/* GPUs in all. */
int plx_target_gpus(const struct plx_target *target);

/*
 * Ask for counts[nodes], each of 1 or more, on the nodes of `on` in order. -1
 * when they differ and are too many to be told; nothing is changed then.
 */
int plx_target_count(struct plx_target *target, const int *counts, int nodes,
		     struct plx_error *err);

#endif
