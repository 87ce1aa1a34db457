/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * built.c - for which Slurm a plugin was built, as text in its file
 *
 * pollux-doctor reads it where no plugin can be loaded: only slurmctld and
 * srun have what plugins need to be loaded.
 */
#include <slurm/slurm.h>

#define TEXT(number) #number
#define NUMBER(name) TEXT(name)

/* "0x160508" is 22.05.8 */
__attribute__((used)) static const char built[] =
	"pollux was built for Slurm " NUMBER(SLURM_VERSION_NUMBER);
