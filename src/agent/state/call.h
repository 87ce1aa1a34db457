/* SPDX-License-Identifier: MIT */
/* call.h - a call of the program: is it due, is it given what it needs? */
#ifndef PLX_AGENT_CALL_H
#define PLX_AGENT_CALL_H

#include "agent/base/sized.h"
#include "agent/state/agent.h"

/*
 * Every change of stage. While it is PLX_STAGE_SYNCED the registered state is
 * being changed; at any other time it is that of the last commit.
 */
void plx_stage(struct pollux *p, enum plx_call_stage stage);

/* The stage becomes ENDED. Always negative: what kind of error it was. */
int plx_end(struct pollux *p);

/* This call is not the one that is due. Negative, as plx_end(). */
int plx_misuse(struct pollux *p, const char *call);

/*
 * 0 if this call has a run and its argument `name`, whose address is `data`.
 * Else negative, as plx_end(); before pollux_start() the run goes on.
 */
int plx_given(struct pollux *p, const char *call, const char *name,
	      const void *data);

/*
 * The same for a struct of the program's, copied to *own as plx_sized_take()
 * does; and for one that is to be filled. Negative also where it does not fit.
 */
int plx_given_struct(struct pollux *p, const struct plx_sized *is,
		     const void *from, size_t size, void *own);
int plx_given_output(struct pollux *p, const struct plx_sized *is,
		     const void *to, size_t size);

#endif
