/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * polls.h - when to look at the job's record next
 *
 * The scheduler wakes the launcher when it has said something (SIGURG), and
 * what the launcher writes is a look as well. All else is for wake-ups that
 * are lost and for what nobody tells: often while something is awaited, rarer
 * the longer it takes; rarely at other times; ever rarer while slurmctld does
 * not answer. No two launchers keep the same rhythm. Pure: time is an
 * argument, in seconds.
 */
#ifndef PLX_LAUNCHER_POLLS_H
#define PLX_LAUNCHER_POLLS_H

#include <stdbool.h>
#include <stdint.h>

#define PLX_POLLS_WAIT_FIRST_S	  0.1
#define PLX_POLLS_WAIT_LAST_S	  5.0
#define PLX_POLLS_TROUBLE_FIRST_S 0.5
#define PLX_POLLS_TROUBLE_LAST_S  30.0
#define PLX_POLLS_JITTER	  0.2 /* a pause is longer by so much at most */

struct plx_polls {
	double due_s;	  /* the next look; 0: at once */
	bool under_way;	  /* one is being made */
	double wait_s;	  /* last pause while something was awaited, 0: none */
	double trouble_s; /* last pause after a failure, 0: none */
	uint32_t seed;	  /* of the rhythm, any number */
};

/* There is something to see. What is under way may have begun too early. */
void plx_polls_at_once(struct plx_polls *polls);

/* At that time at the latest. */
void plx_polls_by(struct plx_polls *polls, double due_s);

/* Something else is awaited from now on: as often as at first. */
void plx_polls_anew(struct plx_polls *polls);

/* Is it time? Then one is under way. */
bool plx_polls_begin(struct plx_polls *polls, double now_s);

/* It came; an answer is awaited, or the next one is due in about calm_s. */
void plx_polls_came(struct plx_polls *polls, double now_s, bool awaits,
		    double calm_s);

/* It came to nothing. Who awaits something does not wait so long. */
void plx_polls_failed(struct plx_polls *polls, double now_s, bool awaits);

/* The pause, and a part of it more that differs each time. */
double plx_polls_jitter(uint32_t *seed, double pause_s);

#endif
