/* SPDX-License-Identifier: MIT */
/*
 * sim_world.h - traces of a training program so simple that one can reckon
 * with it, in a folder of their own
 *
 * "toy": a step takes 1 s on one node and 2 s (half of it the all-reduce) on
 * more, whatever the batch; gradients are all noise, so that progress is
 * samples over 10; three epochs of 100. 10 samples a GPU and pass at most.
 */
#ifndef PLX_UNIT_SIM_WORLD_H
#define PLX_UNIT_SIM_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/app.h"
#include "sim/workload.h"
#include "unit.h"

static const char *const sim_files[][2] = {
	{ "toy/limits.csv", "base_batch,max_batch,min_gpu_batch,max_gpu_batch,"
			    "epochs,fixed_batch\n10,80,5,10,3,0\n" },
	{ "toy/placements.csv", "placement,local_bsz,step_time,sync_time\n"
				"1,5,1,0\n1,10,1,0\n2,5,1,0\n2,10,1,0\n"
				"4,5,1,0\n4,10,1,0\n"
				"11,5,2,1\n11,10,2,1\n"
				"13,5,2,1\n13,10,4,1\n" },
	{ "toy/scalability.csv",
	  "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
	  "4,4,5,4,3\n4,4,10,4,3\n4,16,5,8,7\n4,16,10,8,7\n" },
	{ "toy/validation-10.csv", "progress,iteration,grad_sqr,grad_var\n"
				   "100,100,0,1\n200,200,0,1\n300,300,0,1\n" },
	{ "toy/validation-40.csv", "progress,iteration,grad_sqr,grad_var\n"
				   "120,30,0,3\n220,60,0,3\n320,90,0,3\n" },
};

/* Write them to a new folder; its path is in dir. */
static inline void sim_write(char dir[64])
{
	char path[256];

	strcpy(dir, "/tmp/plx.sim.XXXXXX");
	if (!mkdtemp(dir))
		fail_msg("no folder %s", dir);
	snprintf(path, sizeof(path), "%s/toy", dir);
	mkdir(path, 0700);
	for (size_t i = 0; i < ARRAY_SIZE(sim_files); i++) {
		FILE *out;

		snprintf(path, sizeof(path), "%s/%s", dir, sim_files[i][0]);
		out = fopen(path, "w");
		if (!out || fputs(sim_files[i][1], out) < 0 || fclose(out))
			fail_msg("cannot write %s", path);
	}
}

/* Another text for a file of the folder. */
static inline void sim_rewrite(const char *dir, const char *file,
			       const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	out = fopen(path, "w");
	if (!out || fputs(text, out) < 0 || fclose(out))
		fail_msg("cannot write %s", path);
}

static inline void sim_remove(const char *dir)
{
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(sim_files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, sim_files[i][0]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/workload.csv", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/toy", dir);
	rmdir(path);
	rmdir(dir);
}

#endif
