/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_place.c - which rank is this process, as srun or mpirun tells it */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/rank/rank_place.h"

#define COUNT(a)    (sizeof(a) / sizeof((a)[0]))
#define HIGHEST	    10000000 /* of any number here */
#define NUMBER_SIZE 16
#define DEVICE_SIZE 128
#define VISIBLE	    "CUDA_VISIBLE_DEVICES"

/* Which variable says what. An empty name: not told, the default holds. */
struct source {
	const char *rank;
	const char *ranks;
	const char *local;
	const char *locals;
	const char *node;
	const char *nodes;
};

/* mpirun may run inside a Slurm job, srun never inside mpirun. */
static const struct source sources[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	  "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "", "" },
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "",
	  "SLURM_NODEID", "SLURM_STEP_NUM_NODES" },
};

static int read_number(plx_getenv *get, const char *name, int *value,
		       struct plx_error *err)
{
	const char *text = *name ? get(name) : NULL;
	char *end;
	long number;

	if (!text)
		return 0;
	errno = 0;
	number = strtol(text, &end, 10);
	if (end == text || *end || errno || number < 0 || number > HIGHEST)
		return plx_fail(err, "%s is \"%.40s\", want a number", name,
				text);
	*value = (int) number;
	return 0;
}

int plx_place_tasks(const char *text, int node)
{
	while (text && *text) {
		char *end;
		long tasks = strtol(text, &end, 10);
		long times = 1;

		if (end == text || tasks < 0 || tasks > HIGHEST)
			return 0;
		if (end[0] == '(' && end[1] == 'x')
			times = strtol(end + 2, &end, 10);
		if (times < 0 || times > HIGHEST)
			return 0;
		if (node < times)
			return (int) tasks;
		node -= (int) times;
		text = strchr(end, ',');
		text = text ? text + 1 : NULL;
	}
	return 0;
}

static int read_place(struct plx_place *place, const struct source *from,
		      plx_getenv *get, struct plx_error *err)
{
	const struct {
		const char *name;
		int *value;
	} parts[] = {
		{ from->rank, &place->rank },
		{ from->ranks, &place->ranks },
		{ from->local, &place->local },
		{ from->locals, &place->locals },
		{ from->node, &place->node },
		{ from->nodes, &place->nodes },
	};

	for (size_t i = 0; i < COUNT(parts); i++) {
		if (read_number(get, parts[i].name, parts[i].value, err) < 0)
			return -1;
	}
	return 0;
}

int plx_place_find(struct plx_place *place, plx_getenv *get,
		   struct plx_error *err)
{
	struct plx_place found = { .ranks = 1, .locals = 0, .nodes = 1 };
	size_t i = 0;

	while (i < COUNT(sources) && !get(sources[i].rank))
		i++;
	if (i < COUNT(sources) && read_place(&found, &sources[i], get, err) < 0)
		return -1;
	if (!found.locals)
		found.locals = plx_place_tasks(get("SLURM_STEP_TASKS_PER_NODE"),
					       found.node);
	if (found.locals <= found.local)
		found.locals = found.local + 1;
	if (found.rank >= found.ranks || found.node >= found.nodes)
		return plx_fail(err, "rank %d of %d on node %d of %d: no such",
				found.rank, found.ranks, found.node,
				found.nodes);
	*place = found;
	return 0;
}

/*
 * The local-th device of a list, or the only one that is there; -1: it has none
 * for that.
 */
static int nth_device(const char *list, int local, char *device, size_t size)
{
	if (!list || !*list)
		return -1;
	for (int skip = strchr(list, ',') ? local : 0; skip > 0; skip--) {
		list = strchr(list, ',');
		if (!list)
			return -1;
		list++;
	}
	snprintf(device, size, "%.*s", (int) strcspn(list, ","), list);
	return 0;
}

bool plx_place_is_instance(const char *device)
{
	return !strncmp(device, "MIG-", 4);
}

/* Beside whole GPUs, too. */
static bool has_instance(const char *list)
{
	return list && strstr(list, "MIG-");
}

int plx_place_gpu(const struct plx_place *place, plx_getenv *get, char *gpu,
		  size_t size)
{
	const char *numbers = get("SLURM_STEP_GPUS");
	int found = nth_device(get(VISIBLE), place->local, gpu, size);

	/*
	 * Where Slurm hides devices, CUDA counts only those that are left.
	 * Instances are numbered by themselves, not as GPUs are.
	 */
	if (!numbers || get("OMPI_COMM_WORLD_RANK") ||
	    (found == 0 && plx_place_is_instance(gpu)))
		return found;
	return nth_device(numbers, place->local, gpu, size);
}

/*
 * A process can use one instance of a GPU, and CUDA takes the first of a list:
 * where a list has any, the rank is left with its own device. NCCL has to be
 * told that ranks which share a GPU are as they should be.
 */
static int keep_instance(const struct plx_place *place, struct plx_error *err)
{
	const char *list = getenv(VISIBLE);
	char device[DEVICE_SIZE];

	if (!has_instance(list))
		return 0;
	/* One that stands alone is what srun has bound the rank to. */
	if (nth_device(list, strchr(list, ',') ? place->local : 0, device,
		       sizeof(device)) < 0)
		return plx_fail(err,
				"there are more ranks on this node than GPUs "
				"and instances of GPUs (" VISIBLE "=%.200s), "
				"and each needs one of its own",
				list);
	if (setenv(VISIBLE, device, 1) < 0 ||
	    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0) < 0)
		return plx_fail(err, "out of memory");
	return 0;
}

/*
 * The rank's GPU among those that it sees. As many ranks on every node: it
 * sees all of its node's. Else each sees its own alone (step_line.c), and that
 * is the first; so is an instance.
 */
static int device_of(const struct plx_place *place)
{
	const char *visible = getenv(VISIBLE);

	if (!visible || !*visible)
		return place->local;
	return strchr(visible, ',') && !has_instance(visible) ? place->local
							      : 0;
}

int plx_place_export(const struct plx_place *place, int threads,
		     struct plx_error *err)
{
	const struct {
		const char *name;
		int value;
		int replace;
	} numbers[] = {
		{ "RANK", place->rank, 1 },
		{ "WORLD_SIZE", place->ranks, 1 },
		{ "LOCAL_RANK", device_of(place), 1 },
		{ "LOCAL_WORLD_SIZE", place->locals, 1 },
		{ "GROUP_RANK", place->node, 1 },
		{ "GROUP_WORLD_SIZE", place->nodes, 1 },
		{ "ROLE_RANK", place->rank, 1 },
		{ "ROLE_WORLD_SIZE", place->ranks, 1 },
		{ "TORCH_NCCL_ASYNC_ERROR_HANDLING", 1, 0 },
		{ "OMP_NUM_THREADS", threads, 0 },
	};
	char text[NUMBER_SIZE];

	if (keep_instance(place, err) < 0)
		return -1;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		snprintf(text, sizeof(text), "%d", numbers[i].value);
		if (setenv(numbers[i].name, text, numbers[i].replace) < 0)
			return plx_fail(err, "out of memory");
	}
	/* The store of rank 0 is the program's own, there is no agent. */
	if (setenv("TORCHELASTIC_USE_AGENT_STORE", "False", 1) < 0 ||
	    setenv("ROLE_NAME", "default", 1) < 0)
		return plx_fail(err, "out of memory");
	return 0;
}
