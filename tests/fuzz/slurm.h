/* SPDX-License-Identifier: MIT */
/* slurm.h - libslurm's answers about one job, from an input, for fuzzers alone
 */
#ifndef PLX_FUZZ_SLURM_H
#define PLX_FUZZ_SLURM_H

#include <slurm/slurm.h>

#define SLURM_TEXTS 12 /* cut from an input */
#define SLURM_TEXT  1500

/* The texts as a record's; numbers come from `size`. Valid until the next. */
slurm_job_info_t *slurm_record(const uint8_t *data, size_t size);

/* The i-th of them. */
char *slurm_text(int i);

#endif
