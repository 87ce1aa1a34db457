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
 * --resizes=N --ranks=MAX --seed=N --dir=DIR --json --cold
 * --finish	train to the end after that: else stop
 * --fail=ready|held|lost	instead: the next generation comes to nothing
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/fields.h"
#include "wire/channel.h"
#include "wire/env.h"
#include "wire/message.h"

#define LIMIT_S 60.0 /* for each step of a handover */
#define TRAIN_S 0.3  /* between resizes */

enum failure {
	FAIL_NONE,
	FAIL_READY, /* the new one is killed when it is ready */
	FAIL_HELD,  /* ... when the old one has handed over */
	FAIL_LOST,  /* the old one is killed when the new one is ready */
};

struct settings {
	int resizes;
	int ranks; /* at most */
	uint64_t seed;
	const char *dir;
	bool json;
	bool cold;
	bool finish;
	enum failure failure;
	char **command;
};

/* One start of the ranks. */
struct generation {
	uint64_t number;
	int ranks;
	pid_t pid;
	int listener;
	char path[256];
	struct plx_channel *channel;
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
	.seed = 1,
	.dir = ".",
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "generations: %s: %s\n", what, why);
	exit(1);
}

/* ---- a generation ---- */

static void set_number(const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	setenv(name, text, 1);
}

static void run(const struct generation *g, bool warm)
{
	char *argv[64] = { (char *) "mpirun", (char *) "-n" };
	char job[64];
	char ranks[16];
	int n = 2;

	snprintf(ranks, sizeof(ranks), "%d", g->ranks);
	snprintf(job, sizeof(job), "generations.%d", (int) getppid());
	argv[n++] = ranks;
	for (char **arg = settings.command; *arg && n < 62; arg++)
		argv[n++] = *arg;
	setenv(PLX_ENV_SOCKET, g->path, 1);
	setenv(PLX_ENV_JOB, job, 1);
	set_number(PLX_ENV_GENERATION, g->number);
	set_number(PLX_ENV_STARTS, g->number - 1);
	if (warm)
		setenv(PLX_ENV_WARM, "1", 1);
	setpgid(0, 0);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

static void start(struct generation *g, uint64_t number, int ranks, bool warm)
{
	struct plx_error err = { "" };

	*g = (struct generation){ .number = number, .ranks = ranks };
	snprintf(g->path, sizeof(g->path), "%s/s.%" PRIu64, settings.dir,
		 number);
	g->listener = plx_listen(g->path, &err);
	if (g->listener < 0)
		fail("listen", err.text);
	g->pid = fork();
	if (g->pid < 0)
		fail("fork", strerror(errno));
	if (g->pid == 0)
		run(g, warm);
}

/* Exit code; killed: 128 and more. */
static int end(struct generation *g)
{
	double limit_s = now_s() + LIMIT_S;
	int status = 0;

	while (waitpid(g->pid, &status, WNOHANG) == 0) {
		if (now_s() > limit_s)
			fail("ranks", "do not leave");
		usleep(1000);
	}
	plx_channel_destroy(g->channel);
	close(g->listener);
	unlink(g->path);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void say(struct generation *g, const char *line)
{
	struct plx_error err = { "" };

	if (plx_channel_send(g->channel, line, &err) < 0)
		fail(line, err.text);
}

static void meet(struct generation *g, double limit_s)
{
	struct plx_error err = { "" };

	while (!g->channel) {
		struct pollfd p = { .fd = g->listener, .events = POLLIN };

		poll(&p, 1, 100);
		g->channel = plx_accept(g->listener, &err);
		if (waitpid(g->pid, NULL, WNOHANG) > 0)
			fail("ranks", "left before they said anything");
		if (now_s() > limit_s)
			fail("ranks", "say nothing");
	}
}

/* Wait until rank 0 says this word; its fields are copied. When it came. */
static double hear(struct generation *g, const char *word,
		   char fields[PLX_LINE_MAX])
{
	double limit_s = now_s() + LIMIT_S;
	struct plx_error err = { "gone" };
	char line[PLX_LINE_MAX];

	meet(g, limit_s);
	while (now_s() < limit_s) {
		struct pollfd p = { .events = POLLIN };
		int got = plx_channel_receive(g->channel, line, &err);
		const char *found;

		if (got < 0)
			fail(word, err.text);
		if (got == 0) {
			p.fd = plx_channel_fd(g->channel);
			poll(&p, 1, 100);
			continue;
		}
		found = plx_message(line, word);
		if (!found)
			continue;
		snprintf(fields, PLX_LINE_MAX, "%s", found);
		return now_s();
	}
	fail(word, "was never said");
	return 0;
}

static double field(const char *fields, const char *key)
{
	double value = 0;

	plx_field_doubles(fields, key, 0, 1e18, &value, 1, NULL);
	return value;
}

/* ---- resizes ---- */

static int draw(int below)
{
	settings.seed =
		settings.seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (int) (settings.seed >> 33) % below;
}

static int other_size(int now)
{
	int ranks = settings.ranks > 1 ? 1 + draw(settings.ranks - 1) : 1;

	return ranks >= now && settings.ranks > 1 ? ranks + 1 : ranks;
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

	start(&next, now->number + 1, other_size(now->ranks), true);
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
	start(&next, now->number + 1, other_size(now->ranks), false);
	measure(&next, saved_s, fields, sample);
	*now = next;
}

static void kill_all(struct generation *g)
{
	kill(-g->pid, SIGKILL);
	end(g);
}

/* The next generation comes to nothing; the training must not. */
static void fail_once(struct generation *now)
{
	struct generation next;
	struct sample sample;
	char fields[PLX_LINE_MAX];

	start(&next, now->number + 1, other_size(now->ranks), true);
	say(now, PLX_MSG_PREPARE);
	hear(&next, PLX_MSG_READY, fields);
	if (settings.failure == FAIL_LOST) {
		kill_all(now);
		say(&next, PLX_MSG_GO);
		hear(&next, PLX_MSG_BEGAN, fields);
		*now = next;
		return;
	}
	if (settings.failure == FAIL_HELD) {
		say(now, PLX_MSG_HAND);
		hear(now, PLX_MSG_SAVED, fields);
		kill_all(&next);
		say(now, PLX_MSG_RESUME);
		hear(now, PLX_MSG_RESUMED, fields);
	} else {
		kill_all(&next);
	}
	train(TRAIN_S);
	/* And the one after that goes well, numbered as a launcher would. */
	start(&next, next.number + 1, other_size(now->ranks), true);
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

static void read_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "resizes", required_argument, NULL, 'r' },
		{ "ranks", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "dir", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "cold", no_argument, NULL, 'c' },
		{ "finish", no_argument, NULL, 'e' },
		{ "fail", required_argument, NULL, 'f' },
		{ 0 },
	};
	int key;

	while ((key = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (key == 'r')
			settings.resizes = atoi(optarg);
		else if (key == 'n')
			settings.ranks = atoi(optarg);
		else if (key == 's')
			settings.seed = strtoull(optarg, NULL, 10);
		else if (key == 'd')
			settings.dir = optarg;
		else if (key == 'j')
			settings.json = true;
		else if (key == 'c')
			settings.cold = true;
		else if (key == 'e')
			settings.finish = true;
		else if (key == 'f')
			settings.failure = !strcmp(optarg, "ready") ? FAIL_READY
					   : !strcmp(optarg, "held")
						   ? FAIL_HELD
						   : FAIL_LOST;
		else
			exit(2);
	}
	settings.command = argv + optind;
	if (settings.resizes < 1 || settings.ranks < 1 || !argv[optind])
		fail("usage", "generations [OPTION...] -- COMMAND [ARG...]");
}

/* Resizes, one after the other. */
int main(int argc, char **argv)
{
	struct generation now;
	struct sample *samples;
	char fields[PLX_LINE_MAX];

	read_options(argc, argv);
	setenv(PLX_ENV_CHECKPOINTS, settings.dir, 0);
	samples = calloc((size_t) settings.resizes, sizeof(*samples));
	if (!samples)
		fail("start", "out of memory");
	start(&now, 1, 1 + draw(settings.ranks), false);
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
