/* SPDX-License-Identifier: GPL-2.0-or-later */
/* address.h - where the ranks of one start meet: MASTER_ADDR */
#ifndef PLX_LAUNCHER_ADDRESS_H
#define PLX_LAUNCHER_ADDRESS_H

#include <stddef.h>

/*
 * The address that Slurm knows a node by; its name when slurmctld does not
 * say. One RPC for each new node, as slow as slurmctld.
 */
void plx_address_of(const char *node, char *address, size_t size);

/*
 * Where the slurmd of a node listens; asks slurmctld each time, and
 * may be called by any thread. 0, or -1 when slurmctld does not say.
 */
int plx_address_slurmd(const char *node, char *address, size_t size, char *port,
		       size_t port_size);
#endif
