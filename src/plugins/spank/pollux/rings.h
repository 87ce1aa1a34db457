/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rings.h - no files are kept in rings of io_uring
 *
 * A file that is registered with io_uring can be closed and be had back later.
 * The ring may be in no table of files itself, nor mapped, so nobody can look
 * for it: it must not begin.
 */
#ifndef SPANK_POLLUX_RINGS_H
#define SPANK_POLLUX_RINGS_H

#include "core/base/error.h"

/*
 * From now on this process, and whatever it starts, registers no files: it is
 * told EPERM. All else of io_uring is as before. Needs root, or
 * PR_SET_NO_NEW_PRIVS.
 */
int plx_rings_without_files(struct plx_error *err);

#endif
