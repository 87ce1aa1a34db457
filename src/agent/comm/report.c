/* SPDX-License-Identifier: MIT */
/* report.c - rank 0's line to the launcher */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/comm/report.h"
#include "wire/channel.h"
#include "wire/env.h"
#include "wire/message.h"
#include "wire/now.h"

#define CONNECT_S	10.0
#define HINT_EVERY_S	1.0
#define BEAT_EVERY_S	1.0
#define POLL_S		60.0
#define GENERATIONS_MAX 1e9

struct plx_reporter {
	struct plx_channel *channel; /* NULL once it is closed */
	unsigned int wishes;	     /* not taken yet, or staying */
	long source;		     /* generation to take the state from */
	double hinted_s;
	double beaten_s;
};

#define STAYING (PLX_WISH_STOP | PLX_WISH_GONE)

static const struct {
	const char *word;
	enum plx_wish wish;
} words[] = {
	{ PLX_MSG_STOP, PLX_WISH_STOP },
	{ PLX_MSG_SAVE, PLX_WISH_SAVE },
	{ PLX_MSG_PREPARE, PLX_WISH_PREPARE },
	{ PLX_MSG_HAND, PLX_WISH_HAND },
	{ PLX_MSG_LEAVE, PLX_WISH_LEAVE },
	{ PLX_MSG_RESUME, PLX_WISH_RESUME },
	{ PLX_MSG_GO, PLX_WISH_GO },
};

int plx_reporter_create(struct plx_reporter **reporter, struct plx_error *err)
{
	const char *path = getenv(PLX_ENV_SOCKET);
	struct plx_reporter *r;

	if (!path || !*path)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return plx_fail(err, "out of memory");
	r->hinted_s = -INFINITY;
	r->beaten_s = -INFINITY;
	r->channel = plx_connect(path, CONNECT_S, err);
	if (!r->channel) {
		free(r);
		return -1;
	}
	*reporter = r;
	return 0;
}

void plx_reporter_destroy(struct plx_reporter *reporter)
{
	if (!reporter)
		return;
	plx_channel_destroy(reporter->channel);
	free(reporter);
}

int plx_reporter_fd(const struct plx_reporter *reporter)
{
	return reporter && reporter->channel ? plx_channel_fd(reporter->channel)
					     : -1;
}

static void close_channel(struct plx_reporter *reporter)
{
	plx_channel_destroy(reporter->channel);
	reporter->channel = NULL;
	/* Whoever said stop may go at once. */
	if (!(reporter->wishes & PLX_WISH_STOP))
		reporter->wishes |= PLX_WISH_GONE;
}

static void understand(struct plx_reporter *reporter, const char *line)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *fields = plx_message(line, words[i].word);
		double source = 0;

		if (!fields)
			continue;
		reporter->wishes |= words[i].wish;
		if (words[i].wish & (PLX_WISH_GO | PLX_WISH_RESUME) &&
		    plx_field_doubles(fields, "gen", 1, GENERATIONS_MAX,
				      &source, 1, NULL) >= 0)
			reporter->source = (long) source;
	}
}

static void listen_once(struct plx_reporter *reporter)
{
	char line[PLX_LINE_MAX];

	while (reporter->channel) {
		int got = plx_channel_receive(reporter->channel, line, NULL);

		if (got == 0)
			break;
		if (got < 0)
			close_channel(reporter);
		else
			understand(reporter, line);
	}
}

unsigned int plx_reporter_wishes(struct plx_reporter *reporter)
{
	unsigned int wishes;

	if (!reporter)
		return 0;
	listen_once(reporter);
	wishes = reporter->wishes;
	reporter->wishes &= STAYING;
	return wishes;
}

unsigned int plx_reporter_wait(struct plx_reporter *reporter, unsigned int any,
			       double timeout_s)
{
	double end_s = plx_now_s() + timeout_s;
	unsigned int came;

	any |= PLX_WISH_GONE;
	if (!reporter)
		return 0;
	for (;;) {
		double left_s = end_s - plx_now_s();
		struct pollfd p = { .events = POLLIN };

		listen_once(reporter);
		came = reporter->wishes & any;
		/* Also one that had said stop before: nobody will answer. */
		if (!reporter->channel)
			came |= PLX_WISH_GONE;
		if (came || left_s <= 0)
			break;
		p.fd = plx_channel_fd(reporter->channel);
		poll(&p, 1, (int) (1e3 * fmin(left_s, POLL_S)) + 1);
	}
	reporter->wishes &= ~came | STAYING;
	return came;
}

long plx_reporter_source(const struct plx_reporter *reporter)
{
	return reporter ? reporter->source : 0;
}

void plx_reporter_beat(struct plx_reporter *reporter, uint64_t step,
		       double now_s)
{
	if (!reporter || now_s < reporter->beaten_s + BEAT_EVERY_S)
		return;
	reporter->beaten_s = now_s;
	plx_reporter_say(reporter, PLX_MSG_BEAT " step=%" PRIu64, step);
}

void plx_reporter_busy(struct plx_reporter *reporter, uint64_t step,
		       double now_s)
{
	if (!reporter || now_s < reporter->beaten_s + BEAT_EVERY_S)
		return;
	reporter->beaten_s = now_s;
	plx_reporter_say(reporter, PLX_MSG_BEAT " step=%" PRIu64 " busy=1",
			 step);
}

void plx_reporter_say(struct plx_reporter *reporter, const char *fmt, ...)
{
	char line[PLX_LINE_MAX];
	va_list args;

	if (!reporter || !reporter->channel)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (plx_channel_send(reporter->channel, line, NULL) < 0)
		close_channel(reporter);
}

bool plx_reporter_hint_due(const struct plx_reporter *reporter, double now_s)
{
	return reporter && now_s >= reporter->hinted_s + HINT_EVERY_S;
}

void plx_reporter_hint(struct plx_reporter *reporter,
		       const struct plx_hint *hint, double now_s)
{
	char fields[PLX_FIELDS_MAX];
	struct plx_writer writer;

	if (!plx_reporter_hint_due(reporter, now_s))
		return;
	plx_writer_init(&writer, fields, sizeof(fields));
	plx_hint_write(&writer, hint);
	if (writer.overflow)
		return;
	reporter->hinted_s = now_s;
	plx_reporter_say(reporter, PLX_MSG_HINT " %s", fields);
}
