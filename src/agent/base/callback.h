/* SPDX-License-Identifier: MIT */
/*
 * callback.h - calls from here into the program
 *
 * What a C++ program throws in there must not unwind our frames: locks would
 * stay taken, and the other ranks would wait. Nothing passes these functions:
 * the process ends with the exception's own message, as out of main().
 */
#ifndef PLX_AGENT_CALLBACK_H
#define PLX_AGENT_CALLBACK_H

#include "agent/pollux.h"

size_t plx_call_size(const struct pollux_blob *blob);
int plx_call_save(const struct pollux_blob *blob, void *bytes, size_t size);
int plx_call_load(const struct pollux_blob *blob, const void *bytes,
		  size_t size);
int plx_call_seek(const struct pollux_config *config, int epoch, uint64_t first,
		  uint64_t count);
int plx_call_part(const struct pollux_domain *domain, const void **data,
		  size_t *bytes);
int plx_call_redistribute(const struct pollux_domain *domain,
			  const struct pollux_domain_part *part);
double plx_call_lr_rule(const struct pollux_config *config,
			const struct pollux_lr_state *state);

#endif
