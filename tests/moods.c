/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moods.c - a training that does what it is told, on the rank that is told
 *
 *	moods FOLDER EPOCHS
 *
 * A step takes 40 ms, shared by the ranks; an epoch has 25 of them. Between two
 * steps rank R looks for FOLDER/do.R, removes it and does what it says:
 *
 *	beat S	 is busy for S seconds, and says so (pollux_beat())
 *	hold S	 holds for S seconds, and makes steps (pollux_hold())
 *	request N	wishes for N GPUs (pollux_request())
 *	exit, _exit	leaves with exit code 0
 *	destroy N	ends its run after step N, and leaves so
 *
 * What it does is said on stdout. At the end each rank tells the number of the
 * steps that its state has seen.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/pollux.h"

#define STEP_S 0.04
#define BEAT_S 0.3

enum { BATCH = 48, STEPS = 25 };

static struct pollux *run;
static struct pollux_info info;
static double hold_until_s; /* 0: does not hold */
static uint64_t end_step;   /* 0: does not end before */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void doze(double seconds)
{
	struct timespec t = { .tv_sec = (time_t) seconds };

	t.tv_nsec = (long) ((seconds - (double) t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

static void say(const char *what)
{
	pollux_info(run, &info);
	printf("rank %d %s step %llu\n", info.rank, what,
	       (unsigned long long) info.step);
	fflush(stdout);
}

static void beat(double seconds)
{
	double until_s = now_s() + seconds;

	say("is busy after");
	while (now_s() < until_s) {
		pollux_beat(run);
		doze(BEAT_S);
	}
	say("was busy after");
}

/* Its state is where the step's samples are: no other rank has it. */
static void hold(double seconds)
{
	hold_until_s = now_s() + seconds;
	pollux_hold(run, true);
	say("holds from");
}

static void hold_on(void)
{
	if (!hold_until_s || now_s() < hold_until_s)
		return;
	hold_until_s = 0;
	pollux_hold(run, false);
	say("held until");
}

static void leave(const char *how)
{
	say("leaves after");
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "_exit"))
		_exit(0);
}

static void end_early(void)
{
	if (!end_step || info.step < end_step)
		return;
	say("ends its run after");
	pollux_destroy(run);
	exit(0);
}

/* What the file says, whoever wrote it. */
static void obey(const char *folder)
{
	char path[4096];
	char word[64] = "";
	double seconds = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/do.%d", folder, info.rank);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fscanf(file, "%63s %lf", word, &seconds) < 1)
		word[0] = '\0';
	fclose(file);
	unlink(path);
	if (!strcmp(word, "beat"))
		beat(seconds);
	else if (!strcmp(word, "hold"))
		hold(seconds);
	else if (!strcmp(word, "request"))
		pollux_request(run, (int) seconds);
	else if (!strcmp(word, "destroy"))
		end_step = (uint64_t) seconds;
	else if (word[0])
		leave(word);
}

static int train(const char *folder, double *seen)
{
	float gradient = 1;
	struct pollux_pass pass;
	int more;

	while ((more = pollux_next(run, &pass)) > 0) {
		doze(STEP_S * (double) pass.count / BATCH);
		more = pollux_reduce(run, &gradient, 1, 0);
		if (more < 0 || !pass.sync)
			continue;
		*seen += 1;
		if (pollux_commit(run) < 0)
			return -1;
		pollux_info(run, &info);
		hold_on();
		obey(folder);
		end_early();
	}
	return more;
}

int main(int argc, char **argv)
{
	struct pollux_config config;
	double seen = 0;
	const struct pollux_tensor state = {
		.name = "seen",
		.data = &seen,
		.type = POLLUX_F64,
	};
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: moods FOLDER EPOCHS\n");
		return 2;
	}
	pollux_config_init(&config);
	config.samples = BATCH * STEPS;
	config.batch = config.max_batch = BATCH;
	config.epochs = atoi(argv[2]);
	config.lr = 0.1;
	run = pollux_create(&config);
	rc = pollux_register(run, &state);
	if (rc >= 0)
		rc = pollux_start(run);
	pollux_info(run, &info);
	if (rc >= 0)
		rc = train(argv[1], &seen);
	if (rc < 0)
		fprintf(stderr, "moods: %s\n", pollux_error(run));
	else if (seen >= (double) config.epochs * STEPS)
		printf("rank %d has seen %.0f steps\n", info.rank, seen);
	pollux_destroy(run);
	return rc < 0;
}
