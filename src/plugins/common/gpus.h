/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpus.h - GPUs as jobs ask for them, and what each brings along
 *
 * Shared by job_submit/pollux and sched/pollux. Pure; texts may be hostile.
 */
#ifndef POLLUX_COMMON_GPUS_H
#define POLLUX_COMMON_GPUS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/error.h"

#define POLLUX_GPU_TYPE_SIZE 64

/* GPUs without a type, where several are listed: "a100,-". */
#define POLLUX_NO_TYPE "-"

struct pollux_gpus {
	uint32_t count;			 /* 0: none, or it does not say */
	char type[POLLUX_GPU_TYPE_SIZE]; /* "": any */
};

/*
 * Read one of Slurm's TRES texts: "gres:gpu:a100:2", "gres/gpu:2", "gpu";
 * NULL and "" ask for none. -1 with err set, and gpus as it was, for another
 * resource, two types, or nonsense.
 */
int pollux_gpu_request(const char *tres, struct pollux_gpus *gpus,
		       struct plx_error *err);

/* Is the type, NULL or "" for none, one of these? */
static inline bool pollux_type_among(const char *types, const char *type)
{
	size_t length = 0;

	if (!type || !type[0])
		type = POLLUX_NO_TYPE;
	for (; *types; types += length + (types[length] == ',')) {
		length = strcspn(types, ",");
		if (strlen(type) == length && !strncmp(types, type, length))
			return true;
	}
	return false;
}

/* An amount for each GPU, "gres:gpu:4096"; 0 where there is none. */
uint64_t pollux_gpu_amount(const char *tres);

/*
 * Does a TRES text ask for a generic resource of any kind, "cpu:4,gres:gpu:2"?
 * NULL, and counts of 0, ask for none.
 */
bool pollux_asks_gres(const char *tres);

/* What a job takes of a node besides GPUs, as its record says. */
struct pollux_beside {
	const char *cpus_per_tres; /* --cpus-per-gpu, DefCpuPerGPU */
	const char *mem_per_tres;  /* --mem-per-gpu, DefMemPerGPU */
	uint32_t cpus_per_task;	   /* 0: not said; it has a task a GPU */
	uint32_t cpus_asked;	   /* the same, before MaxMemPerCPU raised it */
	uint64_t memory;	   /* MB; 0: not said */
	bool memory_per_cpu;	   /* else it is for the node */
	bool memory_asked;	   /* by the user: it is not a default */
	uint64_t memory_of_cpu;	   /* MaxMemPerCPU, MB; 0: none */
};

struct pollux_needs {
	uint32_t cpus;	      /* of each GPU, at least 1 */
	uint64_t memory;      /* of each GPU, MB */
	uint64_t node_memory; /* of each node, MB */
	uint32_t node_cpus;   /* of each node, at least, for that; 0: any */
};

struct pollux_needs pollux_needs(const struct pollux_beside *beside);

/* CPUs of each of so many GPUs, at least 1, on a node. */
uint32_t pollux_needs_cpus(const struct pollux_needs *needs, uint32_t gpus);

#endif
