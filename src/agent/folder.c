/* SPDX-License-Identifier: MIT */
/* folder.c - a job's checkpoints */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/checkpoint_file.h"
#include "agent/folder.h"

#define PREFIX	"step-"
#define SUFFIX	".safetensors"
#define ASIDE	".broken"
#define PATTERN PREFIX "%012" PRIu64

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

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

/* `length` is what snprintf() said. */
static int check_length(int length, struct plx_error *err)
{
	if (length < 0 || length >= PATH_MAX)
		return plx_fail(err,
				"the checkpoint folder's name is too long");
	return 0;
}

int plx_folder_path(const char *folder, const struct plx_entry *entry,
		    char path[PATH_MAX], struct plx_error *err)
{
	return check_length(snprintf(path, PATH_MAX, "%s/" PATTERN "%s", folder,
				     entry->step, entry->file ? SUFFIX : ""),
			    err);
}

int plx_folder_tmp(const char *folder, uint64_t step, const char *tag,
		   char path[PATH_MAX], struct plx_error *err)
{
	return check_length(snprintf(path, PATH_MAX,
				     "%s/" PATTERN ".%s" PLX_TMP_SUFFIX, folder,
				     step, tag),
			    err);
}

/* True when name is a checkpoint's, exactly as we write it. */
static bool is_entry(const char *name, struct plx_entry *entry)
{
	char again[64];
	size_t length;

	if (sscanf(name, PREFIX "%" SCNu64, &entry->step) != 1)
		return false;
	length = (size_t) snprintf(again, sizeof(again), PATTERN, entry->step);
	if (strncmp(name, again, length) != 0)
		return false;
	entry->file = strcmp(name + length, SUFFIX) == 0;
	return entry->file || !name[length];
}

static int newest_first(const void *a, const void *b)
{
	const struct plx_entry *x = a;
	const struct plx_entry *y = b;

	if (x->step != y->step)
		return x->step < y->step ? 1 : -1;
	return x->file - y->file;
}

int plx_folder_list(const char *folder, struct plx_entry **entries,
		    struct plx_error *err)
{
	DIR *dir = opendir(folder);
	struct plx_entry *list = NULL;
	struct plx_entry entry;
	struct dirent *e;
	int count = 0;

	if (!dir)
		return plx_fail(err, "cannot look into %.120s: %s", folder,
				strerror(errno));
	while ((e = readdir(dir))) {
		struct plx_entry *more;

		if (!is_entry(e->d_name, &entry))
			continue;
		more = realloc(list, ((size_t) count + 1) * sizeof(*list));
		if (!more) {
			free(list);
			closedir(dir);
			return plx_fail(err, "out of memory");
		}
		list = more;
		list[count++] = entry;
	}
	closedir(dir);
	if (count)
		qsort(list, (size_t) count, sizeof(*list), newest_first);
	*entries = list;
	return count;
}

void plx_folder_remove(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir) {
		unlink(path);
		return;
	}
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(dir), e->d_name, 0);
	}
	closedir(dir);
	rmdir(path);
}

static int flush(const char *path, int flags, struct plx_error *err)
{
	int fd = open(path, flags | O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : fsync(fd);

	if (rc < 0)
		plx_fail(err, "cannot flush %.120s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

int plx_folder_flush(const char *path, struct plx_error *err)
{
	return flush(path, O_DIRECTORY, err);
}

int plx_folder_flush_all(const char *path, struct plx_error *err)
{
	DIR *dir = opendir(path);
	char file[PATH_MAX];
	struct dirent *e;
	int rc = 0;

	if (!dir)
		return flush(path, 0, err);
	while (rc == 0 && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		rc = check_length(snprintf(file, sizeof(file), "%s/%s", path,
					   e->d_name),
				  err);
		if (rc == 0)
			rc = flush(file, 0, err);
	}
	closedir(dir);
	return rc == 0 ? plx_folder_flush(path, err) : rc;
}

/* As if it had never been; a half removed one is no checkpoint. */
static void discard(const char *path)
{
	char gone[PATH_MAX];

	if (snprintf(gone, sizeof(gone), "%s.gone" PLX_TMP_SUFFIX, path) <
		    (int) sizeof(gone) &&
	    rename(path, gone) == 0)
		plx_folder_remove(gone);
}

int plx_folder_commit(const char *folder, const char *tmp, uint64_t step,
		      bool flush_it, struct plx_error *err)
{
	const struct plx_entry entry = { .step = step };
	char path[PATH_MAX];

	if (plx_folder_path(folder, &entry, path, err) < 0)
		return -1;
	if (rename(tmp, path) < 0) {
		/* One of this step is there: swap, then remove that. */
		if (errno != ENOTEMPTY && errno != EEXIST)
			return plx_fail(err, "cannot rename: %s",
					strerror(errno));
		if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_EXCHANGE) ==
		    0) {
			plx_folder_remove(tmp);
		} else {
			discard(path);
			if (rename(tmp, path) < 0)
				return plx_fail(err, "cannot rename: %s",
						strerror(errno));
		}
	}
	return flush_it ? plx_folder_flush(folder, err) : 0;
}

void plx_folder_refuse(const char *folder, const struct plx_entry *entry)
{
	char path[PATH_MAX];
	char aside[PATH_MAX];

	if (plx_folder_path(folder, entry, path, NULL) < 0 ||
	    snprintf(aside, sizeof(aside), "%s" ASIDE, path) >=
		    (int) sizeof(aside))
		return;
	plx_folder_remove(aside);
	rename(path, aside);
}

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text);
	size_t tail = strlen(end);

	return size >= tail && strcmp(text + size - tail, end) == 0;
}

void plx_folder_clean(const char *folder, uint64_t generation,
		      const char *number)
{
	DIR *dir = opendir(folder);
	char path[PATH_MAX];
	char own[64];
	struct dirent *e;

	if (!dir)
		return;
	snprintf(own, sizeof(own), "-%s" PLX_TMP_SUFFIX, number);
	while ((e = readdir(dir))) {
		const char *name = e->d_name;
		const char *mark = strstr(name, ".g");
		uint64_t its = 0;

		if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
		    !ends_with(name, PLX_TMP_SUFFIX) || ends_with(name, own))
			continue;
		if (mark && sscanf(mark, ".g%" SCNu64 ".", &its) == 1 &&
		    its > generation)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", folder, name) <
		    (int) sizeof(path))
			plx_folder_remove(path);
	}
	closedir(dir);
}

void plx_folder_prune(const char *folder, int keep, uint64_t flushed)
{
	struct plx_entry *list = NULL;
	char path[PATH_MAX];
	int count = plx_folder_list(folder, &list, NULL);

	for (int i = keep; i < count; i++) {
		if (list[i].step != flushed &&
		    plx_folder_path(folder, &list[i], path, NULL) == 0)
			discard(path);
	}
	free(list);
}
