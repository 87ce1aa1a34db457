/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_stop.c - telling a program to save, by a signal that it understands */
#include "config.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/rank/rank_stop.h"

#define DEPTH_MAX 8 /* shells and wrappers around the program */
#define PATH_SIZE 64
#define LINE_SIZE 256

/* Has it a handler? The mask in its status says so; bit 0 is signal 1. */
static bool takes(pid_t pid, int signal)
{
	static const char key[] = "SigCgt:";
	char path[PATH_SIZE];
	char line[LINE_SIZE];
	uint64_t mask = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%ld/status", (long) pid);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in)) {
		if (!strncmp(line, key, sizeof(key) - 1))
			mask = strtoull(line + sizeof(key) - 1, NULL, 16);
	}
	if (in)
		fclose(in);
	return mask >> (signal - 1) & 1;
}

static int visit(pid_t pid, int signal, bool send, int depth);

/* Those that its main thread has started. */
static int visit_children(pid_t pid, int signal, bool send, int depth)
{
	char path[PATH_SIZE];
	long child;
	int count = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long) pid,
		 (long) pid);
	in = fopen(path, "re");
	while (in && fscanf(in, "%ld", &child) == 1)
		count += visit((pid_t) child, signal, send, depth + 1);
	if (in)
		fclose(in);
	return count;
}

static int visit(pid_t pid, int signal, bool send, int depth)
{
	if (takes(pid, signal))
		return !send || kill(pid, signal) == 0;
	return depth < DEPTH_MAX ? visit_children(pid, signal, send, depth) : 0;
}

int plx_stop_takers(pid_t pid, int signal)
{
	return visit(pid, signal, false, 0);
}

int plx_stop_send(pid_t pid, int signal)
{
	return visit(pid, signal, true, 0);
}
