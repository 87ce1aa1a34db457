/* SPDX-License-Identifier: MIT */
/* snapshot_parts.h - what snapshot*.c share */
#ifndef PLX_SIM_SNAPSHOT_PARTS_H
#define PLX_SIM_SNAPSHOT_PARTS_H

#include "sim/snapshot_load.h"
#include "sim/snapshot_json.h"

/* A snapshot while it is read. */
struct plx_reading {
	struct plx_snapshot *snapshot;
	json_t *nodes; /* name -> index */
	json_t *jobs;  /* name -> index */
};

/* The problem's own numbers, where they are given. */
int plx_snapshot_settings(const struct plx_json *up,
			  struct plx_problem *problem, struct plx_error *err);

/* Fill job j of the problem; its name is read already. */
int plx_snapshot_job(struct plx_reading *reading, const struct plx_json *json,
		     int j, struct plx_error *err);

/*
 * What the search itself knows besides GPUs: consumables, and what jobs take.
 */
int plx_snapshot_consumables(struct plx_problem *problem,
			     const struct plx_json *root,
			     struct plx_error *err);

/* Shares, and all but GPUs. problem: the place of all. */
int plx_snapshot_resources(struct plx_snapshot *snapshot,
			   const struct plx_json *problem,
			   struct plx_error *err);

#endif
