/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generation.h - one start of the ranks: its step, its socket, what it said
 *
 * At most two live at once: the one that trains, and a warm one beside it (or
 * one on its way out). The number grows through the job's whole life, also
 * over a new launcher: the checkpoints' fence knows the newest one.
 */
#ifndef PLX_LAUNCHER_GENERATION_H
#define PLX_LAUNCHER_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "launcher/job/job_seen.h"
#include "launcher/ranks/peer.h"
#include "launcher/ranks/relay.h"
#include "launcher/ranks/srun_step.h"

/* What rank 0 said since its start. */
struct plx_said {
	bool hello;
	bool ready; /* warm: waits for "go" */
	bool began;
	bool saved; /* and leaves, or held: */
	bool held;  /* waits with the state in memory */
	bool done;
	int tight;	/* GPUs without room for a second rank, and ... */
	int used_mib;	/* ... what rank 0's said then: in use, */
	int unused_mib; /* and free */
};

struct plx_generation {
	uint64_t number; /* from 1 */
	bool warm;	 /* started ahead of its turn */
	struct plx_launch_step step;
	struct plx_peer peer;
	struct plx_relay relay; /* of peer, when rank 0 is away */
	char socket[96];	/* as the ranks know it */
	struct plx_said said;
	char where[PLX_WHERE_SIZE]; /* the ranks are */
	double kill_s;		    /* on its way out: when to kill it */
};

/* Where and how to start one. Borrowed. */
struct plx_generation_order {
	struct plx_step_order step; /* what all starts have in common */
	uint64_t number;
	int start; /* starts before this one */
	bool warm;
	bool relay;
	const struct plx_layout *layout;
	const char *where;
	const char *spared; /* nodes of the job that get no rank, NULL: none */
};

void plx_generation_init(struct plx_generation *g);

/* Open its socket and start its ranks; it had none. */
int plx_generation_start(struct plx_generation *g,
			 const struct plx_generation_order *order,
			 struct plx_error *err);

/* Are there ranks, or an srun that has not told their end yet? */
bool plx_generation_lives(const struct plx_generation *g);

/* Its ranks are gone: hang up, end its relay. */
void plx_generation_close(struct plx_generation *g);

/* What is to be waited for: a descriptor to read from, -1: none. */
int plx_generation_fd(const struct plx_generation *g);

/* Ends what is left of it. */
void plx_generation_release(struct plx_generation *g);

/*
 * Number of the newest generation that has raised the fence in folder, 0 when
 * there is none (yet).
 */
uint64_t plx_generation_newest(const char *folder);

#endif
