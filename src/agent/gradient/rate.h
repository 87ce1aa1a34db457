/* SPDX-License-Identifier: MIT */
/* rate.h - noise of the gradient, learning rate and progress */
#ifndef PLX_AGENT_RATE_H
#define PLX_AGENT_RATE_H

#include "agent/state/agent.h"

/* The step's gradient is there: noise, learning rate and gain. */
void plx_rate_update(struct pollux *p);

/*
 * Is the noise estimated from this step's gradient? A walk through a large one
 * may cost more than it tells: then in one of so many steps that it costs
 * little. One rank compares two steps: in a pair of them.
 */
bool plx_rate_watches(const struct pollux *p);

/* Is the next step's to be compared with this one's? */
bool plx_rate_keeps(const struct pollux *p);

/* Steps in which one look, or a pair, costs little. */
int plx_rate_interval(double looks_s, double step_s);

/* Between two steps: what was agreed on holds from now on. */
void plx_rate_follow(struct pollux *p);

/* Noise of all parameters; false while it is unknown. */
bool plx_rate_noise(const struct pollux *p, struct plx_noise *noise);

/* Progress of a sample at this batch, against one of the base batch. */
double plx_rate_efficiency(const struct pollux *p, double total);

/* Share of the training done, 0 to 1, and whether it is all. */
double plx_rate_share(const struct pollux *p);
bool plx_rate_finished(const struct pollux *p);

/* Still to be trained on, at what one of the base batch is worth. */
double plx_rate_left(const struct pollux *p);

#endif
