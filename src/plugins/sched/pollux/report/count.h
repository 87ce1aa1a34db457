/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count.h - what the plugin has done, counted
 *
 * Any thread, under any lock or none: a leaf mutex, held for nanoseconds.
 * Counters begin at 0 when slurmctld starts.
 */
#ifndef SCHED_POLLUX_COUNT_H
#define SCHED_POLLUX_COUNT_H

#include <stddef.h>

#include "core/records/metrics.h"

enum pollux_event {
	POLLUX_DID_SKIP,    /* a cycle made no plan */
	POLLUX_DID_ASK,	    /* a launcher to make way */
	POLLUX_WAS_OVERDUE, /* it did not answer in time */
	POLLUX_DID_KILL,    /* a job's steps */
	POLLUX_DROPPED_HINT,
	POLLUX_WAS_SICK,   /* a node, as a job says */
	POLLUX_DID_REPORT, /* a sentence on a job record */
	POLLUX_DID_MOVE,   /* a whole job */
	POLLUX_DID_EVICT,  /* the same, into the queue */
	POLLUX_EVENTS,
};

void pollux_count(enum pollux_event event);
void pollux_count_resize(enum plx_resize_kind kind);
/* kind: of the error, as in core/records/refusal.h. */
void pollux_count_refusal(int kind);
void pollux_count_cycle(double seconds);
/* What the last cycle found. */
void pollux_count_gauges(const struct plx_gauges *gauges);
/* How many nodes would do, and the band of utility: see core/jobs/scale.h. */
void pollux_count_wanted(int nodes, double low, double high);

/* A copy of all; now_s since 1970. */
void pollux_count_read(struct plx_metrics *metrics, double now_s);

#endif
