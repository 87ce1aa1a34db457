/* SPDX-License-Identifier: MIT */
/* save_world.h - a folder, and trainings that save there */
#ifndef SAVE_WORLD_H
#define SAVE_WORLD_H

#include "agent/state/agent.h"

#define WORLD_WEIGHTS 6
#define WORLD_COUNTER 3

struct world {
	char dir[64]; /* made and removed */
	/* The state of one training; tests look at it and change it. */
	float weights[WORLD_WEIGHTS];
	uint8_t counter[WORLD_COUNTER];
	char note[64]; /* a blob: as many bytes as its text */
	/* How the next training differs. */
	uint64_t samples;
	uint64_t seed;
	uint64_t rows; /* of weights: 2 or 3 */
	int keep;
	bool no_blob;
	bool no_counter;
	const char *more; /* name of one more tensor, or NULL */
};

int world_setup(void **state);
int world_teardown(void **state);

/* A training with that state, as it is or as found in the folder; or NULL. */
struct pollux *world_start(struct world *w, struct plx_error *err);

/* The same, and it must start. */
struct pollux *world_run(struct world *w);

/* One step: the state is of it, all of it changes. */
void world_step(struct world *w, struct pollux *p, uint64_t step);

/* The state is that of this step. */
void world_assert_step(const struct world *w, const struct pollux *p,
		       uint64_t step);

/* Steps saved there, newest first; how many. */
int world_steps(const struct world *w, uint64_t *steps, int most);

/* Checkpoints of steps 1 and 2. */
void world_save_two(struct world *w);

/* "DIR/NAME", in one of two buffers that take turns. */
const char *world_path(const struct world *w, const char *name);

#endif
