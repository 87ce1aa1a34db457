/* SPDX-License-Identifier: MIT */
/*
 * namespaces.h - whether a rank runs in a container of its own
 *
 * pollux-rank starts the program outside of any container, so what it sees is
 * what a rank without one would see.
 */
#ifndef PLX_WIRE_NAMESPACES_H
#define PLX_WIRE_NAMESPACES_H

#include <stdbool.h>

#include "core/base/error.h"

/* pollux-rank: tell the program in which ones it was started. */
int plx_namespaces_export(struct plx_error *err);

/*
 * The program: its namespace of this kind, "pid" or "user" as in /proc/self/ns,
 * is not the one out there. False where pollux-rank has not told.
 */
bool plx_namespace_is_own(const char *kind);

#endif
