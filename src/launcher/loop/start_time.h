/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_time.h - how long ranks may take to start: by how long they took */
#ifndef PLX_LAUNCHER_START_TIME_H
#define PLX_LAUNCHER_START_TIME_H

#define PLX_WARM_LEAST_S 60.0 /* that are given then */

/* least_s, or twice what the longest start took so far (0: none yet). */
double plx_start_allowed_s(double least_s, double longest_s);

struct plx_launcher;
struct plx_generation;

/* Its ranks have just met, or are ready to take over. */
void plx_start_learn(struct plx_launcher *l, const struct plx_generation *g);

/* Seconds for ranks that start beside others; --warm-timeout goes first. */
double plx_start_warm_s(const struct plx_launcher *l);

/* The next ranks did not make it in that time: say so, and give more. */
void plx_start_late(struct plx_launcher *l);

#endif
