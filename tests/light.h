/* SPDX-License-Identifier: GPL-2.0-or-later */
/* light.h - what a light job was told to be */
#ifndef TESTS_LIGHT_H
#define TESTS_LIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/records/status.h"

struct light {
	uint32_t id;
	const char *batch_host; /* our node, may be NULL */
	struct plx_status status;
	const char *log;
	double samples;
	double seconds;
	double ack_s; /* below 0: never */
	double live_s;
	double poll_s;
	double tell_s;
	double left;
	double whim_s;
	bool live;
	bool busy;
	bool no_hint;
	bool told; /* what is new is told by a signal */
};

/* From the command line and Slurm's environment; -1: help was printed. */
int light_read(int argc, char **argv, struct light *set);

#endif
