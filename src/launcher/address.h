/* SPDX-License-Identifier: GPL-2.0-or-later */
/* address.h - where the ranks of one start meet: MASTER_ADDR, MASTER_PORT */
#ifndef PLX_LAUNCHER_ADDRESS_H
#define PLX_LAUNCHER_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The address that Slurm knows a node by; its name when slurmctld does not
 * say. One RPC for each new node, as slow as slurmctld.
 */
void plx_address_of(const char *node, char *address, size_t size);

/*
 * A port that is free on this machine, below those that the kernel gives away.
 * It follows from job and generation: two generations alive have two ports,
 * and two jobs rarely the same, also on machines where we cannot look.
 */
int plx_port_of(uint32_t job_id, uint64_t generation);

#endif
