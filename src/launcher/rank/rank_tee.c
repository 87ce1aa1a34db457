/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_tee.c - a rank's output on its way: passed on, logged, remembered */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/rank/rank_tee.h"

#define PATIENCE_S 0.1 /* with a line that has no end yet */

void plx_tail_add(struct plx_tail *tail, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char *line;

		if (!tail->count || tail->ended) {
			tail->count++;
			tail->used = 0;
		}
		line = tail->line[(tail->count - 1) % PLX_EXIT_LINES];
		tail->ended = data[i] == '\n';
		/* The end of a line that is too long is left out. */
		if (tail->used == PLX_TAIL_LINE - 1 && data[i] != '\n')
			continue;
		line[tail->used++] = data[i] ? data[i] : ' ';
		line[tail->used] = '\0';
	}
}

void plx_tail_text(const struct plx_tail *tail, char text[PLX_EXIT_TEXT])
{
	int first =
		tail->count > PLX_EXIT_LINES ? tail->count - PLX_EXIT_LINES : 0;
	size_t used = 0;

	text[0] = '\0';
	for (int i = first; i < tail->count; i++) {
		const char *line = tail->line[i % PLX_EXIT_LINES];
		size_t length = strlen(line);

		if (used + length + 2 > PLX_EXIT_TEXT)
			return;
		memcpy(text + used, line, length + 1);
		used += length;
		if (length && line[length - 1] != '\n')
			strcpy(text + used++, "\n");
	}
}

/* Bytes up to the end of the last line; a bar drawn anew ends with '\r'. */
static size_t whole_lines(const struct plx_tee *tee)
{
	size_t i = tee->used;

	while (i > 0 && tee->data[i - 1] != '\n' && tee->data[i - 1] != '\r')
		i--;
	return i;
}

void plx_tee_wants(const struct plx_tee *tee, struct pollfd *wait)
{
	*wait = (struct pollfd){ .fd = -1 };
	if (tee->ready)
		*wait = (struct pollfd){ .fd = tee->to, .events = POLLOUT };
	else if (tee->used < sizeof(tee->data))
		*wait = (struct pollfd){ .fd = tee->from, .events = POLLIN };
}

static void take_in(struct plx_tee *tee, double now_s)
{
	ssize_t got = read(tee->from, tee->data + tee->used,
			   sizeof(tee->data) - tee->used);

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		close(tee->from);
		tee->from = -1;
		tee->ready = tee->used;
		return;
	}
	plx_tail_add(tee->tail, tee->data + tee->used, (size_t) got);
	if (!tee->used)
		tee->since_s = now_s;
	tee->used += (size_t) got;
	tee->ready = whole_lines(tee);
	if (tee->used == sizeof(tee->data))
		tee->ready = tee->used;
}

/* A full disk ends the log, not the training. */
static void log_bytes(int *log, const char *data, size_t size)
{
	if (*log < 0 || write(*log, data, size) == (ssize_t) size)
		return;
	dprintf(STDERR_FILENO, "pollux-rank: the log of this rank ends: %s\n",
		strerror(errno));
	close(*log);
	*log = -1;
}

static void pass_on(struct plx_tee *tee, int *log)
{
	ssize_t wrote = (ssize_t) tee->ready;

	if (tee->to >= 0)
		wrote = write(tee->to, tee->data, tee->ready);
	if (wrote < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (wrote < 0) {
		/* Nobody reads any more; the log may still be there. */
		tee->to = -1;
		return;
	}
	log_bytes(log, tee->data, (size_t) wrote);
	tee->used -= (size_t) wrote;
	tee->ready -= (size_t) wrote;
	memmove(tee->data, tee->data + wrote, tee->used);
}

void plx_tee_poll(struct plx_tee *tee, const struct pollfd *wait, int *log,
		  double now_s)
{
	if (tee->ready && (wait->revents || tee->to < 0))
		pass_on(tee, log);
	else if (!tee->ready && wait->revents)
		take_in(tee, now_s);
	if (!tee->ready && tee->used && now_s - tee->since_s >= PATIENCE_S)
		tee->ready = tee->used;
}

double plx_tee_patience(const struct plx_tee *tee, double now_s)
{
	double left_s = tee->since_s + PATIENCE_S - now_s;

	if (tee->ready)
		return tee->to < 0 ? 0 : -1;
	if (!tee->used)
		return -1;
	return left_s > 0 ? left_s : 0;
}

void plx_tee_drain(struct plx_tee *tee, int *log)
{
	struct pollfd wait = { .fd = tee->from, .events = POLLIN };

	for (;;) {
		while (tee->used) {
			struct pollfd out = { .fd = tee->to,
					      .events = POLLOUT };

			tee->ready = tee->used;
			if (tee->to >= 0)
				poll(&out, 1, -1);
			pass_on(tee, log);
		}
		if (tee->from < 0 || poll(&wait, 1, 0) <= 0)
			return;
		take_in(tee, 0);
	}
}
