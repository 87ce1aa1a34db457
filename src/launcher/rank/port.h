/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * port.h - a port for the ranks of one start to meet at: MASTER_PORT
 *
 * What listens there is the program's own (torch's TCPStore as a rule), and
 * asks nobody who he is. So nobody is to know the port before it is used:
 * the launcher draws another one for each start, and pollux-rank looks on rank
 * 0's machine that nobody has it.
 */
#ifndef PLX_LAUNCHER_PORT_H
#define PLX_LAUNCHER_PORT_H

#include <stdbool.h>

/*
 * Drawn at random among those below what the kernel gives away, and free on
 * this machine as far as a few draws find one.
 */
int plx_port_draw(void);

/* Can a program listen there, on all addresses of this machine? */
bool plx_port_is_free(int port);

#endif
