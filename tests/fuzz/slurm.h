/* SPDX-License-Identifier: MIT */
/*
 * slurm.h - libslurm's answers about one job, from an input, for fuzzers alone
 *
 * FUZZ_SLURM is defined where there are headers of a release whose types these
 * stand for; elsewhere the targets that need them do nothing.
 */
#ifndef PLX_FUZZ_SLURM_H
#define PLX_FUZZ_SLURM_H

#include <stddef.h>
#include <stdint.h>

#if __has_include(<slurm/slurm.h>)
#include <slurm/slurm.h>
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
#define FUZZ_SLURM
#endif
#endif

#ifdef FUZZ_SLURM

#define SLURM_TEXTS 12 /* cut from an input */
#define SLURM_TEXT  1500

/* The texts as a record's; numbers come from `size`. Valid until the next. */
slurm_job_info_t *slurm_record(const uint8_t *data, size_t size);

/* The i-th of them. */
char *slurm_text(int i);

#endif
#endif
