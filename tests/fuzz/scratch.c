/* SPDX-License-Identifier: MIT */
/* scratch.c - an input cut into files, for parsers that read files */

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "scratch.h"

static char folder[PATH_MAX / 2];
static struct scratch_input files;

struct scratch_input scratch_part(struct scratch_input *input)
{
	struct scratch_input part = *input;
	const uint8_t *end = NULL;

	if (input->size)
		end = memchr(input->data, SCRATCH_END, input->size);
	if (end)
		part.size = (size_t) (end - input->data);
	input->data += part.size + (end != NULL);
	input->size -= part.size + (end != NULL);
	return part;
}

/* tests/fuzz/run removes it, also after a crash. */
const char *scratch_folder(void)
{
	const char *parent = getenv("FUZZ_SCRATCH");

	if (folder[0])
		return folder;
	snprintf(folder, sizeof(folder), "%s/%ld", parent ? parent : "/tmp",
		 (long) getpid());
	MUST(mkdir(folder, 0700) == 0 || access(folder, W_OK) == 0);
	return folder;
}

void scratch_make(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", scratch_folder(), name);
	MUST(mkdir(path, 0700) == 0 || access(path, W_OK) == 0);
}

void scratch_put(const char *name, struct scratch_input part)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch_folder(), name);
	if (!part.size) {
		unlink(path);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0);
	MUST(write(fd, part.data, part.size) == (ssize_t) part.size);
	close(fd);
}

void scratch_files(const uint8_t *data, size_t size)
{
	files = (struct scratch_input){ data, size };
}

FILE *scratch_open(const char *path, const char *mode)
{
	struct scratch_input part = scratch_part(&files);

	(void) path;
	(void) mode;
	if (!part.size)
		return NULL;
	return fmemopen((void *) (uintptr_t) part.data, part.size, "r");
}
