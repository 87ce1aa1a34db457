/* SPDX-License-Identifier: MIT */
/*
 * sim_timeline.h - who had what when, for pictures
 *
 * Of each job, the spans of time during which its GPUs stayed the same; of
 * the cluster, sums over at most PLX_TICKS_MAX equal parts of the run, which
 * double in length whenever they are all used. So a long run needs little
 * more memory than a short one.
 */
#ifndef PLX_SIM_SIM_TIMELINE_H
#define PLX_SIM_SIM_TIMELINE_H

#include "core/base/error.h"

#define PLX_TICKS_MAX 512 /* even */

/* A job on GPUs that do not change. */
struct plx_sim_span {
	int job; /* index in the workload */
	int gpus;
	int nodes;
	double begin_s;
	double end_s;
};

/* Sums over a part of the run: of seconds, times how many there were. */
struct plx_tick {
	double seconds;
	double gpu_s;	     /* GPUs held */
	double trained_s;    /* of these without pauses */
	double efficiency_s; /* the same times statistical efficiency */
	double useful_s;     /* GPUs' worth of progress, each as if alone */
	double active_s;     /* jobs there */
	double waiting_s;    /* of these without GPUs */
	double node_s;	     /* nodes paid for */
};

struct plx_sim_timeline {
	struct plx_sim_span *spans; /* by time of beginning */
	int span_count;
	int span_capacity;
	int *open; /* [jobs] its span under way; -1: none */
	struct plx_tick *ticks;
	int tick_count;
	double tick_s; /* length of each but the last */
};

/* tick_s: of the parts, at first. The timeline is the caller's to release. */
int plx_timeline_init(struct plx_sim_timeline *timeline, int jobs,
		      double tick_s, struct plx_error *err);
void plx_timeline_release(struct plx_sim_timeline *timeline);

/* Both parts of the run together. */
void plx_tick_sum(struct plx_tick *to, const struct plx_tick *from);

/* From now on the job has so many GPUs; 0: none. */
int plx_timeline_place(struct plx_sim_timeline *timeline,
		       struct plx_sim_span span, struct plx_error *err);

/* The next tick->seconds of the run; no longer than tick_s. */
void plx_timeline_add(struct plx_sim_timeline *timeline,
		      const struct plx_tick *tick);

#endif
