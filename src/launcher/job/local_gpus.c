/* SPDX-License-Identifier: GPL-2.0-or-later */
/* local_gpus.c - this machine's GPUs, and the ranks that run on it */
#include "config.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/job/local_gpus.h"

#define GPUS_FOLDER "/proc/driver/nvidia/gpus"
#define DEPTH_MAX   3 /* mpirun, its daemon, pollux-rank */
#define PATH_SIZE   64

static int count_gpus(void)
{
	struct dirent *entry;
	DIR *dir = opendir(GPUS_FOLDER);
	int count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

/* As CUDA reads it: what follows an entry that names no GPU is not seen. */
static int count_list(const char *list, size_t *length)
{
	const char *at = list;
	int count = 0;

	*length = 0;
	while (*at && *at != ',' && *at != '-' && strncmp(at, "NoDev", 5)) {
		at += strcspn(at, ",");
		*length = (size_t) (at - list);
		count++;
		at += *at == ',';
	}
	return count;
}

static char *list_all(int gpus)
{
	char *list = NULL;
	size_t size;
	FILE *out = open_memstream(&list, &size);

	for (int i = 0; out && i < gpus; i++)
		fprintf(out, "%s%d", i ? "," : "", i);
	if (out && fclose(out) == 0)
		return list;
	free(list);
	return NULL;
}

char *plx_local_gpus(int *gpus, struct plx_error *err)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	size_t length = 0;
	char *list;

	*gpus = visible ? count_list(visible, &length) : count_gpus();
	if (!visible && !*gpus)
		return NULL;
	list = visible ? strndup(visible, length) : list_all(*gpus);
	if (!list) {
		*gpus = -1;
		plx_fail(err, "out of memory");
	}
	return list;
}

static int is_rank(long pid)
{
	char path[PATH_SIZE];
	char name[32] = "";
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	in = fopen(path, "re");
	if (in && !fgets(name, sizeof(name), in))
		name[0] = '\0';
	if (in)
		fclose(in);
	return !strcmp(name, "pollux-rank\n");
}

static void nudge_below(long pid, int depth);

/* mpirun may start its children from any of its threads. */
static void nudge_children(long pid, const char *thread, int depth)
{
	char path[PATH_SIZE * 2];
	long child;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/children", pid,
		 thread);
	in = fopen(path, "re");
	while (in && fscanf(in, "%ld", &child) == 1)
		nudge_below(child, depth + 1);
	if (in)
		fclose(in);
}

static void nudge_below(long pid, int depth)
{
	char path[PATH_SIZE];
	struct dirent *entry;
	DIR *dir;

	if (is_rank(pid)) {
		kill((pid_t) pid, SIGURG);
		return;
	}
	if (depth > DEPTH_MAX)
		return;
	snprintf(path, sizeof(path), "/proc/%ld/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			nudge_children(pid, entry->d_name, depth);
	}
	if (dir)
		closedir(dir);
}

void plx_local_nudge(void)
{
	nudge_below((long) getpid(), 0);
}
