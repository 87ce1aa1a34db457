/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folder_lock.c - one launcher at a time for a folder of checkpoints */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/state.h"
#include "launcher/loop/folder_lock.h"
#include "wire/dir.h"

#define HOLD_NAME      "launcher"
#define LOCK_SIZE      256 /* of the file, and so of what is in it */
#define LOOK_S	       0.1
#define AWAY_S	       1.0	 /* between looks while slurmctld is away */
#define STEP_PREFIX    "pollux." /* of the names that srun_step.c gives */
#define OTHER_LEAVES_S 5.0
#define STEPS_SAVE_S   3.0 /* for ranks that lost their launcher */
#define STEPS_WAIT_S   8.0 /* then the fence has to do */
#define NUMBER_WIDTH   20 /* digits of a generation, so that it can be redone */

static void rest(double seconds)
{
	usleep((useconds_t) (1e6 * seconds));
}

/* "NUMBER OWNER": what the file says, as far as it can be read. */
static void read_lock(int fd, uint64_t *newest, char owner[LOCK_SIZE])
{
	char text[LOCK_SIZE] = "";
	char *rest_of = text;
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	*newest = got > 0 ? strtoull(text, &rest_of, 10) : 0;
	while (*rest_of == ' ')
		rest_of++;
	rest_of[strcspn(rest_of, "\n")] = '\0';
	for (size_t n = strlen(rest_of); n > 0 && rest_of[n - 1] == ' '; n--)
		rest_of[n - 1] = '\0';
	snprintf(owner, LOCK_SIZE, "%s", *rest_of ? rest_of : "another one");
}

/* 1: locked, 0: by somebody else, -1: there are no locks here. */
static int try_lock(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 1;
	return errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

/* In place, so that a full disk does not matter. */
static void write_lock(const struct plx_folder_lock *lock, const char *owner)
{
	char text[LOCK_SIZE + 1];

	snprintf(text, sizeof(text), "%*" PRIu64 " %-*.*s\n", NUMBER_WIDTH,
		 lock->newest, LOCK_SIZE - NUMBER_WIDTH - 2,
		 LOCK_SIZE - NUMBER_WIDTH - 2, owner);
	if (pwrite(lock->fd, text, LOCK_SIZE, 0) < 0)
		return; /* nobody will know our name */
}

int plx_folder_lock_take(struct plx_folder_lock *lock, const char *folder,
			 const char *owner, double wait_s,
			 struct plx_error *err)
{
	double until_s = plx_now_s() + wait_s;
	struct plx_error why;
	char other[LOCK_SIZE];
	int locked;
	int fd;

	*lock = (struct plx_folder_lock){ .fd = -1 };
	fd = plx_dir_file_at(folder, HOLD_NAME, O_RDWR | O_CREAT, &why);
	if (fd < 0)
		return plx_fail(err, "cannot open %.100s/" HOLD_NAME ": %.120s",
				folder, why.text);
	while ((locked = try_lock(fd)) == 0 && plx_now_s() < until_s)
		rest(LOOK_S);
	read_lock(fd, &lock->newest, other);
	lock->again = !strcmp(other, owner);
	if (!locked) {
		close(fd);
		return plx_fail(err,
				"%.150s belongs to a pollux-launch that lives "
				"(%.60s): end that one first",
				folder, other);
	}
	lock->fd = fd;
	write_lock(lock, owner);
	return 0;
}

bool plx_folder_lock_is_held(const char *folder)
{
	int fd = plx_dir_file_at(folder, HOLD_NAME, O_RDWR, NULL);
	bool held = fd >= 0 && try_lock(fd) == 0;

	if (fd >= 0)
		close(fd);
	return held;
}

void plx_folder_lock_note(struct plx_folder_lock *lock, uint64_t generation)
{
	char text[NUMBER_WIDTH + 1];

	lock->newest = generation;
	snprintf(text, sizeof(text), "%*" PRIu64, NUMBER_WIDTH, generation);
	if (lock->fd >= 0 && pwrite(lock->fd, text, NUMBER_WIDTH, 0) < 0)
		return; /* the checkpoints' fence knows nearly as much */
}

void plx_folder_lock_release(struct plx_folder_lock *lock)
{
	if (lock->fd >= 0)
		close(lock->fd);
	lock->fd = -1;
}

/* ---- of the launcher ---- */

/* Its signals are blocked: does one want us to leave? */
static bool told_to_end(void)
{
	sigset_t set;

	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGTERM) || sigismember(&set, SIGINT));
}

/*
 * Ranks that lost their launcher save and leave by themselves. slurmctld may
 * be away: nothing can be started before it is back either.
 */
static void end_steps(struct plx_launcher *l)
{
	double begun_s = plx_now_s();
	double waited_s = 0;
	struct plx_error err;
	bool told = false;
	int left;

	while (waited_s < STEPS_WAIT_S && !told_to_end()) {
		left = plx_job_left_steps(l->settings->job_id, STEP_PREFIX,
					  waited_s < STEPS_SAVE_S ? 0 : SIGKILL,
					  &err);
		if (left == 0)
			return;
		if (!told)
			plx_say(l, PLX_NORMAL, "%s",
				left < 0 ? err.text
					 : "an earlier launcher has left ranks "
					   "behind: ending them");
		told = true;
		/* The time without slurmctld does not count. */
		if (left < 0)
			begun_s = plx_now_s();
		rest(left < 0 ? AWAY_S : LOOK_S);
		waited_s = plx_now_s() - begun_s;
	}
}

int plx_folder_lock_begin(struct plx_launcher *l, struct plx_error *err)
{
	const struct plx_settings *s = l->settings;
	char owner[64];

	snprintf(owner, sizeof(owner), "job %" PRIu32, s->job_id);
	if (plx_folder_lock_take(&l->folder_lock, s->folder, owner,
				 OTHER_LEAVES_S, err) < 0)
		return -1;
	l->newest = plx_generation_newest(s->folder);
	if (l->folder_lock.newest > l->newest)
		l->newest = l->folder_lock.newest;
	if (l->folder_lock.again && !s->registry)
		end_steps(l);
	return 0;
}

void plx_folder_lock_seen(struct plx_launcher *l)
{
	char comment[PLX_FIELDS_MAX + 16];
	struct plx_status before;
	struct plx_error err;

	snprintf(comment, sizeof(comment), "[pollux %s]", l->job.status);
	if (!l->job.status[0] || plx_status_read(comment, &before, &err) <= 0)
		return;
	l->status.resizes = before.resizes;
	memcpy(l->status.pause_s, before.pause_s, sizeof(before.pause_s));
	l->status.has_hint = before.has_hint;
	l->status.hint = before.hint;
}
