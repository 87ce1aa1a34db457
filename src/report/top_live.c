/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_live.c - pollux-top on a terminal (top_live.h)
 *
 * One thread draws and hears keys. Slurm is asked by two others, one for
 * slurmctld and one for accounting, as either may keep one waiting.
 */

#define _GNU_SOURCE

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/errand.h"
#include "report/history.h"
#include "report/print.h"
#include "report/sacct.h"
#include "report/top_live.h"
#include "report/tty.h"

#define ESCAPE_MS 50   /* in which the rest of a key's sequence comes */
#define REDRAW_MS 1000 /* for times that pass while nothing happens */
#define STORY_MS  5000 /* a story is asked for anew */
#define KEYS_SIZE 256

struct look {
	bool failed;
	struct plx_view view;
	struct plx_error err;
};

/* What is asked of accounting, and its answer. */
struct story {
	uint32_t number;
	char id[48];
	bool failed;
	char *text;
};

/* All that runs. */
struct live {
	const struct plx_live *set;
	struct plx_top *top;
	struct plx_errand *looks;
	struct plx_errand *stories;
	int64_t next_ms; /* when to look again */
	bool looking;
	bool asked;	  /* accounting is to be asked, as soon as it can be */
	int64_t story_ms; /* when it has answered */
	long seen;	  /* looks that came back */
	bool failed;	  /* the last one did */
	bool over;
	char keys[KEYS_SIZE];
	size_t key_count;
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void run_look(const void *ask, void *answer)
{
	struct look *look = answer;

	(void) ask;
	*look = (struct look){ .failed = false };
	look->failed = plx_view_load(&look->view, &look->err) < 0;
}

static int write_story(const struct story *ask, FILE *out,
		       struct plx_error *err)
{
	struct plx_sacct sacct = { .jobs = NULL };
	struct plx_rows rows = { NULL, 0 };
	struct plx_history history = { .count = 0 };
	const struct plx_record *record;
	char number[16];
	char *text = NULL;
	size_t size = 0;
	int rc = -1;

	snprintf(number, sizeof(number), "%u", ask->number);
	sacct.jobs = number;
	if (plx_sacct_run(&sacct, &text, &size, err) < 0 ||
	    plx_rows_parse(text, size, &rows, err) < 0 ||
	    plx_history_make(&rows, time(NULL), &history, err) < 0)
		goto done;
	record = plx_history_find(&history, ask->id);
	if (record && record->span_count) {
		plx_print_run_result(record, 2, out);
		rc = 0;
	} else {
		plx_fail(err, "it knows nothing of this job yet");
	}
done:
	plx_history_release(&history);
	plx_rows_release(&rows);
	free(text);
	return rc;
}

static void run_story(const void *ask, void *answer)
{
	struct story *story = answer;
	struct plx_error err = { .text = "" };
	size_t size = 0;
	FILE *out;

	*story = *(const struct story *) ask;
	out = open_memstream(&story->text, &size);
	if (!out) {
		story->failed = true;
		story->text = NULL;
		return;
	}
	story->failed = write_story(story, out, &err) < 0;
	if (story->failed)
		fputs(err.text, out);
	fclose(out);
}

static void ask_story(struct live *live)
{
	const struct plx_view_job *job = plx_top_job(live->top);
	struct story ask = { .text = NULL };

	if (!job || live->top->mode != PLX_TOP_STORY) {
		live->asked = false;
		return;
	}
	ask.number = job->number;
	snprintf(ask.id, sizeof(ask.id), "%s", job->id);
	if (plx_errand_send(live->stories, &ask))
		live->asked = false;
}

static void take_story(struct live *live)
{
	struct story story;

	if (!plx_errand_take(live->stories, &story))
		return;
	live->story_ms = now_ms();
	if (story.text && story.number == live->top->at)
		plx_top_notify(live->top, story.number, story.text,
			       story.failed);
	else
		free(story.text);
}

static void take_look(struct live *live)
{
	struct look look;

	if (!plx_errand_take(live->looks, &look))
		return;
	live->looking = false;
	live->seen++;
	live->failed = look.failed;
	if (look.failed)
		plx_top_fail(live->top, look.err.text);
	else if (plx_top_take(live->top, &look.view))
		live->asked = true;
	if (live->set->looks && live->seen >= live->set->looks)
		live->over = true;
}

static void obey(struct live *live, enum plx_key key)
{
	switch (plx_top_key(live->top, key)) {
	case PLX_TOP_LEAVE:
		live->over = true;
		break;
	case PLX_TOP_LOOK:
		live->next_ms = now_ms();
		break;
	case PLX_TOP_ASK:
		live->asked = true;
		break;
	default:
		break;
	}
}

static void hear(struct live *live, bool last)
{
	size_t at = 0;
	size_t taken;
	enum plx_key key;

	while ((taken = plx_key_take(live->keys + at, live->key_count - at,
				     last, &key)) > 0) {
		at += taken;
		obey(live, key);
	}
	live->key_count -= at;
	memmove(live->keys, live->keys + at, live->key_count);
}

static void read_keys(struct live *live)
{
	ssize_t got = read(STDIN_FILENO, live->keys + live->key_count,
			   KEYS_SIZE - live->key_count);

	if (got <= 0) {
		live->over = got == 0 || (errno != EINTR && errno != EAGAIN);
		return;
	}
	live->key_count += (size_t) got;
	hear(live, false);
}

static void hear_terminal(struct live *live, struct plx_error *err)
{
	enum plx_tty_event event;

	while ((event = plx_tty_event()) != PLX_TTY_NOTHING) {
		if (event == PLX_TTY_END)
			live->over = true;
		else if (event == PLX_TTY_STOP && plx_tty_suspend(err) < 0)
			live->over = live->failed = true;
	}
}

static void draw(struct live *live)
{
	struct plx_screen screen;
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int width;
	int height;

	plx_tty_size(&width, &height);
	if (plx_screen_init(&screen, width, height, live->set->utf8) < 0)
		return;
	plx_top_draw(live->top, &screen, time(NULL));
	out = open_memstream(&text, &size);
	if (out) {
		plx_screen_write(&screen, live->set->colour, out);
		if (fclose(out) == 0 && plx_tty_write(text, size) < 0)
			live->over = true;
		free(text);
	}
	plx_screen_release(&screen);
}

/* How long there is nothing to do, if nothing comes. */
static int patience_ms(const struct live *live)
{
	int64_t left_ms = live->next_ms - now_ms();

	if (live->key_count)
		return ESCAPE_MS;
	if (live->looking || left_ms > REDRAW_MS)
		return REDRAW_MS;
	return left_ms > 0 ? (int) left_ms : 0;
}

static void wait_for_news(struct live *live, struct plx_error *err)
{
	struct pollfd waits[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = plx_tty_fd(), .events = POLLIN },
		{ .fd = plx_errand_fd(live->looks), .events = POLLIN },
		{ .fd = plx_errand_fd(live->stories), .events = POLLIN },
	};
	int count = poll(waits, 4, patience_ms(live));

	if (count < 0)
		return;
	if (count == 0 && live->key_count)
		hear(live, true);
	if (waits[0].revents)
		read_keys(live);
	if (waits[1].revents)
		hear_terminal(live, err);
	if (waits[2].revents)
		take_look(live);
	if (waits[3].revents)
		take_story(live);
}

static void look_if_due(struct live *live)
{
	int64_t now = now_ms();

	if (live->looking || now < live->next_ms ||
	    !plx_errand_send(live->looks, &now))
		return;
	live->looking = true;
	live->next_ms = now + (int64_t) (1000 * live->set->interval_s);
	if (now > live->story_ms + STORY_MS)
		live->asked = true;
}

int plx_live_run(const struct plx_live *set, struct plx_top *top,
		 struct plx_error *err)
{
	struct live live = { .set = set, .top = top };

	/* Now, as the environment is read by more than one thread later. */
	setenv("SLURM_TIME_FORMAT", "%s", 1);
	live.looks = plx_errand_create(run_look, sizeof(int64_t),
				       sizeof(struct look));
	live.stories = plx_errand_create(run_story, sizeof(struct story),
					 sizeof(struct story));
	if (!live.looks || !live.stories)
		return plx_fail(err, "cannot start a thread");
	if (plx_tty_open(err) < 0)
		return -1;
	while (!live.over) {
		look_if_due(&live);
		if (live.asked)
			ask_story(&live);
		draw(&live);
		wait_for_news(&live, err);
	}
	plx_tty_close();
	if (live.failed && top->trouble.text[0])
		return plx_fail(err, "%s", top->trouble.text);
	return live.failed ? -1 : 0;
}
