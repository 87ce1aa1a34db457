/* SPDX-License-Identifier: GPL-2.0-or-later */
/* late.c - steps that are begun with what their job had before */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "spank/pollux/late.h"

#define WAIT_NS	  10000000L
#define KEPT_S	  3600 /* the least, for a file */
#define NAME_SIZE 300
/*
 * Numbers from here on are Slurm's own. slurmctld alone begins external steps
 * and scripts, the latter with a run of the job.
 */
#define NORMAL_END 0xfffffff0u
#define EXTERNAL   0xfffffffcu
#define SCRIPT	   0xfffffffbu

/* Version 1, and version 2 of Linux 5.14 on. */
int plx_late_open_lock(int group)
{
	int lock = openat(group, "devices.allow", O_WRONLY | O_CLOEXEC);

	if (lock >= 0)
		return lock;
	return openat(group, "cgroup.kill", O_WRONLY | O_CLOEXEC);
}

bool plx_late_lock(int lock, bool alone, int wait_ms)
{
	const struct timespec pause = { 0, WAIT_NS };
	int how = (alone ? LOCK_EX : LOCK_SH) | LOCK_NB;

	if (lock < 0)
		return true;
	for (int i = 0; i <= wait_ms / (WAIT_NS / 1000000); i++) {
		if (flock(lock, how) == 0)
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		nanosleep(&pause, NULL);
	}
	return false;
}

void plx_late_unlock(int lock)
{
	(void) flock(lock, LOCK_UN);
}

/* Nobody else may write there; -1: it is not there, or not so. */
static int open_folder(const char *path)
{
	struct stat about;
	int folder =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0)
		return -1;
	if (fstat(folder, &about) == 0 && about.st_uid == geteuid() &&
	    !(about.st_mode & (S_IWGRP | S_IWOTH)))
		return folder;
	close(folder);
	errno = EPERM;
	return -1;
}

/* False: it has no group. */
static bool name_of_group(const struct plx_late_job *job, char name[NAME_SIZE])
{
	struct stat about;

	if (job->group < 0 || fstat(job->group, &about) < 0)
		return false;
	snprintf(name, NAME_SIZE, "%llx.%llx",
		 (unsigned long long) about.st_dev,
		 (unsigned long long) about.st_ino);
	return true;
}

static void name_of_job(const struct plx_late_job *job, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "job_%u.%.255s", job->id, job->node);
}

/*
 * "NEXT UNTIL", in seconds of the clock. False: nothing is noted, or counts no
 * more. A larger *next stays.
 */
static bool read_next(int folder, const char *name, uint32_t *next)
{
	char text[64];
	char *end = NULL;
	uint32_t noted = 0;
	long long until = 0;
	ssize_t got = -1;
	int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (file < 0)
		return false;
	got = read(file, text, sizeof(text) - 1);
	close(file);
	text[got > 0 ? got : 0] = '\0';
	if (!isdigit((unsigned char) text[0]))
		return false;
	noted = (uint32_t) strtoul(text, &end, 10);
	until = strtoll(end, NULL, 10);
	/* Older ones, which have no end, go after an hour. */
	if (until && time(NULL) >= until)
		return false;
	*next = noted > *next ? noted : *next;
	return true;
}

static int write_next(int folder, const char *name,
		      const struct plx_late_note *note)
{
	char text[64];
	uint32_t next = note->next;
	int length = 0;
	int file = -1;
	bool done = false;

	(void) read_next(folder, name, &next);
	length = snprintf(text, sizeof(text), "%u %lld\n", next,
			  (long long) time(NULL) + note->good_s + 1);
	file = openat(folder, name,
		      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		      0600);
	if (file < 0)
		return -1;
	done = write(file, text, (size_t) length) == length;
	return close(file) == 0 && done ? 0 : -1;
}

static void remove_old(int folder, int good_s)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;
	struct dirent *entry = NULL;
	time_t oldest = time(NULL) - (good_s > KEPT_S ? good_s : KEPT_S);

	if (!dir && again >= 0)
		close(again);
	while (dir && (entry = readdir(dir))) {
		struct stat about;

		if (fstatat(folder, entry->d_name, &about,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(about.st_mode) && about.st_mtime < oldest)
			(void) unlinkat(folder, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

int plx_late_parse(const char *text, const char *node,
		   struct plx_late_note *note)
{
	char *end = NULL;
	long good_s = KEPT_S;

	note->good_s = (int) good_s;
	note->lasts = true;
	if (!text)
		return 0;
	if (!isdigit((unsigned char) *text))
		return -1;
	good_s = strtol(text, &end, 10);
	if (*end != ' ' || good_s > INT32_MAX)
		return -1;
	note->good_s = (int) good_s;
	note->lasts = !strcmp(end + 1, node);
	return 0;
}

int plx_late_note(const char *path, const struct plx_late_job *job,
		  const struct plx_late_note *note, struct plx_error *err)
{
	char name[NAME_SIZE];
	bool has_group = name_of_group(job, name);
	int folder = -1;
	int rc = 0;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return plx_fail(err, "%s: %s", path, strerror(errno));
	folder = open_folder(path);
	if (folder < 0)
		return plx_fail(err, "%s: %s", path, strerror(errno));
	remove_old(folder, note->good_s);
	if (has_group)
		rc = write_next(folder, name, note);
	if (rc == 0 && (!has_group || !note->lasts)) {
		name_of_job(job, name);
		rc = write_next(folder, name, note);
	}
	if (rc < 0)
		plx_fail(err, "%s/%.80s: %s", path, name, strerror(errno));
	close(folder);
	return rc;
}

bool plx_late_names_component(const char *path)
{
	const char *at = strrchr(path, '_');
	int numbers = 0;

	while (at && isdigit((unsigned char) at[1])) {
		at += 1 + strspn(at + 1, "0123456789");
		numbers++;
		if (*at != '.')
			break;
	}
	return at && !*at && numbers == 3;
}

bool plx_late_component(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry = NULL;
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		struct sockaddr_un name = { .sun_family = AF_UNSPEC };
		socklen_t size = sizeof(name) - 1;

		found = getsockname(atoi(entry->d_name),
				    (struct sockaddr *) &name, &size) == 0 &&
			name.sun_family == AF_UNIX &&
			plx_late_names_component(name.sun_path);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool plx_late_is(const char *path, const struct plx_late_job *job,
		 uint32_t step, bool component)
{
	int folder = open_folder(path);
	char name[NAME_SIZE];
	uint32_t next = 0;
	bool noted = false;

	if (folder < 0)
		return false;
	if (name_of_group(job, name))
		noted = read_next(folder, name, &next);
	name_of_job(job, name);
	noted |= read_next(folder, name, &next);
	close(folder);
	if (!noted)
		return false;
	return step < next || component ||
	       (step >= NORMAL_END && step != EXTERNAL && step != SCRIPT);
}
