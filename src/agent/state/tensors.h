/* SPDX-License-Identifier: MIT */
/* tensors.h - the registered tensors together */
#ifndef PLX_AGENT_TENSORS_H
#define PLX_AGENT_TENSORS_H

#include "agent/state/agent.h"

/* Of all of them. Their checksum is pollux_crc(). */
size_t plx_tensors_bytes(const struct pollux *p);

#endif
