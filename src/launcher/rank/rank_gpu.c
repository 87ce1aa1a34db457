/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank_gpu.c - where a GPU sits, from what the kernel says of it
 *
 * NVIDIA's driver has a folder for each GPU, named after its PCI address,
 * with its number and UUID; the PCI device knows the processors near it. So
 * no library of the vendor has to be there, or to be initialised.
 */
#include "config.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launcher/rank/rank_bind.h"

#define GPUS_FOLDER "/proc/driver/nvidia/gpus"
#define PCI_FOLDER  "/sys/bus/pci/devices"
#define PATH_SIZE   1024
#define LINE_SIZE   256

/* The value in "Key:   value\n", NULL for another key. */
static const char *value_of(char *line, const char *key)
{
	size_t length = strlen(key);
	char *value = line + length;

	if (strncmp(line, key, length) != 0)
		return NULL;
	value += strspn(value, ": \t");
	value[strcspn(value, "\n")] = '\0';
	return value;
}

/* Is this GPU the wanted one, by number or by (the beginning of) its UUID? */
static bool is_gpu(const char *folder, const char *address, const char *gpu)
{
	bool by_uuid = !strncmp(gpu, "GPU-", 4);
	size_t length = strcspn(gpu, "/");
	char path[PATH_SIZE];
	char line[LINE_SIZE];
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s/information", folder, address);
	in = fopen(path, "re");
	while (in && !found && fgets(line, sizeof(line), in)) {
		const char *value =
			value_of(line, by_uuid ? "GPU UUID" : "Device Minor");

		if (value && by_uuid)
			found = !strncasecmp(value, gpu, length);
		else if (value)
			found = !strcmp(value, gpu);
	}
	if (in)
		fclose(in);
	return found;
}

int plx_bind_gpu_file(const char *root, const char *gpu, char *path,
		      size_t size)
{
	char folder[PATH_SIZE / 2];
	struct dirent *entry;
	int rc = -1;
	DIR *dir;

	/* An instance names its GPU, or itself alone. */
	if (plx_place_is_instance(gpu)) {
		gpu += strlen("MIG-");
		if (strncmp(gpu, "GPU-", 4) != 0)
			return -1;
	}
	snprintf(folder, sizeof(folder), "%s" GPUS_FOLDER, root);
	dir = opendir(folder);
	while (dir && rc < 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    !is_gpu(folder, entry->d_name, gpu))
			continue;
		snprintf(path, size, "%s" PCI_FOLDER "/%s/local_cpulist", root,
			 entry->d_name);
		rc = 0;
	}
	if (dir)
		closedir(dir);
	return rc;
}
