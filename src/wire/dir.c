/* SPDX-License-Identifier: MIT */
/* dir.c - the folders of a run, where nobody else can plant anything */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/dir.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define FOLDER_MODE  0700
#define FILE_MODE    0600

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

/* ---- what is taken for ours ---- */

/*
 * 0, or -1 with the reason in err. Where everybody may write, a sticky folder
 * will do: nobody else can take away or replace what is ours there.
 */
static int check_owner(const struct stat *st, mode_t writers,
		       struct plx_error *err)
{
	if (st->st_uid != geteuid())
		return plx_fail(err,
				"it belongs to another user (uid %u), not to "
				"you (uid %u)",
				st->st_uid, geteuid());
	if (writers == S_IWOTH && S_ISDIR(st->st_mode) &&
	    (st->st_mode & S_ISVTX))
		return 0;
	if (st->st_mode & writers)
		return plx_fail(err,
				"others may write to it: take that right away "
				"first (chmod %s-w)",
				st->st_mode & writers & S_IWOTH ? "o" : "g");
	return 0;
}

/* Closes fd and gives -1 when what it is of is not ours. */
static int keep_own(int fd, mode_t writers, struct plx_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		plx_fail(err, "%s", strerror(errno));
	else if (check_owner(&st, writers, err) == 0)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static int fail_open(struct plx_error *err, const char *what)
{
	int saved = errno;

	plx_fail(err, "%s", what);
	errno = saved;
	return -1;
}

/* ---- folders by their path ---- */

/* What is no folder may be a link, if links may be: the user's, or root's. */
static int check_link(const char *path, bool links, struct plx_error *err)
{
	struct stat st;

	if (!links || lstat(path, &st) < 0 || !S_ISLNK(st.st_mode))
		return plx_fail(err, "%.200s is not a folder", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return plx_fail(err,
				"%.120s is a symbolic link of another user "
				"(uid %u)",
				path, st.st_uid);
	return 0;
}

static int open_folder(const char *path, bool links, struct plx_error *err)
{
	int fd = open(path, FOLDER_FLAGS | O_NOFOLLOW);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
		if (check_link(path, links, err) < 0)
			return -1;
		fd = open(path, FOLDER_FLAGS);
	}
	if (fd >= 0)
		return fd;
	return plx_fail(err, "cannot look into %.120s: %s", path,
			strerror(errno));
}

static int make_folder(const char *path, struct plx_error *err)
{
	if (mkdir(path, FOLDER_MODE) < 0 && errno != EEXIST)
		return plx_fail(err, "cannot make folder %.120s: %s", path,
				strerror(errno));
	return 0;
}

/* writers: who may not write there, as mode bits. */
static int open_own(const char *path, bool links, mode_t writers,
		    struct plx_error *err)
{
	struct plx_error why;
	int fd = open_folder(path, links, err);

	if (fd < 0)
		return -1;
	fd = keep_own(fd, writers, &why);
	if (fd < 0)
		plx_fail(err, "cannot use folder %.100s: %.120s", path,
			 why.text);
	return fd;
}

int plx_dir_open(const char *path, struct plx_error *err)
{
	return open_own(path, true, S_IWOTH, err);
}

int plx_dir_make(const char *path, struct plx_error *err)
{
	return make_folder(path, err) < 0 ? -1 : plx_dir_open(path, err);
}

int plx_dir_inner(const char *path, bool make, struct plx_error *err)
{
	if (make && make_folder(path, err) < 0)
		return -1;
	return open_own(path, false, S_IWOTH, err);
}

int plx_dir_private(const char *path, struct plx_error *err)
{
	if (make_folder(path, err) < 0)
		return -1;
	return open_own(path, false, S_IWOTH | S_IWGRP, err);
}

int plx_dir_shared(const char *path, struct plx_error *err)
{
	return make_folder(path, err) < 0 ? -1 : open_folder(path, true, err);
}

/* ---- in a folder ---- */

static int enter(int dir, const char *name, mode_t writers,
		 struct plx_error *err)
{
	int fd = openat(dir, name, FOLDER_FLAGS | O_NOFOLLOW);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return fail_open(err, "it is not a folder");
	if (fd < 0)
		return fail_open(err, strerror(errno));
	return keep_own(fd, writers, err);
}

int plx_dir_enter(int dir, const char *name, bool make, struct plx_error *err)
{
	if (make && mkdirat(dir, name, FOLDER_MODE) < 0 && errno != EEXIST)
		return fail_open(err, strerror(errno));
	return enter(dir, name, S_IWOTH, err);
}

static int check_file(int fd, int flags, struct plx_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_open(err, strerror(errno));
	if (!S_ISREG(st.st_mode))
		plx_fail(err, "it is not a file");
	else if ((flags & O_ACCMODE) != O_RDONLY && st.st_nlink > 1)
		plx_fail(err, "it has another name, too (a hard link)");
	else if (check_owner(&st, S_IWOTH, err) == 0) {
		if ((flags & O_TRUNC) && ftruncate(fd, 0) < 0)
			return fail_open(err, strerror(errno));
		return 0;
	}
	errno = EPERM;
	return -1;
}

int plx_dir_file(int dir, const char *name, int flags, struct plx_error *err)
{
	/* A pipe that somebody has laid there must not make us wait. */
	int safe = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = openat(dir, name, (flags & ~O_TRUNC) | safe, FILE_MODE);
	int saved;

	if (fd < 0)
		return fail_open(err, errno == ELOOP ? "it is a symbolic link"
						     : strerror(errno));
	if (check_file(fd, flags, err) == 0) {
		if (!(flags & O_NONBLOCK))
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
		return fd;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* A file of an open folder, which is closed; errno is the file's. */
static int file_in(int dir, const char *name, int flags, struct plx_error *err)
{
	int saved;
	int fd;

	if (dir < 0)
		return -1;
	fd = plx_dir_file(dir, name, flags, err);
	saved = errno;
	close(dir);
	errno = saved;
	return fd;
}

int plx_dir_file_at(const char *path, const char *name, int flags,
		    struct plx_error *err)
{
	return file_in(plx_dir_open(path, err), name, flags, err);
}

int plx_dir_inner_file(const char *path, bool make, const char *name, int flags,
		       struct plx_error *err)
{
	return file_in(plx_dir_inner(path, make, err), name, flags, err);
}

int plx_dir_named_file(const char *path, int flags)
{
	return open(path, flags | O_NOCTTY | O_CLOEXEC, FILE_MODE);
}

bool plx_dir_owns(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) &&
	       st.st_uid == geteuid();
}

bool plx_dir_own_private(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int plx_dir_rename(int dir, const char *from, const char *to)
{
	return renameat(dir, from, dir, to);
}

int plx_dir_swap(int dir, const char *one, const char *other)
{
	return renameat2(dir, one, dir, other, RENAME_EXCHANGE);
}

DIR *plx_dir_list(int dir)
{
	/* Not dup(): the two would share a place in the list. */
	int fd = openat(dir, ".", FOLDER_FLAGS);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && !list)
		close(fd);
	return list;
}

static void remove_files(int dir)
{
	DIR *list = plx_dir_list(dir);
	struct dirent *e;

	if (!list)
		return;
	while ((e = readdir(list))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dir, e->d_name, 0);
	}
	closedir(list);
}

void plx_dir_remove(int dir, const char *name)
{
	int fd = enter(dir, name, 0, NULL);

	if (fd >= 0) {
		remove_files(fd);
		close(fd);
	}
	if (unlinkat(dir, name, 0) < 0)
		unlinkat(dir, name, AT_REMOVEDIR);
}
