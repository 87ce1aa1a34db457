/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launcher.h - pollux-launch without its command line
 *
 * One thread, one poll() loop: signals, news from slurmctld, lines of rank 0,
 * the end of srun and time become events; lifecycle.h says what to do.
 */
#ifndef PLX_LAUNCHER_LAUNCHER_H
#define PLX_LAUNCHER_LAUNCHER_H

#include "core/base/error.h"
#include "launcher/rules/settings.h"

struct plx_launcher;

/* NULL with err set. */
struct plx_launcher *plx_launcher_create(const struct plx_settings *settings,
					 struct plx_error *err);

/* Run the job's training to its end. The exit code for main(). */
int plx_launcher_run(struct plx_launcher *launcher);

void plx_launcher_destroy(struct plx_launcher *launcher); /* takes NULL */

#endif
