/* SPDX-License-Identifier: MIT */
/* report.c - rank 0's line to the launcher */
#include <config.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/report.h"
#include "wire/channel.h"
#include "wire/env.h"
#include "wire/message.h"

#define CONNECT_S    10.0
#define HINT_EVERY_S 1.0

struct plx_reporter {
	struct plx_channel *channel; /* NULL once it is closed */
	enum plx_wish wish;
	double hinted_s;
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

static void close_channel(struct plx_reporter *reporter)
{
	plx_channel_destroy(reporter->channel);
	reporter->channel = NULL;
	if (reporter->wish == PLX_WISH_NONE)
		reporter->wish = PLX_WISH_GONE;
}

enum plx_wish plx_reporter_wish(struct plx_reporter *reporter)
{
	char line[PLX_LINE_MAX];
	int got;

	if (!reporter)
		return PLX_WISH_NONE;
	while (reporter->channel) {
		got = plx_channel_receive(reporter->channel, line, NULL);
		if (got == 0)
			break;
		if (got < 0)
			close_channel(reporter);
		else if (plx_message(line, PLX_MSG_STOP))
			reporter->wish = PLX_WISH_STOP;
	}
	return reporter->wish;
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

void plx_reporter_hint(struct plx_reporter *reporter,
		       const struct plx_hint *hint, double now_s)
{
	char fields[PLX_FIELDS_MAX];
	struct plx_writer writer;

	if (!reporter || now_s < reporter->hinted_s + HINT_EVERY_S)
		return;
	plx_writer_init(&writer, fields, sizeof(fields));
	plx_hint_write(&writer, hint);
	if (writer.overflow)
		return;
	reporter->hinted_s = now_s;
	plx_reporter_say(reporter, PLX_MSG_HINT " %s", fields);
}
