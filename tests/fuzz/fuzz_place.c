/* SPDX-License-Identifier: MIT */
/* fuzz_place.c - what srun and mpirun put into a rank's environment */

#include "fuzz.h"
#include "launcher/job/launch_options.h"
#include "launcher/rank/rank_bind.h"
#include "launcher/rank/rank_place.h"
#include "scratch.h"

#define VARIABLES 14

static const char *const names[VARIABLES] = {
	"OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_SIZE",
	"OMPI_COMM_WORLD_LOCAL_RANK",
	"OMPI_COMM_WORLD_LOCAL_SIZE",
	"SLURM_PROCID",
	"SLURM_STEP_NUM_TASKS",
	"SLURM_LOCALID",
	"SLURM_NODEID",
	"SLURM_STEP_NUM_NODES",
	"SLURM_STEP_TASKS_PER_NODE",
	"SLURM_STEP_GPUS",
	"CUDA_VISIBLE_DEVICES",
	"SLURM_CPU_BIND_LIST",
	"OTHER",
};
static char values[VARIABLES][256];

/* "-" is a variable that is not set. */
static char *get(const char *name)
{
	for (int i = 0; i < VARIABLES; i++) {
		if (!strcmp(names[i], name))
			return values[i][0] == '-' && !values[i][1] ? NULL
								    : values[i];
	}
	return NULL;
}

int fuzz_place(const uint8_t *data, size_t size)
{
	struct scratch_input input = { data, size };
	struct plx_command command = { .grace_s = -1 };
	struct plx_place place;
	struct plx_error err;
	char gpu[64];

	for (int i = 0; i < VARIABLES; i++) {
		struct scratch_input part = scratch_part(&input);
		size_t most = part.size < 255 ? part.size : 255;

		if (most)
			memcpy(values[i], part.data, most);
		values[i][most] = '\0';
		MUST(plx_place_tasks(values[i], 3) >= 0);
		(void) plx_bind_masks_differ(values[i]);
		if (plx_on_resize_read(values[i], &command, &err) < 0)
			fuzz_is_a_line(err.text, sizeof(err.text));
		MUST(command.settings.stop_signal >= 0);
	}
	if (plx_place_find(&place, get, &err) < 0) {
		fuzz_is_a_line(err.text, sizeof(err.text));
		return 0;
	}
	MUST(place.rank >= 0 && place.rank < place.ranks);
	MUST(place.local >= 0 && place.local < place.locals);
	MUST(place.node >= 0 && place.node < place.nodes);
	MUST(plx_bind_none(&place) >= 1);
	if (plx_place_gpu(&place, get, gpu, sizeof(gpu)) == 0)
		MUST(strlen(gpu) < sizeof(gpu) && !strchr(gpu, ','));
	return 0;
}
