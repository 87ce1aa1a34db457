/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_folder.c - where a job without Slurm can be found by its name */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "launcher/job/launch_options.h"
#include "launcher/job/run_folder.h"
#include "wire/dir.h"

#define TMP	  "/tmp"
#define ROOT_MAX  40 /* bytes of the folder of all jobs */
#define OTHER	  6  /* of its name that nobody can guess */
#define OTHER_MAX 32 /* bytes of what stands before them */
#define SOCKET	  "socket"
#define LOCK	  "lock"

bool plx_run_name_ok(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char) name[i]) &&
		    !strchr("._-", name[i]))
			return false;
	}
	return length > 0 && length < PLX_LOCAL_NAME_MAX && name[0] != '.';
}

/*
 * The one whose name comes first of our folders whose names begin as prefix
 * does and end in six other characters: those that make_other() makes.
 */
static int open_other(const char *prefix, char root[PLX_RUN_PATH])
{
	int all = plx_dir_shared(TMP, NULL);
	DIR *list = all >= 0 ? plx_dir_list(all) : NULL;
	char best[OTHER_MAX + OTHER + 1] = "";
	struct dirent *entry;
	int dir = -1;

	while (list && (entry = readdir(list))) {
		const char *name = entry->d_name;

		if (!strncmp(name, prefix, strlen(prefix)) &&
		    strlen(name) == strlen(prefix) + OTHER &&
		    (!best[0] || strcmp(name, best) < 0) &&
		    plx_dir_own_private(all, name))
			strcpy(best, name);
	}
	if (best[0]) {
		snprintf(root, PLX_RUN_PATH, TMP "/%s", best);
		dir = plx_dir_private(root, NULL);
	}
	if (list)
		closedir(list);
	if (all >= 0)
		close(all);
	return dir;
}

/* Nobody can know the name before the folder is there. */
static int make_other(const char *prefix, char root[PLX_RUN_PATH],
		      struct plx_error *err)
{
	int dir;

	snprintf(root, PLX_RUN_PATH, TMP "/%sXXXXXX", prefix);
	if (!mkdtemp(root))
		return plx_fail(err, "cannot make a folder in " TMP ": %s",
				strerror(errno));
	dir = open_other(prefix, root);
	return dir >= 0 ? dir : plx_dir_private(root, err);
}

/*
 * Of who has no XDG_RUNTIME_DIR. Another user may have taken the name that
 * can be guessed: then it is one that cannot.
 */
static int open_guessable(char root[PLX_RUN_PATH], struct plx_error *err)
{
	char prefix[OTHER_MAX];
	int all = plx_dir_shared(TMP, err);
	int dir = -1;

	if (all < 0)
		return -1;
	snprintf(prefix, sizeof(prefix), "pollux-%ld", (long) geteuid());
	snprintf(root, PLX_RUN_PATH, TMP "/%s", prefix);
	if (plx_dir_own_private(all, prefix))
		dir = plx_dir_private(root, NULL);
	close(all);
	if (dir >= 0)
		return dir;
	strcat(prefix, ".");
	dir = open_other(prefix, root);
	if (dir >= 0)
		return dir;
	snprintf(root, PLX_RUN_PATH, TMP "/pollux-%ld", (long) geteuid());
	dir = plx_dir_private(root, NULL);
	return dir >= 0 ? dir : make_other(prefix, root, err);
}

/*
 * The folder of all jobs, opened. Ours alone: nobody else may put a socket
 * there for us to find.
 */
static int open_root(char root[PLX_RUN_PATH], struct plx_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (!runtime || runtime[0] != '/' ||
	    strlen(runtime) + sizeof("/pollux") > ROOT_MAX)
		return open_guessable(root, err);
	snprintf(root, PLX_RUN_PATH, "%s/pollux", runtime);
	return plx_dir_private(root, err);
}

/* A job's own folder, opened. */
static int open_job(const char *name, bool make, struct plx_error *err)
{
	char root[PLX_RUN_PATH];
	struct plx_error why;
	int all = open_root(root, err);
	int dir;

	if (all < 0)
		return -1;
	dir = plx_dir_enter(all, name, make, &why);
	if (dir < 0)
		plx_fail(err, "cannot use %s/%.64s: %.120s", root, name,
			 why.text);
	close(all);
	return dir;
}

int plx_run_socket(const char *name, char path[PLX_RUN_PATH],
		   struct plx_error *err)
{
	char root[PLX_RUN_PATH];
	int all = open_root(root, err);
	int length;

	if (all < 0)
		return -1;
	close(all);
	length = snprintf(path, PLX_RUN_PATH, "%s/%s/" SOCKET, root, name);
	if (length < 0 || length >= PLX_RUN_PATH)
		return plx_fail(err, "the name %s is too long", name);
	return 0;
}

/* Who holds the lock; 0: nobody. */
static long holder(const char *name)
{
	int dir = open_job(name, false, NULL);
	char text[32] = "";
	long pid = 0;
	int fd;

	if (dir < 0)
		return 0;
	fd = plx_dir_file(dir, LOCK, O_RDWR, NULL);
	close(dir);
	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 &&
	    read(fd, text, sizeof(text) - 1) > 0)
		pid = strtol(text, NULL, 10);
	close(fd);
	return pid;
}

int plx_run_take(const char *name, bool *taken, struct plx_error *err)
{
	int dir = open_job(name, true, err);
	struct plx_error why;
	int fd;

	*taken = false;
	if (dir < 0)
		return -1;
	fd = plx_dir_file(dir, LOCK, O_RDWR | O_CREAT, &why);
	close(dir);
	if (fd < 0)
		return plx_fail(err, "cannot open the lock of %.64s: %.120s",
				name, why.text);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		*taken = true;
		plx_fail(err,
			 "a job called %s runs already (pollux-launch is "
			 "process %ld); choose another --name",
			 name, holder(name));
		close(fd);
		return -1;
	}
	if (ftruncate(fd, 0) < 0 || dprintf(fd, "%ld\n", (long) getpid()) < 0) {
		plx_fail(err, "cannot write the lock of %s: %s", name,
			 strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

void plx_run_forget(const char *name, int lock)
{
	char root[PLX_RUN_PATH];
	int all = open_root(root, NULL);

	if (all >= 0) {
		plx_dir_remove(all, name);
		close(all);
	}
	close(lock);
}

/* Does this folder belong to the job that is looked for? */
static bool is_job(const char *name, const char *wanted)
{
	char *end;
	long pid = strtol(wanted, &end, 10);
	long held = holder(name);

	if (!held)
		return false;
	return !strcmp(name, wanted) || (!*end && pid == held);
}

int plx_run_find(const char *job, char path[PLX_RUN_PATH],
		 struct plx_error *err)
{
	char root[PLX_RUN_PATH];
	char others[256] = "";
	struct dirent *entry;
	bool found = false;
	int all = open_root(root, err);
	DIR *dir;

	if (all < 0)
		return -1;
	dir = plx_dir_list(all);
	close(all);
	while (dir && !found && (entry = readdir(dir))) {
		size_t used = strlen(others);

		if (!plx_run_name_ok(entry->d_name) || !holder(entry->d_name))
			continue;
		found = is_job(entry->d_name, job) &&
			plx_run_socket(entry->d_name, path, err) == 0;
		snprintf(others + used, sizeof(others) - used, "%s %.48s",
			 used ? "," : "", entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (found)
		return 0;
	if (!others[0])
		return plx_fail(
			err,
			"no job called %.64s runs here, or any other that you "
			"started with --local: it has ended, or never began",
			job);
	return plx_fail(err, "no job is called %s; there is:%s", job, others);
}
