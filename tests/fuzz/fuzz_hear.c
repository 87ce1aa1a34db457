/* SPDX-License-Identifier: MIT */
/* fuzz_hear.c - what rank 0 says to the launcher, line by line */

#include <math.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

/* The agent has its own. */
#define plx_say		     hear_say
#define plx_handover_release hear_release

#include "launcher/loop/from_rank.c"

static int raised;

void hear_say(const struct plx_launcher *l, enum plx_loudness least,
	      const char *fmt, ...)
{
	char text[1024];
	va_list args;

	(void) l;
	(void) least;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
}

void plx_raise(struct plx_launcher *l, enum plx_event event)
{
	(void) l;
	(void) event;
	raised++;
}

void plx_limit_learn(struct plx_launcher *l, const char *fields)
{
	double seconds = 0;

	plx_field_doubles(fields, "seconds", 0, 1e9, &seconds, 1, NULL);
	l->limit.save_s = seconds;
}

void hear_release(struct plx_launcher *l)
{
	(void) l;
}

void plx_fault_hello(struct plx_launcher *l)
{
	(void) l;
}

void plx_fault_beat(struct plx_launcher *l, uint64_t step)
{
	(void) l;
	MUST(step <= 1000000000000000000U);
}

void plx_fault_busy(struct plx_launcher *l)
{
	(void) l;
}

void plx_script_runs(struct plx_script *script)
{
	(void) script;
}

void plx_report_status(struct plx_launcher *l, double due_s)
{
	(void) l;
	(void) due_s;
}

void plx_sick_trained(struct plx_launcher *l)
{
	(void) l;
}

void plx_report_resize(struct plx_launcher *l)
{
	(void) l;
}

void plx_report_kept(struct plx_launcher *l, const char *fields)
{
	(void) l;
	MUST(strlen(fields) < PLX_LINE_MAX);
}

void plx_pace_anew(struct plx_pace *pace)
{
	(void) pace;
}

/* The bytes into one end of a socket, whose other end is read. */
static void feed(struct plx_launcher *l, const uint8_t *data, size_t size)
{
	struct plx_generation *g = &l->slots[0];
	int ends[2];

	MUST(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
	g->peer = (struct plx_peer){ .listener = -1 };
	g->peer.channel = plx_channel_wrap(ends[0], NULL);
	MUST(g->peer.channel);
	while (size > 0 && g->peer.channel) {
		size_t part = size < 4096 ? size : 4096;

		MUST(write(ends[1], data, part) == (ssize_t) part);
		data += part;
		size -= part;
		plx_from_rank(l, g);
	}
	close(ends[1]);
	plx_from_rank(l, g);
	MUST(!g->peer.channel);
}

int fuzz_hear(const uint8_t *data, size_t size)
{
	static const enum plx_stage stages[] = { PLX_STAGE_STARTING,
						 PLX_STAGE_TRAINING,
						 PLX_STAGE_HANDING };
	struct plx_launcher *l = calloc(1, sizeof(*l));

	MUST(l);
	l->now = &l->slots[0];
	l->stage = stages[size % 3];
	l->resizing = size & 1;
	feed(l, data, size);
	MUST(strlen(l->crc) < sizeof(l->crc));
	MUST(strlen(l->samples) < sizeof(l->samples));
	MUST(isfinite(l->marks.last_s) && isfinite(l->marks.first_s));
	MUST(!l->status.has_hint || plx_goodput_valid(&l->status.hint.job));
	free(l);
	return 0;
}
