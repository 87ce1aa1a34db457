/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relay.h - the socket of a rank 0 that runs on another machine
 *
 * The job's first node stays with the job even without GPUs, and salloc's
 * shell runs outside the cluster: then rank 0 cannot reach our UNIX socket. A
 * second, tiny step on its node opens a socket there and passes every byte to
 * us through its srun. So nothing but srun's own connections is needed, and
 * no port. The folder there has a name that nobody can guess, and is made anew:
 * who lays one in its place has to know it first.
 *
 *	rank 0 -- socket there -- relay ==srun== its stdin/stdout -- our socket
 *
 * It ends by itself as soon as either side hangs up.
 */
#ifndef PLX_LAUNCHER_RELAY_H
#define PLX_LAUNCHER_RELAY_H

#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"

#define PLX_RELAY_OPTION "relay-in"	/* of pollux-launch, for its own use */
#define PLX_RELAY_ENV	 "POLLUX_RELAY" /* the folder to make, there */

struct plx_relay {
	pid_t pid;     /* of its srun; 0: none */
	pid_t leaving; /* of one that was told to end */
	char path[96]; /* of the socket there */
};

/*
 * Open a socket on node, in a new folder beside what dir is here, whose
 * connection arrives at our socket.
 */
int plx_relay_start(struct plx_relay *relay, uint32_t job_id, const char *node,
		    const char *dir, const char *socket, struct plx_error *err);

/* Has its srun ended? It is no loss: rank 0 is gone then, or will say so. */
void plx_relay_reap(struct plx_relay *relay);

/* End it now. */
void plx_relay_stop(struct plx_relay *relay);

/* The far end, run by pollux-launch there. An exit code. */
int plx_relay_run(void);

#endif
