/* SPDX-License-Identifier: MIT */
/*
 * free_memory.h - how much memory may be taken without harm
 *
 * Memory that is not to be had is not refused by the kernel: it kills
 * somebody, later. So look first, at the machine and at the control groups
 * that Slurm or a container put us in. root goes before every path that is
 * read ("" but in tests).
 */
#ifndef PLX_WIRE_FREE_MEMORY_H
#define PLX_WIRE_FREE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes that can be had without swapping; UINT64_MAX: not known. */
uint64_t plx_free_memory(const char *root);

/* Read a file of the kernel, NUL-terminated; its length, or -1. */
ssize_t plx_kernel_file(const char *path, char *text, size_t size);

#endif
