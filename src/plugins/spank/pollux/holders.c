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

#include "spank/pollux/thread_files.h"
#include "spank/pollux/cgroups.h"
#include "spank/pollux/flight.h"
#include "spank/pollux/frozen.h"
#include "spank/pollux/holders.h"
#include "spank/pollux/motion.h"

#define TRIES_MS   40000
#define PAUSE_MS   100	      /* between two, or as long as one took */
#define TRY_MS	   3000	      /* the job is frozen no longer, at first */
#define TRY_MOST   12000      /* ... and at last */
#define UNSURE_MS  10000      /* of files in messages, until it is held */
#define FLIGHT_MS  1000	      /* for those in one socket */
#define NESTED	   4	      /* sockets in messages, in one another */
#define LOOKS	   5	      /* one try, where not all is frozen */
#define DEPTH	   32	      /* groups in groups */
#define DEVICES	   4096	      /* looked at in all */
#define NOT_STEP   UINT32_MAX /* batch, extern, interactive */
#define NULL_MAJOR 1	      /* /dev/null and its like */
#define PTY_FIRST  136
#define PTY_LAST   143

/* Where a job is in the control groups of its node. */
struct group {
	char prefix[PATH_MAX]; /* ".../job_5" */
	bool is_v1;
	char folder[2 * PATH_MAX]; /* of the devices hierarchy, or version 2 */
	char freezer[PATH_MAX];	   /* where that is mounted; "": nowhere */
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
	known->all = !strcmp(end, ":*");
	if (known->all)
		return 0;
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
	if (!known || known->all || step >= known->next)
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

static int find_group(uint32_t job, struct group *group, struct plx_error *err)
{
	char mounted[PATH_MAX];
	char name[32];
	char *at = NULL;
	struct plx_error none;

	snprintf(name, sizeof(name), "/job_%u/", job);
	group->is_v1 = plx_cgroup_of("self", "devices", group->prefix);
	if ((!group->is_v1 && !plx_cgroup_of("self", NULL, group->prefix)) ||
	    !(at = strstr(group->prefix, name)))
		return plx_fail(err, "no control group of job %u here", job);
	at[strlen(name) - 1] = '\0';
	if (plx_cgroup_mount(group->is_v1 ? "devices" : NULL, mounted, err) < 0)
		return -1;
	snprintf(group->folder, sizeof(group->folder), "%s%s", mounted,
		 group->prefix);
	if (group->is_v1 && plx_cgroup_mount("freezer", mounted, &none) < 0)
		mounted[0] = '\0';
	strcpy(group->freezer, mounted);
	return 0;
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

/* What one try has cost, and may cost. */
struct effort {
	int64_t until; /* in ms of the monotonic clock */
	long looked;   /* entries of folders in /proc */
	bool failed;   /* something could not be looked at */
	bool unsure;   /* files in a message that nobody can look at */
	int nested;    /* sockets in messages, while one is looked at */
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Asked before each entry: who holds very many must not hold up the node. */
static bool may_look(struct effort *effort)
{
	effort->looked++;
	if (now_ms() < effort->until)
		return true;
	effort->failed = true;
	return false;
}

/* What ends meanwhile, or cannot be read here at all, shows nothing. */
static bool is_scarce(int number)
{
	return number == ENOMEM || number == EMFILE || number == ENFILE;
}

/*
 * Call for each character device in /proc/PID/fd or /proc/PID/map_files. The
 * server of a network's file system is not waited for.
 */
static bool each_device(const char *pid, const char *folder,
			act_on_device_t *act, void *to, struct effort *effort);

static int time_left(const struct effort *effort, int most)
{
	int64_t left = effort->until - now_ms();

	return left < 0 ? 0 : left < most ? (int) left : most;
}

/* The same for what waits in a socket, in nobody's table. */
static bool each_in_flight(const char *pid, const char *number,
			   act_on_device_t *act, void *to,
			   struct effort *effort)
{
	struct plx_flight flight;
	int waits = plx_flight_waits(pid, number);
	bool stop = false;

	effort->failed |= waits < 0;
	effort->unsure |= waits > 0 && effort->nested == NESTED;
	if (waits <= 0 || effort->nested == NESTED)
		return false;
	plx_flight_begin(&flight, pid, number, time_left(effort, FLIGHT_MS));
	effort->nested++;
	if (flight.pid[0])
		stop = each_device(flight.pid, "fd", act, to, effort);
	effort->nested--;
	effort->failed |= flight.child < 0;
	effort->unsure |= !flight.whole;
	plx_flight_end(&flight);
	return stop;
}

static bool each_device(const char *pid, const char *folder,
			act_on_device_t *act, void *to, struct effort *effort)
{
	char name[64];
	DIR *dir = NULL;
	struct dirent *entry = NULL;
	bool stop = false;

	snprintf(name, sizeof(name), "/proc/%.20s/%s", pid, folder);
	dir = opendir(name);
	effort->failed |= !dir && is_scarce(errno);
	while (dir && !stop && may_look(effort) && (entry = readdir(dir))) {
		struct statx info;

		if (statx(dirfd(dir), entry->d_name, AT_STATX_DONT_SYNC,
			  STATX_TYPE, &info) < 0)
			continue;
		if (S_ISSOCK(info.stx_mode))
			stop = each_in_flight(pid, entry->d_name, act, to,
					      effort);
		else if (S_ISCHR(info.stx_mode))
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
		      struct effort *effort)
{
	return each_device(pid, "fd", act, to, effort) ||
	       each_device(pid, "map_files", act, to, effort);
}

/* --- what the job may open: the kernel knows --- */

/* Version 1: our own step's group is narrower than the job's. */
static int enter_job(const struct group *group)
{
	char name[2 * PATH_MAX + 16];
	FILE *file = NULL;
	int rc = 0;

	if (!group->is_v1)
		return 0;
	snprintf(name, sizeof(name), "%s/cgroup.procs", group->folder);
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

/* --- slurmstepd --- */

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

/* --- all of them --- */

struct sweep {
	struct devices devices;
	bool has_denied;
	const struct plx_known_steps *known;
	struct effort effort;
	const struct plx_frozen *frozen;
	struct plx_motion *motion; /* who is not frozen; NULL: not asked */
	bool unsure;	/* files in messages could not be looked at */
	bool impatient; /* whose these are is a holder */
	int killed;
};

typedef void act_t(struct sweep *sweep, const char *tid, uint32_t step,
		   int process);

/* Who ends before its turn may have handed on what it had. */
static void note_end(struct sweep *sweep)
{
	if (sweep->motion)
		sweep->motion->missed = true;
}

static bool may_move(const struct sweep *sweep, const char *pid)
{
	return sweep->motion && !plx_frozen_has(sweep->frozen, pid);
}

/*
 * Of one process: call for each thread that shows what others did not. Each may
 * have files of its own, and the first one may have ended before the others:
 * then nothing is to be seen of it. Linux shows any thread as /proc/TID.
 */
static void each_thread(const char *pid, uint32_t step, act_t *act,
			struct sweep *sweep)
{
	struct plx_thread_files seen = { .count = 0 };
	char name[64];
	DIR *dir = NULL;
	struct dirent *entry = NULL;
	bool moves = false;
	/* Before anything is read, so that no other process is ever killed. */
	int process = (int) syscall(SYS_pidfd_open, atoi(pid), 0);

	if (process < 0 && errno == ESRCH) {
		note_end(sweep);
		return;
	}
	moves = may_move(sweep, pid);
	snprintf(name, sizeof(name), "/proc/%.20s/task", pid);
	dir = opendir(name);
	if (!dir) {
		sweep->effort.failed |= is_scarce(errno);
		note_end(sweep);
	}
	while (dir && may_look(&sweep->effort) && (entry = readdir(dir))) {
		pid_t tid = (pid_t) atoi(entry->d_name);

		if (tid <= 0)
			continue;
		if (!plx_thread_files_has(&seen, tid))
			act(sweep, entry->d_name, step, process);
		if (moves)
			plx_motion_note(sweep->motion, entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (process >= 0)
		close(process);
}

/*
 * Of one group: but for this process, which has the devices as files, and for
 * any slurmstepd: it is never frozen, hands on nothing, and may be a child that
 * peeks at messages.
 */
static void each_process(int folder, uint32_t step, act_t *act,
			 struct sweep *sweep)
{
	int list = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *file = list >= 0 ? fdopen(list, "r") : NULL;
	char *line = NULL;
	size_t size = 0;

	/* One that has no processes of its own, or is gone. */
	if (!file && errno != EOPNOTSUPP && errno != ENOENT && errno != ENODEV)
		sweep->effort.failed = true;
	if (!file && list >= 0)
		close(list);
	while (file && may_look(&sweep->effort) &&
	       getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (isdigit((unsigned char) line[0]) &&
		    atoi(line) != getpid() && !plx_is_stepd(line))
			each_thread(line, step, act, sweep);
	}
	if (file && ferror(file) && errno != ENODEV)
		sweep->effort.failed = true;
	free(line);
	if (file)
		fclose(file);
}

/* A group and those in there; at depth 0 the job's, with its steps in there. */
static void each_group(int folder, uint32_t step, int depth, act_t *act,
		       struct sweep *sweep)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;
	struct dirent *entry = NULL;

	if (!dir && again >= 0)
		close(again);
	sweep->effort.failed |= (!dir && errno != ENOENT) || depth > DEPTH;
	each_process(folder, step, act, sweep);
	while (dir && depth <= DEPTH && may_look(&sweep->effort) &&
	       (entry = readdir(dir))) {
		char path[sizeof(entry->d_name) + 1];
		int at = -1;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		at = openat(folder, entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (at < 0) {
			sweep->effort.failed |= errno != ENOENT;
			continue;
		}
		snprintf(path, sizeof(path), "/%s", entry->d_name);
		if (depth == 0 && !plx_step_of_path(path, "", &step))
			step = NOT_STEP;
		each_group(at, step, depth + 1, act, sweep);
		close(at);
	}
	if (dir)
		closedir(dir);
}

static int each_of_job(const struct group *group, act_t *act,
		       struct sweep *sweep, struct plx_error *err)
{
	int folder = open(group->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return plx_fail(err, "%.200s: %s", group->folder,
				strerror(errno));
	each_group(folder, NOT_STEP, 0, act, sweep);
	close(folder);
	return 0;
}

static void note_process(struct sweep *sweep, const char *tid, uint32_t step,
			 int process)
{
	(void) step;
	(void) process;
	(void) each_held(tid, note_device, &sweep->devices, &sweep->effort);
}

/* process: a pidfd; negative: this kernel has none. */
static bool end_process(const char *tid, int process)
{
	return process >= 0 ? syscall(SYS_pidfd_send_signal, process, SIGKILL,
				      NULL, 0) == 0
			    : kill((pid_t) atoi(tid), SIGKILL) == 0;
}

/* Of the job's devices, or what nobody can look at, for too long. */
static bool is_holder(struct sweep *sweep, const char *tid)
{
	struct effort *effort = &sweep->effort;

	if (!sweep->has_denied && !sweep->impatient)
		return false;
	effort->unsure = false;
	return each_held(tid, is_denied, &sweep->devices, effort) ||
	       (sweep->impatient && effort->unsure);
}

static void end_holder(struct sweep *sweep, const char *tid, uint32_t step,
		       int process)
{
	bool ended =
		step != NOT_STEP && !plx_known_steps_has(sweep->known, step);
	struct status status;

	if (!ended && !is_holder(sweep, tid))
		return;
	status = status_of(tid);
	/* What has ended and nobody has asked for holds nothing. */
	if (status.is_dead || is_stepd(&status))
		return;
	if (status.unknown)
		sweep->effort.failed = true;
	else if (end_process(tid, process))
		sweep->killed++;
}

/* One look; how many had to be killed. */
static int look(const struct group *group, struct sweep *sweep,
		struct plx_error *err)
{
	struct devices *devices = &sweep->devices;
	int rc = 0;

	if (each_of_job(group, note_process, sweep, err) < 0 ||
	    ask_kernel(group, devices, err) < 0)
		rc = -1;
	for (int i = 0; rc == 0 && i < devices->count; i++)
		sweep->has_denied |= devices->all[i].denied;
	sweep->unsure = sweep->effort.unsure;
	/* The next look tells whether they were others by now. */
	sweep->motion = NULL;
	if (rc == 0)
		rc = each_of_job(group, end_holder, sweep, err);
	if (rc == 0 && sweep->effort.failed)
		rc = plx_fail(err, "no memory, files or time to look with");
	if (rc == 0 && sweep->unsure && sweep->killed == 0)
		rc = plx_fail(err, "cannot look at files in its messages");
	forget_devices(devices);
	return rc < 0 ? rc : sweep->killed;
}

/*
 * Who is frozen hands on nothing, so one look shows all. Where some are not, a
 * process may hand on what it holds, and end, before its turn: looks count when
 * two of them show the same such processes. How many were killed.
 */
static int look_frozen(const struct group *group, struct sweep *start,
		       struct plx_look *last, struct plx_error *err)
{
	struct plx_motion before = { 0 };
	bool sure = false;
	int killed = 0;

	for (int i = 0; i < LOOKS && !sure && killed == 0; i++) {
		struct plx_motion motion = { 0 };
		struct sweep sweep = *start;

		sweep.motion = &motion;
		killed = look(group, &sweep, err);
		last->entries = sweep.effort.looked;
		last->unsure = sweep.unsure;
		sure = !plx_frozen_is_broken(sweep.frozen) &&
		       (plx_motion_nobody(&motion) ||
			(i > 0 && plx_motion_none(&before, &motion)));
		plx_motion_free(&before);
		before = motion;
	}
	plx_motion_free(&before);
	if (killed == 0 && !sure)
		return plx_fail(err, "its processes begin and end too quickly");
	return killed;
}

static int look_for(int limit_ms, const struct group *group,
		    struct sweep *start, struct plx_look *last,
		    struct plx_error *err)
{
	struct plx_frozen frozen;
	int64_t begun = now_ms();
	int killed = 0;

	start->frozen = &frozen;
	start->effort.until = begun + limit_ms;
	plx_frozen_begin(&frozen, group->freezer, group->prefix, group->is_v1,
			 limit_ms);
	killed = look_frozen(group, start, last, err);
	plx_frozen_end(&frozen);
	last->frozen_ms = now_ms() - begun;
	return killed;
}

static void pause_ms(int64_t ms)
{
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

int plx_end_holders(uint32_t job, const struct plx_known_steps *known,
		    struct plx_look *last, struct plx_error *err)
{
	struct group *group = calloc(1, sizeof(*group));
	struct sweep start = { .known = known };
	int64_t end = now_ms() + TRIES_MS;
	int64_t sure_at = now_ms();
	int limit_ms = TRY_MS;
	int killed = 0;
	int rc = -1;

	*last = (struct plx_look){ 0 };
	if (group)
		rc = find_group(job, group, err);
	else
		plx_fail(err, "out of memory");
	/* A look may fail, as the job's owner may signal whoever judges. */
	while (rc == 0 && now_ms() < end) {
		int left_ms = (int) (end - now_ms());
		int now = look_for(limit_ms < left_ms ? limit_ms : left_ms,
				   group, &start, last, err);

		if (now == 0) {
			free(group);
			return killed;
		}
		if (now > 0)
			plx_fail(err, "processes of it do not die");
		else if (limit_ms < TRY_MOST)
			limit_ms *= 2;
		killed = now > killed ? now : killed;
		if (!last->unsure)
			sure_at = now_ms();
		start.impatient = now_ms() - sure_at >= UNSURE_MS;
		pause_ms(last->frozen_ms > PAUSE_MS ? last->frozen_ms
						    : PAUSE_MS);
	}
	free(group);
	return -1;
}
