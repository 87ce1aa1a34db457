/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_name.h - what a job is called after: its script, not python3 */
#ifndef PLX_LAUNCHER_PROGRAM_NAME_H
#define PLX_LAUNCHER_PROGRAM_NAME_H

#include <stddef.h>

/*
 * The last part of the program's path. Of an interpreter (python3, bash, ...)
 * that is told to run a file: the file's, without its suffix; a module's name
 * behind python's -m. Cut to size; "" only if the path ends with a slash.
 */
void plx_program_name(char *const program[], char *name, size_t size);

#endif
