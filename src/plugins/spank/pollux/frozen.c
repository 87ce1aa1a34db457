/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frozen.c - a job's tasks are frozen for a moment */

#define _GNU_SOURCE /* pipe2 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spank/pollux/cgroups.h"
#include "spank/pollux/frozen.h"

#define WAITS	200
#define WAIT_NS 1000000L

/* The files of a group, and what is in them. */
static const struct words {
	const char *controller;
	const char *state, *is_frozen;
	const char *order, *freeze, *thaw;
	const char *levels[4]; /* folders below the job's, as they begin */
} versions[] = {
	{ NULL,
	  "cgroup.events",
	  "frozen 1\n",
	  "cgroup.freeze",
	  "1",
	  "0",
	  { "step_", "user", "task_" } },
	{ "freezer",
	  "freezer.state",
	  "FROZEN\n",
	  "freezer.state",
	  "FROZEN",
	  "THAWED",
	  { "step_" } },
};

static const struct words *words_of(const struct plx_frozen *frozen)
{
	return &versions[frozen->is_v1];
}

static bool says(int file, const char *word)
{
	char text[256];
	ssize_t got = pread(file, text, sizeof(text) - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	return strstr(text, word) != NULL;
}

static bool give_order(const struct plx_frozen *frozen, const char *word)
{
	ssize_t length = (ssize_t) strlen(word);
	bool done = true;

	for (int i = 0; i < frozen->count; i++) {
		const struct plx_frozen_group *group = &frozen->all[i];

		/* A step that has ended meanwhile has no group. */
		if (group->ours &&
		    write(group->order, word, (size_t) length) != length)
			done &= errno == ENODEV;
	}
	return done;
}

/* --- the groups --- */

static void close_group(const struct plx_frozen_group *group)
{
	if (group->state >= 0)
		close(group->state);
	if (group->order >= 0)
		close(group->order);
}

static int open_file(const char *folder, const char *name, int how)
{
	char path[2 * PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open(path, how | O_CLOEXEC);
}

/* A path, or something below it? */
static bool is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return !strncmp(path, folder, length) &&
	       (path[length] == '/' || path[length] == '\0');
}

/* Nobody who froze himself would thaw anything. */
static bool is_own(const struct plx_frozen *frozen, const char *folder)
{
	char path[PATH_MAX];

	return !plx_cgroup_of("self", words_of(frozen)->controller, path) ||
	       is_below(path, folder + strlen(frozen->mounted));
}

static void add_group(struct plx_frozen *frozen, const char *folder)
{
	const struct words *words = words_of(frozen);
	struct plx_frozen_group group = { .watch = -1 };

	if (frozen->count == PLX_FROZEN || is_own(frozen, folder))
		return;
	group.state = open_file(folder, words->state, O_RDONLY);
	group.order = open_file(folder, words->order, O_RDWR);
	if (group.state < 0 || group.order < 0) {
		close_group(&group);
		return;
	}
	/* Or somebody else, as scontrol suspend, had it frozen. */
	group.ours = says(group.order, words->thaw);
	frozen->all[frozen->count++] = group;
}

/* Of the folders below that begin so; then one level deeper, for the rest. */
static void add_below(struct plx_frozen *frozen, const char *folder,
		      const char *const *levels)
{
	DIR *dir = opendir(folder);
	struct dirent *entry = NULL;

	while (dir && (entry = readdir(dir))) {
		char below[PATH_MAX];
		int length = snprintf(below, sizeof(below), "%s/%s", folder,
				      entry->d_name);

		if (entry->d_type != DT_DIR || length >= PATH_MAX ||
		    strncmp(entry->d_name, levels[0], strlen(levels[0])) != 0)
			continue;
		if (levels[1])
			add_below(frozen, below, levels + 1);
		else
			add_group(frozen, below);
	}
	if (dir)
		closedir(dir);
}

/* --- who else gives orders --- */

/* The numbers stay the same when something else is watched for. */
static void watch_for(struct plx_frozen *frozen, uint32_t what)
{
	for (int i = 0; i < frozen->count && frozen->watches >= 0; i++) {
		struct plx_frozen_group *group = &frozen->all[i];
		char name[32];

		snprintf(name, sizeof(name), "/proc/self/fd/%d", group->order);
		group->watch = inotify_add_watch(frozen->watches, name, what);
	}
}

/* What somebody else gave an order to is his. */
static void leave(struct plx_frozen *frozen, const struct inotify_event *event)
{
	for (int i = 0; i < frozen->count && event->mask & IN_MODIFY; i++)
		frozen->all[i].ours &= frozen->all[i].watch != event->wd;
}

static void leave_to_others(struct plx_frozen *frozen)
{
	struct inotify_event events[64]; /* of a file: without a name */
	ssize_t got = 0;

	while (frozen->watches >= 0 &&
	       (got = read(frozen->watches, events, sizeof(events))) > 0) {
		for (size_t i = 0; i < (size_t) got / sizeof(events[0]); i++)
			leave(frozen, &events[i]);
	}
}

static bool thaw(struct plx_frozen *frozen)
{
	leave_to_others(frozen);
	return give_order(frozen, words_of(frozen)->thaw);
}

/* --- who thaws them --- */

static void guard(struct plx_frozen *frozen, int told, int limit_ms)
{
	struct pollfd wait = { .fd = told, .events = POLLIN };

	(void) poll(&wait, 1, limit_ms);
	_exit(thaw(frozen) ? 0 : 1);
}

static bool post_guard(struct plx_frozen *frozen, int limit_ms)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	frozen->guard = fork();
	if (frozen->guard == 0) {
		close(ends[1]);
		guard(frozen, ends[0], limit_ms);
	}
	close(ends[0]);
	frozen->tie = ends[1];
	if (frozen->guard > 0)
		return true;
	close(ends[1]);
	frozen->guard = 0;
	return false;
}

static bool are_all_frozen(const struct plx_frozen *frozen)
{
	for (int i = 0; i < frozen->count; i++) {
		if (!says(frozen->all[i].state, words_of(frozen)->is_frozen))
			return false;
	}
	return true;
}

void plx_frozen_begin(struct plx_frozen *frozen, const char *mounted,
		      const char *job, bool is_v1, int limit_ms)
{
	const struct timespec pause = { 0, WAIT_NS };
	char folder[PATH_MAX];

	*frozen = (struct plx_frozen){ .is_v1 = is_v1, .watches = -1 };
	if (!mounted[0] || strlen(mounted) + strlen(job) >= PATH_MAX)
		return;
	strcpy(frozen->mounted, mounted);
	snprintf(folder, sizeof(folder), "%s%s", mounted, job);
	add_below(frozen, folder, words_of(frozen)->levels);
	frozen->watches = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* For nothing yet: the guard is to know the numbers. */
	watch_for(frozen, IN_DELETE_SELF);
	if (!post_guard(frozen, limit_ms)) {
		plx_frozen_end(frozen);
		return;
	}
	(void) give_order(frozen, words_of(frozen)->freeze);
	watch_for(frozen, IN_MODIFY);
	for (int i = 0; i < WAITS && !are_all_frozen(frozen); i++)
		nanosleep(&pause, NULL);
}

bool plx_frozen_has(const struct plx_frozen *frozen, const char *pid)
{
	const struct words *words = words_of(frozen);
	char path[PATH_MAX];
	char folder[2 * PATH_MAX];
	int file = -1;
	bool is = false;

	if (!frozen->count || !plx_cgroup_of(pid, words->controller, path))
		return false;
	snprintf(folder, sizeof(folder), "%s%s", frozen->mounted, path);
	file = open_file(folder, words->state, O_RDONLY);
	if (file < 0)
		return false;
	is = says(file, words->is_frozen);
	close(file);
	return is;
}

bool plx_frozen_is_broken(const struct plx_frozen *frozen)
{
	for (int i = 0; i < frozen->count; i++) {
		if (says(frozen->all[i].order, words_of(frozen)->thaw))
			return true;
	}
	return false;
}

/* The guard thaws; only if it was killed, this process does. */
void plx_frozen_end(struct plx_frozen *frozen)
{
	int status = 0;
	pid_t ended = -1;

	if (frozen->guard > 0) {
		close(frozen->tie);
		while ((ended = waitpid(frozen->guard, &status, 0)) < 0 &&
		       errno == EINTR)
			;
		if (ended < 0 || status != 0)
			(void) thaw(frozen);
	}
	for (int i = 0; i < frozen->count; i++)
		close_group(&frozen->all[i]);
	if (frozen->watches >= 0)
		close(frozen->watches);
	frozen->count = 0;
	frozen->guard = 0;
	frozen->watches = -1;
}
