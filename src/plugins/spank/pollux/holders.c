/* SPDX-License-Identifier: GPL-2.0-or-later */
/* holders.c - processes that hold devices which their job gave up */

#define _GNU_SOURCE /* fopen("re") */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spank/pollux/holders.h"
#include "spank/pollux/thread_files.h"

#define TRIES	   600
#define TRY_NS	   100000000L /* between two */
#define DEVICES	   4096	      /* looked at in all */
#define NOT_STEP   UINT32_MAX /* batch, extern, interactive */
#define NULL_MAJOR 1	      /* /dev/null and its like */
#define PTY_FIRST  136
#define PTY_LAST   143

/* Where a job is in the control groups of its node. */
struct group {
	char prefix[PATH_MAX];	/* ".../job_5" */
	char mounted[PATH_MAX]; /* version 1: the devices hierarchy; "": 2 */
};

struct device {
	dev_t id;
	int file; /* O_PATH: what a process holds of it */
	bool denied;
};

struct devices {
	struct device *all;
	int count;
	bool missed; /* one that is not in there */
};

int plx_known_steps_parse(const char *text, struct plx_known_steps *known)
{
	char *end = NULL;
	unsigned long number = 0;

	*known = (struct plx_known_steps){ 0 };
	if (!text || !isdigit((unsigned char) *text))
		return -1;
	number = strtoul(text, &end, 10);
	if (*end != ':' || number > UINT32_MAX)
		return -1;
	known->next = (uint32_t) number;
	for (text = end + 1; *text; text = *end ? end + 1 : end) {
		if (!isdigit((unsigned char) *text) ||
		    known->count ==
			    (int) (sizeof(known->ids) / sizeof(known->ids[0])))
			return -1;
		number = strtoul(text, &end, 10);
		if ((*end && *end != ',') || number > UINT32_MAX)
			return -1;
		known->ids[known->count++] = (uint32_t) number;
	}
	return 0;
}

bool plx_known_steps_has(const struct plx_known_steps *known, uint32_t step)
{
	if (!known || step >= known->next)
		return true;
	for (int i = 0; i < known->count; i++) {
		if (known->ids[i] == step)
			return true;
	}
	return false;
}

bool plx_step_of_path(const char *path, const char *prefix, uint32_t *step)
{
	size_t length = strlen(prefix);
	char *end = NULL;
	unsigned long number = 0;

	if (strncmp(path, prefix, length) != 0 ||
	    strncmp(path + length, "/step_", 6) != 0)
		return false;
	path += length + 6;
	*step = NOT_STEP;
	if (!isdigit((unsigned char) *path))
		return true;
	number = strtoul(path, &end, 10);
	/* "step_7+0" is of a heterogeneous job, and as good as 7. */
	if (number < NOT_STEP && (!*end || strchr("/+.\n", *end)))
		*step = (uint32_t) number;
	return true;
}

/* --- where the job is --- */

/*
 * A line of /proc/PID/cgroup, "ID:CONTROLLERS:PATH", of the devices' hierarchy
 * or, without any, of version 2; its path, or NULL.
 */
static char *path_in(char *line, bool *is_v1)
{
	char *names = strchr(line, ':');
	char *path = names ? strchr(names + 1, ':') : NULL;

	if (!path)
		return NULL;
	*path++ = '\0';
	names++;
	path[strcspn(path, "\n")] = '\0';
	for (char *name = names; name; name = strchr(name, ',')) {
		name += *name == ',';
		if (!strncmp(name, "devices", 7) &&
		    (name[7] == '\0' || name[7] == ',')) {
			*is_v1 = true;
			return path;
		}
	}
	*is_v1 = false;
	return *names ? NULL : path;
}

/* The path of a process; version 1's where it has one. False: gone. */
static bool path_of(const char *pid, char path[PATH_MAX], bool *is_v1)
{
	char name[64];
	char *line = NULL;
	size_t size = 0;
	FILE *file = NULL;
	bool found = false;

	snprintf(name, sizeof(name), "/proc/%.20s/cgroup", pid);
	file = fopen(name, "re");
	*is_v1 = false;
	while (file && !*is_v1 && getline(&line, &size, file) > 0) {
		bool v1 = false;
		const char *at = path_in(line, &v1);

		if (!at || strlen(at) >= PATH_MAX || (found && !v1))
			continue;
		strcpy(path, at);
		*is_v1 = v1;
		found = true;
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* A line of mountinfo: is it the controller's hierarchy, and where? */
static bool is_mount_of(const char *line, const char *controller,
			char where[PATH_MAX])
{
	const char *rest = strstr(line, " - cgroup ");
	const char *options = rest ? strrchr(rest, ' ') : NULL;
	char format[32];

	if (!options || !strstr(options, controller))
		return false;
	snprintf(format, sizeof(format), "%%*s %%*s %%*s %%*s %%%ds",
		 PATH_MAX - 1);
	return sscanf(line, format, where) == 1;
}

int plx_find_mount(const char *controller, char where[PATH_MAX],
		   struct plx_error *err)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	while (file && !found && getline(&line, &size, file) > 0)
		found = is_mount_of(line, controller, where);
	free(line);
	if (file)
		fclose(file);
	return found ? 0
		     : plx_fail(err, "the cgroup of %s is not mounted",
				controller);
}

static int find_group(uint32_t job, struct group *group, struct plx_error *err)
{
	char name[32];
	char *at = NULL;
	bool is_v1 = false;

	group->mounted[0] = '\0';
	snprintf(name, sizeof(name), "/job_%u/", job);
	if (!path_of("self", group->prefix, &is_v1) ||
	    !(at = strstr(group->prefix, name)))
		return plx_fail(err, "no control group of job %u here", job);
	at[strlen(name) - 1] = '\0';
	return is_v1 ? plx_find_mount("devices", group->mounted, err) : 0;
}

/* --- what its processes hold --- */

static bool is_plain(dev_t id)
{
	unsigned int type = major(id);

	return type == NULL_MAJOR || (type >= PTY_FIRST && type <= PTY_LAST);
}

static struct device *find_device(struct devices *devices, dev_t id)
{
	for (int i = 0; i < devices->count; i++) {
		if (devices->all[i].id == id)
			return &devices->all[i];
	}
	return NULL;
}

static void forget_devices(struct devices *devices)
{
	while (devices->count > 0)
		close(devices->all[--devices->count].file);
	free(devices->all);
	devices->all = NULL;
}

typedef bool act_on_device_t(void *to, dev_t id, int dir, const char *name);

/* What ends meanwhile, or cannot be read here at all, shows nothing. */
static bool is_scarce(int number)
{
	return number == ENOMEM || number == EMFILE || number == ENFILE;
}

/*
 * Call for each character device in /proc/PID/fd or /proc/PID/map_files. The
 * server of a network's file system is not waited for. *failed is set where
 * something could not be looked at.
 */
static bool each_device(const char *pid, const char *folder,
			act_on_device_t *act, void *to, bool *failed)
{
	char name[64];
	DIR *dir = NULL;
	struct dirent *entry = NULL;
	bool stop = false;

	snprintf(name, sizeof(name), "/proc/%.20s/%s", pid, folder);
	dir = opendir(name);
	*failed |= !dir && is_scarce(errno);
	while (dir && !stop && (entry = readdir(dir))) {
		struct statx info;

		if (statx(dirfd(dir), entry->d_name, AT_STATX_DONT_SYNC,
			  STATX_TYPE, &info) == 0 &&
		    S_ISCHR(info.stx_mode))
			stop = act(to,
				   makedev(info.stx_rdev_major,
					   info.stx_rdev_minor),
				   dirfd(dir), entry->d_name);
	}
	if (dir)
		closedir(dir);
	return stop;
}

/* Doubled whenever it is full; false: no more. */
static bool may_add(struct devices *devices)
{
	size_t count = (size_t) devices->count;
	struct device *all = devices->all;

	if (count & (count - 1))
		return true;
	if (count < DEVICES)
		all = realloc(all, (count ? 2 * count : 1) * sizeof(*all));
	if (count == DEVICES || !all)
		return false;
	devices->all = all;
	return true;
}

static bool note_device(void *to, dev_t id, int dir, const char *name)
{
	struct devices *devices = to;
	int file = -1;

	if (is_plain(id) || find_device(devices, id))
		return false;
	errno = ENOMEM;
	if (may_add(devices))
		file = openat(dir, name, O_PATH | O_CLOEXEC);
	if (file >= 0)
		devices->all[devices->count++] =
			(struct device){ .id = id, .file = file };
	else
		/* What is closed meanwhile is not held. */
		devices->missed |= errno != ENOENT;
	return false;
}

static bool is_denied(void *to, dev_t id, int dir, const char *name)
{
	const struct device *device = find_device(to, id);

	(void) dir;
	(void) name;
	return device && device->denied;
}

static bool each_held(const char *pid, act_on_device_t *act, void *to,
		      bool *failed)
{
	return each_device(pid, "fd", act, to, failed) ||
	       each_device(pid, "map_files", act, to, failed);
}

/* --- what the job may open: the kernel knows --- */

/* Version 1: our own step's group is narrower than the job's. */
static int enter_job(const struct group *group)
{
	char name[2 * PATH_MAX + 16];
	FILE *file = NULL;
	int rc = 0;

	if (!group->mounted[0])
		return 0;
	snprintf(name, sizeof(name), "%s%s/cgroup.procs", group->mounted,
		 group->prefix);
	file = fopen(name, "we");
	if (!file)
		return -1;
	rc = fprintf(file, "%d\n", getpid()) > 0 ? 0 : -1;
	return fclose(file) == 0 ? rc : -1;
}

/*
 * As root, so nothing but the control group is against it. It is not opened: a
 * watchdog would begin to count, and a tape would be wound back. Nor does it
 * matter how the file system is mounted on which somebody opened it.
 */
static bool may_open(const struct device *device)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", device->file);
	return access(name, R_OK | W_OK) == 0 || errno != EPERM;
}

/* In a child: one byte for each device, '0' where it is denied. */
static void judge(const struct group *group, const struct devices *devices,
		  int to)
{
	char answers[DEVICES];

	if (getuid() != 0 || enter_job(group) < 0)
		_exit(EXIT_FAILURE);
	for (int i = 0; i < devices->count; i++)
		answers[i] = may_open(&devices->all[i]) ? '1' : '0';
	if (write(to, answers, (size_t) devices->count) != devices->count)
		_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}

static int ask_kernel(const struct group *group, struct devices *devices,
		      struct plx_error *err)
{
	char answers[DEVICES];
	int ends[2];
	int rc = -1;
	pid_t child = -1;

	if (devices->missed)
		return plx_fail(err, "its processes hold too many devices");
	if (!devices->count)
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return plx_fail(err, "pipe: %s", strerror(errno));
	child = fork();
	if (child == 0)
		judge(group, devices, ends[1]);
	close(ends[1]);
	if (child > 0 &&
	    read(ends[0], answers, (size_t) devices->count) == devices->count)
		rc = 0;
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	for (int i = 0; rc == 0 && i < devices->count; i++)
		devices->all[i].denied = answers[i] == '0';
	return rc == 0 ? 0 : plx_fail(err, "cannot tell what the job may open");
}

/* --- all of them --- */

/*
 * Each thread may have files of its own, and the first one may have ended
 * before the others: then nothing is to be seen of it. Linux shows any thread
 * as /proc/TID.
 */
typedef void act_t(void *to, const char *tid, uint32_t step, int process);

/* Call for each thread that shows what those before it did not. */
static void each_thread(const struct group *group, const char *pid, act_t *act,
			void *to)
{
	struct plx_thread_files seen = { .count = 0 };
	char path[PATH_MAX];
	DIR *dir = NULL;
	struct dirent *entry = NULL;
	bool is_v1 = false;
	uint32_t step = 0;
	/* Before anything is read, so that no other process is ever killed. */
	int process = (int) syscall(SYS_pidfd_open, atoi(pid), 0);

	if (process < 0 && errno == ESRCH)
		return;
	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		pid_t tid = (pid_t) atoi(entry->d_name);

		if (tid <= 0 || plx_thread_files_has(&seen, tid))
			continue;
		if (path_of(entry->d_name, path, &is_v1) &&
		    is_v1 == (group->mounted[0] != '\0') &&
		    plx_step_of_path(path, group->prefix, &step))
			act(to, entry->d_name, step, process);
	}
	if (dir)
		closedir(dir);
	if (process >= 0)
		close(process);
}

/* Call for those of the job but this one, which has the devices as files. */
static int each_process(const struct group *group, act_t *act, void *to,
			struct plx_error *err)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry = NULL;

	if (!dir)
		return plx_fail(err, "/proc: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		if (isdigit((unsigned char) entry->d_name[0]) &&
		    atoi(entry->d_name) != getpid())
			each_thread(group, entry->d_name, act, to);
	}
	closedir(dir);
	return 0;
}

static void note_process(void *to, const char *tid, uint32_t step, int process)
{
	struct devices *devices = to;

	(void) step;
	(void) process;
	(void) each_held(tid, note_device, to, &devices->missed);
}

struct sweep {
	struct devices devices;
	const struct plx_known_steps *known;
	int killed;
	bool failed; /* something could not be looked at */
};

/* What /proc/TID/status says. */
struct status {
	bool unknown; /* there was no memory or file to read it with */
	bool is_named_stepd, is_roots, is_dead;
};

static struct status status_of(const char *tid)
{
	struct status status = { 0 };
	char name[64];
	char *line = NULL;
	size_t size = 0;
	FILE *file = NULL;

	snprintf(name, sizeof(name), "/proc/%.20s/status", tid);
	file = fopen(name, "re");
	status.unknown = !file && is_scarce(errno);
	while (file && getline(&line, &size, file) > 0) {
		status.is_named_stepd |=
			!strncmp(line, "Name:\tslurmstepd", 16);
		status.is_roots |= !strncmp(line, "Uid:\t0\t", 7);
		status.is_dead |= !strncmp(line, "State:\tZ", 8) ||
				  !strncmp(line, "State:\tX", 8);
	}
	free(line);
	if (file)
		fclose(file);
	return status;
}

/*
 * slurmstepd uses no GPUs, and is needed to end the rest of its step; or it
 * looks for holders itself, for a resize before. Any process may take the name,
 * and have files in /proc that are root's; nobody else is root's own, not even
 * a program that runs as root for its caller.
 */
static bool is_stepd(const struct status *status)
{
	return status->is_named_stepd && status->is_roots;
}

bool plx_is_stepd(const char *tid)
{
	struct status status = status_of(tid);

	return is_stepd(&status);
}

/* process: a pidfd; negative: this kernel has none. */
static bool end_process(const char *tid, int process)
{
	return process >= 0 ? syscall(SYS_pidfd_send_signal, process, SIGKILL,
				      NULL, 0) == 0
			    : kill((pid_t) atoi(tid), SIGKILL) == 0;
}

static void end_holder(void *to, const char *tid, uint32_t step, int process)
{
	struct sweep *sweep = to;
	bool ended =
		step != NOT_STEP && !plx_known_steps_has(sweep->known, step);
	struct status status;

	if (!ended &&
	    !each_held(tid, is_denied, &sweep->devices, &sweep->failed))
		return;
	status = status_of(tid);
	/* What has ended and nobody has asked for holds nothing. */
	if (status.is_dead || is_stepd(&status))
		return;
	if (status.unknown)
		sweep->failed = true;
	else if (end_process(tid, process))
		sweep->killed++;
}

/* One look; how many had to be killed. */
static int look(const struct group *group, const struct plx_known_steps *known,
		struct plx_error *err)
{
	struct sweep sweep = { .known = known };
	int rc = 0;

	if (each_process(group, note_process, &sweep.devices, err) < 0 ||
	    ask_kernel(group, &sweep.devices, err) < 0 ||
	    each_process(group, end_holder, &sweep, err) < 0)
		rc = -1;
	else if (sweep.failed)
		rc = plx_fail(err, "no memory or files to look with");
	forget_devices(&sweep.devices);
	return rc < 0 ? rc : sweep.killed;
}

int plx_end_holders(uint32_t job, const struct plx_known_steps *known,
		    struct plx_error *err)
{
	const struct timespec pause = { 0, TRY_NS };
	struct group *group = calloc(1, sizeof(*group));
	int killed = 0;
	int rc = group ? find_group(job, group, err)
		       : plx_fail(err, "out of memory");

	/* A look may fail, as the job's owner may signal whoever judges. */
	for (int i = 0; rc == 0 && i < TRIES; i++) {
		int now = look(group, known, err);

		if (now == 0) {
			free(group);
			return killed;
		}
		if (now > 0)
			plx_fail(err, "processes of it do not die");
		killed = now > killed ? now : killed;
		nanosleep(&pause, NULL);
	}
	free(group);
	return -1;
}
