/* SPDX-License-Identifier: MIT */
/* reached.h - which functions were entered, of files that are asked about */
#ifndef PLX_FUZZ_REACHED_H
#define PLX_FUZZ_REACHED_H

/* Write their addresses to a file, for addr2line; none if not asked about. */
void reached_write(const char *path);

#endif
