/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loaded.h - is the Slurm that loads a plugin the one it was built for?
 *
 * Learnt without Slurm's headers, which may be those of another release: from
 * the dynamic linker, and from a plugin of Slurm's own that is loaded already.
 * See docs/decisions/0092-what-does-not-fit.md.
 */
#ifndef POLLUX_LOADED_H
#define POLLUX_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Once, when the plugin is mapped and before Slurm asks for *version: make it
 * that of the Slurm that asks, so that the plugin is loaded and can say what is
 * wrong, where Slurm would end.
 */
void pollux_loaded_learn(uint32_t *version);

/* As SLURM_VERSION_NUMBER: the running Slurm's, as far as that is known. */
uint32_t pollux_loaded_release(void);

/* The folder of Slurm's own plugins; NULL: not known. Not to be freed. */
const char *pollux_loaded_folder(void);

/*
 * The file of sched/pollux as slurmctld has loaded it, under its own name or
 * that of Slurm's backfill (decision 0129); NULL: it has not. The caller's to
 * dlclose().
 */
void *pollux_loaded_scheduler(void);

/*
 * Another release, or a function or variable that this plugin uses and that is
 * not there: true, and a sentence in text.
 */
bool pollux_loaded_wrong(char *text, size_t size);

#endif
