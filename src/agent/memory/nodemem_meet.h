/* SPDX-License-Identifier: MIT */
/* nodemem_meet.h - a descriptor from who has it to those who know its name */
#ifndef PLX_AGENT_NODEMEM_MEET_H
#define PLX_AGENT_NODEMEM_MEET_H

#include "core/base/error.h"

/* A socket that listens under this name, or -1 with err set. */
int plx_meet_listen(const char *name, struct plx_error *err);

/* Somebody came: send fd, if it is the same user. */
void plx_meet_answer(int listener, int fd);

/* A descriptor, from whoever listens under this name; -1: nobody does. */
int plx_meet_ask(const char *name);

#endif
