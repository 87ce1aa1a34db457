/* SPDX-License-Identifier: MIT */
/*
 * interval.h - how long to train between two checkpoints
 *
 * J. T. Daly, "A higher order estimate of the optimum checkpoint interval for
 * restart dumps", 2006; its first term is Young's of 1974. Pure.
 */
#ifndef PLX_CORE_INTERVAL_H
#define PLX_CORE_INTERVAL_H

/* What is known of a job's checkpoints and failures. */
struct plx_interval {
	double cost_s; /* of training lost by one checkpoint, >= 0 */
	double disk_s; /* that it keeps the disk busy, >= 0 */
	double mtbf_s; /* between failures of one node; 0: never */
	int nodes;     /* of the job, >= 1: any one's failure stops it */
};

#define PLX_INTERVAL_MIN_S 10
#define PLX_INTERVAL_MAX_S 3600

/* Seconds of training that lose least, by the formula alone. */
double plx_interval_daly(double cost_s, double mtbf_s);

/*
 * The same for a job, within the limits above; the disk, which others may
 * need, is busy a tenth of the time at most.
 */
double plx_interval_best(const struct plx_interval *job);

#endif
