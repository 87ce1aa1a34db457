/* SPDX-License-Identifier: MIT */
/* folder.c - a job's checkpoints */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/disk/folder.h"
#include "wire/dir.h"

#define PREFIX	"step-"
#define ASIDE	".broken"
#define TMP	".tmp"
#define GONE	".gone" TMP
#define PATTERN PREFIX "%012" PRIu64

int plx_folder_make(const char *folder, struct plx_error *err)
{
	int dir = plx_dir_make(folder, err);

	if (dir < 0)
		return -1;
	close(dir);
	return 0;
}

void plx_folder_name(const struct plx_folder_entry *entry,
		     char name[PLX_FOLDER_NAME])
{
	snprintf(name, PLX_FOLDER_NAME, PATTERN, entry->step);
}

void plx_folder_tmp(uint64_t step, const char *tag, char name[PLX_FOLDER_NAME])
{
	snprintf(name, PLX_FOLDER_NAME, PATTERN ".%.80s" TMP, step, tag);
}

int plx_folder_enter(const char *folder, const char *name, bool make,
		     struct plx_error *err)
{
	int dir = plx_dir_open(folder, err);
	int fd;

	if (dir < 0)
		return -1;
	fd = plx_dir_enter(dir, name, make, err);
	close(dir);
	return fd;
}

/* True when name is a checkpoint's, exactly as we write it. */
static bool is_entry(const char *name, struct plx_folder_entry *entry)
{
	char again[PLX_FOLDER_NAME];

	if (sscanf(name, PREFIX "%" SCNu64, &entry->step) != 1)
		return false;
	plx_folder_name(entry, again);
	return !strcmp(name, again);
}

static int newest_first(const void *a, const void *b)
{
	const struct plx_folder_entry *x = a;
	const struct plx_folder_entry *y = b;

	return (x->step < y->step) - (x->step > y->step);
}

/* Entries of an open folder, as plx_folder_list(). */
static int list_entries(int dir, struct plx_folder_entry **entries,
			struct plx_error *err)
{
	DIR *names = plx_dir_list(dir);
	struct plx_folder_entry *list = NULL;
	struct plx_folder_entry entry;
	struct dirent *e;
	int count = 0;

	if (!names)
		return plx_fail(err, "cannot look into the folder: %s",
				strerror(errno));
	while ((e = readdir(names))) {
		struct plx_folder_entry *more;

		if (!is_entry(e->d_name, &entry))
			continue;
		more = realloc(list, ((size_t) count + 1) * sizeof(*list));
		if (!more) {
			free(list);
			closedir(names);
			return plx_fail(err, "out of memory");
		}
		entry.foreign = !plx_dir_owns(dir, e->d_name);
		list = more;
		list[count++] = entry;
	}
	closedir(names);
	if (count)
		qsort(list, (size_t) count, sizeof(*list), newest_first);
	*entries = list;
	return count;
}

int plx_folder_list(const char *folder, struct plx_folder_entry **entries,
		    struct plx_error *err)
{
	int dir = plx_dir_open(folder, err);
	int count;

	if (dir < 0)
		return -1;
	count = list_entries(dir, entries, err);
	close(dir);
	return count;
}

bool plx_folder_has(const char *folder, const char *name)
{
	int dir = plx_dir_open(folder, NULL);
	bool has = dir >= 0 && plx_dir_owns(dir, name);

	if (dir >= 0)
		close(dir);
	return has;
}

void plx_folder_remove(const char *folder, const char *name)
{
	int dir = plx_dir_open(folder, NULL);

	if (dir < 0)
		return;
	plx_dir_remove(dir, name);
	close(dir);
}

/* ---- flushing ---- */

/* Closes fd. */
static int flush(int fd, const char *name, struct plx_error *err)
{
	int rc = fsync(fd);

	if (rc < 0)
		plx_fail(err, "cannot flush %.120s: %s", name, strerror(errno));
	close(fd);
	return rc;
}

static int flush_file(int dir, const char *name, struct plx_error *err)
{
	struct plx_error why;
	int fd = plx_dir_file(dir, name, O_RDONLY, &why);

	if (fd < 0)
		return plx_fail(err, "cannot flush %.100s: %.120s", name,
				why.text);
	return flush(fd, name, err);
}

static int flush_files(int dir, struct plx_error *err)
{
	DIR *names = plx_dir_list(dir);
	struct dirent *e;
	int rc = 0;

	if (!names)
		return plx_fail(err, "cannot flush: %s", strerror(errno));
	while (rc == 0 && (e = readdir(names))) {
		if (e->d_name[0] != '.')
			rc = flush_file(dir, e->d_name, err);
	}
	closedir(names);
	return rc;
}

int plx_folder_flush(const char *folder, struct plx_error *err)
{
	int dir = plx_dir_open(folder, err);

	return dir < 0 ? -1 : flush(dir, folder, err);
}

int plx_folder_flush_one(const char *folder, const char *name, bool all,
			 struct plx_error *err)
{
	int dir = plx_folder_enter(folder, name, false, err);
	int rc = 0;

	if (dir < 0)
		return -1;
	if (all)
		rc = flush_files(dir, err);
	if (rc == 0)
		return flush(dir, name, err);
	close(dir);
	return rc;
}

/* ---- changing ---- */

/* As if it had never been; a half removed one is no checkpoint. */
static void discard(int dir, const char *name)
{
	char gone[PLX_FOLDER_NAME];

	snprintf(gone, sizeof(gone), "%.100s" GONE, name);
	if (plx_dir_rename(dir, name, gone) == 0)
		plx_dir_remove(dir, gone);
}

/* Something of this name is there: a checkpoint, or what others planted. */
static int replace(int dir, const char *tmp, const char *name)
{
	if (plx_dir_swap(dir, tmp, name) == 0) {
		plx_dir_remove(dir, tmp);
		return 0;
	}
	discard(dir, name);
	return plx_dir_rename(dir, tmp, name);
}

int plx_folder_commit(const char *folder, const char *tmp, uint64_t step,
		      bool flush_it, struct plx_error *err)
{
	const struct plx_folder_entry entry = { .step = step };
	char name[PLX_FOLDER_NAME];
	int dir = plx_dir_open(folder, err);
	int rc;

	if (dir < 0)
		return -1;
	plx_folder_name(&entry, name);
	rc = plx_dir_rename(dir, tmp, name);
	if (rc < 0 &&
	    (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR))
		rc = replace(dir, tmp, name);
	if (rc < 0)
		plx_fail(err, "cannot rename: %s", strerror(errno));
	if (rc == 0 && flush_it)
		return flush(dir, folder, err);
	close(dir);
	return rc;
}

void plx_folder_refuse(const char *folder, const struct plx_folder_entry *entry)
{
	char name[PLX_FOLDER_NAME];
	char aside[PLX_FOLDER_NAME + sizeof(ASIDE)];
	int dir = plx_dir_open(folder, NULL);

	if (dir < 0)
		return;
	plx_folder_name(entry, name);
	snprintf(aside, sizeof(aside), "%s" ASIDE, name);
	plx_dir_remove(dir, aside);
	plx_dir_rename(dir, name, aside);
	close(dir);
}

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text);
	size_t tail = strlen(end);

	return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* Of a save cut short; names that end with `own` are of one under way. */
static bool is_leftover(const char *name, uint64_t generation, const char *own)
{
	const char *mark = strstr(name, ".g");
	uint64_t its = 0;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
	    !ends_with(name, TMP) || ends_with(name, own))
		return false;
	return !mark || sscanf(mark, ".g%" SCNu64 ".", &its) != 1 ||
	       its <= generation;
}

void plx_folder_clean(const char *folder, uint64_t generation,
		      const char *number)
{
	int dir = plx_dir_open(folder, NULL);
	DIR *names = dir >= 0 ? plx_dir_list(dir) : NULL;
	char own[64];
	struct dirent *e;

	snprintf(own, sizeof(own), "-%s" TMP, number);
	while (names && (e = readdir(names))) {
		if (is_leftover(e->d_name, generation, own))
			plx_dir_remove(dir, e->d_name);
	}
	if (names)
		closedir(names);
	if (dir >= 0)
		close(dir);
}

void plx_folder_prune(const char *folder, int keep, uint64_t flushed)
{
	int dir = plx_dir_open(folder, NULL);
	struct plx_folder_entry *list = NULL;
	char name[PLX_FOLDER_NAME];
	int count = dir >= 0 ? list_entries(dir, &list, NULL) : 0;

	for (int i = 0; i < count; i++) {
		if (list[i].foreign || keep-- > 0 || list[i].step == flushed)
			continue;
		plx_folder_name(&list[i], name);
		discard(dir, name);
	}
	free(list);
	if (dir >= 0)
		close(dir);
}
