/* SPDX-License-Identifier: MIT */
/* fuzz_proc.c - files of /proc, /sys and control groups, whatever is in them */

#include <dirent.h>

#include "fuzz.h"
#include "scratch.h"

#define fopen scratch_open

#include "wire/free_memory.c"
#undef PATH_SIZE
#include "launcher/loop/host_memory.c"

#undef fopen
#undef PATH_SIZE

int fuzz_rank_gpu(const char *root, const char *gpu);
int fuzz_rank_stop(void);
void fuzz_local_nudge(void);

/* A process, a GPU and their folders: what is in their files is the input. */
static const char *make_root(void)
{
	static const char *const folders[] = {
		"proc",
		"proc/7",
		"proc/driver",
		"proc/driver/nvidia",
		"proc/driver/nvidia/gpus",
		"proc/driver/nvidia/gpus/0000:01",
	};
	static int made;

	for (size_t i = 0; !made && i < sizeof(folders) / sizeof(*folders); i++)
		scratch_make(folders[i]);
	made = 1;
	return scratch_folder();
}

int fuzz_proc(const uint8_t *data, size_t size)
{
	const char *root = make_root();

	scratch_files(data, size);
	(void) plx_free_memory(root);
	scratch_files(data, size);
	(void) plx_memory_resident(root, "/tmp/s", "n1");
	for (int uuid = 0; uuid < 2; uuid++) {
		scratch_files(data, size);
		(void) fuzz_rank_gpu(root, uuid ? "GPU-1a2b" : "1");
	}
	scratch_files(data, size);
	MUST(fuzz_rank_stop() >= 0);
	scratch_files(data, size);
	fuzz_local_nudge();
	return 0;
}
