/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - what a scheduler has done and how its cluster does, as numbers
 *
 * Plain data, and its text in the format that Prometheus reads. Counters only
 * grow while slurmctld runs; the rest is what the last cycle found.
 */
#ifndef PLX_CORE_METRICS_H
#define PLX_CORE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/records/refusal.h"

enum plx_resize_kind {
	PLX_RESIZE_GROW,
	PLX_RESIZE_SHRINK,
	PLX_RESIZE_MOVE,
	PLX_RESIZE_PARK,
	PLX_RESIZE_WAKE,
	PLX_RESIZE_START, /* a waiting job, at the shape that is best now */
	PLX_RESIZES,
};

/* Seconds in buckets, as a histogram of Prometheus. */
#define PLX_BUCKETS 14
struct plx_times {
	uint64_t counts[PLX_BUCKETS + 1]; /* the last: above all bounds */
	double sum_s;
	double most_s;
};

/* What a lock was held for; the name is the caller's. */
struct plx_lock_times {
	const char *lock;
	struct plx_times times;
	double cpu_s; /* of that on a processor */
	double cpu_most_s;
};
#define PLX_LOCKS 14

/* What the last cycle found. */
struct plx_gauges {
	int gpus;	   /* of nodes that may be used */
	int gpus_elastic;  /* held by elastic jobs */
	int gpus_rigid;	   /* by others */
	int gpus_idle;	   /* by nobody, those kept back included */
	int gpus_reserved; /* kept back for jobs that wait */
	int jobs;	   /* elastic ones that run */
	int jobs_parked;
	int jobs_busy;	   /* in the middle of a resize */
	int jobs_profiled; /* goodput is known */
	int jobs_waiting;  /* of any kind, for resources */
	int nodes;	   /* that may be used */
	int nodes_sick;	   /* closed to elastic jobs, see sick.h */
	int nodes_wanted;  /* see scale.h; 0: nobody asked */
	double fitness;
	double fitness_best; /* of the plan */
	double utility;	     /* speedups over one GPU, by the jobs' GPUs */
	double utility_low;  /* the band it is to be in; 0: nobody asked */
	double utility_high;
	double speedup_mean; /* of profiled jobs: over the fair share */
	double speedup_min;
	double finish_mean; /* finish-time fairness, 0: nobody tells */
	double finish_worst;
	double pause_median_s; /* of the jobs' medians, as launchers report */
	double pause_worst_s;
};

struct plx_metrics {
	double since_s; /* slurmctld's start, seconds since 1970 */
	double now_s;
	uint64_t skipped; /* cycles without a plan */
	uint64_t asked;
	uint64_t resizes[PLX_RESIZES];
	uint64_t refusals[PLX_REFUSALS];
	uint64_t overdue; /* acknowledgements that did not come in time */
	uint64_t kills;	  /* of steps */
	uint64_t hints_dropped;
	uint64_t sick;	  /* times that ranks failed on a node */
	uint64_t told;	  /* records written to explain */
	uint64_t moved;	  /* whole jobs, batch script included */
	uint64_t evicted; /* whole jobs, to wait in the queue */
	struct plx_times cycles;
	struct plx_lock_times held[PLX_LOCKS];
	int held_count;
	struct plx_gauges now;
};

const char *plx_resize_name(enum plx_resize_kind kind);
/* What became of a job that had `from` GPUs and now has `to`. */
enum plx_resize_kind plx_resize_kind_of(int from, int to);

/* Seconds that are negative or not finite count as 0. */
void plx_times_add(struct plx_times *times, double seconds);
uint64_t plx_times_count(const struct plx_times *times);
/* The upper bound of bucket i, in seconds. */
double plx_times_bound(int i);

/*
 * Read back one sample that plx_metrics_text() writes: its name without
 * "pollux_", its labels as written, "" for none. False where it is no number
 * of its own in *metrics: a histogram's, or of another release.
 */
bool plx_metrics_take(struct plx_metrics *metrics, const char *name,
		      const char *labels, double value);

/* The text; the caller's to free(). NULL: no memory. */
char *plx_metrics_text(const struct plx_metrics *metrics);

#endif
