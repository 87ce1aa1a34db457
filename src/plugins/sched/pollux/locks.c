/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locks.c - slurmctld's locks as the plugin takes them, and how long it does */

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "common/slurm_compat.h"
#include "sched/pollux/locks.h"

/* A lock that is held for many jobs is given up between them after this. */
#define BREATH_S 0.002
/* Room is made for so many at once, of what waits until it is given up. */
#define MORE 16

static const struct {
	const char *name;
	slurmctld_lock_t lock;
} purposes[] = {
	[POLLUX_LOOK] = { .name = "look",
			  .lock = { .conf = READ_LOCK,
				    .job = READ_LOCK,
				    .node = READ_LOCK,
				    .part = READ_LOCK } },
	[POLLUX_AHEAD] = { .name = "ahead",
			   .lock = { .conf = READ_LOCK,
				     .job = READ_LOCK,
				     .node = READ_LOCK,
				     .part = READ_LOCK } },
	[POLLUX_JUDGE] = { .name = "judge",
			   .lock = { .conf = READ_LOCK,
				     .job = READ_LOCK,
				     .node = READ_LOCK,
				     .part = READ_LOCK } },
	[POLLUX_REQUESTING] = { .name = "ask",
				.lock = { .conf = READ_LOCK,
					  .job = WRITE_LOCK,
					  .node = WRITE_LOCK,
					  .part = READ_LOCK,
					  .fed = READ_LOCK } },
	[POLLUX_TOUCH] = { .name = "touch",
			   .lock = { .conf = READ_LOCK,
				     .job = WRITE_LOCK,
				     .node = WRITE_LOCK,
				     .part = READ_LOCK,
				     .fed = READ_LOCK } },
	[POLLUX_ACCOUNT] = { .name = "account",
			     .lock = { .conf = READ_LOCK,
				       .job = WRITE_LOCK,
				       .part = READ_LOCK } },
	[POLLUX_CHECKING] = { .name = "doubt",
			      .lock = { .conf = READ_LOCK,
					.job = READ_LOCK,
					.node = READ_LOCK } },
	[POLLUX_MENDING] = { .name = "mend",
			     .lock = { .conf = READ_LOCK,
				       .job = WRITE_LOCK,
				       .node = WRITE_LOCK,
				       .part = READ_LOCK,
				       .fed = READ_LOCK } },
	[POLLUX_RESERVED] = { .name = "room", .lock = { .node = READ_LOCK } },
	[POLLUX_STARTING] = { .name = "start",
			      .lock = { .conf = READ_LOCK,
					.job = WRITE_LOCK,
					.node = WRITE_LOCK,
					.part = READ_LOCK,
					.fed = READ_LOCK } },
	[POLLUX_CLEARING] = { .name = "clear",
			      .lock = { .conf = READ_LOCK,
					.job = WRITE_LOCK,
					.node = WRITE_LOCK,
					.part = READ_LOCK,
					.fed = READ_LOCK } },
	[POLLUX_REPORTING] = { .name = "tell",
			       .lock = { .job = WRITE_LOCK,
					 .node = READ_LOCK,
					 .part = READ_LOCK } },
	[POLLUX_MARKING] = { .name = "mark", .lock = { .node = WRITE_LOCK } },
	/* As slurmctld takes them for an operator's request. */
	[POLLUX_POWER] = { .name = "power",
			   .lock = { .conf = READ_LOCK,
				     .job = WRITE_LOCK,
				     .node = WRITE_LOCK,
				     .part = WRITE_LOCK,
				     .fed = READ_LOCK } },
};

static struct {
	pthread_mutex_t mutex;
	struct plx_lock_times held[POLLUX_PURPOSES];
} shared = {
	/* held[] is protected by the mutex, a leaf */
	.mutex = PTHREAD_MUTEX_INITIALIZER,
};

_Static_assert((int) POLLUX_PURPOSES <= (int) PLX_LOCKS, "all are counted");

/* What is held, and what is to be done and said afterwards. */
static __thread struct {
	bool locked;
	double wall_s, cpu_s; /* when it was taken */
	struct later {
		void (*act)(void *arg);
		void *arg;
	} * later;
	int later_count;
	int later_size;
	struct line {
		log_level_t level;
		char *text;
	} * lines;
	int count;
	int size;
} my;

static double _clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static void _say(log_level_t level, const char *text)
{
	if (level == LOG_LEVEL_INFO)
		info("%s", text);
	else
		verbose("%s", text);
}

static void _say_all(void)
{
	for (int i = 0; i < my.count; i++) {
		_say(my.lines[i].level, my.lines[i].text);
		xfree(my.lines[i].text);
	}
	my.count = my.size = 0;
	xfree(my.lines);
}

static char *_format(const char *format, va_list args)
{
	va_list again;
	char *text = NULL;
	int length = 0;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		length = 0;
	text = xmalloc((size_t) length + 1);
	(void) vsnprintf(text, (size_t) length + 1, format, args);
	return text;
}

static void _note(log_level_t level, const char *format, va_list args)
{
	char *text = NULL;

	if (get_log_level() < (int) level)
		return;
	text = _format(format, args);
	if (!my.locked) {
		_say_all(); /* in their order */
		_say(level, text);
		xfree(text);
		return;
	}
	if (my.count == my.size) {
		my.size = my.size ? 2 * my.size : MORE;
		xrecalloc(my.lines, my.size, sizeof(*my.lines));
	}
	my.lines[my.count++] = (struct line){ level, text };
}

void pollux_after_unlock(void (*act)(void *arg), void *arg)
{
	for (int i = 0; i < my.later_count; i++) {
		if (my.later[i].act == act && my.later[i].arg == arg)
			return;
	}
	if (!my.locked) {
		act(arg);
		return;
	}
	if (my.later_count == my.later_size) {
		my.later_size = my.later_size ? 2 * my.later_size : MORE;
		xrecalloc(my.later, my.later_size, sizeof(*my.later));
	}
	my.later[my.later_count++] = (struct later){ act, arg };
}

static void _save(void *arg)
{
	schedule_job_save();
}

void pollux_save_jobs(void)
{
	pollux_after_unlock(_save, NULL);
}

static void _queue(void *arg)
{
	agent_queue_request(arg);
}

void pollux_send(agent_arg_t *message)
{
	pollux_after_unlock(_queue, message);
}

static void _do_all(void)
{
	for (int i = 0; i < my.later_count; i++)
		my.later[i].act(my.later[i].arg);
	my.later_count = 0;
	my.later_size = 0;
	xfree(my.later);
}

void pollux_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	_note(LOG_LEVEL_INFO, format, args);
	va_end(args);
}

void pollux_verbose(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	_note(LOG_LEVEL_VERBOSE, format, args);
	va_end(args);
}

void pollux_lock(enum pollux_purpose purpose)
{
	lock_slurmctld(purposes[purpose].lock);
	my.locked = true;
	my.wall_s = _clock(CLOCK_MONOTONIC);
	my.cpu_s = _clock(CLOCK_THREAD_CPUTIME_ID);
}

void pollux_unlock(enum pollux_purpose purpose)
{
	struct plx_lock_times *held = &shared.held[purpose];
	double used_s = _clock(CLOCK_THREAD_CPUTIME_ID) - my.cpu_s;
	double took_s = _clock(CLOCK_MONOTONIC) - my.wall_s;

	unlock_slurmctld(purposes[purpose].lock);
	my.locked = false;
	_do_all();
	slurm_mutex_lock(&shared.mutex);
	plx_times_add(&held->times, took_s);
	held->cpu_s += used_s;
	held->cpu_most_s = MAX(held->cpu_most_s, used_s);
	slurm_mutex_unlock(&shared.mutex);
	_say_all();
}

void pollux_lock_yield(enum pollux_purpose purpose)
{
	if (_clock(CLOCK_MONOTONIC) - my.wall_s < BREATH_S)
		return;
	pollux_unlock(purpose);
	pollux_lock(purpose);
}

bool pollux_ending(void)
{
	return slurmctld_config.shutdown_time != 0;
}

void pollux_locks_read(struct plx_metrics *metrics)
{
	slurm_mutex_lock(&shared.mutex);
	for (int i = 0; i < POLLUX_PURPOSES && i < PLX_LOCKS; i++) {
		metrics->held[i] = shared.held[i];
		metrics->held[i].lock = purposes[i].name;
		metrics->held_count = i + 1;
	}
	slurm_mutex_unlock(&shared.mutex);
}
