/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_folder.c - where a job without Slurm can be found by its name */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/options.h"
#include "launcher/run_folder.h"

#define ROOT_MAX 40 /* bytes of the folder of all jobs */

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

/* Ours alone: nobody else may put a socket there for us to find. */
static int make_private(const char *path, struct plx_error *err)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return plx_fail(err, "cannot make %s: %s", path,
				strerror(errno));
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid() || (st.st_mode & 022))
		return plx_fail(err, "%s is not a private folder of yours",
				path);
	return 0;
}

static int find_root(char root[PLX_RUN_PATH], struct plx_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (runtime && runtime[0] == '/' &&
	    strlen(runtime) + sizeof("/pollux") <= ROOT_MAX)
		snprintf(root, PLX_RUN_PATH, "%s/pollux", runtime);
	else
		snprintf(root, PLX_RUN_PATH, "/tmp/pollux-%ld",
			 (long) geteuid());
	return make_private(root, err);
}

static int path_of(const char *name, const char *file, char path[PLX_RUN_PATH],
		   struct plx_error *err)
{
	char root[PLX_RUN_PATH];
	int length;

	if (find_root(root, err) < 0)
		return -1;
	length = snprintf(path, PLX_RUN_PATH, "%s/%s%s", root, name, file);
	if (length < 0 || length >= PLX_RUN_PATH)
		return plx_fail(err, "the name %s is too long", name);
	return 0;
}

int plx_run_socket(const char *name, char path[PLX_RUN_PATH],
		   struct plx_error *err)
{
	return path_of(name, "/socket", path, err);
}

/* Who holds the lock; 0: nobody. */
static long holder(const char *name)
{
	char path[PLX_RUN_PATH];
	char text[32] = "";
	long pid = 0;
	int fd;

	if (path_of(name, "/lock", path, NULL) < 0)
		return 0;
	fd = open(path, O_RDWR | O_CLOEXEC);
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
	char path[PLX_RUN_PATH];
	int fd;

	*taken = false;
	if (path_of(name, "", path, err) < 0 || make_private(path, err) < 0 ||
	    path_of(name, "/lock", path, err) < 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return plx_fail(err, "cannot open %s: %s", path,
				strerror(errno));
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
		plx_fail(err, "cannot write %s: %s", path, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

void plx_run_release(const char *name, int lock)
{
	static const char *const files[] = { "/socket", "/lock" };
	char path[PLX_RUN_PATH];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (path_of(name, files[i], path, NULL) == 0)
			unlink(path);
	}
	if (path_of(name, "", path, NULL) == 0)
		rmdir(path);
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
	DIR *dir;

	if (find_root(root, err) < 0)
		return -1;
	dir = opendir(root);
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
			err, "no job that you started with --local runs here");
	return plx_fail(err, "no job is called %s; there is:%s", job, others);
}
