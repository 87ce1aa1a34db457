/* SPDX-License-Identifier: MIT */
/* fuzz_proc_rank.c - a rank's look at its GPU and at processes */

#include <signal.h>
#include <signal.h>
#include <stdio.h>

#include "fuzz.h"
#include "scratch.h"

#define fopen		  scratch_open
#define kill(pid, signal) ((void) (pid), (void) (signal), 0)

#include "launcher/rank/rank_gpu.c"
#undef PATH_SIZE
#undef LINE_SIZE
#include "launcher/rank/rank_stop.c"
#undef PATH_SIZE
#undef DEPTH_MAX
#include "launcher/job/local_gpus.c"

int fuzz_rank_gpu(const char *root, const char *gpu);
int fuzz_rank_stop(void);
void fuzz_local_nudge(void);

int fuzz_rank_gpu(const char *root, const char *gpu)
{
	char path[1024];
	int rc = plx_bind_gpu_file(root, gpu, path, sizeof(path));

	MUST(rc == 0 || rc == -1);
	MUST(rc < 0 || strlen(path) < sizeof(path));
	return rc;
}

int fuzz_rank_stop(void)
{
	return plx_stop_send(7, SIGUSR1);
}

void fuzz_local_nudge(void)
{
	nudge_children(7, "7", 0);
}
