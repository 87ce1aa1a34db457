/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * publish.h - the plugin's numbers in a file, for pollux-stat and Prometheus
 *
 * Used by the plugin's thread alone, which holds no lock then; but for the
 * path.
 */
#ifndef SCHED_POLLUX_PUBLISH_H
#define SCHED_POLLUX_PUBLISH_H

#include "sched/pollux/params.h"

/*
 * Where pollux_metrics does not say: pollux.prom beside slurmctld's log; "no"
 * when it has none. Slurm's configuration is locked.
 */
void pollux_publish_path(struct pollux_params *params);

/*
 * Write them, if it is time: each 5 s. What goes wrong is logged once an hour,
 * and changes nothing else.
 */
void pollux_publish(const char *path);

#endif
