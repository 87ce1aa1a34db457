/* SPDX-License-Identifier: MIT */
/* register.h - what the program registers */
#ifndef PLX_AGENT_REGISTER_H
#define PLX_AGENT_REGISTER_H

#include "agent/state/agent.h"

/* The program's next bucket. -1 with p->err set: no memory. */
int plx_bucket_add(struct pollux *p, const struct pollux_bucket *bucket);

#endif
