/* SPDX-License-Identifier: MIT */
/*
 * fence.h - who may write into a job's checkpoints
 *
 * The file "fence" in their folder has the number of the newest generation
 * that went on from them. Whoever commits holds its lock and has a number not
 * below it: so a process that was given up for dead, and was not, can never
 * undo what came after it. Without a number (run alone) it is the lock only.
 */
#ifndef PLX_AGENT_FENCE_H
#define PLX_AGENT_FENCE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* The number: of a generation, and how often one came back after it. */
struct plx_fence_token {
	uint64_t generation; /* from 1; 0: run alone */
	uint64_t resumed;
};

struct plx_fence {
	char folder[PATH_MAX];
	struct plx_fence_token own;
};

/* The folder has become another generation's. */
#define PLX_FENCED (-2)

/* The fence, or the folder, is not the user's own. */
#define PLX_FENCE_FOREIGN (-3)

int plx_fence_init(struct plx_fence *fence, const char *folder,
		   uint64_t generation, struct plx_error *err);

/*
 * Wait (some seconds at most) for the lock and look; the fence is raised to
 * the own number. A descriptor for plx_fence_leave(), or -1, PLX_FENCED or
 * PLX_FENCE_FOREIGN with err set.
 */
int plx_fence_enter(const struct plx_fence *fence, struct plx_error *err);
void plx_fence_leave(int lock);

/* A later generation has taken the folder. Never waits; false when unknown. */
bool plx_fence_passed(const struct plx_fence *fence);

/*
 * The launcher says that who came after us is dead, and that it is our turn
 * again: as that generation, or, if it is none that is higher, under the next
 * number that is free before the next generation. 0 or -1.
 */
int plx_fence_retake(struct plx_fence *fence, uint64_t generation,
		     struct plx_error *err);

#endif
