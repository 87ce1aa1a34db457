/* SPDX-License-Identifier: MIT */
/* folder.c - a job's checkpoints, one file a saved step */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/checkpoint_file.h"
#include "agent/folder.h"

#define PREFIX	"step-"
#define SUFFIX	".safetensors"
#define KEEP	2
#define ASIDE	".broken"
#define PATTERN PREFIX "%012" PRIu64 SUFFIX

int plx_folder_make(const char *folder, struct plx_error *err)
{
	struct stat st;

	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return plx_fail(err, "cannot make folder %.120s: %s", folder,
				strerror(errno));
	if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return plx_fail(err, "%.200s is not a folder", folder);
	return 0;
}

int plx_folder_path(const char *folder, uint64_t step, char *path, size_t size,
		    struct plx_error *err)
{
	int length = snprintf(path, size, "%s/" PATTERN, folder, step);

	if (length < 0 || (size_t) length >= size)
		return plx_fail(err,
				"the checkpoint folder's name is too long");
	return 0;
}

/* True when name is a checkpoint's, exactly as we write it. */
static bool step_of(const char *name, uint64_t *step)
{
	char again[64];

	if (sscanf(name, PREFIX "%" SCNu64, step) != 1)
		return false;
	snprintf(again, sizeof(again), PATTERN, *step);
	return strcmp(name, again) == 0;
}

static int newest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a;
	uint64_t y = *(const uint64_t *) b;

	return (x < y) - (x > y);
}

int plx_folder_list(const char *folder, uint64_t steps[PLX_FOLDER_MAX],
		    struct plx_error *err)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	int count = 0;

	if (!dir)
		return plx_fail(err, "cannot look into %.120s: %s", folder,
				strerror(errno));
	while (count < PLX_FOLDER_MAX && (e = readdir(dir))) {
		if (step_of(e->d_name, &steps[count]))
			count++;
	}
	closedir(dir);
	qsort(steps, (size_t) count, sizeof(*steps), newest_first);
	return count;
}

void plx_folder_refuse(const char *folder, uint64_t step)
{
	char path[PATH_MAX];
	char aside[PATH_MAX];

	if (plx_folder_path(folder, step, path, sizeof(path), NULL) < 0 ||
	    snprintf(aside, sizeof(aside), "%s" ASIDE, path) >=
		    (int) sizeof(aside))
		return;
	rename(path, aside);
}

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text);
	size_t tail = strlen(end);

	return size >= tail && strcmp(text + size - tail, end) == 0;
}

static void remove_leftovers(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    ends_with(e->d_name, SUFFIX PLX_TMP_SUFFIX))
			unlinkat(dirfd(dir), e->d_name, 0);
	}
	closedir(dir);
}

void plx_folder_prune(const char *folder, uint64_t flushed)
{
	uint64_t steps[PLX_FOLDER_MAX];
	char path[PATH_MAX];
	int count = plx_folder_list(folder, steps, NULL);

	for (int i = KEEP; i < count; i++) {
		if (steps[i] != flushed &&
		    plx_folder_path(folder, steps[i], path, sizeof(path),
				    NULL) == 0)
			unlink(path);
	}
	remove_leftovers(folder);
}
