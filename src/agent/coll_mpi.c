/* SPDX-License-Identifier: MIT */
/*
 * coll_mpi.c - collectives over MPI, the only file that includes it
 *
 * A program that uses MPI itself may initialise it first; we then work on a
 * copy of MPI_COMM_WORLD and leave finalising to the program.
 */
#include <config.h>

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

#include "agent/coll.h"

/* MPI counts are ints; larger arrays go in pieces of this many elements. */
#define PIECE (1 << 28)

struct mpi_coll {
	struct plx_coll base;
	MPI_Comm comm;
	bool ours; /* we initialised MPI, so we finalise it */
};

static MPI_Comm comm_of(struct plx_coll *coll)
{
	return ((struct mpi_coll *) coll)->comm;
}

static int check(int code, const char *what, struct plx_error *err)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length = 0;

	if (code == MPI_SUCCESS)
		return 0;
	MPI_Error_string(code, text, &length);
	return plx_fail(err, "%s failed: %s", what, text);
}

static int mpi_sum(struct plx_coll *coll, float *data, size_t count,
		   struct plx_error *err)
{
	for (size_t at = 0; at < count; at += PIECE) {
		size_t left = count - at;
		int piece = left < PIECE ? (int) left : PIECE;

		if (check(MPI_Allreduce(MPI_IN_PLACE, data + at, piece,
					MPI_FLOAT, MPI_SUM, comm_of(coll)),
			  "MPI_Allreduce", err) < 0)
			return -1;
	}
	return 0;
}

static int mpi_spread(struct plx_coll *coll, void *data, size_t bytes,
		      struct plx_error *err)
{
	for (size_t at = 0; at < bytes; at += PIECE) {
		size_t left = bytes - at;
		int piece = left < PIECE ? (int) left : PIECE;

		if (check(MPI_Bcast((char *) data + at, piece, MPI_BYTE, 0,
				    comm_of(coll)),
			  "MPI_Bcast", err) < 0)
			return -1;
	}
	return 0;
}

static int mpi_barrier(struct plx_coll *coll, struct plx_error *err)
{
	return check(MPI_Barrier(comm_of(coll)), "MPI_Barrier", err);
}

static void mpi_abort(struct plx_coll *coll, int code)
{
	if (coll->ranks > 1)
		MPI_Abort(comm_of(coll), code);
}

static void mpi_destroy(struct plx_coll *coll)
{
	struct mpi_coll *m = (struct mpi_coll *) coll;

	if (m->comm != MPI_COMM_NULL)
		MPI_Comm_free(&m->comm);
	if (m->ours)
		MPI_Finalize();
	free(m);
}

/*
 * Slurm's node number where all ranks have one: several virtual nodes may
 * share a host. Else, the lowest rank on the same host.
 */
static int node_number(struct mpi_coll *m)
{
	const char *text = getenv("SLURM_NODEID");
	int known = text && *text;
	int number = m->base.rank;
	MPI_Comm host = MPI_COMM_NULL;

	MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MIN, m->comm);
	if (known)
		return atoi(text);
	MPI_Comm_split_type(m->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
			    &host);
	MPI_Bcast(&number, 1, MPI_INT, 0, host);
	MPI_Comm_free(&host);
	return number;
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *) a;
	int y = *(const int *) b;

	return (x > y) - (x < y);
}

static int count_nodes(struct mpi_coll *m, struct plx_error *err)
{
	int mine = node_number(m);
	int *all = calloc((size_t) m->base.ranks, sizeof(*all));
	int nodes = 1;

	if (!all)
		return plx_fail(err, "out of memory");
	MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, m->comm);
	qsort(all, (size_t) m->base.ranks, sizeof(*all), compare_ints);
	for (int i = 1; i < m->base.ranks; i++)
		nodes += all[i] != all[i - 1];
	m->base.nodes = nodes;
	free(all);
	return 0;
}

static const struct plx_coll_ops mpi_ops = {
	.name = "mpi",
	.sum = mpi_sum,
	.spread = mpi_spread,
	.barrier = mpi_barrier,
	.abort = mpi_abort,
	.destroy = mpi_destroy,
};

struct plx_coll *plx_coll_mpi_create(struct plx_error *err)
{
	struct mpi_coll *m = calloc(1, sizeof(*m));
	int already = 0;
	int level = 0;

	if (!m) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	m->base.ops = &mpi_ops;
	m->comm = MPI_COMM_NULL;
	MPI_Initialized(&already);
	m->ours = !already;
	if (!already &&
	    check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level),
		  "MPI_Init_thread", err) < 0) {
		free(m);
		return NULL;
	}
	/* The default error handler ends all ranks: what we want as well. */
	MPI_Comm_dup(MPI_COMM_WORLD, &m->comm);
	MPI_Comm_rank(m->comm, &m->base.rank);
	MPI_Comm_size(m->comm, &m->base.ranks);
	if (count_nodes(m, err) < 0) {
		mpi_destroy(&m->base);
		return NULL;
	}
	return &m->base;
}
