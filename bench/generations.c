/* SPDX-License-Identifier: MIT */
/*
 * generations.c - a launcher's part in handovers, without a cluster
 *
 *	generations [OPTION...] -- COMMAND [ARG...]
 *
 * Runs the command under mpirun on ever other numbers of ranks, one generation
 * after the other, and hands the training over from each to the next as
 * pollux-launch does (docs/resize.md). Prints a line a resize, in
 * milliseconds, and percentiles at the end:
 *
 *	idle	from the end of the last iteration to the first pass given out
 *	hand	... of which: until the old ranks have said "saved"
 *	take	... then, until the new ones have said "restored"
 *	first	until the first step of the new ones is committed
 *
 * --resizes=N --ranks=MAX --min=MIN --seed=N --dir=DIR --json --cold
 * --finish	train to the end after that: else stop
 * --fail=ready|held|damaged|lost|gone	instead of resizes, the next generation
 *	is killed when ready or when the state is held, finds it damaged, has
 *	lost the old one, or the launcher goes while the state is held
 * --held=COMMAND	with damaged: does the damage; $RANKS is mpirun's
 *process
 */
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "generation.h"
#include "wire/env.h"
#include "wire/message.h"

#define TRAIN_S 0.3 /* between resizes */

enum failure {
	FAIL_NONE,
	FAIL_READY,   /* the new one is killed when it is ready */
	FAIL_HELD,    /* ... when the old one has handed over */
	FAIL_DAMAGED, /* it finds the state damaged */
	FAIL_LOST,    /* the old one is killed when the new one is ready */
	FAIL_GONE,    /* we go when the old one has handed over */
};

static const char *const failures[] = {
	[FAIL_NONE] = "none", [FAIL_READY] = "ready",
	[FAIL_HELD] = "held", [FAIL_DAMAGED] = "damaged",
	[FAIL_LOST] = "lost", [FAIL_GONE] = "gone",
};

struct settings {
	int resizes;
	int ranks; /* at most */
	int min;
	uint64_t seed;
	struct play play;
	bool json;
	bool cold;
	bool finish;
	enum failure failure;
	const char *held; /* command */
};

struct sample {
	double idle_s;
	double hand_s;
	double take_s;
	double first_s;
};

static struct settings settings = {
	.resizes = 10,
	.ranks = 4,
	.min = 1,
	.seed = 1,
	.play.dir = ".",
};

/* ---- resizes ---- */

static int draw(int below)
{
	settings.seed =
		settings.seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (int) (settings.seed >> 33) % below;
}

/* From min to ranks, but not as many as now, unless there is no other. */
static int other_size(int now)
{
	int others = settings.ranks - settings.min;
	int ranks = settings.min + (others > 0 ? draw(others) : 0);

	return ranks >= now && others > 0 ? ranks + 1 : ranks;
}

static void begin(struct generation *g, uint64_t number, int ranks, bool warm)
{
	*g = (struct generation){ .number = number, .ranks = ranks };
	start(g, &settings.play, warm);
}

static void train(double seconds)
{
	struct timespec t = { .tv_sec = (time_t) seconds };

	t.tv_nsec = (long) ((seconds - (double) t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

/* From "saved" to "began": what a resize cost. */
static void measure(struct generation *next, double saved_s, const char *saved,
		    struct sample *sample)
{
	char fields[PLX_LINE_MAX];
	double last_s = saved_s - field(saved, "idle");
	double restored_s = hear(next, PLX_MSG_RESTORED, fields);
	double began_s = hear(next, PLX_MSG_BEGAN, fields);

	sample->hand_s = saved_s - last_s;
	sample->take_s = restored_s - saved_s;
	sample->first_s = began_s - last_s;
	sample->idle_s = sample->first_s - field(fields, "idle");
}

static void hand_over(struct generation *now, struct generation *next,
		      struct sample *sample)
{
	char fields[PLX_LINE_MAX];
	char go[64];
	double saved_s;

	say(now, PLX_MSG_PREPARE);
	hear(next, PLX_MSG_READY, fields);
	train(TRAIN_S);
	say(now, PLX_MSG_HAND);
	saved_s = hear(now, PLX_MSG_SAVED, fields);
	if (field(fields, "held") != 1)
		fail("saved", "but not held");
	snprintf(go, sizeof(go), PLX_MSG_GO " gen=%" PRIu64, now->number);
	say(next, go);
	measure(next, saved_s, fields, sample);
	say(now, PLX_MSG_LEAVE);
	if (end(now) != 0)
		fail("old ranks", "left with an error");
	*now = *next;
}

static void resize_warm(struct generation *now, struct sample *sample)
{
	struct generation next;

	begin(&next, now->number + 1, other_size(now->ranks), true);
	hand_over(now, &next, sample);
}

static void resize_cold(struct generation *now, struct sample *sample)
{
	char fields[PLX_LINE_MAX];
	struct generation next;
	double saved_s;

	train(TRAIN_S);
	say(now, PLX_MSG_STOP);
	saved_s = hear(now, PLX_MSG_SAVED, fields);
	if (end(now) != 0)
		fail("old ranks", "left with an error");
	begin(&next, now->number + 1, other_size(now->ranks), false);
	measure(&next, saved_s, fields, sample);
	*now = next;
}

/* The old one holds its state; the next comes to nothing, or we do. */
static void fail_held(struct generation *now, struct generation *next)
{
	char fields[PLX_LINE_MAX];
	char go[64];

	say(now, PLX_MSG_HAND);
	hear(now, PLX_MSG_SAVED, fields);
	if (settings.failure == FAIL_GONE) {
		kill_all(next);
		plx_channel_destroy(now->channel);
		now->channel = NULL;
		if (end(now) == 0)
			fail("old ranks", "left as if nothing had happened");
		begin(now, next->number + 1, now->ranks, false);
		hear(now, PLX_MSG_BEGAN, fields);
		return;
	}
	if (settings.failure == FAIL_DAMAGED) {
		set_number("RANKS", (uint64_t) now->pid);
		if (!settings.held || system(settings.held) != 0)
			fail("--held", "the command failed");
		/* One that waits has copied it by now: nobody has. */
		start(next, &settings.play, true);
		hear(next, PLX_MSG_READY, fields);
		snprintf(go, sizeof(go), PLX_MSG_GO " gen=%" PRIu64,
			 now->number);
		say(next, go);
		if (end(next) == 0)
			fail("new ranks", "took what was damaged");
	} else {
		kill_all(next);
	}
	say(now, PLX_MSG_RESUME);
	hear(now, PLX_MSG_RESUMED, fields);
}

/* The next generation comes to nothing; the training must not. */
static void fail_once(struct generation *now)
{
	struct generation next;
	struct sample sample;
	char fields[PLX_LINE_MAX];

	next = (struct generation){ .number = now->number + 1,
				    .ranks = other_size(now->ranks) };
	say(now, PLX_MSG_PREPARE);
	if (settings.failure != FAIL_DAMAGED) {
		start(&next, &settings.play, true);
		hear(&next, PLX_MSG_READY, fields);
	}
	if (settings.failure == FAIL_LOST) {
		kill_all(now);
		say(&next, PLX_MSG_GO);
		hear(&next, PLX_MSG_BEGAN, fields);
		*now = next;
		return;
	}
	if (settings.failure == FAIL_READY)
		kill_all(&next);
	else
		fail_held(now, &next);
	train(TRAIN_S);
	/* And the one after that goes well, numbered as a launcher would. */
	begin(&next, now->number + 2, other_size(now->ranks), true);
	hand_over(now, &next, &sample);
}

/* ---- results ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The q-th quantile of a member, in milliseconds. */
static double quantile(const struct sample *samples, size_t member, double q)
{
	int n = settings.resizes;
	double *all = calloc((size_t) n, sizeof(*all));
	double value;

	if (!all)
		fail("quantile", "out of memory");
	for (int i = 0; i < n; i++)
		memcpy(&all[i], (const char *) &samples[i] + member,
		       sizeof(*all));
	qsort(all, (size_t) n, sizeof(*all), compare);
	value = 1e3 * all[(int) (q * (n - 1) + 0.5)];
	free(all);
	return value;
}

static void print_results(const struct sample *samples)
{
	static const struct {
		const char *name;
		size_t member;
	} rows[] = {
		{ "idle", offsetof(struct sample, idle_s) },
		{ "hand", offsetof(struct sample, hand_s) },
		{ "take", offsetof(struct sample, take_s) },
		{ "first", offsetof(struct sample, first_s) },
	};

	printf(settings.json ? "{\"resizes\":%d,\"cold\":%s"
			     : "%d resizes, cold: %s\n",
	       settings.resizes, settings.cold ? "true" : "false");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf(settings.json ? ",\"%s_p50_ms\":%.1f,\"%s_p99_ms\":%.1f"
				     : "%-6s p50 %8.1f ms, %-6s p99 %8.1f ms\n",
		       rows[i].name, quantile(samples, rows[i].member, 0.5),
		       rows[i].name, quantile(samples, rows[i].member, 0.99));
	printf(settings.json ? "}\n" : "");
}

/* ---- the run ---- */

static enum failure failure_of(const char *name)
{
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		if (!strcmp(failures[i], name))
			return (enum failure) i;
	}
	fail("--fail", "no such failure");
}

static void read_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "resizes", required_argument, NULL, 'r' },
		{ "ranks", required_argument, NULL, 'n' },
		{ "min", required_argument, NULL, 'm' },
		{ "seed", required_argument, NULL, 's' },
		{ "dir", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "cold", no_argument, NULL, 'c' },
		{ "finish", no_argument, NULL, 'e' },
		{ "fail", required_argument, NULL, 'f' },
		{ "held", required_argument, NULL, 'h' },
		{ 0 },
	};
	int key;

	while ((key = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (key == 'r')
			settings.resizes = atoi(optarg);
		else if (key == 'n')
			settings.ranks = atoi(optarg);
		else if (key == 'm')
			settings.min = atoi(optarg);
		else if (key == 's')
			settings.seed = strtoull(optarg, NULL, 10);
		else if (key == 'd')
			settings.play.dir = optarg;
		else if (key == 'j')
			settings.json = true;
		else if (key == 'c')
			settings.cold = true;
		else if (key == 'e')
			settings.finish = true;
		else if (key == 'f')
			settings.failure = failure_of(optarg);
		else if (key == 'h')
			settings.held = optarg;
		else
			exit(2);
	}
	settings.play.command = argv + optind;
	if (settings.resizes < 1 || settings.min < 1 ||
	    settings.ranks < settings.min || !argv[optind])
		fail("usage", "generations [OPTION...] -- COMMAND [ARG...]");
}

/* Resizes, one after the other. */
int main(int argc, char **argv)
{
	struct generation now;
	struct sample *samples;
	char fields[PLX_LINE_MAX];

	read_options(argc, argv);
	setenv(PLX_ENV_CHECKPOINTS, settings.play.dir, 0);
	samples = calloc((size_t) settings.resizes, sizeof(*samples));
	if (!samples)
		fail("start", "out of memory");
	begin(&now, 1, other_size(settings.ranks + 1), false);
	hear(&now, PLX_MSG_BEGAN, fields);
	if (settings.failure != FAIL_NONE)
		fail_once(&now);
	for (int i = 0; settings.failure == FAIL_NONE && i < settings.resizes;
	     i++) {
		int before = now.ranks;

		if (settings.cold)
			resize_cold(&now, &samples[i]);
		else
			resize_warm(&now, &samples[i]);
		fprintf(stderr,
			"resize %d: %d -> %d ranks, idle %.1f ms, hand %.1f, "
			"take %.1f, first %.1f\n",
			i + 1, before, now.ranks, 1e3 * samples[i].idle_s,
			1e3 * samples[i].hand_s, 1e3 * samples[i].take_s,
			1e3 * samples[i].first_s);
	}
	if (!settings.finish)
		say(&now, PLX_MSG_STOP);
	hear(&now, settings.finish ? PLX_MSG_DONE : PLX_MSG_SAVED, fields);
	if (end(&now) != 0)
		fail("ranks", "left with an error");
	if (settings.failure == FAIL_NONE)
		print_results(samples);
	free(samples);
	return 0;
}
