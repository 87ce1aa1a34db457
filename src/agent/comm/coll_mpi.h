/* SPDX-License-Identifier: MIT */
/*
 * coll_mpi.h - inside of the collectives over MPI
 *
 * coll_mpi.c      life: initialise, who is where, abort, destroy; the table
 * coll_mpi_ops.c  the operations, begun, and tested until done
 *
 * Nothing blocks inside MPI but MPI_Init and MPI_Finalize: operations are
 * begun and then tested until they are done or too late. After a failure the
 * communicator is never touched again, for it might not answer.
 *
 * Open MPI 5 ends a rank whose connection to another one is lost, in whatever
 * call sees that, and Slurm then kills all ranks of the step at once: nobody
 * can save. So our calls are PLX_MPI(m, call), which has Open MPI wait as long
 * as we would for others. SIGTERM comes meanwhile (sigterm.c).
 */
#ifndef PLX_AGENT_COLL_MPI_H
#define PLX_AGENT_COLL_MPI_H

#include <mpi.h>
#include <stdbool.h>

#include "agent/comm/coll.h"

/* A sum under way. */
struct plx_mpi_sum {
	float *data;
	float *host; /* where it is added up: data itself, or a copy of it */
	size_t count;
	size_t piece; /* numbers in each but the last */
	int pieces;
	MPI_Request *requests; /* one each */
	enum pollux_memory memory;
	struct plx_mpi_sum *next;
};

struct plx_mpi {
	struct plx_coll base;
	MPI_Comm comm;
	bool broken; /* why says so; hands off the communicator */
	struct plx_error why;
	struct plx_mpi_sum *first; /* under way, in the order begun */
	struct plx_mpi_sum *last;
	struct plx_mpi_sum *spare; /* done, to be used again */
};

/* -1 with a sentence, and broken from now on, unless code is success. */
int plx_mpi_check(struct plx_mpi *m, int code, const char *what,
		  struct plx_error *err);

/* The request that call `what` has begun with this code is done. */
int plx_mpi_finish(struct plx_mpi *m, int code, MPI_Request *request,
		   const char *what, struct plx_error *err);

/* Until plx_mpi_hasty(), Open MPI puts it off to end this rank. */
void plx_mpi_patient(const struct plx_mpi *m);

/* Returns code, of the call between the two. */
int plx_mpi_hasty(int code);

#define PLX_MPI(m, call) (plx_mpi_patient(m), plx_mpi_hasty(call))

void plx_mpi_release_sums(struct plx_mpi *m);

/* For the table of operations. */
int plx_mpi_sum(struct plx_coll *coll, float *data, size_t count,
		struct plx_error *err);
int plx_mpi_sum_begin(struct plx_coll *coll, float *data, size_t count,
		      enum pollux_memory memory, struct plx_error *err);
int plx_mpi_sum_wait(struct plx_coll *coll, const struct plx_seer *seer,
		     struct plx_error *err);
int plx_mpi_spread(struct plx_coll *coll, void *data, size_t bytes,
		   struct plx_error *err);
int plx_mpi_spread_idle(struct plx_coll *coll, void *data, size_t bytes,
			struct plx_error *err);
int plx_mpi_barrier(struct plx_coll *coll, struct plx_error *err);
int plx_mpi_gather(struct plx_coll *coll, const void *data, size_t bytes,
		   void *out, struct plx_error *err);

#endif
