/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.h - what Slurm's internal headers want from Slurm's configure
 *
 * The layout of slurmctld's structures must not depend on anything else;
 * Debian builds with these two.
 */
#define MULTIPLE_SLURMD	     1
#define HAVE_CONFIG_H_POLLUX 1
